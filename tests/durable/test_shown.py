"""What a person is shown of a run that waits: exactly what it waits for, with exactly what was, or would be, sent (K26, K30)."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from ael.durable.decide import decide, find, open_in, settle, waiting
from ael.durable.execute import Execution, new_owner
from ael.journal.database import DatabaseStore
from ael.run.bindings import Options
from ael.run.outcome import Suspended
from ael.types.fault import Fault, FaultKind
from ael.types.signature import Repeat
from ael.types.spec import ApprovalSpec
from ael.types.type import IntType
from tests.journal.places import Place
from tests.run.helpers import code, engine, parameter, tool, unit, value_of

NOW = 1_000_000.0


def bank(store: DatabaseStore, main: Any, pay: Any, **externs: Any) -> Execution:
    """A program whose payments need a boss; what its outcome is unknown of waits for a person."""
    tools = [
        tool("pay", None, parameter("n", IntType()), repeat=Repeat.NEVER, approval=ApprovalSpec("boss")),
        *(tool(name, None) for name in externs),
    ]
    made = unit(tools=tools, nodes=[code("main", main)])
    functions = {"main.pay": pay, **{f"main.{name}": function for name, function in externs.items()}}
    return Execution(engine(made, externs=functions, parks_uncertain=True), store, new_owner(), 60.0)


async def life(execution: Execution) -> object:
    held = await execution.store.hold("r1", execution.owner, 60.0)
    if held is None:
        held = execution.fresh("main", {}, Options(run="r1"))
    return await execution.conclude(held, execution.start(held))


async def approved(store: DatabaseStore, step: str | None, arguments: dict[str, object] | None = None) -> None:
    asked = await find(store, "r1", step, "approval")
    await decide(store, asked, approved=True, by="ann", reason="", arguments=arguments, members={"boss": ("ann",)}, now=NOW)


@pytest.mark.feature("A8.10", "A4.6")
def test_who_settles_a_call_sees_the_arguments_that_really_went_out(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        sent: list[int] = []

        async def pay(n: int) -> str:
            sent.append(n)
            raise ConnectionError("the line is dead")

        async def main(k: Any) -> str:
            return str(await k.act(0, "main.pay", (900,)))

        execution = bank(store, main, pay)
        assert isinstance(await life(execution), Suspended)
        await approved(store, None, {"n": 90})
        assert isinstance(await life(execution), Suspended)
        row = await store.find("r1")
        assert row is not None
        [open_call] = open_in(row, await store.entries("r1"))
        assert (open_call.kind, open_call.arguments, sent) == ("uncertain", {"n": 90}, [90])
        await settle(store, open_call, result="paid", failed=False, by="ann", now=NOW)
        assert value_of(await life(execution)) == "paid"  # type: ignore[arg-type]
        assert sent == [90]

    place.run(body)


@pytest.mark.feature("A4.5", "B9")
def test_what_a_branch_that_failed_had_asked_for_is_asked_no_more(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        paid: list[int] = []

        async def pay(n: int) -> str:
            paid.append(n)
            return f"paid {n}"

        async def fails() -> str:
            raise Fault(FaultKind.UNAVAILABLE, "gone", final=True)

        async def main(k: Any) -> str:
            calls = [("main.pay", (1,)), ("main.fails", ())]
            with suppress(Fault):
                await k.parallel_for(0, calls, None, lambda k, call: k.act(0, *call))
            return str(await k.act(1, "main.pay", (2,)))

        execution = bank(store, main, pay, fails=fails)
        assert isinstance(await life(execution), Suspended)
        [asked] = await waiting(store)
        assert asked.arguments == {"n": 2}
        await approved(store, None)
        assert value_of(await life(execution)) == "paid 2"  # type: ignore[arg-type]
        assert paid == [2]

    place.run(body)
