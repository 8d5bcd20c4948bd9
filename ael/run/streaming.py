"""What streams of a turn, told as typed events: text, pieces of the result, and the result so far as a partial value of its type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ael.run.events import Partial, Text
from ael.run.ports import CallStarted, FinalDelta, ModelEvent, TextDelta
from ael.run.run import Run
from ael.types.partial import MISSING, partial

if TYPE_CHECKING:
    from ael.run.node import ModelNodePlan

_STEP = 48
"""Characters of a result between partial values: each one reads what has come so far."""


class Streaming:
    """Called with each event of one turn, and `end` after the last. `told` says whether anybody has seen something of it."""

    __slots__ = ("_final", "_masked", "_path", "_plan", "_read", "_run", "_shown", "told")

    def __init__(self, run: Run, path: str, plan: ModelNodePlan) -> None:
        self._run = run
        self._path = path
        self._plan = plan
        self._final = ""
        self._read = 0
        self._shown = run.world.masker.pieces()
        self._masked = run.world.masker.pieces()
        self.told = False

    def __call__(self, event: ModelEvent) -> None:
        match event:
            case TextDelta(text):
                self.told = True
                self._say(self._shown.feed(text))
            case FinalDelta(text):
                self.told = True
                self._say_final(self._masked.feed(text))
            case CallStarted():
                pass

    def end(self) -> None:
        """The turn is whole: what was held back is told."""
        self._say(self._shown.rest())
        self._say_final(self._masked.rest())

    def _say(self, text: str) -> None:
        if text:
            self._run.emit(Text(self._run.id, self._path, text))

    def _say_final(self, text: str) -> None:
        run = self._run
        if text:
            run.emit(Text(run.id, self._path, text, True))
        self._final += text
        if len(self._final) - self._read >= _STEP and not self._plan.output_is_text:
            self._read = len(self._final)
            codecs = run.world.codecs
            value = partial(self._final, self._plan.output.type, codecs.definitions, codecs.limits)
            if value is not MISSING:
                run.emit(Partial(run.id, self._path, run.world.masker.value(value)))
