"""A run that dies and goes on after its edges were moved: what was done is not done again at the new place (D9, K26)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from ael.journal.entry import Entry, State
from ael.journal.memory import MemoryJournal
from ael.run.bindings import Options
from ael.run.outcome import Faulted, Outcome, Value
from ael.types.fault import FaultKind
from tests.transports.edged import edged
from tests.transports.places import Placed, ledger
from tests.transports.test_edges_lost import CUT

EDGES = ("line.plan -> line.look", "line.look -> line.hit")
OPTIONS = Options(caller="tester", tenant="acme", run="line")
GIVEN = {"ids": ["A", "B"]}
ITEMS = {"A": "line/look#1[0]", "B": "line/look#1[1]", "A+B": "line/hit#1"}
"""What is done outside, and the visit in which it is done."""


async def whole(program: Placed) -> Any:
    """A run that nothing disturbs."""
    program.host.engine._journal = MemoryJournal()
    run = program.host.engine.start("line", GIVEN, OPTIONS)
    outcome = await run.outcome()
    assert isinstance(outcome, Value)
    assert outcome.plain == "A+B"
    return run


async def resumed(program: Placed, first: Any, records: Sequence[Entry]) -> Outcome:
    """The run goes on over these records, in a program whose edges are elsewhere."""
    program.host.engine._journal = journal = MemoryJournal()
    left = journal.open(first.journal.header)
    for record in records:
        left.append(record)
    return await program.host.engine.start("line", GIVEN, OPTIONS).outcome()


def states(records: Sequence[Entry]) -> dict[str, State]:
    """How far what is done in each visit came: the states of the innermost calls, by the visit."""
    found = {}
    for record in records:
        visit = "/".join(record.path.split("/")[:2])
        found[visit] = record.state
    return found


async def moved(before: str, after: str, folder: Path) -> list[tuple[dict[str, State], Outcome, list[str]]]:
    """For each record of a run with its edges at `before`: how far each visit had come there, how it ended at `after`, and what was done
    in the second life."""
    told = []
    async with AsyncExitStack() as stack:
        old = await stack.enter_async_context(edged(before, folder / "old", *EDGES, main=CUT))
        first = await whole(old)
        records = first.journal.entries()
        new = await stack.enter_async_context(edged(after, folder / "new", *EDGES, main=CUT))
        places = {old.folder, new.folder, folder / "new"}
        for length in range(len(records) + 1):
            for place in places:
                (place / "ledger").unlink(missing_ok=True)
            outcome = await resumed(new, first, records[:length])
            done = [call["what"] for place in places for call in ledger(place)]
            told.append((states(records[:length]), outcome, done))
    return told


@pytest.mark.feature("A11.2", "A11.3", "A12.6", "D9", "K26")
@pytest.mark.parametrize("after", ["process", "https"])
def test_what_began_in_the_process_goes_on_there(after: str, tmp_path: Path) -> None:
    """Its effects have their records and their keys in this run: those that were done are not done anew where the deployment now says."""
    ends = set()
    for before, outcome, done in asyncio.run(moved("in process", after, tmp_path)):
        doubt = before.get(ITEMS["A+B"]) is State.STARTED
        assert isinstance(outcome, Value)
        assert outcome.plain == ("doubted it" if doubt else "A+B")
        ends.add(outcome.plain)
        for what, visit in ITEMS.items():
            state = before.get(visit)
            if state is State.ANSWERED or (doubt and what == "A+B"):
                assert what not in done, before
            elif state is not None:
                assert done.count(what) == 1, "it goes on here, where nobody knows its key"
            else:
                assert done.count(what) <= 1, "the new place knows it from the life before"
    assert ends == {"A+B", "doubted it"}


@pytest.mark.feature("A11.2", "A11.3", "A12.6", "D9", "K26")
@pytest.mark.parametrize("before", ["process", "https"])
def test_what_began_elsewhere_is_not_done_again_here(before: str, tmp_path: Path) -> None:
    """What was answered is replayed; of what was sent and not answered nobody can be asked any more, which is told and not guessed."""
    ends = set()
    for came, outcome, done in asyncio.run(moved(before, "in process", tmp_path)):
        sent = {what: came.get(visit) for what, visit in ITEMS.items()}
        for what, state in sent.items():
            assert done.count(what) <= int(state not in (State.STARTED, State.ANSWERED)), (came, what)
        if State.STARTED in (sent["A"], sent["B"]):
            assert isinstance(outcome, Faulted)
            assert outcome.kind is FaultKind.UNAVAILABLE
            assert outcome.message.endswith("was begun where the deployment placed it then, and now it has no such place")
            ends.add("told")
        else:
            assert isinstance(outcome, Value)
            assert outcome.plain == ("doubted it" if sent["A+B"] is State.STARTED else "A+B")
            ends.add(str(outcome.plain))
    assert ends == {"told", "doubted it", "A+B"}
