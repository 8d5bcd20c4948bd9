"""Calls of services and nodes as runs: let in, made once for a key, joined by who asks again, cancelled with the last who waits.

The same key and the same request give the recorded answer; the same key with another request is refused (services.md). Answers are known
in memory, a bounded number (`ael.server.keys`), and where the deployment keeps its runs also there, by every server over that store.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ael.durable.execute import Execution, Taken
from ael.host import Host
from ael.journal.durable import Held, RunRow, RunState, StoreError
from ael.project.serving import Listen
from ael.run.bindings import Options
from ael.run.entry import Input, decoded
from ael.run.handed import Handed
from ael.run.outcome import Outcome, Value, to_json
from ael.run.permission import Layer
from ael.run.run import Follower, Run
from ael.run.scope import Attempts
from ael.run.world import short
from ael.server.caller import Caller
from ael.server.ending import RETRY_AFTER, ending_for, fault, taint_in
from ael.server.gate import Full, Gate
from ael.server.keys import Keys, Name
from ael.server.methods import Method
from ael.types.fault import FaultKind
from ael.types.problem import DecodeError

MOST_HOPS = 16
"""Servers that a call may have come through."""
MOST_ATTEMPTS = 1_000
"""Runs for one key: a call that always fails for the moment is not tried without end."""
_POLL = 0.2
_BESIDE = 512
"""Bytes of an answer beside its ending."""


@dataclass
class Incoming:
    """One request. `deadline` in seconds since the epoch; `attempts`: retries that its caller leaves to what is inside; `via`: servers it
    came through."""

    caller: Caller
    method: Method
    body: bytes
    key: str | None = None
    deadline: float | None = None
    trace_parent: str | None = None
    attempts: int | None = None
    via: tuple[str, ...] = ()
    grants: frozenset[str] | None = None
    """The permissions that whoever calls has left for it; None: all that the caller has."""
    handed: Handed | None = None
    """What a run that calls says of the arguments; None: they are the caller's own word."""
    follower: Follower | None = None
    """Who hears what happens in its run, while that is executed here."""


@dataclass(frozen=True)
class Reply:
    """How a call ended, in the form of `outcome.to_json`; `run` is None where none began."""

    ending: Mapping[str, object]
    run: str | None = None
    taint: frozenset[str] = frozenset()
    attempts: int | None = None
    idle: bool = False
    """Whether its run found no room for what it was to do, and did nothing."""

    @property
    def final(self) -> bool:
        """Whether asking again gives this answer again. A fault may be gone next time: then the call is made anew, with the same keys."""
        return self.ending.get("outcome") in ("value", "error", "uncertain")

    def stands(self, method: Method) -> bool:
        """Whether this is what the key of a call gives from now on.

        Of what must not be done twice a fault stands too: a second run would do again what the first did before it.
        """
        return self.final or (method.once and self.run is not None and not self.idle)


@dataclass(frozen=True, slots=True)
class _Answer:
    """How the call of a key ended. `digest` and `method` say which call; `text` is the ending as JSON, None where it may be made again.

    Text, because that is a fraction of the size of what it stands for.
    """

    digest: str
    method: Method
    attempt: int
    text: bytes | None
    reply: Reply

    def whole(self) -> Reply:
        """The reply, with its ending."""
        assert self.text is not None
        return replace(self.reply, ending=json.loads(self.text))


@dataclass(eq=False)
class _Flight:
    """A call that is made. `attempt` counts the runs for its key; `waiting` those who want to know."""

    request: Incoming
    input: Input
    attempt: int
    run: Run | None = None
    waiting: int = 0
    given_up: bool = False
    done: asyncio.Future[Reply] = field(init=False)
    followers: tuple[Follower, ...] = ()

    async def wait(self, follower: Follower | None) -> Reply:
        """Its reply. With the last who waits for it, it is given up."""
        if follower is not None:
            self.followers += (follower,)
            if self.run is not None:
                self.run.follow(follower)
        self.waiting += 1
        try:
            return await asyncio.shield(self.done)
        finally:
            if follower is not None:
                self.followers = tuple(one for one in self.followers if one is not follower)
            self.waiting -= 1
            if self.waiting == 0 and not self.done.done():
                self.given_up = True
                if self.run is not None:
                    self.run.cancel(GONE)

    def began(self, run: Run) -> Run:
        """Its run began, for whoever still waits."""
        self.run = run
        for follower in self.followers:
            run.follow(follower)
        if self.given_up:
            run.cancel(GONE)
        return run


class Dispatch:
    """All calls of one server. `name` names the server alone among all; `trusting`: its one client is the program's own."""

    def __init__(
        self, host: Host, listen: Listen, gate: Gate, name: str, execution: Execution | None = None, *, trusting: bool = False
    ) -> None:
        self._host = host
        self._listen = listen
        self._gate = gate
        self._name = name
        self._execution = execution
        self._trusting = trusting
        self.mask = host.engine.world.masker.value
        """Masks secrets in what is told of calls."""
        self._under_way: dict[Name, _Flight] = {}
        self._answers: Keys[_Answer] = Keys()
        self._flights: set[_Flight] = set()
        self._runs: set[Run] = set()
        """Of the calls without a key."""
        self.draining = False

    @property
    def in_flight(self) -> int:
        """Calls that have not ended."""
        return len(self._flights) + len(self._runs)

    async def call(self, request: Incoming) -> Reply:
        """Make the call, or join the one that is made. Cancelling the waiter gives it up. Never raises for what a run does."""
        given = self._given(request)
        if isinstance(given, Reply):
            return given
        if request.key is None:
            return await self._enter(request) or await self._alone(request, given)
        while True:
            flight, known = self._under_way.get(_name(request)), self._answers.find(_name(request))
            if flight is not None:
                if (flight.input.digest, flight.request.method) != (given.digest, request.method):
                    return _refused(FaultKind.BAD_ARGUMENTS, ANOTHER, final=True)
                if not flight.given_up:
                    return await flight.wait(request.follower)
                await asyncio.wait({flight.done})
                continue
            if known is not None and (known.digest, known.method) != (given.digest, request.method):
                return _refused(FaultKind.BAD_ARGUMENTS, ANOTHER, final=True)
            if known is not None and known.text is not None:
                return known.whole()
            if self._forgotten(request):
                return _spent(request)
            refusal = await self._enter(request)
            if refusal is not None:
                return refusal
            if (
                _name(request) not in self._under_way
                and self._answers.find(_name(request)) is known
                and not self._forgotten(request)
            ):
                return await self._begin(request, given, 1 if known is None else known.attempt + 1).wait(request.follower)
            # A call with the same key began while this one waited for its place.
            self._gate.leave(request.caller)

    def quick(self, method: Method) -> bool:
        """Whether calls of a method may be made `at_once`."""
        return self._host.engine.plain(method.entry)

    def at_once(self, request: Incoming) -> Reply | None:
        """The reply to a call that nothing has to be waited for, made here and now; None for one that is to be made by `call`."""
        options = self._options(request, None)
        if request.key is not None or self.draining or not self._host.engine.never_waits(request.method.entry, options):
            return None
        given = self._given(request)
        if isinstance(given, Reply):
            return given
        if not self._gate.take(request.caller):
            return None
        run = self._started(request, given, options)
        if isinstance(run, Reply):
            return run
        outcome = run.ended
        assert outcome is not None
        return self._told(request, run, options, outcome)

    def _given(self, request: Incoming) -> Input | Reply:
        """What a call is given, or its refusal."""
        if len(request.via) >= MOST_HOPS:
            return _refused(FaultKind.TOO_DEEP, f"the call came through {len(request.via)} servers, as many as it may")
        try:
            return decoded(self._host.engine.input(request.method.entry), request.body)
        except DecodeError as error:
            return _refused(FaultKind.BAD_ARGUMENTS, f"the arguments do not fit: {error.text}", final=True)

    async def close(self) -> None:
        """Let the calls in flight end by themselves for the drain's time, then cancel them, and wait until their replies are there."""
        self.draining = True
        self._gate.send_home(ENDING)
        seconds = self._listen.drain / 1000
        await self._ended(seconds)
        for run in [*self._runs, *(flight.run for flight in self._flights)]:
            if run is not None:
                run.cancel(ENDING)
        await self._ended(seconds)

    async def _ended(self, seconds: float) -> None:
        """Wait until no call is in flight, for at most so many seconds."""
        runs = [asyncio.ensure_future(run.outcome()) for run in self._runs]
        calls: set[asyncio.Future[Any]] = {*runs, *(flight.done for flight in self._flights)}
        if calls:
            await asyncio.wait(calls, timeout=seconds)
        for waiting in runs:
            waiting.cancel()

    # --- one call -----------------------------------------------------------------------------------------------------

    async def _enter(self, request: Incoming) -> Reply | None:
        """Take a place among the calls at once; the refusal where there is none."""
        if not self.draining:
            try:
                await self._gate.enter(request.caller, wait=self._name not in request.via)
            except Full as full:
                return _refused(FaultKind.UNAVAILABLE, full.message, retry_after=RETRY_AFTER, began=False)
            if not self.draining:
                return None
            self._gate.leave(request.caller)
        return _refused(FaultKind.UNAVAILABLE, ENDING, retry_after=RETRY_AFTER, began=False)

    async def _alone(self, request: Incoming, given: Input) -> Reply:
        """A call without a key, which nobody else can join: made in the task of whoever waits for it, and given up with it."""
        options = self._options(request, None)
        run = self._started(request, given, options)
        if isinstance(run, Reply):
            return run
        if request.follower is not None:
            run.follow(request.follower)
        try:
            outcome = await run.outcome()
        except asyncio.CancelledError:
            run.cancel(GONE)
            raise
        return self._told(request, run, options, outcome)

    def _started(self, request: Incoming, given: Input, options: Options) -> Run | Reply:
        """The run of a call without a key, whose place is taken until it has really ended, also where nobody waits any more."""
        try:
            run = self._host.engine.start(request.method.entry, given, options)
        except Exception as error:
            self._gate.leave(request.caller)
            return _failed(request, error)
        self._runs.add(run)
        run.when_ended(lambda: self._end(run, request))
        return run

    def _told(self, request: Incoming, run: Run, options: Options, outcome: Outcome) -> Reply:
        """The reply to a call without a key."""
        if isinstance(outcome, Value):
            left = None if options.attempts is None else options.attempts.left
            return Reply({"outcome": "value", "value": outcome.plain}, run.id, run.seen, left)
        try:
            return self._reply(request, run.id, to_json(outcome), run.seen, options.attempts)
        except Exception as error:
            return _failed(request, error)

    def _end(self, run: Run, request: Incoming) -> None:
        self._runs.discard(run)
        self._gate.leave(request.caller)

    def _begin(self, request: Incoming, given: Input, attempt: int) -> _Flight:
        flight = _Flight(request, given, attempt)
        flight.done = asyncio.ensure_future(self._made(flight))
        self._flights.add(flight)
        flight.done.add_done_callback(lambda _: self._land(flight))
        self._under_way[_name(request)] = flight
        return flight

    def _land(self, flight: _Flight) -> None:
        self._flights.discard(flight)
        self._gate.leave(flight.request.caller)
        del self._under_way[_name(flight.request)]
        if not flight.done.cancelled():
            self._know(flight, flight.done.result())

    def _know(self, flight: _Flight, reply: Reply) -> None:
        """Remember how the call of a key ended, in few bytes."""
        request = flight.request
        # What a store keeps is its word: here is only what it would say again.
        stands = reply.final if self._execution is not None else reply.stands(request.method)
        text = json.dumps(reply.ending, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass") if stands else None
        answer = _Answer(flight.input.digest, request.method, flight.attempt, text, replace(reply, ending={}))
        self._answers.keep(_name(request), answer, len(text or b"") + _BESIDE, once=stands and request.method.once)

    def _forgotten(self, request: Incoming) -> bool:
        """Whether the call was made and its answer forgotten, where no store knows it."""
        return request.method.once and self._execution is None and self._answers.spent(_name(request))

    async def _made(self, flight: _Flight) -> Reply:
        """One run of the call, or its record."""
        request = flight.request
        try:
            if self._execution is not None:
                return await self._kept(self._execution, flight)
            options = self._options(request, _run_id(request, flight.attempt))
            run = flight.began(self._host.engine.start(request.method.entry, flight.input, options))
            return self._reply(request, run.id, to_json(await run.outcome()), run.seen, options.attempts)
        except Exception as error:
            return _failed(request, error)

    async def _kept(self, execution: Execution, flight: _Flight) -> Reply:
        """The run for a key over the store that all servers of the deployment share. Raises `StoreError`."""
        request, store = flight.request, execution.store
        while flight.attempt <= MOST_ATTEMPTS:
            options = self._options(request, _run_id(request, flight.attempt))
            row = await store.find(options.run or "")
            held: Held | None
            if row is None:
                held = execution.fresh(request.method.entry, flight.input, options)
            else:
                if (row.header.entry, row.header.input) != (request.method.entry, flight.input.digest):
                    return _refused(FaultKind.BAD_ARGUMENTS, ANOTHER, final=True)
                recorded = await self._recorded(execution, request, row)
                if recorded is not None and (recorded.stands(request.method) or row.state is not RunState.ENDED):
                    return recorded
                if recorded is not None:
                    flight.attempt += 1
                    continue
                held = await store.hold(row.header.run, execution.owner, execution.lease)
                if held is None:
                    # Another server, or a worker, has it now.
                    if flight.given_up:
                        return _refused(FaultKind.UNAVAILABLE, GONE, retry_after=RETRY_AFTER)
                    await asyncio.sleep(_POLL)
                    continue
            run = flight.began(execution.start(held, options if row is None else None, flight.input if row is None else None))
            try:
                outcome = await execution.conclude(held, run)
            except Taken:
                flight.run = None
                continue
            return self._reply(request, run.id, to_json(outcome), run.seen, options.attempts)
        message = f"the call was made {MOST_ATTEMPTS:,} times under this key"
        return _refused(FaultKind.UNAVAILABLE, message, final=True)

    async def _recorded(self, execution: Execution, request: Incoming, row: RunRow) -> Reply | None:
        """The reply of a run that has ended or waits; None for one that is to go on."""
        run = row.header.run
        match row.state:
            case RunState.ENDED:
                taint = taint_in(await execution.store.entries(run), request.method.entry)
                outcome = row.outcome if isinstance(row.outcome, Mapping) else {}
                return self._reply(request, run, outcome, taint, None)
            case RunState.PARKED:
                return self._reply(request, run, {"outcome": "parked"}, frozenset(), None)
            case RunState.DEAD:
                return _refused(FaultKind.UNAVAILABLE, f"the run {run} cannot go on; its operator has to look", final=True)
            case _:
                return None

    def _options(self, request: Incoming, run: str | None) -> Options:
        caller, now = request.caller, self._host.bindings.clock.now()
        own = now + self._listen.timeout / 1000
        return Options(
            tenant=caller.tenant,
            caller=caller.name,
            caller_layer=_layer(request),
            deadline=own if request.deadline is None else min(own, request.deadline),
            run=run,
            trace_parent=request.trace_parent,
            key=request.key,
            via=(*request.via, self._name),
            attempts=None if request.attempts is None else Attempts(request.attempts),
            handed=request.handed,
            at_once=run is None and request.follower is None,
        )

    # --- what is told ---------------------------------------------------------------------------------------------------

    def _reply(
        self, request: Incoming, run: str, outcome: Mapping[str, object], taint: frozenset[str], attempts: Attempts | None
    ) -> Reply:
        """An outcome as its caller is to understand it: the caller knows of no run, only of a call."""
        ending = ending_for(outcome, run, request.method.entry, request.key, who="ael serve", trusting=self._trusting)
        return Reply(ending, run, taint, None if attempts is None else attempts.left, _idle(outcome))


ANOTHER = "this key names another call: a key is for one request alone"
ENDING = "the server is shutting down"
GONE = "the client went away"


def _refused(kind: FaultKind, message: str, **details: object) -> Reply:
    return Reply(fault(kind, message, **details))


def _failed(request: Incoming, error: Exception) -> Reply:
    """A call that this server could not make. A defect of it is no answer that the key would give for ever."""
    if isinstance(error, StoreError):
        print(f"ael serve: {error}", file=sys.stderr)
        return _refused(FaultKind.UNAVAILABLE, "the store of runs cannot be used", retry_after=RETRY_AFTER)
    print(f"ael serve: a call of {request.method.entry} failed inside: {type(error).__name__}", file=sys.stderr)
    return _refused(FaultKind.CRASHED, "something inside the server failed")


def _idle(outcome: Mapping[str, object]) -> bool:
    """Whether a run ended for want of room, and had called nothing."""
    spent = outcome.get("spent")
    used = [spent.get(what) for what in ("tool_calls", "steps", "attempts")] if isinstance(spent, Mapping) else [None]
    return outcome.get("kind") == FaultKind.UNAVAILABLE and used == [0, 0, 0]


def _spent(request: Incoming) -> Reply:
    """The reply to a call that was made, and must not be made again, so long ago that what it gave is not kept."""
    own = short(request.method.entry)
    why = "the call was made, and what it gave is not kept any more"
    return Reply({"outcome": "uncertain", "key": request.key, "operation": own, "step": own, "details": {"why": why}})


def _layer(request: Incoming) -> Layer | None:
    """What the caller may do, and no more than it says that it has left."""
    own = request.caller.layer
    if request.grants is None:
        return own
    left = Layer(f"the caller `{request.caller.name}`", request.grants)
    return left if own is None else own.within(left)


def _name(request: Incoming) -> Name:
    return request.caller.tenant, request.caller.name, request.key or ""


def _run_id(request: Incoming, attempt: int) -> str:
    return run_id(*_name(request), request.method.entry, attempt)


def run_id(tenant: str, caller: str, key: str, entry: str, attempt: int) -> str:
    """The id of the run of a keyed call: the keys of all effects inside come from it, without its attempt."""
    text = "\0".join((tenant, caller, key, entry))
    base = f"r{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
    return base if attempt == 1 else f"{base}~{attempt}"
