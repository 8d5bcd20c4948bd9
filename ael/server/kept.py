"""Calls whose runs are kept: a call waits for a run of the store, which this server, another one or a worker executes and takes over.

A run that begins is executed here at once. Whatever goes on later, after a decision or a crash, is for the workers of the store, of which
this server is one. So the answer of a call is what the store says of its run, whoever came to it (runtime.md, section 5).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Coroutine, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

from ael.data import replace
from ael.durable.decide import Open, open_in, waits_of
from ael.durable.execute import Taken, execution_of, new_owner, options_of
from ael.durable.worker import CutOff, Worker
from ael.host import Host
from ael.hosting.runs import watch_runs
from ael.journal.durable import HandedBack, Held, RunRow, RunState, StoreError
from ael.journal.entry import Header
from ael.project.serving import Listen
from ael.project.tenants import at_once
from ael.run.bindings import Options
from ael.run.events import Event
from ael.run.outcome import Faulted, Outcome, Suspended, Value, of_json
from ael.run.run import GRACE, Run
from ael.server.answer import answer, failed, forgotten, unfinished
from ael.server.approval import KeptApprover, accepted, decision
from ael.server.caller import Callers
from ael.server.calls import ENDING, RETRY_AFTER, Answered, Calls, StaleState, another_call
from ael.server.exposure import ExposedTool
from ael.server.flight import Request
from ael.server.once import kept_id
from ael.server.waiting import FIRST_LOOK, LOOK, People, Watch, mark
from ael.types.fault import FaultKind
from ael.types.problem import DecodeError
from ael.types.spec import BudgetSpec

LEFT = "the client went away"
CANCELLED = "the client cancelled the call"
_LAST = GRACE + 5.0
"""Seconds for runs that were told to stop."""


@dataclass(eq=False)
class Own:
    """A run that began here, while it is executed here."""

    held: Held
    run: Run
    ended: asyncio.Task[Outcome]


class KeptCalls(Calls):
    """Calls of a server whose deployment says where runs are kept."""

    def __init__(self, host: Host, listen: Listen, approver: KeptApprover, callers: Callers) -> None:
        super().__init__(host, listen)
        assert host.store is not None
        runs, roles = host.opened.deployment.runs, host.opened.deployment.roles
        self._store = host.store
        self._execution = execution_of(host)
        self._limit = runs.approval
        clock, masker = host.bindings.clock, host.engine.world.masker
        self._people = People(host.store, roles, not callers, masker, clock.now, self._woken)
        # An owner of its own: what begins here is not free for the worker to take.
        execution = replace(self._execution, owner=new_owner())
        tenants = at_once(host.opened.deployment.tenants, runs.per_tenant)
        programs = {host.unit.digest: execution}
        self._worker = Worker(
            programs, runs.slots, tenants, self._landed, _warn, runs.keep, listen.drain / 1000, runs.evidence_keep, self._options
        )
        self._work: asyncio.Task[None] | None = None
        self._listening = ExitStack()
        self._own: dict[str, Own] = {}
        self._watches: dict[str, list[Watch]] = {}
        self._aside: set[asyncio.Task[Any]] = set()
        approver.waiting = lambda run: [watch.request for watch in self._watches.get(run, ())]

    @property
    def in_flight(self) -> int:
        """Runs that are executed here."""
        return len(self._own) + len(self._worker.running)

    async def open(self) -> None:
        """Go on with what is ready in the store, and hear of what becomes so."""
        loop = asyncio.get_running_loop()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody is to be woken any more
                loop.call_soon_threadsafe(self._woken)

        self._work = asyncio.ensure_future(self._worker.work())
        self._listening.enter_context(watch_runs(self._host.opened.deployment, self._host.bindings.secrets, wake))

    async def call(self, request: Request) -> Answered:
        """Run the tool, or wait for the run that an earlier call with the same key began. Never raises for what a run does."""
        problem = self._misfitting(request)
        if problem is not None:
            return problem
        watch = Watch(kept_id(request, self._execution.bound.name) or "", request)
        try:
            began = await self._begin(watch)
        except StoreError:
            return failed(FaultKind.UNAVAILABLE, _NO_STORE, None, {"retry_after": RETRY_AFTER})
        return began if isinstance(began, dict) else await self._watch(watch, began)

    async def go_on(self, state: str, request: Request, response: object) -> Answered:
        """The client calls again about a question of its run, with a person's answer where there is one.

        A question that is answered already, by whomever, is answered: the call waits for what the run comes to. Raises `StaleState`.
        """
        name, _, marked = state.partition(".")
        try:
            row = await self._store.find(name)
            if row is None or self.misfit(request.tool, request.arguments) is not None or not self._fits(row, request):
                raise StaleState
            if response is not None:
                asked = next((one for one in await self._asked(row) if mark(one) == marked), None)
                if asked is not None and not self._people.may(asked, request.caller.name):
                    raise StaleState
                if asked is not None:
                    by = request.caller.name
                    await self._people.decide(asked, by, decision(by, accepted(response), asked.question))
        except StoreError:
            return failed(FaultKind.UNAVAILABLE, _NO_STORE, None, {"retry_after": RETRY_AFTER})
        return await self._watch(Watch(name, request), self._own.get(name))

    def leave(self) -> None:
        """The only client is gone: whoever waits here waits for nothing."""
        for watch in [watch for watches in self._watches.values() for watch in watches]:
            watch.request.presence.leave()

    async def close(self) -> None:
        """Take nothing more, let what is in flight end, and give back what does not: others that share the store go on with it."""
        self.draining = True
        self.gate.send_home(ENDING)
        self._worker.stop()
        self._changed(*self._watches)
        drain = self._listen.drain / 1000
        await _within(drain, (own.ended for own in self._own.values()))
        for own in self._own.values():
            own.run.draining = True
        await _within(drain, (own.ended for own in self._own.values()))
        for own in list(self._own.values()):
            own.held.journal.hand_back()
            own.run.cancel("the server ends")
        # Giving them back is a commit for each; what does not stop even now is taken over when its lease ends.
        await _within(_LAST, (own.ended for own in self._own.values()))
        if self._work is not None:
            await _within(drain + _LAST, [self._work])
            self._work.cancel()
            await asyncio.gather(self._work, *self._aside, return_exceptions=True)
        await asyncio.to_thread(self._listening.close)

    # --- a run that begins ---------------------------------------------------------------------------------------------

    async def _begin(self, watch: Watch) -> dict[str, object] | Own | None:
        """The run of a call: begun here, or None where it is there already; the refusal where neither is possible."""
        request = watch.request
        row = await self._store.find(watch.name) if watch.name else None
        if row is None:
            refusal = await self._enter(request)
            if refusal is not None:
                return refusal
            making = asyncio.ensure_future(self._make(watch))
            try:
                # A run that is being made when its client cancels is there all the same, and then it is cancelled.
                own = await asyncio.shield(making)
            except asyncio.CancelledError:
                self._later(self._cancel_made(making, watch))
                raise
            if own is not None:
                return own
            row = await self._store.find(watch.name)
        return None if row is not None and self._fits(row, request) else another_call()

    async def _make(self, watch: Watch) -> Own | None:
        """A new run, executed here. None: there is one of this key already."""
        request, execution = watch.request, self._execution
        caller, node = request.caller, request.tool.node
        options = Options(
            tenant=caller.tenant,
            caller=caller.name,
            caller_layer=caller.layer,
            # A run that waits for a person does not use up the time of its call, as it would a deadline.
            budget=BudgetSpec(time=self._listen.timeout),
            run=watch.name or None,
            trace_parent=request.trace_parent,
            on_event=None if request.report is None else watch.hear,
        )
        held: Held | None = None
        try:
            if not watch.name:
                held = execution.fresh(node, request.arguments, options)
                watch.name = held.row.header.run
            else:
                held = await execution.make(node, request.arguments, options)
            if held is None:
                return None
            run = execution.start(held, options, request.arguments)
        finally:
            if held is None:
                self.gate.leave(caller)
        ended = asyncio.ensure_future(self._conclude(held, run, request))
        own = self._own[watch.name] = Own(held, run, ended)
        return own

    async def _conclude(self, held: Held, run: Run, request: Request) -> Outcome:
        try:
            outcome = await self._execution.conclude(held, run)
            if isinstance(held.journal.lost, HandedBack):
                raise CutOff(run.id, self._listen.drain / 1000)
        except (Taken, CutOff, StoreError) as error:
            self._landed(held.row, error)
            raise
        else:
            self._landed(held.row, outcome)
            return outcome
        finally:
            del self._own[run.id]
            self.gate.leave(request.caller)
            self._changed(run.id)

    def _fits(self, row: RunRow, request: Request) -> bool:
        """Whether a run is that of this very call, of this caller."""
        options = Options(tenant=request.caller.tenant, caller=request.caller.name)
        header, _ = self._host.engine.header(request.tool.node, request.arguments, options)
        return _call_of(header) == _call_of(row.header)

    # --- a run that others go on with -----------------------------------------------------------------------------------

    def _options(self, held: Held) -> Options:
        """How a run goes on here: with what it keeps, heard by who waits for it."""
        watches = [watch for watch in self._watches.get(held.row.header.run, ()) if watch.request.report is not None]

        def hear(event: Event) -> None:
            for watch in watches:
                watch.hear(event)

        return replace(options_of(held.pinned), on_event=hear if watches else None)

    def _landed(self, row: RunRow, outcome: Outcome | Exception) -> None:
        """A run left this process: it has ended, waits, or is somebody else's."""
        if isinstance(outcome, Exception):
            _say(str(outcome))
        elif isinstance(outcome, Faulted) and outcome.kind is FaultKind.CRASHED:
            # The client is told only which run it was.
            _say(f"run {row.header.run} of {row.header.entry} crashed: {outcome.message}")
        self._changed(row.header.run)

    def _woken(self, run: str | None = None) -> None:
        """Runs may be ready."""
        self._worker.wake()
        self._changed(*(self._watches if run is None else (run,)))

    def _changed(self, *runs: str) -> None:
        for run in runs:
            for watch in self._watches.get(run, ()):
                watch.changed.set()

    # --- waiting ----------------------------------------------------------------------------------------------------------

    async def _watch(self, watch: Watch, own: Own | None) -> Answered:
        """The answer of the run, as soon as there is one, or a question to the client."""
        request = watch.request
        watches = self._watches.setdefault(watch.name, [])
        watches.append(watch)
        request.presence.on_leaving(lambda: self._left(watch))
        pump = None if request.report is None else asyncio.ensure_future(watch.pump(request.report))
        try:
            found = await self._until_answered(watch, own)
            if pump is not None:
                await watch.told_all(pump)
            return found
        except StoreError:
            return unfinished(watch.name)
        except asyncio.CancelledError:
            if not watch.gone and len(watches) == 1:
                self._later(self._cancel(watch.name, CANCELLED))
            raise
        finally:
            watches.remove(watch)
            if not watches:
                self._watches.pop(watch.name, None)
            if pump is not None:
                pump.cancel()
                await asyncio.gather(pump, return_exceptions=True)

    async def _until_answered(self, watch: Watch, own: Own | None) -> Answered:
        loop = asyncio.get_running_loop()
        end, people, pause = loop.time() + self._listen.timeout / 1000, 0.0, FIRST_LOOK
        while True:
            watch.changed.clear()
            own = own or self._own.get(watch.name)
            if own is not None:
                await _either(own.ended, watch.changed.wait())
                if own.ended.done():
                    if own.ended.exception() is None and not isinstance(own.ended.result(), Suspended):
                        return answer(watch.request.tool, watch.name, own.ended.result())
                    own = None
                elif watch.gone:
                    return unfinished(watch.name)
                continue
            row = await self._store.find(watch.name)
            if row is None:
                return failed(FaultKind.UNAVAILABLE, "the run was forgotten", watch.name)
            if row.state is RunState.ENDED:
                return self._recorded(row, watch.request.tool)
            if row.state is RunState.DEAD:
                return failed(FaultKind.CRASHED, row.waits, watch.name)
            if watch.gone or self.draining or loop.time() >= end:
                return _unfinished(row)
            if row.state is RunState.PARKED and (asked := await self._asked(row)):
                people = people or loop.time() + self._listen.approval / 1000
                mine = next((one for one in asked if self._people.may(one, watch.request.caller.name)), None)
                if mine is not None and watch.request.parks:
                    return self._people.sent_away(mine)
                if mine is not None and watch.request.elicit is not None and watch.asks:
                    left = people - loop.time()
                    if await self._people.ask(watch, mine, left, lambda: watch.gone or self.draining):
                        pause = FIRST_LOOK
                    continue
                if loop.time() >= people:
                    return _unfinished(row)
            elif row.state is RunState.PARKED and row.wake is None:
                return _unfinished(row)
            else:
                people = 0.0
            await watch.change(pause)
            pause = FIRST_LOOK if watch.changed.is_set() else min(LOOK, pause * 1.5)

    async def _asked(self, row: RunRow) -> list[Open]:
        """The approvals that a parked run waits for."""
        if row.state is not RunState.PARKED:
            return []
        found = open_in(row, await self._store.entries(row.header.run), self._limit)
        return [one for one in found if one.kind == "approval"]

    def _recorded(self, row: RunRow, tool: ExposedTool) -> dict[str, object]:
        """The answer of a run that ended, as its record says; files in its value are files again."""
        run = row.header.run
        try:
            outcome = of_json(row.outcome if isinstance(row.outcome, dict) else {})
        except KeyError:  # its content was forgotten since
            return forgotten(run, row.ending)
        if not isinstance(outcome, Value):
            return answer(tool, run, outcome)
        world = self._host.engine.world
        try:
            value = world.codecs.value(world.unit.nodes[tool.node].spec.signature.result).decode(outcome.plain)
        except DecodeError:  # what masks secrets may have changed it
            return answer(tool, run, outcome)
        return answer(tool, run, replace(outcome, value=value))

    # --- leaving ----------------------------------------------------------------------------------------------------------

    def _left(self, watch: Watch) -> None:
        """The client is gone. A run with a key goes on, since its client may come back; one that is parked waits in any case."""
        watch.changed.set()
        if watch.request.key is None and self._watches.get(watch.name) == [watch]:
            self._later(self._cancel(watch.name, LEFT, parked=False))

    async def _cancel(self, name: str, reason: str, *, parked: bool = True) -> None:
        own = self._own.get(name)
        if own is not None:
            own.run.cancel(reason)
            return
        with suppress(StoreError):
            row = await self._store.find(name)
            if row is not None and (parked or row.state is not RunState.PARKED):
                await self._store.cancel(name, reason)
                self._woken(name)

    async def _cancel_made(self, making: Awaitable[Own | None], watch: Watch) -> None:
        """The client of a run cancelled, or went away, while the run was being made."""
        with suppress(StoreError):
            own = await making
            if own is not None and (watch.request.key is None or not watch.gone):
                own.run.cancel(LEFT if watch.gone else CANCELLED)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)


_NO_STORE = "the store of the runs cannot be used now"


def _call_of(header: Header) -> tuple[str, ...]:
    """What makes two calls the same call."""
    return header.tenant, header.caller, header.entry, header.input


def _unfinished(row: RunRow) -> dict[str, object]:
    return unfinished(row.header.run, [kind for kind, _ in waits_of(row)])


async def _either(first: asyncio.Future[Any], second: Coroutine[Any, Any, object]) -> None:
    """Wait for one of two."""
    other = asyncio.ensure_future(second)
    try:
        await asyncio.wait({first, other}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        other.cancel()


async def _within(seconds: float, waiting: Iterable[asyncio.Future[Any]]) -> None:
    """Wait for all of them, for so long at most."""
    left = set(waiting)
    if left:
        await asyncio.wait(left, timeout=seconds)


def _warn(code: str, sentence: str) -> None:
    _say(f"warning[{code}]: {sentence}")


def _say(sentence: str) -> None:
    print(f"ael serve: {sentence}", file=sys.stderr, flush=True)
