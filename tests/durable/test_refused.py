"""What happens to runs that a worker cannot go on with: other bindings, damage, another program; each is told, and none holds up others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ael.durable.decide import DecideError, find, settle
from ael.durable.execute import Execution, new_owner
from ael.durable.pinned import Bound
from ael.durable.worker import Refused, Worker
from ael.journal.database import DatabaseStore
from ael.journal.durable import Damaged, Held, RunState, StoreError
from ael.journal.entry import Ending, Kind, State
from ael.run.bindings import Options
from ael.types.signature import Repeat
from ael.types.spec import ApprovalSpec
from ael.types.type import IntType
from tests.durable.shop import Shop, created
from tests.journal.places import Place
from tests.run.helpers import code, engine, parameter, tool, unit

INT = IntType()


class Doubtful:
    """Pays, and asks about another payment, beside each other. The first payment's reply is lost where its process dies in it."""

    def __init__(self) -> None:
        self.inside = asyncio.Event()
        self.sent: list[int] = []

        async def pay(n: int) -> int:
            self.sent.append(n)
            self.inside.set()
            await asyncio.Event().wait()
            return n

        async def ask(n: int) -> int:
            return n

        async def main(k: Any) -> int:
            async def branch(k: Any, n: int) -> int:
                return int(await k.act(0, "main.pay" if n == 1 else "main.ask", (n,)))

            return sum(await k.parallel_for(0, [1, 2], None, branch))

        tools = [
            tool("pay", None, parameter("n", INT), result=INT, repeat=Repeat.NEVER),
            tool("ask", None, parameter("n", INT), result=INT, repeat=Repeat.NEVER, approval=ApprovalSpec("boss")),
        ]
        self.unit = unit(tools=tools, nodes=[code("main", main, result=INT)])
        self.externs = {"main.pay": pay, "main.ask": ask}

    def execution(self, store: DatabaseStore, price: str) -> Execution:
        made = engine(self.unit, externs=self.externs, parks_uncertain=True)
        return Execution(made, store, new_owner(), 60.0, Bound("shop", "default", {"price of fast": price}))


async def doubt(store: DatabaseStore, made: Doubtful) -> None:
    """A run that waits for an approval, and for somebody who settles a payment whose process died."""
    first = made.execution(store, "in 1")
    held = first.fresh("main", {}, Options(run="r1"))
    run = first.start(held)
    await made.inside.wait()
    while not any(entry.kind is Kind.APPROVAL for entry in held.journal.entries()):
        await asyncio.sleep(0.01)
    await store.entries("r1")  # what was written before is committed
    held.journal.hand_back()
    run.cancel("the process dies")
    await run.outcome()
    await first.record(held, run, await run.outcome())
    await Worker({"program": first}, 1).until_idle()
    row = await store.find("r1")
    assert row is not None
    assert row.state is RunState.PARKED
    assert "uncertain at " in row.waits
    assert "approval at " in row.waits


async def approved(store: DatabaseStore) -> None:
    [asked] = [one for one in await store.entries("r1") if one.kind is Kind.APPROVAL]
    value = {"approved": True, "by": "boss", "reason": "", "arguments": None}
    assert await store.answer("r1", asked._replace(state=State.ANSWERED, value=value, ending=Ending.VALUE))


@pytest.mark.feature("A8.10", "B8", "K26")
def test_what_is_uncertain_can_be_settled_after_a_worker_refused_the_run(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        made = Doubtful()
        await doubt(store, made)
        await approved(store)
        call = await find(store, "r1", None, "uncertain")
        assert call.arguments == {"n": 1}, "while it is ready for the next worker"
        other = made.execution(store, "in 2")
        left: list[Any] = []
        await Worker({"program": other}, 1, told=lambda row, outcome: left.append(outcome)).until_idle()
        assert isinstance(left[0], Refused)
        row = await store.find("r1")
        assert row is not None
        assert row.waiting.startswith("uncertain at ")
        assert "a worker with the bindings that it began under" in row.waiting
        await settle(store, await find(store, "r1", None, "uncertain"), result=1, failed=False, by="ann", now=1.0)
        with pytest.raises(DecideError):
            await settle(store, call, result=2, failed=False, by="bob", now=1.0)
        last = Worker({"program": made.execution(store, "in 1")}, 1)
        await last.until_idle()
        row = await store.find("r1")
        assert row is not None
        assert row.outcome["value"] == 3  # type: ignore[index]
        assert made.sent == [1], "what has no key is sent once"

    place.run(body)


@pytest.mark.feature("A12.9", "K29")
@pytest.mark.parametrize(
    "what",
    [
        "DELETE FROM ael_record WHERE place = (SELECT (number << 26) | 1 FROM ael_run WHERE run = 'r1')",
        "UPDATE ael_run SET input = pinned, pinned = {bytes} WHERE run = 'r1'",
    ],
)
def test_a_damaged_run_is_put_aside_and_holds_up_nobody(place: Place, what: str) -> None:
    async def body(store: DatabaseStore) -> None:
        said: list[str] = []
        shop = Shop()
        execution = shop.execution(store)
        held: Held = execution.fresh("main", {"n": 2}, Options(run="r1"))
        run = execution.start(held)
        await run.outcome()
        await store.release("r1", held.row.epoch)
        await created(execution, "r2", "r3")
        broken = "x'7b'" if place.path is not None else "'\\x7b'::bytea"
        place.look(lambda db: db.change(what.format(bytes=broken)))
        worker = Worker({"program": execution}, 1, trouble=lambda code, sentence: said.append(sentence))
        await worker.until_idle()
        assert worker.counts.ended == 2, f"the runs behind it: {said}"
        [row] = await store.rows(states=[RunState.DEAD])
        assert row.header.run == "r1"
        assert "is damaged" in row.waits
        await worker.look()
        assert "the run r1 is dead" in said[0]
        assert await store.revive("r1")
        with pytest.raises(Damaged):
            await store.hold("r1", "w", 60.0)

    place.run(body)


@pytest.mark.feature("A12.9")
def test_a_row_that_no_store_wrote_is_told(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        await created(Shop().execution(store), "r1")
        place.look(lambda db: db.change("UPDATE ael_run SET state = 'asleep'"))
        with pytest.raises(StoreError, match="the run r1 is damaged"):
            await store.find("r1")

    place.run(body)


@pytest.mark.feature("A12.2")
def test_a_program_that_somebody_works_on_is_not_reported(place: Place) -> None:
    """Fleets of several programs share a database: what waits there for a slot has its workers."""

    async def body(store: DatabaseStore) -> None:
        said: list[str] = []
        execution = Shop().execution(store)
        for run, program in (("a1", "theirs"), ("a2", "theirs"), ("old", "gone")):
            header, input = execution.engine.header("main", {"n": 1}, Options(run=run))
            await store.create(header._replace(program=program), input, {"budget": {}, "trace_parent": None})
        assert len(await store.claim("their worker", ["theirs"], 1, 60.0)) == 1
        worker = Worker({"program": execution}, 1, trouble=lambda code, sentence: said.append(sentence))
        await worker.look(at_once=True)
        assert len(said) == 1
        assert "nobody takes the run old" in said[0]

    place.run(body)


@pytest.mark.feature("A12.11")
def test_a_defect_in_one_run_stops_no_worker(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(store: DatabaseStore) -> None:
        shop = Shop()
        execution = shop.execution(store)
        await created(execution, "r1", "r2")
        left: dict[str, Any] = {}
        worker = Worker({"program": execution}, 1, told=lambda row, outcome: left.setdefault(row.header.run, outcome))
        record = Execution.record

        async def broken(self: Execution, held: Held, run: Any, outcome: Any) -> None:
            if held.row.header.run == "r1":
                raise ZeroDivisionError("a defect")
            await record(self, held, run, outcome)

        monkeypatch.setattr(Execution, "record", broken)
        await worker.until_idle()
        assert isinstance(left["r1"], ZeroDivisionError)
        assert worker.counts.ended == 1
        row = await store.find("r1")
        assert row is not None
        assert row.state is RunState.RUNNING, "its lease ends, and somebody else gets it"

    place.run(body)
