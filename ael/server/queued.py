"""A worker's side of a queue: an item becomes a run under its key, kept like every other, and its answer is written when that has ended.

An item is let go of only after its answer is there. Whatever happens in between (a worker that is killed, a broker that delivers again)
leads to the same run, which goes on over its journal: a turn of an item is acted on once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from ael.durable.execute import Execution
from ael.durable.worker import STORE, STUCK, Worker
from ael.host import Host
from ael.journal.durable import RunRow, RunState, StoreError
from ael.project.queues import QueueBinding
from ael.run.bindings import Options
from ael.run.entry import decoded
from ael.run.handed import handed_of
from ael.run.outcome import Outcome
from ael.run.permission import Layer
from ael.run.scope import Attempts
from ael.run.world import short
from ael.server.dispatch import ANOTHER, MOST_HOPS, run_id
from ael.server.ending import ending_for, fault, taint_in
from ael.server.methods import Method
from ael.services.line import Line, Taken
from ael.services.queue import Away, Item, OtherStore, TooLong, answer_text
from ael.types.fault import FaultKind
from ael.types.problem import DecodeError
from ael.types.signature import Repeat

TAKE = 1.0
"""Seconds that a worker waits for an item before it looks whether it is to stop."""
LOOK = 1.0
"""Seconds between looks at a run that another worker may have."""
PARKED = 5.0
"""Seconds after which an item whose run waits for a person or a time is looked at again."""
GIVEN_UP = "its sender gave it up"


@dataclass(frozen=True)
class Target:
    """What an item can ask for."""

    method: Method
    repeat: Repeat


@dataclass
class Counts:
    """What became of the items of a line at this worker."""

    answered: int = 0
    given_back: int = 0


class Receiver:
    """Takes the items of one line, whose runs `worker` executes. `targets` by their own names; `say` hears a code and a sentence of every
    trouble."""

    def __init__(
        self,
        name: str,
        line: Line,
        targets: Mapping[str, Target],
        binding: QueueBinding,
        host: Host,
        execution: Execution,
        worker: Worker,
        say: Callable[[str, str], None],
    ) -> None:
        self.name = name
        self.counts = Counts()
        self._line = line
        self._targets = targets
        self._binding = binding
        self._host = host
        self._execution = execution
        self._worker = worker
        self._say = say
        self._identity = ""
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended: dict[str, asyncio.Event] = {}
        self._attempts: dict[str, Attempts] = {}
        self._reported: set[str] = set()
        self._empty = asyncio.Event()
        self._lost = False
        self._stopping = False
        self._drained = False

    def stop(self) -> None:
        """Take nothing any more."""
        self._stopping = True

    def left(self, row: RunRow, outcome: Outcome | Exception) -> None:
        """A run left this worker."""
        event = self._ended.get(row.header.run)
        if event is not None:
            event.set()

    def noted(self, run: str, options: Options) -> Options:
        """The options of a run that begins here: what it leaves of its retries is told with the answer."""
        if options.attempts is not None and run in self._ended:
            self._attempts[run] = options.attempts
        return options

    async def work(self) -> None:
        """Take items until `stop`."""
        while not self._stopping:
            if not await self._fill(TAKE) and not self._tasks:
                self._empty.set()

    async def idle(self) -> None:
        """Wait until nothing is there and nothing is under way, while `work` works."""
        for _ in range(2):
            # The first look may have begun before.
            self._empty.clear()
            await self._empty.wait()

    async def drained(self) -> None:
        """The runs here have ended or were given back: so are their items."""
        self._drained = True
        for event in self._ended.values():
            event.set()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._line.close()

    async def look(self) -> None:
        """Report items that wait for programs which this worker does not hold, and end what was left behind."""
        mine = self._host.opened.program.digest
        try:
            waiting = await self._line.waiting()
            await self._left_behind()
        except (Away, StoreError):
            return
        for program, count in waiting.items():
            if not mine.startswith(program) and program not in self._reported:
                self._reported.add(program)
                whose = f"of the program {program[:12]}, and this worker has {mine[:12]}"
                self._say(STUCK, f"{count} items of the queue {self.name} wait for a worker {whose}")

    # --- items ----------------------------------------------------------------------------------------------------------

    async def _fill(self, seconds: float) -> int:
        """Take as many as there is room for; how many came."""
        free = self._binding.slots - len(self._tasks)
        if free <= 0:
            await asyncio.wait(self._tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            return 0
        try:
            if not self._identity:
                self._identity = await self._execution.store.identity()
            found = await self._line.take(free, seconds)
        except (Away, StoreError) as away:
            if not self._lost:
                self._say(STORE, f"the queue {self.name}: {away}; trying again")
            self._lost = True
            await asyncio.sleep(seconds)
            return 0
        if self._lost:
            self._lost = False
            self._say(STORE, f"the queue {self.name} is there again")
        for taken in found:
            task = asyncio.ensure_future(self._one(taken))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return len(found)

    async def _one(self, taken: Taken) -> None:
        """One item, to its answer, or until it is somebody else's."""
        try:
            await self._do(taken)
        except Away as away:
            # It comes again when its lease is over, and finds its run.
            self._say(STUCK, f"an item of the queue {self.name} was not finished: {away}")
        except StoreError as error:
            self._say(STORE, str(error))
        except Exception as error:
            self._say(STUCK, f"an item of the queue {self.name} failed inside: {type(error).__name__}: {error}")

    async def _do(self, taken: Taken) -> None:
        if self._stopping:
            await self._give_back(taken, 0.0)
            return
        item = taken.item
        if item is None:
            await self._refuse(taken, FaultKind.MALFORMED, "the item in the queue cannot be read")
            return
        target = self._targets.get(item.target)
        if target is None:
            await self._refuse(taken, FaultKind.UNAVAILABLE, f"there is no `{item.target}` here", final=True)
            return
        if len(item.via) >= MOST_HOPS:
            await self._refuse(taken, FaultKind.TOO_DEEP, f"the call came through {len(item.via)} servers, as many as it may")
            return
        try:
            begun = await taken.begin(self._identity)
        except OtherStore:
            if taken.token not in self._reported:
                self._reported.add(taken.token)
                why = "it was begun by workers that keep their runs in another store, and goes on only there"
                self._say(STUCK, f"an item of the queue {self.name} is not taken here: {why}")
            await self._give_back(taken, self._binding.lease / 1000)
            return
        if begun is None:
            return
        entry = target.method.entry
        run = run_id(item.tenant, item.caller, item.key, entry, item.turn)
        if begun > self._binding.deliveries:
            why = f"{begun - 1} workers that took it, one after the other, stopped before it ended"
            row = await self._execution.store.find(run)
            if row is not None and row.state is RunState.ENDED:
                await self._answer(taken, item, target, row)
            else:
                await self._poisoned(taken, item, target, run, why)
            return
        if await self._made(taken, item, target, run):
            self._ended[run] = asyncio.Event()
            try:
                await self._watch(taken, item, target, run)
            finally:
                del self._ended[run]
                self._attempts.pop(run, None)

    async def _made(self, taken: Taken, item: Item, target: Target, run: str) -> bool:
        """Whether there is a run of the item, which is made where there is none; else it is answered."""
        entry, store = target.method.entry, self._execution.store
        try:
            given = decoded(self._host.engine.input(entry), item.body)
        except DecodeError as error:
            await self._refuse(taken, FaultKind.BAD_ARGUMENTS, f"the arguments do not fit: {error.text}", final=True)
            return False
        row = await store.find(run)
        if row is not None and (row.header.entry, row.header.input) != (entry, given.digest):
            await self._refuse(taken, FaultKind.BAD_ARGUMENTS, ANOTHER, final=True)
            return False
        if row is None and item.left <= 0:
            await self._refuse(taken, FaultKind.TIMEOUT, "its time was over before a worker took it")
            return False
        if row is None:
            await self._execution.create(entry, given, self._options(item, run))
        return True

    def _options(self, item: Item, run: str) -> Options:
        # Not a caller's layer: this deployment may name other callers, and none of them is whom it comes from.
        left = None if item.grants is None else Layer("the sender of the item", item.grants)
        return Options(
            tenant=item.tenant,
            caller=item.caller,
            tenant_layer=left,
            deadline=self._host.bindings.clock.now() + item.left,
            run=run,
            trace_parent=item.trace_parent or None,
            key=item.key,
            via=(*item.via, self.name),
            attempts=None if item.attempts is None else Attempts(item.attempts),
            handed=handed_of(item.handed),
        )

    # --- its run ----------------------------------------------------------------------------------------------------------

    async def _watch(self, taken: Taken, item: Item, target: Target, run: str) -> None:
        """Wait for the end of a run, here or at another worker, keeping the item meanwhile."""
        loop, store, event = asyncio.get_running_loop(), self._execution.store, self._ended[run]
        period = self._binding.lease / 3000
        beat, cancelled, here = loop.time() + period, False, False
        while True:
            here = here and not event.is_set()
            event.clear()
            row = await store.find(run)
            if row is None or row.state is RunState.DEAD:
                await self._poisoned(taken, item, target, run, "nothing is known of its run" if row is None else row.waits)
                return
            if row.state is RunState.ENDED:
                await self._answer(taken, item, target, row)
                return
            if taken.cancelled and not cancelled:
                cancelled = True
                self._worker.cancel(run, GIVEN_UP)
                await store.cancel(run, GIVEN_UP)
                continue
            if not here and not self._stopping:
                # Only with its item in hand: else nobody would count how often it ended its worker.
                here = await self._held(run)
            if (row.state is RunState.PARKED and not here) or self._drained:
                await self._give_back(taken, 0.0 if self._drained else PARKED)
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, min(LOOK, beat - loop.time()))):
                    await event.wait()
            if loop.time() >= beat:
                # A queue that is away for a while takes nothing from this worker: the run is here, and its answer is written later.
                with suppress(Away):
                    if not await taken.extend():
                        return
                beat = loop.time() + period

    async def _held(self, run: str) -> bool:
        """Have the worker execute a run that nobody has; False where there is none such."""
        held = await self._execution.store.hold(run, self._execution.owner, self._execution.lease)
        if held is not None:
            self._worker.take(held)
        return held is not None

    async def _left_behind(self) -> None:
        """End runs whose worker died and whose item is gone with its time: their own limit ends them."""
        now = self._host.bindings.clock.now()
        for row in await self._execution.store.rows(states=[RunState.READY, RunState.RUNNING], limit=1_000):
            header = row.header
            over = header.deadline is not None and header.deadline < now
            if over and header.program == self._host.unit.digest and header.run not in (*self._ended, *self._worker.running):
                await self._held(header.run)

    async def _answer(self, taken: Taken, item: Item, target: Target, row: RunRow) -> None:
        """Write how the run ended."""
        run, entry = row.header.run, target.method.entry
        outcome = row.outcome if isinstance(row.outcome, Mapping) else {}
        ending: Mapping[str, object] | None = ending_for(outcome, run, entry, item.key, who="ael worker", trusting=True)
        value: bytes | None = None
        if ending is not None and ending.get("outcome") == "value":
            try:
                value, ending = target.method.result.write(ending.get("value")), None
            except DecodeError as problem:
                ending = fault(FaultKind.MALFORMED, problem.text)
        taint = taint_in(await self._execution.store.entries(run), entry)
        attempts = self._attempts.get(run)
        text = answer_text(value, ending, taint, None if attempts is None else attempts.left)
        try:
            await self._written(taken, text)
        except TooLong as problem:
            message = f"the answer of `{short(entry)}` does not go back: {problem}; the call was made"
            await self._written(taken, answer_text(None, fault(FaultKind.TOO_LARGE, message), taint, None))

    async def _written(self, taken: Taken, text: bytes) -> None:
        """Write an answer, as soon as the queue is there: doing it twice is doing it once. Raises `TooLong`, and `Away` at the end."""
        while True:
            try:
                await taken.answer(text)
                self.counts.answered += 1
                return
            except Away:
                if self._drained:
                    raise
                await asyncio.sleep(LOOK)

    async def _poisoned(self, taken: Taken, item: Item, target: Target, run: str, why: str) -> None:
        """An item that ends its workers is given up: what it did before is unknown, and nobody goes on with it."""
        store, entry = self._execution.store, short(target.method.entry)
        message = f"`{entry}` was given up: {why}"
        await store.cancel(run, message)
        self._say(STUCK, f"an item of the queue {self.name} is given up, its run is {run}: {why}")
        if target.repeat.can_be_uncertain and await store.entries(run):
            ending: dict[str, object] = {"outcome": "uncertain", "key": item.key, "operation": entry, "step": entry}
            ending["details"] = {"why": message}
        else:
            ending = fault(FaultKind.UNAVAILABLE, message, final=True)
        await self._written(taken, answer_text(None, ending, frozenset(), None))

    async def _refuse(self, taken: Taken, kind: FaultKind, message: str, **details: object) -> None:
        """Answer without a run."""
        await self._written(taken, answer_text(None, fault(kind, message, **details), frozenset(), None))

    async def _give_back(self, taken: Taken, after: float) -> None:
        await taken.give_back(after)
        self.counts.given_back += 1
