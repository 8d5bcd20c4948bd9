"""A model inside of another: everything is passed on, and what wraps says only what it does besides."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ael.run.ports import (
    Conversation,
    ModelEvent,
    ModelProvider,
    ModelTurn,
    Opaque,
    Resumable,
    ToolAnswer,
)
from ael.types.value import File


class WrappedConversation:
    """Passes everything on."""

    def __init__(self, inner: Conversation) -> None:
        self._inner = inner

    @property
    def size(self) -> int:
        return self._inner.size

    def user(self, text: str, files: Sequence[File] = ()) -> None:
        self._inner.user(text, files)

    def turn(self, turn: ModelTurn) -> None:
        self._inner.turn(turn)

    def answers(self, answers: Sequence[ToolAnswer]) -> None:
        self._inner.answers(answers)

    async def ask(self, max_tokens: int, last: bool, on_event: Callable[[ModelEvent], None] | None) -> ModelTurn:
        return await self._inner.ask(max_tokens, last, on_event)


class WrappedProvider:
    """Passes on what concerns the provider as a whole; `converse` is what a wrapper is made for."""

    def __init__(self, inner: ModelProvider) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def window(self) -> int | None:
        return self._inner.window

    @property
    def max_output(self) -> int:
        return self._inner.max_output

    def given(self, opaque: Opaque) -> None:
        """A run that goes on got this turn earlier: a script inside goes on after it."""
        if isinstance(self._inner, Resumable):
            self._inner.given(opaque)

    async def close(self) -> None:
        await self._inner.close()
