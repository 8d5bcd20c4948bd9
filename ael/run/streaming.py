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
    """Called with each event of one turn. `told` says whether anybody has seen something of it."""

    __slots__ = ("_final", "_path", "_plan", "_read", "_run", "told")

    def __init__(self, run: Run, path: str, plan: ModelNodePlan) -> None:
        self._run = run
        self._path = path
        self._plan = plan
        self._final = ""
        self._read = 0
        self.told = False

    def __call__(self, event: ModelEvent) -> None:
        run = self._run
        match event:
            case TextDelta(text):
                self.told = True
                run.emit(Text(run.id, self._path, run.world.masker.text(text)))
            case FinalDelta(text):
                self.told = True
                run.emit(Text(run.id, self._path, run.world.masker.text(text), True))
                self._final += text
                if len(self._final) - self._read >= _STEP and not self._plan.output_is_text:
                    self._read = len(self._final)
                    codecs = run.world.codecs
                    value = partial(self._final, self._plan.output.type, codecs.definitions, codecs.limits)
                    if value is not MISSING:
                        run.emit(Partial(run.id, self._path, run.world.masker.value(value)))
            case CallStarted():
                pass
