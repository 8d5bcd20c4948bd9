"""What scripted tools, operations and nodes answer: the turns of a `script` statement, in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from ael.run.clock import SystemClock
from ael.run.desk import Called, Visited
from ael.run.step import Step
from ael.types.fault import Failure, Fault, FaultKind, Uncertain
from ael.types.signature import Repeat

Turn = Mapping[str, object]
_GIVEN = "`final`, `fails`, `unavailable`, `timeout`, `uncertain` or `denied`"


class Answers:
    """The turns of one name. `taken`, common to all of a test, are those of each place: one that asks again after a crash gets the same."""

    def __init__(self, shown: str, turns: Sequence[object], taken: dict[str, Turn]) -> None:
        self._shown = shown
        self._turns = [cast("Turn", turn) for turn in turns]
        self._taken = taken
        self._next = 0

    def at(self, path: str) -> Turn:
        """The turn for the call at `path`. Raises the fault `Unavailable` when there is none left."""
        turn = self._taken.get(path)
        if turn is None:
            if self._next >= len(self._turns):
                message = f"the script of `{self._shown}` has no turn left: it has {len(self._turns)}, and all were taken"
                raise Fault(FaultKind.UNAVAILABLE, message, sent=False, final=True)
            turn = self._taken[path] = self._turns[self._next]
            self._next += 1
        return turn

    async def call(self, plan: Called, path: str, step: Step, clock: SystemClock) -> object:
        """The answer to a call of a tool or an operation. Raises what stands for no value."""
        turn = self.at(path)
        match turn:
            case {"timeout": True}:
                if plan.timeout is None:
                    raise Fault(FaultKind.TIMEOUT, f"`{plan.short}` took too long", path=step.path)
                await clock.sleep(plan.timeout * 2 + 1)
                raise AssertionError("its time limit was over before")
            case {"uncertain": True}:
                repeat = getattr(plan, "repeat", Repeat.NEVER)
                if not repeat.can_be_uncertain:
                    raise self._wrong(f"`{plan.short}` never ends Uncertain: it may be repeated")
                raise Uncertain(step.key, plan.short, step.path, why="the script says so")
            case _:
                return self._plain(turn, plan.short, plan.signature.fails)

    async def visit(self, plan: Visited, path: str, fails: frozenset[str]) -> object:
        """The answer to a visit of a node."""
        turn = self.at(path)
        if "uncertain" in turn:
            raise Uncertain("", plan.short, path, why="the script says so")
        return self._plain(turn, plan.short, fails)

    def _plain(self, turn: Turn, short: str, fails: frozenset[str]) -> object:
        match turn:
            case {"final": value}:
                return value
            case {"fails": str(error), "with": value}:
                if error not in fails:
                    raise self._wrong(f"`{short}` does not fail with `{error.rpartition('.')[2]}`")
                raise Failure(error, dict(cast("Mapping[str, object]", value)))
            case {"error": "unavailable", "message": str(why)}:
                raise Fault(FaultKind.UNAVAILABLE, why or f"`{short}` is not there", sent=False)
            case {"denied": str(why)}:
                raise Fault(FaultKind.DENIED, why or f"`{short}` was denied")
            case _:
                raise self._wrong(f"`{short}` answers with {_GIVEN}")

    def _wrong(self, why: str) -> Fault:
        return Fault(FaultKind.MALFORMED, f"the script of `{self._shown}`: {why}", sent=False)
