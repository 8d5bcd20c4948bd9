"""A node in a `tools` list: offered as `delegate__name`, run with grants that only shrink, and only its declared output comes back."""

from __future__ import annotations

import hashlib

from ael.journal.entry import Ending, Kind
from ael.run.approval import Approved, ask
from ael.run.codec import InputCodec, written
from ael.run.gate import Refusal
from ael.run.given_up import given_up, limit_of
from ael.run.node import NodePlan
from ael.run.park import Parked
from ael.run.ports import ToolOffer
from ael.run.scope import Scope
from ael.run.step import Step, error_of
from ael.run.taint import doubted, trusted_in
from ael.run.tool import Done
from ael.run.world import World
from ael.types.fault import Failure, Fault, FaultKind, Uncertain
from ael.types.naming import wire_name
from ael.types.problem import DecodeError
from ael.types.schema import record_schema

MAX_LEVEL = 16
"""Delegations in each other (feature A13.6)."""


class OfferedNode:
    """A node as a model sees it."""

    __slots__ = (
        "_output",
        "_trusted",
        "denied",
        "input",
        "max_output",
        "name",
        "offer",
        "only",
        "parallel",
        "permission",
        "plan",
        "server",
        "target",
    )

    def __init__(self, world: World, plan: NodePlan) -> None:
        self.plan = plan
        self.name = wire_name(f"delegate.{plan.name.rpartition('.')[2]}")
        self.target = plan.name
        self.permission: str | None = None
        self.server: str | None = None
        self.denied = False
        self.only: frozenset[str] | None = None
        self.parallel = False
        self.max_output = world.bindings.limits.result
        self.input = InputCodec(world.codecs, plan.spec.signature, world.bindings.limits.input)
        self._trusted = trusted_in(plan.spec.signature)
        self._output = world.codecs.value(plan.spec.signature.result)
        self.offer = ToolOffer(self.name, plan.spec.doc, record_schema(self.input.record, world.codecs.definitions))

    async def run(self, scope: Scope, depth: int, path: str, arguments: dict[str, object], text: bytes) -> Done:
        """One visit of the node, recorded like a call: when it is answered, nothing inside is run again."""
        run = scope.run
        step = Step(run, path, Kind.TOOL, self.target, hashlib.sha256(text).hexdigest(), None, scope.last)
        known = step.replayed()
        step.propose(arguments)
        approved: Approved | None = None
        if (doubt := doubted(scope.run, self._trusted, arguments)) is not None:
            answer = await ask(scope, self.target, None, self.input, step, arguments, doubt)
            if isinstance(answer, Refusal):
                fault = answer.as_fault(path)
                if known is None:
                    step.answer(Ending.REFUSED, fault.value())
                raise fault
            arguments = answer.arguments
            approved = answer if answer.edited else None
        if known is not None:
            scope.note(path, frozenset(known.taint))
            if known.ending is not Ending.VALUE:
                raise given_up(known) or error_of(known)
            return Done(known.value, written(self._output.encode(known.value)), approved)
        try:
            if scope.level >= MAX_LEVEL:
                raise Fault(FaultKind.TOO_DEEP, f"delegations are nested more than {MAX_LEVEL} deep", path=path)
            waiting = step.start()
            if waiting is not None:
                await waiting
            value = await self.plan.visit(scope, depth, path, self.input.positional(arguments), level=1)
            result = written(self._output.encode(value))
        except DecodeError as error:
            fault = Fault(
                FaultKind.MALFORMED, f"the result of `{self.target}` does not fit its type: {error.text}", tool=self.target
            )
            step.fail(fault, scope.seen)
            raise fault from None
        except (Failure, Fault, Uncertain) as ending:
            step.fail(ending, scope.seen)
            scope.note(path, scope.seen)
            raise
        except Parked:
            raise
        except BaseException as error:
            cut = limit_of(error, scope.deadline.cut_by())
            step.give_up(Fault(FaultKind.CANCELLED, f"`{self.target}` was given up while it ran"), cut)
            raise
        step.answer(Ending.VALUE, value, scope.seen)
        if len(result) > self.max_output and not isinstance(value, str):
            shown = f"the result of `{self.target}` has {len(result):,} bytes, more than the {self.max_output:,} allowed"
            raise Fault(FaultKind.TOO_LARGE, shown, tool=self.target, limit=self.max_output)
        return Done(value, result, approved)
