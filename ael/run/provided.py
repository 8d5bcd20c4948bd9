"""An operation whose provider is a Python function of the host: checked, keyed, timed and journaled like every other call.

What is outside may have acted before it broke, so a lost reply of an operation that must not be repeated is `Uncertain`; what it gives is
outside data. A program's own provider of the same service does not run: the host has said who provides it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from ael.run.extern import Extern
from ael.run.repeat import LOST_REPLY
from ael.run.scope import Scope
from ael.run.service import OperationPlan
from ael.run.step import Step
from ael.run.world import World
from ael.types.fault import Fault
from ael.types.spec import LimitSpec, OperationSpec


class PythonOperation(OperationPlan):
    """An operation of a service that a Python function provides. It holds no grants: nothing of the program is called from there."""

    __slots__ = ("_extern",)

    def __init__(self, world: World, spec: OperationSpec, short: str, function: Callable[..., object]) -> None:
        super().__init__(world, spec, short, None, "Python", frozenset(), LimitSpec())
        self.sources = frozenset({f"service:{short}"})
        self._extern = Extern(function, spec.signature.fails)

    def body(self, scope: Scope, path: str, depth: int, step: Step, arguments: dict[str, object]) -> Coroutine[Any, Any, object]:
        work = self._extern.run(scope, step, self.permission or "", arguments)
        return work if self._most is None else self._bounded(work, self._most)

    def lost(self, fault: Fault, step: Step) -> bool:
        return fault.kind in LOST_REPLY
