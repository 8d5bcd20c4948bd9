"""A store of runs under random events: workers that die at a random place, stall and are taken over, people who answer (Hypothesis)."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, precondition, rule

from ael.data import replace
from ael.durable.decide import DecideError
from ael.durable.execute import Execution, Taken
from ael.journal.database import DatabaseStore
from ael.journal.durable import HeldRun, RunState, StoreError
from ael.journal.entry import Entry
from ael.run.bindings import Options
from tests.durable.programs import program
from tests.durable.world import LEASE, Life, Outside, Stage, answer, answered_turns, connected, verify
from tests.journal.places import Place

PROGRAMS = tuple(
    program(plan)
    for plan in (
        [("call", "pay"), ("call", "send"), ("keep", None)],
        [("think", [["send", "pay"], ["ask"]]), ("id", None)],
        [("beside", ["book", "ask", "nest"]), ("call", "deep")],
        [("each", "post"), ("call", "ask"), ("think", [["nest", "post"]])],
    )
)


seen: Counter[str] = Counter()
"""How often what the suite is about happened."""


class Workers(RuleBasedStateMachine):
    """Runs of one store. A worker is an owner's name; its process lives as long as one rule, or stalls in the middle of one."""

    runs = Bundle("runs")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="ael-stateful-"))
        self.place = Place("sqlite", self.folder / "runs.db", "")
        self.outside: dict[str, Outside] = {}

    @precondition(lambda self: len(self.outside) < 3)
    @rule(target=runs, number=st.integers(0, len(PROGRAMS) - 1), doubt=st.booleans())
    def start(self, number: int, doubt: bool) -> str:
        """Somebody starts a run, and leaves it to whoever works."""
        run = f"r{len(self.outside)}"
        self.outside[run] = outside = Outside(Stage(PROGRAMS[number], doubt))

        async def body(store: DatabaseStore) -> None:
            execution = Execution(outside.stage.engine, store, "starter", LEASE)
            header, input = outside.stage.engine.header("main", {}, Options(run=run, caller="ann"))
            assert await store.create(header, input, execution.pinned(Options()))

        self.place.run(body)
        return run

    @rule(run=runs, owner=st.sampled_from(["w1", "w2"]), records=st.integers(1, 15), acts=st.integers(1, 5), lease=st.booleans())
    def work(self, run: str, owner: str, records: int, acts: int, lease: bool) -> None:
        """A worker goes on with a run until it ends, parks, or its process dies. Its lease holds, or has run out when it dies."""
        outside = self.outside[run]
        outside.crash_records = frozenset({outside.records + records})
        outside.crash_acts = frozenset({outside.acts + acts})
        asyncio.run(_work(self.place, outside, run, owner, LEASE if lease else 0.0))

    @rule(run=runs, after=st.integers(1, 20))
    def stall(self, run: str, after: int) -> None:
        """A worker stands still until another has gone on with its run, and then goes on itself: nothing of that is kept."""
        asyncio.run(_stall(self.place, self.outside[run], run, after))

    @rule(run=runs)
    def people(self, run: str) -> None:
        """Whoever is asked answers."""

        async def body(store: DatabaseStore) -> None:
            row = await store.find(run)
            if row is not None and row.state is RunState.PARKED:
                try:
                    await answer(store, self.outside[run], run)
                except DecideError:
                    raise AssertionError("what is open can be answered") from None

        self.place.run(body)

    def teardown(self) -> None:
        """In the end all runs end, and each of them keeps its promises."""
        try:
            for run, outside in self.outside.items():
                outside.live_on()
                for _ in range(40):
                    if asyncio.run(_work(self.place, outside, run, "last", LEASE, expired=True)):
                        break
                    self.people_of(run)
                else:
                    raise AssertionError(f"{run} does not end")
                verify(outside, self.entries(run))
                seen["ends"] += 1
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def people_of(self, run: str) -> None:
        async def body(store: DatabaseStore) -> None:
            await answer(store, self.outside[run], run)

        self.place.run(body)

    def entries(self, run: str) -> list[Entry]:
        found: list[Entry] = []

        async def body(store: DatabaseStore) -> None:
            found.extend(await store.entries(run))

        self.place.run(body)
        return found


async def _work(place: Place, outside: Outside, run: str, owner: str, lease: float, *, expired: bool = False) -> bool:
    """Whether the run has ended."""
    life = outside.stage.life = Life(outside)
    life.loop.set_exception_handler(lambda loop, context: None)
    store = DatabaseStore(lambda: connected(place, life), batch=1)
    try:
        if expired:
            _expire(place, run)
        held = await store.hold(run, owner, lease)
        if held is not None:
            life.answered = answered_turns(held.journal.entries())
            execution = Execution(outside.stage.engine, store, owner, LEASE)
            ending = asyncio.ensure_future(execution.conclude(held, execution.start(held)))
            dying = asyncio.ensure_future(life.died.wait())
            await asyncio.wait({ending, dying}, return_when=asyncio.FIRST_COMPLETED)
            dying.cancel()
            if life.dead:
                seen["deaths"] += 1
                return False
            ending.result()
        row = await store.find(run)
        return row is not None and row.state is RunState.ENDED
    except StoreError:
        assert life.dead
        return False
    finally:
        await store.close()


def _expire(place: Place, run: str) -> None:
    """Time goes by: the lease of whoever had the run is over."""
    database = place.database()
    database.begin()
    database.change("UPDATE ael_run SET lease = 0 WHERE run = ?", run)
    database.commit()
    database.close()


class Slow:
    """The journal of a worker that stands still where it would go on after a commit, once `after` records are written."""

    def __init__(self, inner: HeldRun, after: int, reached: asyncio.Event, gate: asyncio.Event) -> None:
        self._inner = inner
        self._most = len(inner.entries()) + after
        self._reached = reached
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def append(self, entry: Entry) -> Awaitable[None] | None:
        waiting = self._inner.append(entry)
        if len(self._inner.entries()) < self._most or waiting is None:
            return waiting

        async def later() -> None:
            self._reached.set()
            await self._gate.wait()
            await waiting

        return asyncio.ensure_future(later())


async def _stall(place: Place, outside: Outside, run: str, after: int) -> None:
    """The first worker stops where it would write record `after`; what was started under its lease may still go out, once."""
    gate, reached = asyncio.Event(), asyncio.Event()
    life = outside.stage.life = Life(outside)
    life.loop.set_exception_handler(lambda loop, context: None)
    outside.live_on()
    first, second = (DatabaseStore(lambda: connected(place, life), batch=1) for _ in range(2))
    try:
        _expire(place, run)
        held = await first.hold(run, "slow", LEASE)
        if held is None:
            return
        life.answered = answered_turns(held.journal.entries())
        slow = Execution(outside.stage.engine, first, "slow", LEASE)
        stalled = replace(held, journal=Slow(held.journal, after, reached, gate))
        ending = asyncio.ensure_future(slow.conclude(stalled, slow.start(stalled)))
        stuck = asyncio.ensure_future(reached.wait())
        await asyncio.wait({ending, stuck}, return_when=asyncio.FIRST_COMPLETED)
        if not ending.done():
            _expire(place, run)
            taken = await second.hold(run, "quick", LEASE)
            if taken is not None:
                quick = Execution(outside.stage.engine, second, "quick", LEASE)
                await quick.conclude(taken, quick.start(taken))
                before = await second.entries(run)
                gate.set()
                seen["takeovers"] += 1
                with suppress(Taken, StoreError):
                    await ending
                assert await second.entries(run) == before, "a worker that was taken over writes nothing more"
        gate.set()
        stuck.cancel()
        await asyncio.wait({ending})
    finally:
        await first.close()
        await second.close()
