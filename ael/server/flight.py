"""A call under way: the run behind it, who waits for it, and the question that it waits for, if any."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from ael.run.events import Event
from ael.run.outcome import Outcome
from ael.run.ports import ApprovalRequest, Decision
from ael.run.run import Run
from ael.server.caller import Caller
from ael.server.exposure import ExposedTool

Elicit = Callable[[str, Mapping[str, object]], Awaitable[Mapping[str, object] | None]]
"""Asks the person behind the client, with a message and the schema of the answer; None when they declined. Raises `Unasked`."""
Report = Callable[[int, str], Awaitable[None]]
"""Tells the client how far a call is: a number that rises, and a few words."""


class Unasked(Exception):
    """The client did not ask its person: it cannot, or it is gone."""


class Presence:
    """Whether the client that asked is still there to get the answer."""

    def __init__(self) -> None:
        self.gone = False
        self._then: list[Callable[[], None]] = []

    def leave(self) -> None:
        """The client went away before it had the whole answer."""
        self.gone = True
        for act in self._then:
            act()

    def on_leaving(self, act: Callable[[], None]) -> None:
        """Do something when it leaves."""
        self._then.append(act)


@dataclass
class Request:
    """One `tools/call`. `digest` is of tool and arguments: what a later answer has to be about.

    `elicit`: asks while the call waits (older protocol); `parks`: the client takes an `input_required` answer and calls again (2026-07-28).
    """

    caller: Caller
    tool: ExposedTool
    arguments: Mapping[str, object]
    digest: str
    report: Report | None = None
    elicit: Elicit | None = None
    parks: bool = False
    trace_parent: str | None = None
    presence: Presence = field(default_factory=Presence)
    key: str | None = None
    """Names the one effect of this call, over all attempts of the client (`_meta.idempotencyKey`)."""


@dataclass(eq=False)
class Question:
    """What a run waits for a person to say, and where the answer goes."""

    request: ApprovalRequest
    answer: asyncio.Future[Decision]


@dataclass(eq=False)
class Flight:
    """A run that a client waits for. `asked` is set while a question is open that the client can answer."""

    request: Request
    run: Run
    ended: asyncio.Task[Outcome]
    events: AsyncIterator[Event] | None = None
    """What the run tells, from its first moment, where somebody wants to know."""
    told: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    question: Question | None = None
    token: str = ""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Calls beside each other may need approvals at once: the client is asked one question after another."""

    def ask(self, request: ApprovalRequest) -> Question:
        """Open a question; the call ends for now, and goes on when the client calls again with the token."""
        self.question = Question(request, asyncio.get_running_loop().create_future())
        self.token = secrets.token_urlsafe(32)
        self.asked.set()
        return self.question

    def closed(self) -> None:
        """The question was answered, or nobody waits for an answer any more."""
        self.question = None
        self.asked.clear()

    def fits(self, caller: Caller, digest: str) -> bool:
        """Whether a later request is about this very call."""
        return caller is self.request.caller and hmac.compare_digest(digest, self.request.digest)
