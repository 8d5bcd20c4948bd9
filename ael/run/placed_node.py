"""Visiting a node that the deployment places elsewhere: its rights, budget and time are kept to here, its inside is another run there.

A visit is recorded like a call, since what happens inside is not in this run's journal; a lost answer is judged by the repeat safety
that the check inferred for the node.
"""

from __future__ import annotations

import hashlib
from collections.abc import Coroutine
from typing import Any

from ael.journal.entry import Kind
from ael.lower.unit import CompiledNode
from ael.run.call import CallPlan, left_there
from ael.run.codec import InputCodec
from ael.run.delivery import deliver
from ael.run.gate import bad_arguments
from ael.run.node import NodePlan
from ael.run.placed import THERE, Crossing, Told, plainly
from ael.run.placement import PlacedAnswer, PlacedCall, Placement
from ael.run.repeat import LOST_ANSWER
from ael.run.run import Run
from ael.run.scope import Scope
from ael.run.step import ELSEWHERE, Step
from ael.run.world import World
from ael.types.fault import Fault, FaultKind, Uncertain
from ael.types.problem import DecodeError
from ael.types.spec import NodeSpec


class PlacedNode(NodePlan):
    """A node, or an agent, that runs elsewhere. `delivers`: it is visited along an edge, which hands over at least once."""

    __slots__ = ("_visit", "kind")

    def __init__(self, world: World, compiled: CompiledNode, short: str, placement: Placement, *, delivers: bool = False) -> None:
        super().__init__(compiled, short, compiled.spec.budget)
        self.kind = "node" if compiled.spec.agent is None else "agent"
        self.holder = f"the {self.kind} `{short}`"
        self._visit = _Visit(world, compiled.spec, short, placement, delivers)

    def place(self, run: Run, path: str) -> NodePlan:
        """As of a node in the process: one that began there goes on there."""
        if self.moved is not None and run.journal.last(f"{path}{THERE}") is None and run.began(path):
            return self.moved()
        return self

    async def inside(self, scope: Scope, depth: int, path: str, arguments: tuple[object, ...]) -> object:
        visit = self._visit
        try:
            named, text = visit.input.checked(visit.input.named(arguments))
        except DecodeError as error:
            raise bad_arguments(error).as_fault(path) from None
        # What a visit is recorded as, where it is one that a model asked for, stands at its own path.
        step = Step(scope.run, f"{path}{THERE}", Kind.OPERATION, self.name, hashlib.sha256(text).hexdigest(), None, scope.last)
        step.replayed()
        step.propose(named)
        value, _ = await visit.perform(scope, depth, step, named, None, False)
        return value


class _Visit(CallPlan):
    """The one call that a visit is."""

    kind = Kind.OPERATION
    span = "operation"
    place = ELSEWHERE
    __slots__ = ("_call", "_delivers", "_grants", "_placement")

    def __init__(self, world: World, spec: NodeSpec, short: str, placement: Placement, delivers: bool) -> None:
        limits = world.bindings.limits
        super().__init__(
            spec.name,
            short,
            spec.signature,
            None,
            spec.signature.effects.repeat,
            None,
            None,
            InputCodec(world.codecs, spec.signature, limits.input),
            world.codecs.value(spec.signature.result),
            limits.output,
            frozenset(),
        )
        self._grants = tuple(sorted(spec.grants))
        self._placement = placement
        self._delivers = delivers
        self._call = Crossing(world, spec.signature, short, spec.name.rpartition(".")[2], limits.output)

    def body(self, scope: Scope, path: str, depth: int, step: Step, arguments: dict[str, object]) -> Coroutine[Any, Any, object]:
        form = self.input.value.encode(arguments)
        resend = not self.repeat.can_be_uncertain

        def hand_over() -> Coroutine[Any, Any, object]:
            # The other side knows nothing of who refuses what here: it is told what is left, each time.
            grants = tuple([name for name in self._grants if scope.rights.refusal(name) is None])
            return self._call.run(self._placement, scope, step, form, None, resend=resend, grants=grants)

        if not self._delivers:
            return hand_over()
        return deliver(hand_over, scope, step, twice=resend or self._placement.keeps)

    def interrupted(self, step: Step) -> bool:
        """As of an operation."""
        return not self._placement.keeps and super().interrupted(step)

    def _ended(self, fault: Fault, step: Step, inner: Scope) -> Fault | Uncertain:
        return plainly(super()._ended(fault, step, inner))

    def lost(self, fault: Fault, step: Step) -> bool:
        """As of an operation."""
        return not isinstance(fault, Told) and step.sent is not False and fault.kind in LOST_ANSWER


class Gone:
    """Implements `Placement`: a place of which the deployment has no word any more. What was answered there is in the journal."""

    own = keeps = False

    def __init__(self, short: str) -> None:
        self._short = short

    async def call(self, call: PlacedCall) -> PlacedAnswer:
        """Nobody can be asked what became of it, and doing it again here would be doing it twice. Raises `Fault`."""
        raise Fault(FaultKind.UNAVAILABLE, left_there(self._short), sent=True, final=True)

    async def close(self) -> None:
        """Nothing was opened."""
