"""Runs that end while something in them is open: nothing stays unanswered, and a doubt about an effect is told (K26, K27, K39)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ael.durable.execute import Execution, new_owner
from ael.journal.database import DatabaseStore
from ael.journal.durable import RunState
from ael.journal.entry import Ending, State
from ael.run.bindings import Options
from ael.run.outcome import Suspended
from ael.types.fault import Fault, FaultKind
from ael.types.signature import Repeat
from ael.types.spec import ApprovalSpec
from tests.journal.places import Place
from tests.run.helpers import code, engine, fault_of, tool, unit, value_of


class Bank:
    """A program that pays without a key, asks for another payment beside it, and may fail in a third branch."""

    def __init__(self, *branches: str) -> None:
        self.sent: list[str] = []
        self.under_way = asyncio.Event()

        async def pay() -> str:
            self.sent.append("pay")
            self.under_way.set()
            await asyncio.sleep(3600)
            return "paid"

        async def ask() -> str:
            self.sent.append("ask")
            return "asked"

        async def fails() -> str:
            raise Fault(FaultKind.UNAVAILABLE, "gone", final=True)

        async def main(k: Any) -> str:
            try:
                await k.parallel_for(0, list(branches), None, lambda k, name: k.act(0, f"main.{name}", ()))
            except Fault as fault:
                return fault.kind.value
            return "done"

        tools = [
            tool("pay", None, repeat=Repeat.NEVER),
            tool("ask", None, repeat=Repeat.NEVER, approval=ApprovalSpec("boss")),
            tool("fails", None),
        ]
        self.unit = unit(tools=tools, nodes=[code("main", main)])
        self.externs = {"main.pay": pay, "main.ask": ask, "main.fails": fails}

    def execution(self, store: DatabaseStore) -> Execution:
        return Execution(engine(self.unit, externs=self.externs), store, new_owner(), 60.0)


async def unanswered(store: DatabaseStore) -> list[str]:
    last = {entry.path: entry for entry in await store.entries("r1")}
    return [path for path, entry in last.items() if entry.state is not State.ANSWERED and not path.startswith("end@")]


@pytest.mark.feature("A8.10", "A12.12", "D2")
def test_a_run_that_is_told_to_end_after_its_worker_died_says_what_nobody_knows(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        bank = Bank("pay", "ask")
        first = bank.execution(store)
        held = first.fresh("main", {}, Options(run="r1"))
        running = first.start(held)
        await asyncio.wait_for(bank.under_way.wait(), 60)
        # The worker dies here: nothing that it still does is kept.
        held.journal.hand_back()
        running.cancel("the machine is gone")
        await running.outcome()
        await store.release("r1", held.row.epoch)
        assert await store.cancel("r1", "the customer has left")
        second = bank.execution(store)
        again = await store.hold("r1", second.owner, 60.0)
        assert again is not None
        outcome = fault_of(await second.conclude(again, second.start(again)))
        assert (outcome.kind, outcome.message) == (FaultKind.CANCELLED, "the customer has left")
        assert "'operation': 'pay'" in str(outcome.details["uncertain"])
        assert bank.sent == ["pay"]
        assert await unanswered(store) == []
        endings = {entry.target: entry.ending for entry in await store.entries("r1") if entry.state is State.ANSWERED}
        assert endings["main.pay"] is Ending.UNCERTAIN
        row = await store.find("r1")
        assert row is not None
        assert row.state is RunState.ENDED

    place.run(body)


@pytest.mark.feature("A12.12")
def test_what_a_parked_run_was_asked_for_is_answered_when_it_is_told_to_end(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        bank = Bank("ask")
        first = bank.execution(store)
        held = first.fresh("main", {}, Options(run="r1"))
        assert isinstance(await first.conclude(held, first.start(held)), Suspended)
        assert await store.cancel("r1", "not any more")
        again = await store.hold("r1", first.owner, 60.0)
        assert again is not None
        assert fault_of(await first.conclude(again, first.start(again))).kind is FaultKind.CANCELLED
        assert await unanswered(store) == []
        assert bank.sent == []

    place.run(body)


def test_what_waited_beside_a_failure_is_answered_when_the_run_ends(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        bank = Bank("ask", "fails")
        first = bank.execution(store)
        held = first.fresh("main", {}, Options(run="r1"))
        assert value_of(await first.conclude(held, first.start(held))) == "Unavailable"
        assert await unanswered(store) == []

    place.run(body)


@pytest.mark.feature("A12.12", "A8.10")
@pytest.mark.parametrize("waits", [False, True])
def test_a_cancel_between_the_act_and_its_record_leaves_one_answer(place: Place, waits: bool) -> None:
    """K27: the result where it is there, else the doubt; never both, and never the act again."""

    async def body(store: DatabaseStore) -> None:
        paid: list[str] = []
        runs: list[Any] = []

        async def pay() -> str:
            paid.append("paid")
            runs[0].cancel("too late")
            if waits:
                await asyncio.sleep(0)
            return "paid"

        async def main(k: Any) -> str:
            return f"{await k.act(0, 'main.pay', ())} {await k.act(1, 'main.pay', ())}"

        made = unit(tools=[tool("pay", None, repeat=Repeat.NEVER)], nodes=[code("main", main)])
        execution = Execution(engine(made, externs={"main.pay": pay}), store, new_owner(), 60.0)
        held = execution.fresh("main", {}, Options(run="r1"))
        runs.append(execution.start(held))
        outcome = fault_of(await execution.conclude(held, runs[0]))
        assert (outcome.kind, outcome.message) == (FaultKind.CANCELLED, "too late")
        assert paid == ["paid"]
        answers = [one.ending for one in await store.entries("r1") if one.target == "main.pay" and one.state is State.ANSWERED]
        assert answers[0] is (Ending.UNCERTAIN if waits else Ending.VALUE)
        assert ("uncertain" in outcome.details) is waits
        assert await unanswered(store) == []
        assert await store.hold("r1", execution.owner, 60.0) is None, "it has ended"

    place.run(body)
