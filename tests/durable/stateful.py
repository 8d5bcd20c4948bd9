"""A store of runs under random events: workers that die at a random place, stall and are taken over, people who answer (Hypothesis)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable
from contextlib import suppress
from itertools import count
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, precondition, rule

from ael.data import replace
from ael.durable.decide import DecideError
from ael.durable.execute import Execution, Taken
from ael.journal.database import DatabaseStore
from ael.journal.durable import HeldRun, RunState, StoreError
from ael.journal.entry import Entry
from ael.journal.writer import BATCH
from ael.run.bindings import Options
from tests.durable.programs import PLANS, Program, program
from tests.durable.world import LEASE, Life, Outside, Stage, answer, answered_turns, connected, seen_in, verify
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


_numbers = count()


class Workers(RuleBasedStateMachine):
    """Runs of one store. A worker is an owner's name; its process lives as long as one rule, or stalls in the middle of one."""

    place: ClassVar[Place]
    seen: ClassVar[Counter[str]]
    """How often what the suite is about happened."""
    runs = Bundle("runs")

    def __init__(self) -> None:
        super().__init__()
        self.number = next(_numbers)
        self.outside: dict[str, Outside] = {}

    @precondition(lambda self: len(self.outside) < 3)
    @rule(target=runs, made=st.one_of(st.sampled_from(PROGRAMS), PLANS.map(program)), doubt=st.booleans())
    def start(self, made: Program, doubt: bool) -> str:
        """Somebody starts a run, and leaves it to whoever works."""
        run = f"r{self.number}.{len(self.outside)}"
        self.outside[run] = outside = Outside(Stage(made, doubt))

        async def body(store: DatabaseStore) -> None:
            execution = Execution(outside.stage.engine, store, "starter", LEASE)
            header, input = outside.stage.engine.header("main", {}, Options(run=run, caller="ann"))
            assert await store.create(header, input, execution.pinned(header.entry, Options()))

        self.place.run(body)
        return run

    @rule(
        run=runs,
        owner=st.sampled_from(["w1", "w2"]),
        death=st.one_of(
            st.tuples(st.just("records"), st.integers(1, 8)),
            st.tuples(st.just("acts"), st.integers(1, 3)),
            st.tuples(st.just("statements"), st.integers(1, 30)),
        ),
        lease=st.booleans(),
    )
    def work(self, run: str, owner: str, death: tuple[str, int], lease: bool) -> None:
        """A worker goes on with a run until it ends, parks, or its process dies. Its lease holds, or has run out when it dies."""
        outside = self.outside[run]
        outside.live_on()
        what, after = death
        setattr(outside, f"crash_{what}", frozenset({getattr(outside, what) + after}))
        asyncio.run(_work(self, outside, run, owner, LEASE if lease else 0.0))

    @rule(run=runs, after=st.integers(1, 20))
    def stall(self, run: str, after: int) -> None:
        """A worker stands still until another has gone on with its run, and then goes on itself: nothing of that is kept."""
        asyncio.run(_stall(self, self.outside[run], run, after))

    @rule(run=runs)
    def race(self, run: str) -> None:
        """Several workers want a run at once: one of them has it, or none."""
        asyncio.run(_race(self, run))

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
        for run, outside in self.outside.items():
            outside.live_on()
            for _ in range(40):
                if asyncio.run(_work(self, outside, run, "last", LEASE, expired=True)):
                    break
                self.people_of(run)
            else:
                raise AssertionError(f"{run} does not end")
            verify(outside, seen_in(self.place, run)[1])
            self.seen["ends"] += 1
            self.seen["crashed runs"] += outside.crashes > 0

    def people_of(self, run: str) -> None:
        async def body(store: DatabaseStore) -> None:
            await answer(store, self.outside[run], run)

        self.place.run(body)


async def _work(at: Workers, outside: Outside, run: str, owner: str, lease: float, *, expired: bool = False) -> bool:
    """Whether the run has ended."""
    place = at.place
    life = outside.stage.life = Life(outside)
    life.loop.set_exception_handler(lambda loop, context: None)
    store = DatabaseStore(lambda: connected(place, life), batch=BATCH if outside.crash_statements else 1)
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
                at.seen["deaths"] += 1
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


async def _race(at: Workers, run: str) -> None:
    stores = [DatabaseStore(at.place.database) for _ in range(3)]
    try:
        found = await asyncio.gather(*(store.hold(run, f"racer {n}", LEASE) for n, store in enumerate(stores)))
        won = [(store, held) for store, held in zip(stores, found, strict=True) if held is not None]
        assert len(won) <= 1, "two workers have one run"
        for store, held in won:
            at.seen["races"] += 1
            await store.release(run, held.row.epoch)
    finally:
        for store in stores:
            await store.close()


async def _stall(at: Workers, outside: Outside, run: str, after: int) -> None:
    """The first worker stops where it would write record `after`; what was started under its lease may still go out, once."""
    place = at.place
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
                at.seen["takeovers"] += 1
                with suppress(Taken, StoreError):
                    await ending
                assert await second.entries(run) == before, "a worker that was taken over writes nothing more"
        gate.set()
        stuck.cancel()
        await asyncio.wait({ending})
    finally:
        await first.close()
        await second.close()
