"""Calls of tools as runs: let in, started for a caller, followed, cancelled with their client, ended in a typed answer."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from ael.host import Host
from ael.project.serving import Listen
from ael.run import events as e
from ael.run.bindings import Options
from ael.run.entry import decoded
from ael.run.outcome import Faulted, Outcome
from ael.server.answer import answer, failed
from ael.server.approval import SCHEMA, ServedApprover, question, settle
from ael.server.exposure import ExposedTool
from ael.server.flight import Flight, Request
from ael.server.gate import Full, Gate
from ael.server.once import Keyed, Once, final, run_id
from ael.types.fault import FaultKind
from ael.types.problem import DecodeError

APPROVAL = "approval"
"""The key of the one question that an `input_required` answer holds."""
RETRY_AFTER = 1
"""Seconds after which a client that found no room may try again."""
_LAST_REPORT = 1.0


class StaleState(Exception):
    """A `requestState` that is not of a call that waits, or of another call than this."""


@dataclass(frozen=True)
class InputRequired:
    """The call waits for a person: the client asks, and calls again with the answer and the state."""

    message: str
    schema: Mapping[str, object]
    state: str


Answered = dict[str, object] | InputRequired


class Calls:
    """All calls of one server. `close` ends them: first those that end by themselves in time, then the others."""

    def __init__(self, host: Host, listen: Listen, approver: ServedApprover) -> None:
        self._host = host
        self._listen = listen
        self._approver = approver
        self.gate = Gate(listen.concurrent, listen.queue)
        self.draining = False
        self._flights: set[Flight] = set()
        self._once = Once()
        self._parked: dict[str, tuple[Flight, asyncio.TimerHandle]] = {}

    @property
    def in_flight(self) -> int:
        """Runs that have not ended."""
        return len(self._flights)

    def ending(self) -> bool:
        """Whether no more calls are taken."""
        return self.draining

    def misfit(self, tool: ExposedTool, arguments: Mapping[str, object]) -> str | None:
        """What is wrong with arguments, in words that a model can act on; None when they fit."""
        try:
            decoded(self._host.engine.input(tool.node), arguments)
        except DecodeError as error:
            return error.text
        return None

    async def call(self, request: Request) -> Answered:
        """Run the tool. Cancelling the waiter cancels the run. Never raises for what a run does."""
        problem = self.misfit(request.tool, request.arguments)
        if problem is not None:
            return failed(FaultKind.BAD_ARGUMENTS, f"the arguments do not fit: {problem}")
        while True:
            known = self._once.find(request)
            if known is not None:
                earlier = await self._join(known, request)
                if earlier is not None:
                    return earlier
            refusal = await self._enter(request)
            if refusal is not None:
                return refusal
            if self._once.find(request) is known:
                return await self._follow(self._start(request), request)
            # A call with the same key began while this one waited for its place.
            self.gate.leave(request.caller)

    async def _enter(self, request: Request) -> dict[str, object] | None:
        """Take a place among the calls at once; the refusal where there is none."""
        if self.draining:
            return _ending()
        try:
            await self.gate.enter(request.caller)
        except Full as full:
            return failed(FaultKind.UNAVAILABLE, full.message, None, {"retry_after": RETRY_AFTER})
        if request.presence.gone or self.ending():
            self.gate.leave(request.caller)
            return _ending()
        return None

    async def _join(self, known: Keyed, request: Request) -> Answered | None:
        """The answer of an earlier call with the same key, once it is there; None where the call is to be made again."""
        if known.digest != request.digest:
            return failed(FaultKind.BAD_ARGUMENTS, "this key names another call: a key is for one tool with the same arguments")
        flight = known.flight
        asked = asyncio.ensure_future(flight.asked.wait())
        try:
            await asyncio.wait({flight.ended, asked}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            asked.cancel()
        if not flight.ended.done():
            parked = self._parked.pop(flight.token, None)
            if parked is not None:
                parked[1].cancel()
            return self._park(flight)
        outcome = flight.ended.result()
        return answer(request.tool, flight.run.id, outcome) if final(outcome) else None

    async def go_on(self, state: str, request: Request, response: object) -> Answered:
        """The client calls again about a question. Raises `StaleState`: only the same caller, tool and arguments fit."""
        found = self._parked.get(state)
        if found is None or not found[0].fits(request.caller, request.digest):
            raise StaleState
        flight, timer = self._parked.pop(state)
        timer.cancel()
        if response is None:
            # The client came back without an answer: it is asked again, as the protocol wants it.
            return self._park(flight)
        settle(flight, response)
        return await self._follow(flight, request)

    async def close(self) -> None:
        """Let the calls in flight end by themselves for the drain's time, then cancel them, and wait until their answers are out."""
        self.draining = True
        waiting = {flight.ended for flight in self._flights if flight.question is None}
        for flight in [flight for flight in self._flights if flight.question is not None]:
            flight.run.cancel("the server is shutting down")
        if waiting:
            await asyncio.wait(waiting, timeout=self._listen.drain / 1000)
        for flight in list(self._flights):
            flight.run.cancel("the server is shutting down")
        left = {flight.ended for flight in self._flights}
        if left:
            await asyncio.wait(left, timeout=self._listen.drain / 1000)

    # --- one call -----------------------------------------------------------------------------------------------------

    def _start(self, request: Request) -> Flight:
        caller, clock = request.caller, self._host.bindings.clock
        options = Options(
            tenant=caller.tenant,
            caller=caller.name,
            caller_layer=caller.layer,
            tenant_account=caller.account,
            deadline=clock.now() + self._listen.timeout / 1000,
            run=run_id(request),
            trace_parent=request.trace_parent,
        )
        run = self._host.engine.start(request.tool.node, request.arguments, options)
        events = run.events() if request.report is not None else None
        flight = Flight(request, run, asyncio.ensure_future(run.outcome()), events)
        self._flights.add(flight)
        self._once.began(request, flight)
        self._approver.flights[run.id] = flight
        flight.ended.add_done_callback(lambda _: self._land(flight))
        request.presence.on_leaving(lambda: run.cancel("the client went away"))
        return flight

    def _land(self, flight: Flight) -> None:
        self._flights.discard(flight)
        self._approver.flights.pop(flight.run.id, None)
        self.gate.leave(flight.request.caller)
        parked = self._parked.pop(flight.token, None)
        if parked is not None:
            parked[1].cancel()
        if not flight.ended.cancelled():
            self._tell(flight, flight.ended.result())

    def _tell(self, flight: Flight, outcome: Outcome) -> None:
        """A crash is for the operator: the client was told only which run it was."""
        if isinstance(outcome, Faulted) and outcome.kind is FaultKind.CRASHED:
            print(f"ael serve: run {flight.run.id} of {flight.request.tool.node} crashed: {outcome.message}", file=sys.stderr)

    async def _follow(self, flight: Flight, request: Request) -> Answered:
        """Wait for the end or for a question, telling the client what happens meanwhile."""
        pump = asyncio.ensure_future(_pump(flight, request)) if request.report is not None else None
        asked = asyncio.ensure_future(flight.asked.wait())
        try:
            await asyncio.wait({flight.ended, asked}, return_when=asyncio.FIRST_COMPLETED)
            if not flight.ended.done():
                return self._park(flight)
            if pump is not None:
                # What was told before the end comes before the answer; a client that does not read is not waited for.
                await asyncio.wait({pump}, timeout=_LAST_REPORT)
            return answer(request.tool, flight.run.id, flight.ended.result())
        except asyncio.CancelledError:
            flight.run.cancel("the client cancelled the call")
            raise
        finally:
            asked.cancel()
            if pump is not None:
                pump.cancel()
                with suppress(asyncio.CancelledError):
                    await pump

    def _park(self, flight: Flight) -> InputRequired:
        """The call waits without its client, who has the time of an approval to come back."""
        asked = flight.question
        assert asked is not None
        seconds = self._listen.approval / 1000
        timer = asyncio.get_running_loop().call_later(seconds, flight.run.cancel, f"nobody answered within {seconds:g} s")
        self._parked[flight.token] = (flight, timer)
        return InputRequired(question(asked.request), SCHEMA, flight.token)


def _ending() -> dict[str, object]:
    return failed(FaultKind.UNAVAILABLE, "the server is shutting down", None, {"retry_after": RETRY_AFTER})


async def _pump(flight: Flight, request: Request) -> None:
    """Tell the client what the run does: which node, turn or tool, never content."""
    if flight.events is None or request.report is None:
        return
    async for event in flight.events:
        said = words(event)
        if said is not None:
            flight.told += 1
            try:
                await request.report(flight.told, said)
            except Exception:  # the client is gone; its call is cancelled by whoever sees that
                return


def words(event: e.Event) -> str | None:
    """An event as progress, None for what is nobody's but the operator's."""
    match event:
        case e.NodeStarted(node=node):
            return f"node {_short(node)}"
        case e.NodeFinished(node=node, ending=ending):
            return f"node {_short(node)}: {ending}"
        case e.TurnStarted(node=node, turn=turn):
            return f"node {_short(node)}: model turn {turn}"
        case e.ToolStarted(tool=tool):
            return f"tool {_short(tool)}"
        case e.ToolFinished(tool=tool, ending=ending):
            return f"tool {_short(tool)}: {ending}"
        case e.ApprovalAsked(tool=tool):
            return f"tool {_short(tool)}: waits for an approval"
        case _:
            return None


def _short(name: str) -> str:
    return name.rpartition(".")[2]
