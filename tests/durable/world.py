"""The world outside of a run that is crashed: what was sent to it and what it did, over all processes of the run; and those processes.

A process that dies here is one whose store takes nothing more and whose calls go nowhere more; its tasks are dropped with its loop.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ael.durable.crash import Watched
from ael.durable.decide import decide, open_in, settle
from ael.durable.execute import Execution
from ael.journal.database import DatabaseStore
from ael.journal.durable import RunState, StoreError
from ael.journal.entry import Ending, Entry, Kind, State
from ael.journal.journal import kept
from ael.journal.runs import find
from ael.journal.writer import BATCH, Connection, Database
from ael.run.bindings import Bindings, BoundModel, Options
from ael.run.engine import Engine
from ael.run.outcome import Outcome, Suspended, Value
from ael.run.ports import CallContext, ModelTurn, Opaque
from ael.run.store import MemoryStore
from ael.run.stored import Kept, Origin
from tests.durable.programs import EXTERNS, UNREPEATABLE, Program
from tests.journal.places import Place
from tests.run.fakes import FakeConversation, call, calls, model, said

LEASE = 3_600.0
_VISIT = re.compile(r"\bm\d+\b")


NEVER: frozenset[int] = frozenset()


@dataclass
class Outside:
    """What was sent, by the place of the call, and what took effect.

    `crash_records`, `crash_acts`, `crash_statements`: where a process dies, after a commit, after the outside did something, or before
    a statement of a transaction.
    """

    stage: Stage
    crash_records: frozenset[int] = NEVER
    crash_acts: frozenset[int] = NEVER
    crash_statements: frozenset[int] = NEVER
    records: int = 0
    acts: int = 0
    statements: int = 0
    sent: dict[str, list[str]] = field(default_factory=dict)
    done: dict[str, tuple[str, int]] = field(default_factory=dict)
    by_place: set[str] = field(default_factory=set)
    again: list[str] = field(default_factory=list)
    kept: MemoryStore = field(default_factory=MemoryStore)
    settled_as_failed: int = 0
    crashes: int = 0

    def happened(self, what: str, *told: Any) -> None:
        """Something came here: it was `sent` (place, key), was `done` (key, name, number, place), or was asked `again` (name)."""
        match what:
            case "sent":
                self.sent.setdefault(told[0], []).append(told[1])
            case "done":
                key, name, number, place = told
                # The other side takes a key once; without one it would do it again.
                self.done.setdefault(key if name not in UNREPEATABLE else f"{key} {len(self.done)}", (name, number))
                self.by_place.add(place)
            case _:
                self.again.append(told[0])

    async def put(self, key: str, value: object, token: str, origin: Origin | None) -> None:
        """The store of the program takes a value, once for a token."""
        await self.kept.put(key, value, token, origin)

    def live_on(self) -> None:
        """No process dies any more."""
        self.crash_records = self.crash_acts = self.crash_statements = NEVER

    def death(self, life: Life) -> None:
        """How a process dies here: its store takes nothing more, and its calls go nowhere more."""
        life.dead = True
        self.crashes += 1
        life.loop.call_soon_threadsafe(life.died.set)

    @property
    def effects(self) -> Counter[tuple[str, int]]:
        """What took effect: the target and the number of each."""
        return Counter(self.done.values())


class Life:
    """One process of a run."""

    def __init__(self, outside: Outside) -> None:
        self.outside = outside
        self.dead = False
        self.loop = asyncio.get_running_loop()
        self.died = asyncio.Event()
        self.answered: set[str] = set()

    def committed(self) -> None:
        self.outside.records += 1
        if self.outside.records in self.outside.crash_records:
            self.outside.death(self)

    def states(self) -> None:
        """A statement is to be carried out. A process that dies before it never commits what came before it in its transaction."""
        self.outside.statements += 1
        if self.outside.statements in self.outside.crash_statements:
            self.outside.death(self)
        if self.dead:
            raise StoreError("this process is dead")

    async def alive(self) -> None:
        """What a dead process would do next never comes."""
        if self.dead:
            await asyncio.Event().wait()

    async def acted(self) -> None:
        """The outside has done something; nothing of that is recorded yet."""
        self.outside.acts += 1
        if self.outside.acts in self.outside.crash_acts:
            self.outside.death(self)
        await self.alive()


class Stage:
    """A program bound to the outside of whichever process lives at the moment: what is compiled of it holds no run, and is kept."""

    def __init__(self, program: Program, parks_uncertain: bool = False) -> None:
        self.program = program
        self.life: Life | None = None
        bindings = Bindings(
            models={"main.fast": BoundModel(model(self._turn, forever=True, max_output=100), "m")},
            stores={"main.kept": _Store(self)},
            externs={f"main.{name}": self._extern(name) for name in EXTERNS},
            parks_uncertain=parks_uncertain,
        )
        self.engine = Engine(program.unit, bindings)

    @property
    def living(self) -> Life:
        assert self.life is not None
        return self.life

    def _extern(self, name: str) -> Any:
        async def act(n: int, *, call: CallContext) -> int:
            life = self.living
            await life.alive()
            life.outside.happened("sent", call.step, call.key)
            life.outside.happened("done", call.key, name, n, call.step)
            await asyncio.sleep(0)
            await life.acted()
            return n * 2

        return act

    async def _turn(self, conversation: FakeConversation, number: int) -> ModelTurn:
        life = self.living
        await life.alive()
        said_so_far = [turn for who, turn in conversation.messages if who == "model"]
        found = _VISIT.search(str(conversation.messages[0][1]))
        assert found is not None
        visit = found[0]
        for at, turn in enumerate(said_so_far):
            assert isinstance(turn, ModelTurn)
            assert turn.opaque == _opaque(visit, at), "opaque parts come back byte for byte (K37)"
        at = len(said_so_far)
        name = f"{visit}/{at}"
        if name in life.answered:
            life.outside.happened("again", name)
        await life.acted()
        turns = self.program.script[visit]
        if at >= len(turns):
            return said(f"{name} done")
        proposed = [call(tool, {"n": n}, f"{name}-{index}") for index, (tool, n) in enumerate(turns[at])]
        return calls(*proposed, text=name, opaque=_opaque(visit, at))


def _opaque(visit: str, at: int) -> Opaque:
    return Opaque("fake", ({"signature": f"{visit}/{at}", "bytes": "\ud7ff\u0000é", "n": [1, 2.5, None]},))


class _Store(MemoryStore):
    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def get(self, key: str) -> Kept | None:
        life = self._stage.living
        await life.alive()
        return await life.outside.kept.get(key)

    async def put(self, key: str, value: object, token: str, origin: Origin | None = None) -> None:
        life = self._stage.living
        await life.alive()
        await life.outside.put(key, value, token, origin)
        await life.acted()


class Mortal(Watched):
    """The database of a process that may be dead."""

    def __init__(self, inner: Database, life: Life) -> None:
        super().__init__(inner, life.committed)
        self._life = life

    def begin(self) -> None:
        if self._life.dead:
            raise StoreError("this process is dead")
        super().begin()

    def rows(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        self._life.states()
        return super().rows(query, *parameters)

    def change(self, query: str, *parameters: object) -> int:
        self._life.states()
        return super().change(query, *parameters)


def connected(place: Place, life: Life) -> Mortal:
    """A connection that does not wait for the disk: no machine goes down here."""
    if life.dead:
        raise StoreError("this process is dead")
    database = place.database()
    database.change("PRAGMA synchronous = OFF" if place.kind == "sqlite" else "SET synchronous_commit = off")
    return Mortal(database, life)


async def lives(place: Place, outside: Outside, run: str, owner: str = "w") -> Outcome | None:
    """One process: start the run or go on with it. None when it died."""
    life = outside.stage.life = Life(outside)
    life.loop.set_exception_handler(lambda loop, context: None)
    # Where it dies between two commits, a transaction is to hold more than one record.
    store = DatabaseStore(lambda: connected(place, life), batch=BATCH if outside.crash_statements else 1)
    try:
        execution = Execution(outside.stage.engine, store, owner, LEASE)
        if await store.find(run) is None:
            held = execution.fresh("main", {}, Options(run=run, caller="ann"))
        else:
            claimed = await store.hold(run, owner, LEASE)
            if claimed is None:
                row = await store.find(run)
                assert row is not None
                assert row.state is RunState.PARKED, "the run is lost"
                return Suspended((), None)
            held = claimed
        life.answered = answered_turns(held.journal.entries())
        ending = asyncio.ensure_future(execution.conclude(held, execution.start(held)))
        dying = asyncio.ensure_future(life.died.wait())
        await asyncio.wait({ending, dying}, return_when=asyncio.FIRST_COMPLETED)
        dying.cancel()
        return None if life.dead else ending.result()
    except StoreError:
        assert life.dead
        return None
    finally:
        await store.close()


def answered_turns(entries: Iterable[Entry]) -> set[str]:
    """The turns that a journal has whole, by the name that they carry."""
    found: set[str] = set()
    for entry in entries:
        if entry.kind is Kind.MODEL and entry.ending is Ending.VALUE:
            assert isinstance(entry.value, Mapping)
            found.add(str(entry.value["text"]).removesuffix(" done"))
    return found


async def answer(store: DatabaseStore, outside: Outside, run: str) -> int:
    """Answer as people do what a parked run waits for; how many answers that were."""
    row = await store.find(run)
    assert row is not None
    asked = open_in(row, await store.entries(run))
    for one in asked:
        if one.kind == "approval":
            assert isinstance(one.arguments, Mapping)
            approved = one.arguments["n"] % 3 != 0
            await decide(
                store, one, approved=approved, by="ann", reason="" if approved else "no", arguments=None,
                members={"main.boss": ["ann"], "boss": ["ann"]}, now=1.0,
            )  # fmt: skip
        else:
            assert isinstance(one.arguments, Mapping)
            happened = one.step in outside.by_place
            outside.settled_as_failed += not happened
            await settle(store, one, result=one.arguments["n"] * 2, failed=not happened, by="ann", now=1.0)
    return len(asked)


Process = Callable[[Place, Outside, str], Outcome | None]
"""One process of a run, to its end or its death."""


def live(place: Place, outside: Outside, run: str) -> Outcome | None:
    """A process that is none: what is in its memory goes with its event loop."""
    return asyncio.run(lives(place, outside, run))


def to_the_end(place: Place, outside: Outside, run: str, process: Process = live) -> tuple[Outcome, list[Entry]]:
    """A run over as many processes as it takes; people answer what it waits for."""
    for _ in range(60):
        outcome = process(place, outside, run)
        if outcome is None:
            if seen_in(place, run)[0] is not RunState.ENDED:
                continue
            outside.live_on()
            return Value(None, None), seen_in(place, run)[1]
        if isinstance(outcome, Suspended):
            asyncio.run(_answered(place, outside, run))
            continue
        state, entries = seen_in(place, run)
        assert state is RunState.ENDED or not entries
        return outcome, entries
    raise AssertionError("the run does not end")


async def _answered(place: Place, outside: Outside, run: str) -> None:
    async with place.open() as store:
        assert await answer(store, outside, run), "a parked run waits for something"


def seen_in(place: Place, run: str) -> tuple[RunState | None, list[Entry]]:
    """The state of a run, and its records."""

    def work(db: Connection) -> tuple[RunState | None, list[Entry]]:
        row = find(db, run)
        return None if row is None else row.state, [entry for _, entry in kept(db, run)]

    return place.look(work)


def verify(outside: Outside, entries: list[Entry]) -> None:
    """What has to hold of every run that has ended, however often its process died."""
    assert not outside.again, f"finished model turns were asked again: {outside.again}"
    last = {entry.path: entry for entry in entries}
    for path, keys in outside.sent.items():
        name = last[path].target.removeprefix("main.")
        assert len(set(keys)) == 1, f"{path} was sent under {set(keys)}"
        assert name not in UNREPEATABLE or len(keys) == 1, f"{path} has no key, and was sent {len(keys)} times"
    for path, entry in last.items():
        assert entry.state is State.ANSWERED or entry.kind is Kind.CANCEL, f"{path} was never answered"
    keys_by_place = Counter(keys[0] for path, keys in outside.sent.items())
    for path, keys in outside.sent.items():
        if last[path].target != "main.post":
            assert keys_by_place[keys[0]] == 1, "two calls share a key"


def uncertain(entries: list[Entry]) -> bool:
    """Whether the run met a call of which nobody knows if it took effect."""
    return any(entry.ending is Ending.UNCERTAIN for entry in entries)
