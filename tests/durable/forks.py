"""A small program whose runs are forked, and its runs."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from ael.durable.execute import Execution, new_owner
from ael.durable.fork import ForkJournal
from ael.journal.database import DatabaseStore
from ael.journal.durable import RunRow
from ael.run.bindings import Options
from ael.run.outcome import Outcome
from ael.run.store import MemoryStore
from ael.types.signature import Repeat
from ael.types.spec import ApprovalSpec, StoreSpec
from ael.types.type import IntType
from tests.run.helpers import code, engine, node, parameter, tool, unit

INT = IntType()


class World:
    """Three calls: `rate` only reads (it is `parallel`), `pay` is `never`, `mail` may be sent again; what each was called with is kept."""

    def __init__(self, main: Callable[..., Coroutine[Any, Any, Any]], *, approval: bool = False, digest: str = "program") -> None:
        self.seen: dict[str, list[int]] = {"rate": [], "pay": [], "mail": []}
        self.rate = 2
        self.notes = MemoryStore()

        async def rate(n: int) -> int:
            self.seen["rate"].append(n)
            return n * self.rate

        async def pay(n: int) -> int:
            self.seen["pay"].append(n)
            return n + 100

        async def mail(n: int) -> int:
            self.seen["mail"].append(n)
            return n

        boss = ApprovalSpec("boss") if approval else None
        tools = [
            tool("rate", None, parameter("n", INT), result=INT, parallel=True),
            tool("pay", None, parameter("n", INT), result=INT, repeat=Repeat.NEVER, approval=boss),
            tool("mail", None, parameter("n", INT), result=INT, repeat=Repeat.IDEMPOTENT),
        ]
        nodes = [code("main", main, parameter("n", INT), result=INT), node("answer", parameter("q"), tools=["pay"])]
        self.unit = unit(tools=tools, nodes=nodes, stores=[StoreSpec("main.notes", INT, None)], digest=digest)
        self.externs = {"main.rate": rate, "main.pay": pay, "main.mail": mail}

    def execution(self, store: DatabaseStore, *models: Any, **bound: Any) -> Execution:
        made = engine(self.unit, *models, externs=self.externs, stores={"main.notes": self.notes}, **bound)
        return Execution(made, store, new_owner(), 60.0)


async def total(k: Any, n: int) -> int:
    """A rate, a payment of it, a mail."""
    rated = await k.act(0, "main.rate", (n,))
    paid = await k.act(1, "main.pay", (rated,))
    await k.act(2, "main.mail", (paid,))
    return int(paid)


async def original(execution: Execution, given: dict[str, object] | None = None, entry: str = "main") -> RunRow:
    held = execution.fresh(entry, given or {"n": 1}, Options(run="r1", caller="ann"))
    await execution.conclude(held, execution.start(held))
    row = await execution.store.find("r1")
    assert row is not None
    return row


async def gone_on(execution: Execution, run: str) -> tuple[Outcome, ForkJournal]:
    held = await execution.store.hold(run, execution.owner, 60.0)
    assert held is not None
    started = execution.start(held)
    outcome = await execution.conclude(held, started)
    assert isinstance(started.journal, ForkJournal)
    return outcome, started.journal


async def step(store: DatabaseStore, name: str) -> str:
    return next(entry.path for entry in await store.entries("r1") if entry.target == f"main.{name}")
