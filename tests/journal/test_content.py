"""The content of ended runs is forgotten by itself: their outline stays, and what is alive keeps all that it needs (feature A16.6)."""

from __future__ import annotations

import time

import pytest

from ael.data import replace
from ael.durable.execute import Execution, new_owner
from ael.journal.content import FORGOTTEN, forget
from ael.journal.database import DatabaseStore
from ael.journal.durable import RunState
from ael.journal.entry import Ending, Entry, Kind, State
from ael.observe.effect import attempts
from ael.observe.kept import Kept, trace_of
from ael.run.bindings import Options
from ael.run.masker import Masker
from ael.run.outcome import Suspended
from ael.run.ports import Decision, ModelError, ModelErrorKind, Usage
from ael.types.spec import ApprovalSpec
from ael.types.type import IntType
from tests.journal.places import Place
from tests.run.fakes import FakeApprover, call, calls, model, said
from tests.run.helpers import engine, node, parameter, tool, unit, value_of

WORD = "sesame-street"
"""Stands in everything that is content: nothing that is kept afterwards may hold it."""


async def _pay(n: int, text: str) -> str:
    if n == 0:
        raise ConnectionError(WORD)
    return f"{WORD} {n}"


def _execution(store: DatabaseStore, *, approver: FakeApprover | None = None) -> Execution:
    boss = ApprovalSpec("boss")
    pay = tool("pay", None, parameter("n", IntType()), parameter("text"), approval=boss, taints=True)
    program = unit(tools=[pay], nodes=[node("main", parameter("q"), tools=["pay"])])
    busy = ModelError(ModelErrorKind.UNAVAILABLE, WORD, usage=Usage(input=7))
    turns = (
        busy,
        calls(call("pay", {"n": 1, "text": WORD}), call("pay", {"n": 0, "text": WORD}, id="c2"), text=f"I say {WORD}."),
        said(f"the end: {WORD}"),
    )
    made = engine(program, model(*turns), externs={"main.pay": _pay}, approver=approver)
    return Execution(made, store, new_owner(), 60.0)


def _boss() -> FakeApprover:
    return FakeApprover(Decision(True, "bo", WORD), Decision(True, "bo", WORD, {"n": 0, "text": f"{WORD}!"}))


async def _run(store: DatabaseStore, run: str, approver: FakeApprover | None) -> None:
    execution = _execution(store, approver=approver)
    held = execution.fresh("main", {"q": WORD}, Options(run=run, caller="ann"))
    outcome = await execution.conclude(held, execution.start(held))
    assert isinstance(outcome, Suspended) is (approver is None)


def _bytes(place: Place, run: str) -> bytes:
    """All that a database holds of a run."""
    database = place.database()
    try:
        database.begin()
        rows = [
            *database.rows("SELECT * FROM ael_signal WHERE run = ?", run),
            *database.rows("SELECT * FROM ael_entry WHERE run = ?", run),
            *database.rows("SELECT * FROM ael_run WHERE run = ?", run),
        ]
        database.commit()
    finally:
        database.close()
    return b"\n".join(bytes(cell) if isinstance(cell, bytes | memoryview) else str(cell).encode() for row in rows for cell in row)


def _outline(entry: Entry) -> Entry:
    return entry._replace(value=None)


@pytest.mark.feature("A16.6")
def test_what_an_ended_run_was_about_is_forgotten_and_its_outline_stays(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        await _run(store, "r1", _boss())
        before, row = await store.entries("r1"), await store.find("r1")
        assert row is not None
        assert WORD.encode() in _bytes(place, "r1")
        assert await store.forget_content(time.time() - 3_600) == 0, "it has not ended so long ago"
        assert await store.forget_content(time.time() + 60) == 1
        assert WORD.encode() not in _bytes(place, "r1")
        after, left, given = await store.entries("r1"), await store.find("r1"), await store.given("r1")
        assert [_outline(entry) for entry in after] == [_outline(entry) for entry in before]
        assert left is not None
        assert (left.state, left.ending) == (RunState.ENDED, row.ending)
        assert isinstance(left.outcome, dict)
        assert isinstance(row.outcome, dict)
        assert left.outcome == {"outcome": "value", "spent": row.outcome["spent"]}
        assert given is not None
        assert given[0] is None
        assert isinstance(given[1][FORGOTTEN], float)
        turns = [(old, new) for old, new in zip(before, after, strict=True) if old.kind is Kind.MODEL and new.value]
        assert [attempts(new, None) for _, new in turns] == [attempts(old, None) for old, _ in turns], "what each attempt took"
        decided = [entry.value for entry in after if entry.kind is Kind.APPROVAL and entry.state is State.ANSWERED]
        assert [(one["by"], one["arguments"]) for one in decided if isinstance(one, dict)] == [("bo", None), ("bo", {})]
        faults = [entry.value for entry in after if entry.ending is Ending.FAULT]
        assert faults == [{"kind": "Disconnected"}]
        assert await store.forget_content(time.time() + 60) == 0, "once is enough"

    place.run(body)


@pytest.mark.feature("A16.6", "A16.7")
def test_the_trace_of_what_is_left_says_all_but_content(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        await _run(store, "r1", _boss())
        row = await store.find("r1")
        assert row is not None
        before = trace_of(Kept(row, await store.entries("r1"), row.ended or 0.0, Masker(())))
        await store.forget_content(time.time() + 60)
        left = await store.find("r1")
        assert left is not None
        after = trace_of(Kept(left, await store.entries("r1"), row.ended or 0.0, Masker(())))
        for old, new in zip(before, after, strict=True):
            # Why somebody decided so is their own text.
            said = {word: value for word, value in old.attributes.items() if (old.kind, word) != ("approval", "reason")}
            assert replace(old, attributes=said) == new

    place.run(body)


@pytest.mark.feature("A16.6", "K27")
def test_what_can_go_on_keeps_its_content(place: Place) -> None:
    """A parked run, and a dead one, which a person may revive."""

    async def body(store: DatabaseStore) -> None:
        await _run(store, "r1", None)
        await _run(store, "r2", None)
        assert await store.forget_content(time.time() + 3_600) == 0
        assert WORD.encode() in _bytes(place, "r1")
        entries = await store.entries("r1")
        for asked in [entry for entry in entries if entry.kind is Kind.APPROVAL]:
            yes = {"approved": True, "by": "ann", "reason": "", "arguments": None}
            assert await store.answer("r1", asked._replace(state=State.ANSWERED, value=yes, ending=Ending.VALUE))
        execution = _execution(store, approver=_boss())
        held = await store.hold("r1", execution.owner, 60.0)
        assert held is not None
        made = engine(execution.engine.world.unit, model(said("went on")), externs={"main.pay": _pay}, approver=_boss())
        on = Execution(made, store, execution.owner, 60.0)
        assert value_of(await on.conclude(held, on.start(held))) == "went on"

    place.run(body)


@pytest.mark.feature("A16.6", "K29")
def test_many_runs_are_forgotten_a_few_at_a_time_and_a_damaged_one_holds_up_none(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        for number in range(5):
            await _run(store, f"r{number}", _boss())
        database = place.database()
        try:
            database.begin()
            database.change("UPDATE ael_record SET value = ? WHERE value IS NOT NULL AND path = 'main/turn1'", b"{broken")
            database.commit()
            database.begin()
            assert [forget(database, time.time() + 60), forget(database, time.time() + 60)] == [2, 2]
            database.commit()
        finally:
            database.close()
        assert await store.forget_content(time.time() + 60) == 1
        for number in range(5):
            assert WORD.encode() not in _bytes(place, f"r{number}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ael.journal.content.AT_ONCE", 2)
        place.run(body)


@pytest.mark.feature("A16.6")
def test_who_read_it_stays_known(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        await _run(store, "r1", _boss())
        await store.read_by("r1", "ann", "ael runs show")
        await store.forget_content(time.time() + 60)
        assert [(one.reader, one.what) for one in await store.readings("r1")] == [("ann", "ael runs show")]

    place.run(body)
