"""A client that waits for a run that is kept: told of what changes here, looking for what changes elsewhere, asked about approvals."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ael.durable.decide import DecideError, Open, decide
from ael.journal.durable import DurableStore, RunState
from ael.run.events import Event
from ael.run.masker import Masker
from ael.run.ports import ApprovalRequest, Decision
from ael.server.approval import asked_for, decision
from ael.server.calls import LAST_REPORT, InputRequired, words
from ael.server.flight import Report, Request, Unasked

FIRST_LOOK = 0.02
LOOK = 0.5
"""Seconds between looks at a run that is executed elsewhere: short ones first, and never longer than this."""
_TOLD = 1_000
"""Pieces of progress that wait for a client that does not read; more are left out."""


@dataclass(eq=False)
class Watch:
    """One call that waits for the run `name`. `changed` is set whenever something may have happened to it."""

    name: str
    request: Request
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    asks: bool = True
    """Whether the client can be asked over the stream of this call; no more once it could not, or did not answer in time."""
    _told: asyncio.Queue[str | None] = field(default_factory=lambda: asyncio.Queue(_TOLD))

    @property
    def gone(self) -> bool:
        """Whether nobody is there any more to get the answer."""
        return self.request.presence.gone

    async def change(self, seconds: float) -> None:
        """Wait for a change, for so long at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.changed.wait()

    def hear(self, event: Event) -> None:
        """What the run does, where it is executed here."""
        said = words(event)
        if said is not None and self.request.report is not None:
            with suppress(asyncio.QueueFull):
                self._told.put_nowait(said)

    async def pump(self, report: Report) -> None:
        """Tell the client what was heard, until `told_all`."""
        count = 0
        while (said := await self._told.get()) is not None:
            count += 1
            try:
                await report(count, said)
            except Exception:  # the client is gone; its call ends with whoever sees that
                return

    async def told_all(self, pump: asyncio.Task[None]) -> None:
        """What was told before the end comes before the answer; a client that does not read is not waited for."""
        with suppress(asyncio.QueueFull):
            self._told.put_nowait(None)
        await asyncio.wait({pump}, timeout=LAST_REPORT)


@dataclass(frozen=True)
class People:
    """Who may decide, and how a decision gets into the store.

    `members`: role -> callers; `here`: callers are whoever sits at this machine. `decided` is called after each decision, with the run;
    `now` gives the time in seconds since the epoch.
    """

    store: DurableStore
    members: Mapping[str, Sequence[str]]
    here: bool
    masker: Masker
    now: Callable[[], float]
    decided: Callable[[str], None]

    def may(self, asked: Open, name: str) -> bool:
        """Whether a caller decides about this."""
        known = self.members.get(asked.role, ()) if asked.role is not None else (name,)
        return name in known or (self.here and "local" in known)

    def sent_away(self, asked: Open) -> InputRequired:
        """The question for a client that asks and calls again: its state names the run and the question, which the store still has then."""
        return InputRequired(*self._said(asked), f"{asked.run}.{mark(asked)}")

    async def ask(self, watch: Watch, asked: Open, seconds: float, until: Callable[[], bool]) -> bool:
        """Ask over the stream of the call, for so many seconds; whether there is a decision now, from whomever.

        The client is told no more than others: who answers first decides, `ael runs approve` and the desk as well.
        """
        elicit = watch.request.elicit
        assert elicit is not None
        answer = asyncio.ensure_future(_answer(elicit(*self._said(asked))))
        answer.add_done_callback(lambda _: watch.changed.set())
        end = asyncio.get_running_loop().time() + seconds
        try:
            while not answer.done():
                watch.changed.clear()
                await watch.change(LOOK)
                if until() or asyncio.get_running_loop().time() >= end:
                    watch.asks = False
                    return False
                row = await self.store.find(asked.run)
                if row is None or row.state is not RunState.PARKED or row.epoch != asked.row.epoch:
                    return True
        finally:
            answer.cancel()
            await asyncio.gather(answer, return_exceptions=True)
        said = answer.result()
        if isinstance(said, Unasked):
            watch.asks = False
            return False
        await self.decide(asked, watch.request.caller.name, decision(watch.request.caller.name, said, asked.question))
        return True

    async def decide(self, asked: Open, name: str, said: Decision) -> None:
        """Put a person's word into the store. One that comes too late changes nothing: what was decided first holds."""
        with suppress(DecideError):
            await decide(
                self.store, asked, approved=said.approved, by=name, reason=said.reason,
                arguments=None if asked.question is None else said.arguments, members=self.members, now=self.now(), here=self.here,
            )  # fmt: skip
            self.decided(asked.run)

    def _said(self, asked: Open) -> tuple[str, Mapping[str, object]]:
        shown = self.masker.value(asked.arguments)
        arguments = shown if isinstance(shown, Mapping) else {}
        tenant, preview = asked.row.header.tenant, self.masker.text(asked.preview)
        return asked_for(
            ApprovalRequest(
                asked.run, asked.step, tenant, asked.target, asked.role, arguments, asked.entry.digest, asked.reason,
                asked.question, preview,
            )
        )  # fmt: skip


async def _answer(asking: Awaitable[Mapping[str, object] | None]) -> Mapping[str, object] | Unasked | None:
    try:
        return await asking
    except Unasked as unasked:
        return unasked


def mark(asked: Open) -> str:
    """What names a question of a run: its place and the arguments."""
    return hashlib.sha256(f"{asked.path}\0{asked.entry.digest}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
