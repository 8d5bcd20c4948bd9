"""The scripted model: answers that were written beforehand (`script.py`). No key, no network; for tests, examples and `ael
test`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import cast

from ael.models.script import Script, ScriptedTurn, as_proposed
from ael.run.ports import (
    CallStarted,
    ConversationSpec,
    FinalDelta,
    ModelError,
    ModelErrorKind,
    ModelEvent,
    ModelTurn,
    Opaque,
    Stop,
    TextDelta,
    ToolAnswer,
    Usage,
)  # fmt: skip
from ael.types.value import File

BYTES_PER_TOKEN = 4
"""What the usage that a script leaves out is estimated from."""

PROVIDER = "script"
"""Whose turns carry their place in the script, so that a run which goes on in another process goes on there."""
_PIECE = 24


class ScriptedProvider:
    """Plays one script. Conversations of one provider share its queue where the script says so, and nothing else."""

    def __init__(
        self,
        script: Script,
        *,
        name: str = "scripted",
        window: int | None = None,
        max_output: int = 4096,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        keep_requests: bool = False,
    ) -> None:
        self._script = script
        self._name = name
        self._window = window
        self._max_output = max_output
        self._sleep = sleep
        self._turns = prepare(script.turns)
        self._routes = tuple([(when, prepare(turns, when)) for when, turns in script.routes])
        self._queue = Queue(self._turns, script.repeat)
        self.asked = 0
        self.requests: list[ScriptedConversation] | None = [] if keep_requests else None

    @property
    def name(self) -> str:
        return self._name

    @property
    def window(self) -> int | None:
        return self._window

    @property
    def max_output(self) -> int:
        return self._max_output

    @property
    def left(self) -> int:
        """How many turns of the shared queue nobody asked for."""
        return self._queue.left

    def converse(self, spec: ConversationSpec) -> ScriptedConversation:
        conversation = ScriptedConversation(self, spec)
        if self.requests is not None:
            self.requests.append(conversation)
        return conversation

    async def close(self) -> None:
        """Nothing is held."""

    def given(self, opaque: Opaque) -> None:
        """A run that goes on here got the turn of this place earlier: the shared queue goes on after it."""
        if opaque.provider == PROVIDER and len(opaque.blocks) == 1 and self._script.mode == "shared":
            self._queue.given(cast("int", opaque.blocks[0]))

    def queue_for(self, conversation: ScriptedConversation) -> Queue:
        """The turns that a conversation plays, chosen when it asks first."""
        for when, turns in self._routes:
            if conversation.mentions(when):
                return Queue(turns, self._script.repeat)
        return Queue(self._turns, self._script.repeat) if self._script.mode == "each" else self._queue

    async def wait(self, seconds: float) -> None:
        await self._sleep(seconds)


class Queue:
    """Turns in the order in which they are taken. Calls get ids by their place in the script, so a repeated script repeats
    them.
    """

    __slots__ = ("_next", "_repeat", "_turns")

    def __init__(self, turns: Sequence[Prepared], repeat: bool) -> None:
        self._turns = turns
        self._repeat = repeat
        self._next = 0

    @property
    def left(self) -> int:
        return 0 if self._repeat else len(self._turns) - self._next

    def take(self, model: str) -> Prepared:
        """The next turn. Raises `ModelError` (bad request) when there is none."""
        if self._next >= len(self._turns):
            if not self._repeat or not self._turns:
                message = f"the script of the model `{model}` has no turn left: it has {len(self._turns)}, and all were taken"
                raise ModelError(ModelErrorKind.BAD_REQUEST, message)
            self._next = 0
        turn = self._turns[self._next]
        self._next += 1
        return turn

    def given(self, number: int) -> None:
        """The turn of this number was given by an earlier execution of the run: what is asked next is the one after it."""
        self._next = max(self._next, number)


class Prepared:
    """A scripted turn with all that does not depend on the conversation made once."""

    __slots__ = ("calls", "output", "place", "said", "scripted", "stop")

    def __init__(self, scripted: ScriptedTurn, number: int, route: str) -> None:
        self.scripted = scripted
        self.place = Opaque(PROVIDER, (number, route) if route else (number,))
        self.calls = tuple([as_proposed(entry, f"{number}_{index}") for index, entry in enumerate(scripted.calls, start=1)])
        self.stop = scripted.stop or (Stop.CALLS if self.calls else Stop.DONE)
        size = (
            len(scripted.text)
            + len(scripted.final or "")
            + sum(len(call.name) + len(call.arguments or "") for call in self.calls)
        )
        self.output = size // BYTES_PER_TOKEN + 1
        value = None if scripted.final is None else json.loads(scripted.final)
        self.said = value if isinstance(value, str) else None

    def answer(self, spec: ConversationSpec, size: int) -> ModelTurn:
        """The turn as this conversation gets it; a final text is plain text where the output type is."""
        scripted = self.scripted
        text, final = scripted.text, scripted.final
        if self.said is not None and spec.output.text:
            text, final = self.said, None
        usage = scripted.usage or Usage(size // BYTES_PER_TOKEN + 1, 0, 0, self.output, 0, True)
        return ModelTurn(text, self.calls, self.stop, usage, final, self.place, spec.model, scripted.message)


def prepare(turns: Sequence[ScriptedTurn], route: str = "") -> tuple[Prepared, ...]:
    return tuple([Prepared(turn, number, route) for number, turn in enumerate(turns, start=1)])


class ScriptedConversation:
    """One conversation with a scripted model. Only what estimates need is kept of its messages, unless the provider keeps
    requests.
    """

    __slots__ = ("_beginning", "_provider", "_queue", "_resumed", "_size", "messages", "spec")

    def __init__(self, provider: ScriptedProvider, spec: ConversationSpec) -> None:
        self.spec = spec
        self.messages: list[tuple[str, object]] | None = None if provider.requests is None else []
        self._provider = provider
        self._queue: Queue | None = None
        self._beginning = ""
        self._resumed = 0
        self._size = len(spec.system) + 64 + sum(64 + len(tool.description) + 16 * len(tool.schema) for tool in spec.tools)

    @property
    def size(self) -> int:
        return self._size

    def mentions(self, text: str) -> bool:
        """Whether the instructions or the first message contain `text`."""
        return text in self.spec.system or text in self._beginning

    def user(self, text: str, files: Sequence[File] = ()) -> None:
        if not self._beginning:
            self._beginning = text
        self._size += len(text) + sum(len(file.data or b"") for file in files)
        if self.messages is not None:
            self.messages.append(("user", text))

    def turn(self, turn: ModelTurn) -> None:
        self._size += length(turn)
        if self._queue is None and turn.opaque is not None and turn.opaque.provider == PROVIDER:
            # Nothing was asked here yet: the turn comes from the journal of a run that goes on.
            self._resumed = max(self._resumed, cast("int", turn.opaque.blocks[0]))
        if self.messages is not None:
            self.messages.append(("assistant", turn))

    def answers(self, answers: Sequence[ToolAnswer]) -> None:
        for answer in answers:
            self._size += len(answer.content) + 32
        if self.messages is not None:
            self.messages.append(("answers", tuple(answers)))

    async def ask(self, max_tokens: int, last: bool, on_event: Callable[[ModelEvent], None] | None) -> ModelTurn:
        provider = self._provider
        provider.asked += 1
        if self._queue is None:
            self._queue = provider.queue_for(self)
            self._queue.given(self._resumed)
        prepared = self._queue.take(self.spec.model)
        scripted = prepared.scripted
        if scripted.delay:
            await provider.wait(scripted.delay)
        if scripted.error is not None:
            message = scripted.message or f"the script says: {scripted.error.value}"
            raise ModelError(scripted.error, message, retry_after=scripted.retry_after, usage=scripted.usage)
        turn = prepared.answer(self.spec, self._size)
        if on_event is not None:
            emit(turn, on_event)
        return turn


def length(turn: ModelTurn) -> int:
    """Characters of a turn, for estimates."""
    size = len(turn.text) + len(turn.final or "") + 32
    for call in turn.calls:
        size += len(call.name) + len(call.arguments or "") + 32
    return size


def emit(turn: ModelTurn, on_event: Callable[[ModelEvent], None]) -> None:
    """Tell a finished turn as the events that a stream would have brought."""
    for start in range(0, len(turn.text), _PIECE):
        on_event(TextDelta(turn.text[start : start + _PIECE]))
    for call in turn.calls:
        on_event(CallStarted(call.name))
    final = turn.final or ""
    for start in range(0, len(final), _PIECE):
        on_event(FinalDelta(final[start : start + _PIECE]))
