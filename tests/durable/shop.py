"""A program that pays, as a compiled unit, its runs in a store, and workers of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from ael.durable.execute import Execution, new_owner
from ael.journal.database import DatabaseStore
from ael.run.bindings import Options
from ael.types.signature import Repeat
from ael.types.spec import ApprovalSpec
from ael.types.type import IntType
from tests.run.helpers import code, engine, parameter, tool, unit

INT = IntType()


class Shop:
    """A program whose entry pays `n` times and asks for an approval where `asks`; counts every payment by its key."""

    def __init__(self, *, asks: bool = False, hold: Callable[[], Awaitable[None]] | None = None) -> None:
        self.paid: Counter[str] = Counter()

        async def pay(n: int, *, call: Any) -> int:
            self.paid[call.key] += 1
            if hold is not None:
                await hold()
            return n

        async def main(k: Any, n: int) -> str:
            total = 0
            for at in range(n):
                total += await k.act(0, "main.pay", (at,))
            return str(total)

        approval = ApprovalSpec("boss") if asks else None
        made = tool("pay", None, parameter("n", INT), result=INT, repeat=Repeat.NEVER, approval=approval)
        self.unit = unit(tools=[made], nodes=[code("main", main, parameter("n", INT))])
        self.externs = {"main.pay": pay}

    def execution(self, store: DatabaseStore, lease: float = 60.0, **bound: Any) -> Execution:
        return Execution(engine(self.unit, externs=self.externs, **bound), store, new_owner(), lease)


async def created(execution: Execution, *runs: str, n: int = 3, tenant: str = "local") -> None:
    for run in runs:
        header, input = execution.engine.header("main", {"n": n}, Options(run=run, caller="ann", tenant=tenant))
        assert await execution.store.create(header, input, {"budget": {}, "trace_parent": None})
