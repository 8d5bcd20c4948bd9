"""Test doubles: a model that plays turns, or asks a function for them, and a clock that moves only when told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from ael.run.ports import (
    ApprovalRequest,
    ConversationSpec,
    Decision,
    FinalDelta,
    ModelEvent,
    ModelTurn,
    Opaque,
    ProposedCall,
    Stop,
    TextDelta,
    ToolAnswer,
    Usage,
)
from ael.types.value import File

Reply = ModelTurn | BaseException | Callable[["FakeConversation", int], Awaitable[ModelTurn]]
SMALL = Usage(input=10, output=5)


def call(name: str, arguments: object = None, id: str = "") -> ProposedCall:
    """A proposed call; arguments that are no text are written as JSON."""
    raw = arguments if isinstance(arguments, str) or arguments is None else json.dumps(arguments)
    return ProposedCall(id or f"c_{name}", name, raw)


def calls(*proposed: ProposedCall, text: str = "", usage: Usage | None = SMALL, opaque: Opaque | None = None) -> ModelTurn:
    """A turn that proposes calls."""
    return ModelTurn(text, tuple(proposed), Stop.CALLS, usage, None, opaque)


def final(value: object, *proposed: ProposedCall, text: str = "", usage: Usage | None = SMALL) -> ModelTurn:
    """A turn with a structured result; text stands as it is, so that broken results can be given."""
    return ModelTurn(text, tuple(proposed), Stop.DONE, usage, value if isinstance(value, str) else json.dumps(value))


def said(text: str, stop: Stop = Stop.DONE, usage: Usage | None = SMALL) -> ModelTurn:
    """A turn of plain text."""
    return ModelTurn(text, (), stop, usage)


class FakeConversation:
    """Keeps every message, checks strictly that each proposed call has one answer, in order, before the next request."""

    def __init__(self, model: FakeModel, spec: ConversationSpec) -> None:
        self.model = model
        self.spec = spec
        self.messages: list[tuple[str, object]] = []
        self._open: tuple[ProposedCall, ...] = ()
        self._size = len(spec.system)

    @property
    def size(self) -> int:
        return self._size

    def user(self, text: str, files: Sequence[File] = ()) -> None:
        assert not self._open, "a user message while calls wait for their answers"
        self.messages.append(("user", text))
        self._size += len(text)

    def turn(self, turn: ModelTurn) -> None:
        assert not self._open, "a turn while calls wait for their answers"
        self.messages.append(("model", turn))
        self._open = turn.calls
        self._size += len(turn.text) + sum(len(one.name) + len(one.arguments or "") for one in turn.calls)

    def answers(self, answers: Sequence[ToolAnswer]) -> None:
        assert [answer.call for answer in answers] == list(self._open), "answers differ from the calls"
        self._open = ()
        self.messages.append(("answers", tuple(answers)))
        self._size += sum(len(answer.content) for answer in answers)

    async def ask(self, max_tokens: int, last: bool, on_event: Callable[[ModelEvent], None] | None) -> ModelTurn:
        assert not self._open, f"asked while {self._open} wait for their answers"
        self.model.asked.append(Asked(max_tokens, last, list(self.messages)))
        number = len(self.model.asked)
        reply = self.model.next()
        if isinstance(reply, BaseException):
            raise reply
        turn = reply if isinstance(reply, ModelTurn) else await reply(self, number)
        if on_event is not None:
            if turn.text:
                on_event(TextDelta(turn.text))
            if turn.final:
                half = len(turn.final) // 2
                on_event(FinalDelta(turn.final[:half]))
                on_event(FinalDelta(turn.final[half:]))
        return turn


@dataclass
class Asked:
    max_tokens: int
    last: bool
    messages: list[tuple[str, object]]


@dataclass
class FakeModel:
    """`replies` in order; the last one again and again when `forever`."""

    replies: list[Reply]
    forever: bool = False
    name: str = "fake"
    window: int | None = None
    max_output: int = 1000
    asked: list[Asked] = field(default_factory=list)
    conversations: list[FakeConversation] = field(default_factory=list)

    def next(self) -> Reply:
        if self.forever and len(self.replies) == 1:
            return self.replies[0]
        assert self.replies, "the model was asked once more than the test has replies"
        return self.replies.pop(0)

    def converse(self, spec: ConversationSpec) -> FakeConversation:
        conversation = FakeConversation(self, spec)
        self.conversations.append(conversation)
        return conversation

    async def close(self) -> None:
        """Nothing is held."""


def model(
    *replies: Reply, forever: bool = False, name: str = "fake", window: int | None = None, max_output: int = 1000
) -> FakeModel:
    return FakeModel(list(replies), forever, name, window, max_output)


@dataclass(order=True)
class _Timer:
    when: float
    number: int
    callback: Callable[[], None] = field(compare=False)
    live: bool = field(default=True, compare=False)

    def cancel(self) -> None:
        self.live = False


class FakeClock:
    """Stands still, except that sleeping moves it: every sleep ends at once, at its time, after the timers that come before."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self._now = now
        self._monotonic = 1000.0
        self._timers: list[_Timer] = []
        self._count = 0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self._monotonic

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)

    def call_at(self, when: float, callback: Callable[[], None]) -> _Timer:
        self._count += 1
        timer = _Timer(when, self._count, callback)
        self._timers.append(timer)
        if when <= self._monotonic:
            # As with any loop: what is late already comes in a moment.
            asyncio.get_running_loop().call_soon(self.advance, 0.0)
        return timer

    def advance(self, seconds: float) -> None:
        end = self._monotonic + seconds
        while True:
            due = sorted(timer for timer in self._timers if timer.live and timer.when <= end)
            if not due:
                break
            self._now += max(0.0, due[0].when - self._monotonic)
            self._monotonic = max(self._monotonic, due[0].when)
            due[0].live = False
            try:
                asyncio.get_running_loop().call_soon(due[0].callback)
            except RuntimeError:
                due[0].callback()
        self._timers = [timer for timer in self._timers if timer.live]
        self._now += end - self._monotonic
        self._monotonic = end

    def set_back(self, seconds: float) -> None:
        """The wall clock is set back; monotonic time goes on."""
        self._now -= seconds


class FakeApprover:
    """Decides by a list, or by a function of the request."""

    def __init__(self, *decisions: Decision | Callable[[ApprovalRequest], Awaitable[Decision]]) -> None:
        self.decisions = list(decisions)
        self.requests: list[ApprovalRequest] = []

    async def decide(self, request: ApprovalRequest) -> Decision:
        self.requests.append(request)
        decision = self.decisions.pop(0)
        return decision if isinstance(decision, Decision) else await decision(request)
