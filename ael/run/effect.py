"""The built-in effects: time, identifiers, random numbers, the log. Journaled, so that a run over its journal sees the same."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from ael.journal.entry import Ending, Kind
from ael.run.events import Logged
from ael.run.frame import RunFrame
from ael.run.step import Step
from ael.run.world import World
from ael.types.fault import Fault, FaultKind

_ID_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_ID_LENGTH = 20


class EffectPlan:
    """One built-in effect. `make` gives its value; it is idempotent by being recorded."""

    __slots__ = ("_make", "name", "short")

    def __init__(self, name: str, make: Callable[[RunFrame, str, tuple[object, ...]], object]) -> None:
        self.name = name
        self.short = name.removeprefix("std.")
        self._make = make

    async def call(self, frame: RunFrame, path: str, arguments: tuple[object, ...]) -> object:
        step = Step(frame.scope.run, path, Kind.EFFECT, self.name, "", "")
        known = step.replayed()
        if known is not None:
            return known.value
        value = self._make(frame, path, arguments)
        step.answer(Ending.VALUE, value)
        return value


def effects(world: World) -> dict[str, EffectPlan]:
    """The built-in effects by their names in compiled code."""
    clock, random = world.clock, world.bindings.random

    def now(frame: RunFrame, path: str, arguments: tuple[object, ...]) -> object:
        return datetime.fromtimestamp(clock.now(), UTC)

    def today(frame: RunFrame, path: str, arguments: tuple[object, ...]) -> object:
        return datetime.fromtimestamp(clock.now(), UTC).date()

    def new_id(frame: RunFrame, path: str, arguments: tuple[object, ...]) -> object:
        return "".join([_ID_LETTERS[int(random() * 32)] for _ in range(_ID_LENGTH)])

    def random_int(frame: RunFrame, path: str, arguments: tuple[object, ...]) -> object:
        low, high = arguments
        assert isinstance(low, int)
        assert isinstance(high, int)
        if high < low:
            raise Fault(FaultKind.OUT_OF_RANGE, f"random_int({low}, {high}): the first must not be above the second", path=path)
        width = high - low + 1
        if width <= 1 << 52:
            return low + int(random() * width)
        drawn = 0
        for _ in range(width.bit_length() // 32 + 2):
            drawn = drawn << 32 | int(random() * (1 << 32))
        return low + drawn % width

    def log(frame: RunFrame, path: str, arguments: tuple[object, ...]) -> object:
        run = frame.scope.run
        text = world.masker.text(str(arguments[0]))
        if run.listening:
            run.emit(Logged(run.id, path, text))
        if run.trace is not None:
            run.trace.begin("effect", "log", path, frame.scope.span).end("value", frame.scope.seen, {"text": text})
        return None

    made = {"std.now": now, "std.today": today, "std.new_id": new_id, "std.random_int": random_int, "std.log": log}
    return {name: EffectPlan(name, make) for name, make in made.items()}
