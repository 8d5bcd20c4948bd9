"""What a kept run asked its models and which ways it went, made again from its journal (feature A16.7).

A journal holds the hash of each request, not the request: prompts would make it grow with the square of the turns. They come back by
running the program again over the answers that are there. Nothing is sent: the world of a rehearsal has no key, no tool, no server and no
store, and its journal gives every effect up that has no answer. Each request is compared with the recorded hash, so what is shown is what
was asked. Edges, and visits of nodes that only compute, leave no record at all, and come back the same way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from ael.data import replace
from ael.durable.execute import options_of
from ael.durable.fork import Doers, ForkJournal, above, fork_of
from ael.journal.durable import RunRow
from ael.journal.entry import Ending, Entry, Header, Kind, State
from ael.journal.store import RunJournal
from ael.run.conversation import Request, Talk
from ael.run.engine import Engine
from ael.run.outcome import Outcome, Suspended, word_of
from ael.run.park import Parked, Wait
from ael.run.placed import THERE

LONGEST: Final = 10.0
"""Seconds that a run may take to go its way again: what computes for long is not computed again to look at it."""


class Rehearsal:
    """A journal that answers and keeps nothing. `open_calls`: those whose answer it holds back, so that what happened in them is seen."""

    def __init__(self, header: Header, entries: Sequence[Entry], open_calls: frozenset[str]) -> None:
        self.header = header
        self._answers = {entry.path: entry for entry in entries if entry.state is State.ANSWERED and entry.path not in open_calls}
        self._open = open_calls
        self.continued = True
        self.active = 0.0

    def last(self, path: str) -> Entry | None:
        return self._answers.get(path)

    def append(self, entry: Entry) -> Awaitable[None] | None:
        if entry.state is State.STARTED and entry.path not in self._open:
            raise Parked(Wait("time", entry.path, entry.target, entry.at, {"reason": "the record ends here"}))
        return None

    def entries(self) -> list[Entry]:
        return list(self._answers.values())

    def hurry(self) -> None:
        """Nothing waits."""


async def requests(
    engine: Engine, row: RunRow, input: Mapping[str, object], pinned: Mapping[str, object], entries: Sequence[Entry]
) -> dict[str, Request]:
    """The requests of a run by their place, as far as they can be made again. `engine`: of its program, over a world that sends nothing.

    One that does not hash to what is recorded is left out: the program was bound otherwise.
    """
    asked = {entry.path: entry.digest for entry in entries if entry.kind is Kind.MODEL}
    found = await _pass(engine, row, input, pinned, entries, frozenset())
    missing = asked.keys() - found.keys()
    if missing:
        # What a call did is not done again where its answer is there: for these the calls around them are.
        calls = {entry.path for entry in entries if entry.kind in (Kind.TOOL, Kind.OPERATION)}
        around = {path for place in missing for path in above(place)} & calls
        if around:
            found = {**await _pass(engine, row, input, pinned, entries, frozenset(around)), **found}
    return {path: one for path, one in found.items() if path in asked and asked[path] in ("", one.digest)}


async def way(
    engine: Engine, row: RunRow, input: Mapping[str, object], pinned: Mapping[str, object], entries: Sequence[Entry]
) -> bool:
    """Go the way of a run again, for the sinks of `engine` (as in `requests`) to see. False where it ends otherwise than it did, or has
    not come there within `LONGEST`.

    Calls in which something happened, and visits that a model asked for, are gone into: their answers alone would hide it. What happened in
    a visit elsewhere is in the record of somebody else.
    """
    nodes = engine.world.unit.nodes
    inside = {path for entry in entries for path in above(entry.path)}
    begun_again = {entry.path.rpartition("~")[0] for entry in entries}
    open_calls = frozenset(
        entry.path
        for entry in entries
        if entry.kind in (Kind.TOOL, Kind.OPERATION)
        and entry.ending is Ending.VALUE
        and (entry.path in inside or entry.target in nodes)
        and entry.path not in begun_again
        and not entry.path.endswith(THERE)
    )
    latest = engine.world.clock.now() + LONGEST
    outcome = await _run(engine, row, input, pinned, entries, open_calls, lambda path, talk: None, latest)
    # A run that was cancelled, or out of time, was given up where its record ends, as the rehearsal is.
    return row.ending in ("", word_of(outcome)) or (row.ending == "fault" and isinstance(outcome, Suspended))


async def _pass(
    engine: Engine,
    row: RunRow,
    input: Mapping[str, object],
    pinned: Mapping[str, object],
    entries: Sequence[Entry],
    open_calls: frozenset[str],
) -> dict[str, Request]:
    found: dict[str, Request] = {}

    def inspect(path: str, talk: Talk) -> None:
        found.setdefault(path, talk.request())

    await _run(engine, row, input, pinned, entries, open_calls, inspect)
    return found


async def _run(
    engine: Engine,
    row: RunRow,
    input: Mapping[str, object],
    pinned: Mapping[str, object],
    entries: Sequence[Entry],
    open_calls: frozenset[str],
    inspect: Callable[[str, Talk], None],
    latest: float | None = None,
) -> Outcome:
    header = row.header
    journal: RunJournal = Rehearsal(header, entries, open_calls)
    fork = fork_of(pinned)
    if fork is not None:
        journal = ForkJournal(journal, fork, Doers(engine.world.unit))
    # Times have passed since, so no deadline of the run holds.
    kept = replace(options_of(pinned), tenant=header.tenant, caller=header.caller, run=header.run, deadline=latest)
    options = replace(kept, journal=journal, park=True)
    run = engine.start(header.entry, dict(input), options)
    run.inspect = inspect
    return await run.outcome()
