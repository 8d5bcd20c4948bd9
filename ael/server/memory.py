"""Calls whose runs end with the server: started for a caller, followed, cancelled with their client, ended in a typed answer."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

from ael.host import Host
from ael.project.serving import Listen
from ael.run.bindings import Options
from ael.run.outcome import Faulted, Outcome
from ael.server.answer import answer, forgotten
from ael.server.approval import ServedApprover, asked_for, settle
from ael.server.calls import ENDING, LAST_REPORT, Answered, Calls, InputRequired, StaleState, another_call, words
from ael.server.flight import Flight, Request
from ael.server.once import Once, run_id
from ael.types.fault import FaultKind


class MemoryCalls(Calls):
    """Runs that are kept nowhere. `close` ends them: first those that end by themselves in time, then the others."""

    def __init__(self, host: Host, listen: Listen, approver: ServedApprover) -> None:
        super().__init__(host, listen)
        self._approver = approver
        self._flights: set[Flight] = set()
        self._once = Once(self._must)
        self._parked: dict[str, tuple[Flight, asyncio.TimerHandle]] = {}

    def _must(self, node: str) -> bool:
        """Whether what a node does must not be done twice."""
        return self._host.unit.nodes[node].spec.signature.effects.repeat.can_be_uncertain

    @property
    def in_flight(self) -> int:
        """Runs that have not ended."""
        return len(self._flights)

    async def open(self) -> None:
        """Nothing goes on from before."""

    def leave(self) -> None:
        """The calls of a client that is gone are cancelled with its session."""

    async def call(self, request: Request) -> Answered:
        """Run the tool. Cancelling the waiter cancels the run. Never raises for what a run does."""
        problem = self._misfitting(request)
        if problem is not None:
            return problem
        while True:
            known = self._once.find(request)
            if isinstance(known, Flight):
                asked = await self._join(known, request)
                if asked is not None:
                    return asked
                continue
            if known is not None and known.digest != request.digest:
                return another_call()
            if known is not None and known.text is not None:
                return known.answer()
            if self._once.spent(request):
                return forgotten(str(run_id(request)), "nobody knows any more how")
            refusal = await self._enter(request)
            if refusal is not None:
                return refusal
            if self._once.find(request) is known:
                return await self._follow(self._start(request), request)
            # A call with the same key began while this one waited for its place.
            self.gate.leave(request.caller)

    async def _join(self, flight: Flight, request: Request) -> Answered | None:
        """The question of an earlier call with the same key, where it has one; None once that call has ended."""
        if flight.request.digest != request.digest:
            return another_call()
        asked = asyncio.ensure_future(flight.asked.wait())
        try:
            await asyncio.wait({flight.ended, asked}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            asked.cancel()
        if flight.ended.done():
            return None
        parked = self._parked.pop(flight.token, None)
        if parked is not None:
            parked[1].cancel()
        return self._park(flight)

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
        self.gate.send_home(ENDING)
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
        self._once.ended(flight)
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
                await asyncio.wait({pump}, timeout=LAST_REPORT)
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
        return InputRequired(*asked_for(asked.request), flight.token)


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
