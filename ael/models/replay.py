"""Recording a real session to a file, and playing it back without key or network.

`recorded` wraps another model and writes what it answers; `replay` answers from the file. A request that is not in the
recording is
refused, with the first part that differs: nothing is guessed over.
"""

from __future__ import annotations

import asyncio
import difflib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ael.models.recording import Entry, RecordingError, Trail, beginning, line, read, readable
from ael.models.registry import Binding, BindingError, ProviderInfo, open_provider
from ael.models.scripted import emit
from ael.models.wrapped import WrappedConversation, WrappedProvider
from ael.net.redact import Redactor
from ael.run.ports import (
    Conversation,
    ConversationSpec,
    ModelError,
    ModelErrorKind,
    ModelEvent,
    ModelProvider,
    ModelTurn,
    ToolAnswer,
)  # fmt: skip
from ael.types.value import File

_SHOWN = 40
"""Lines of a difference that are told."""


def create(binding: Binding, info: ProviderInfo) -> ModelProvider:
    """The provider of a binding to `recorded` or `replay`. Raises `BindingError`."""
    if binding.path is None:
        raise BindingError(f'`{info.name}` needs the file of the recording: `{info.name}("session.jsonl")`')
    if info.name == "recorded":
        if binding.inner is None:
            raise BindingError('`recorded` needs the model to record: `recorded("session.jsonl", inner: anthropic("…"))`')
        if binding.inner.provider == "recorded":
            raise BindingError("a recording cannot record another one")
        secrets = () if binding.inner.key is None else (binding.inner.key,)
        return RecordingProvider(open_provider(binding.inner), binding.path, Redactor(secrets), binding.inner)
    try:
        return ReplayProvider(read(binding.path), binding.path)
    except RecordingError as problem:
        raise BindingError(str(problem)) from None


class RecordingProvider(WrappedProvider):
    """Passes everything on to the model that it wraps, and writes down what comes back."""

    def __init__(self, inner: ModelProvider, path: Path, redact: Redactor, binding: Binding, *, content: bool = False) -> None:
        super().__init__(inner)
        self.content = content
        """Whether what is asked is kept, too."""
        self._path = path
        self._redact = redact
        self._binding = binding
        self._begun = False

    def converse(self, spec: ConversationSpec) -> RecordingConversation:
        own = replace(spec, model=self._binding.model or spec.model, settings=self._binding.settings)
        return RecordingConversation(self, self._inner.converse(own), spec)

    def masked(self, turn: ModelTurn) -> ModelTurn:
        """The turn without the secrets that the model repeats."""
        mask = self._redact
        calls = tuple(replace(call, arguments=None if call.arguments is None else mask(call.arguments)) for call in turn.calls)
        return replace(turn, text=mask(turn.text), calls=calls, final=None if turn.final is None else mask(turn.final))

    def write(self, entry: Entry) -> None:
        """Append an entry; the first one begins the file anew. A secret that a model repeats is masked."""
        data = line(entry)
        with self._path.open("ab" if self._begun else "wb") as file:
            if not self._begun:
                file.write(beginning(self._binding.model, self._inner.name))
            file.write(self._redact(data.decode()).encode())
        self._begun = True


class RecordingConversation(WrappedConversation):
    """A conversation that is written down."""

    def __init__(self, provider: RecordingProvider, inner: Conversation, spec: ConversationSpec) -> None:
        super().__init__(inner)
        self._provider = provider
        self._trail = Trail(spec)
        self._written = 0

    def user(self, text: str, files: Sequence[File] = ()) -> None:
        super().user(text, files)
        self._trail.user(text, files)

    def turn(self, turn: ModelTurn) -> None:
        super().turn(turn)
        self._trail.turn(turn)

    def answers(self, answers: Sequence[ToolAnswer]) -> None:
        super().answers(answers)
        self._trail.answers(answers)

    async def ask(self, max_tokens: int, last: bool, on_event: Callable[[ModelEvent], None] | None) -> ModelTurn:
        trail, before = self._trail, self._written
        request, steps = trail.request(last), tuple(trail.steps[before:])
        self._written += len(steps)
        said = tuple(readable(part) for part in trail.parts[before:]) if self._provider.content else ()
        after = trail.steps[before - 1] if before else ""
        try:
            turn = await super().ask(max_tokens, last, on_event)
        except ModelError as error:
            self._provider.write(Entry(request, steps, None, error, after, said))
            raise
        if self._provider.content:
            # What follows in the conversation has to be what follows when it is played.
            turn = self._provider.masked(turn)
        self._provider.write(Entry(request, steps, turn, None, after, said))
        return turn


class ReplayProvider:
    """Answers from a recording. The same request asked twice gets the recorded answers in their order."""

    def __init__(self, entries: Sequence[Entry], path: Path) -> None:
        self._path = path
        self._answers: dict[str, deque[Entry]] = {}
        self._steps: set[str] = set()
        self._said: dict[str, list[str]] = {}
        """The hash before a part -> what was recorded there."""
        for entry in entries:
            self._answers.setdefault(entry.request, deque()).append(entry)
            self._steps.update(entry.steps)
            for before, said in zip((entry.after, *entry.steps), entry.said, strict=False):
                self._said.setdefault(before, []).append(said)

    @property
    def name(self) -> str:
        return "replay"

    @property
    def window(self) -> int | None:
        return None

    @property
    def max_output(self) -> int:
        return 1_000_000

    @property
    def left(self) -> int:
        """How many recorded answers nobody asked for."""
        return sum(map(len, self._answers.values()))

    def converse(self, spec: ConversationSpec) -> ReplayConversation:
        return ReplayConversation(self, spec)

    async def close(self) -> None:
        """Nothing is held."""

    def take(self, trail: Trail, last: bool) -> Entry:
        """The recorded answer. Raises `ModelError` (bad request) that says what differs."""
        answers = self._answers.get(trail.request(last))
        if answers:
            return answers.popleft()
        if answers is not None:
            what = "it asks once more than was recorded"
        else:
            unknown = next((place for place, step in enumerate(trail.steps) if step not in self._steps), None)
            what = (
                "it asks where nothing was asked" if unknown is None else f"{trail.names[unknown]} (part {unknown + 1}) changed"
            )
        message = f"the run diverges from the recording {self._path.name}: {what}; record it again"
        if answers is None and unknown is not None:
            message += self._difference(trail.steps[unknown - 1] if unknown else "", readable(trail.parts[unknown]))
        raise ModelError(ModelErrorKind.BAD_REQUEST, message)

    def _difference(self, before: str, now: str) -> str:
        """How the part differs from the one that was recorded in its place, where the recording keeps it."""
        recorded = self._said.get(before)
        if not recorded:
            return ""
        near = max(recorded, key=lambda one: difflib.SequenceMatcher(None, one[:2_000], now[:2_000]).quick_ratio())
        lines = list(difflib.unified_diff(near.split("\n"), now.split("\n"), "recorded", "now", n=1, lineterm=""))
        more = [f"… {len(lines) - _SHOWN} lines more"] if len(lines) > _SHOWN else []
        return "\n" + "\n".join([*(line[:300] for line in lines[:_SHOWN]), *more])


class ReplayConversation:
    """A conversation that is played back."""

    def __init__(self, provider: ReplayProvider, spec: ConversationSpec) -> None:
        self._provider = provider
        self._trail = Trail(spec)
        self._size = len(spec.system) + 64

    @property
    def size(self) -> int:
        return self._size

    def user(self, text: str, files: Sequence[File] = ()) -> None:
        self._size += len(text) + 32
        self._trail.user(text, files)

    def turn(self, turn: ModelTurn) -> None:
        self._size += len(turn.text) + len(turn.final or "") + 32
        self._trail.turn(turn)

    def answers(self, answers: Sequence[ToolAnswer]) -> None:
        self._size += sum(len(answer.content) + 32 for answer in answers)
        self._trail.answers(answers)

    async def ask(self, max_tokens: int, last: bool, on_event: Callable[[ModelEvent], None] | None) -> ModelTurn:
        entry = self._provider.take(self._trail, last)
        # As with a real model, others get their turn meanwhile.
        await asyncio.sleep(0)
        if entry.error is not None:
            error = entry.error
            raise ModelError(
                error.kind,
                error.message,
                status=error.status,
                retry_after=error.retry_after,
                usage=error.usage,
                limit=error.limit,
            )
        assert entry.turn is not None
        if on_event is not None:
            emit(entry.turn, on_event)
        return entry.turn
