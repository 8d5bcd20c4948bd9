"""Calling an operation that the deployment places elsewhere: what goes out, what the answer means, and what a lost one leaves open.

The checks before, the journal, the retries and the time limits are those of every call (`ael.run.call`): a placement changes none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, cast

from ael.data import replace
from ael.journal.entry import State
from ael.run.approval import Approved
from ael.run.call import CallPlan
from ael.run.carrier import ConnectedService
from ael.run.codec import InputCodec, text_of_form
from ael.run.extern import context_of, full_name
from ael.run.handed import handed
from ael.run.masker import Masker
from ael.run.placement import PlacedAnswer, PlacedCall, Placement, ResultCodec
from ael.run.progress import heard
from ael.run.repeat import LOST_ANSWER
from ael.run.scope import Scope
from ael.run.service import Serving, limits_of_operation
from ael.run.step import ELSEWHERE, Step
from ael.run.world import World
from ael.types.fault import FAULT_NAMES, Failure, Fault, FaultKind, Uncertain
from ael.types.problem import DecodeError
from ael.types.signature import Signature
from ael.types.spec import LimitSpec, OperationSpec
from ael.types.type import Named

THERE = "/there"
"""Ends the path of the record that a visit of a node elsewhere is."""


class Told(Fault):
    """A fault that the other side itself ended with: its word, not a lost reply. Code knows no such kind of fault: see `plainly`."""


def plainly(ending: Fault | Uncertain) -> Fault | Uncertain:
    """What a call ends with for whoever made it: a fault is a fault, wherever it is from, or no `catch` would meet it."""
    return Fault(ending.kind, ending.message, **ending.details) if isinstance(ending, Told) else ending


class PlacedOperation(Serving):
    """An operation of a service, provided elsewhere."""

    place = ELSEWHERE
    __slots__ = ("_call", "_placement", "_spec", "_world", "moved")

    def __init__(self, world: World, spec: OperationSpec, short: str, placement: Placement, provided: bool) -> None:
        """`provided`: this program has a body for it too, whose taint is the operation's; else its result is outside data."""
        timeout, most_input, most_output = limits_of_operation(world, spec, LimitSpec())
        super().__init__(
            spec.name,
            short,
            spec.signature,
            spec.permission,
            spec.repeat,
            spec.retry,
            timeout,
            InputCodec(world.codecs, spec.signature, most_input),
            world.codecs.value(spec.signature.result),
            most_output,
            frozenset() if provided else frozenset({f"service:{short}"}),
        )
        self._placement = placement
        self.moved: Callable[[], CallPlan] | None = None
        """The same operation with its provider in the process."""
        self._call = Crossing(world, spec.signature, short, spec.name.rpartition(".")[2], most_output)
        self._world = world
        self._spec = spec

    async def perform(
        self, scope: Scope, depth: int, step: Step, arguments: dict[str, object], approved: Approved | None, needs_approval: bool
    ) -> tuple[object, bytes | None]:
        """As every call; one that an earlier execution began in the process goes on there, over the records of what it did."""
        open_yet = step.state is State.STARTED and not step.elsewhere
        if open_yet and self.moved is not None and scope.run.began(step.path):
            return await self.moved().perform(scope, depth, step, arguments, approved, needs_approval)
        return await super().perform(scope, depth, step, arguments, approved, needs_approval)

    def body(self, scope: Scope, path: str, depth: int, step: Step, arguments: dict[str, object]) -> Coroutine[Any, Any, object]:
        form = self.input.value.encode(arguments)
        placement = self._placement
        if isinstance(placement, ConnectedService):
            placement = placement.within(self._world, self._spec, self._call.result, scope, path, depth)
        return self._call.run(placement, scope, step, form, self.permission, resend=not self.repeat.can_be_uncertain)

    def interrupted(self, step: Step) -> bool:
        """Where the other side keeps what it was asked, the call is asked for again."""
        return not self._placement.keeps and super().interrupted(step)

    def _ended(self, fault: Fault, step: Step, inner: Scope) -> Fault | Uncertain:
        return plainly(super()._ended(fault, step, inner))

    def lost(self, fault: Fault, step: Step) -> bool:
        """What was sent and not answered may have taken effect; what the other side says of itself is its word."""
        return not isinstance(fault, Told) and step.sent is not False and fault.kind in LOST_ANSWER


class Crossing:
    """One call to the other side, and its answer as a value or as what it ends with. Shared by operations and nodes."""

    __slots__ = ("_codecs", "_fails", "_most", "_short", "_target", "result")

    def __init__(self, world: World, signature: Signature, short: str, target: str, most: int) -> None:
        self._codecs = world.codecs
        self._fails = signature.fails
        self._short = short
        self._target = target
        self._most = most
        self.result = ResultCodec(signature.result, world.codecs, most)

    async def run(
        self,
        placement: Placement,
        scope: Scope,
        step: Step,
        form: object,
        permission: str | None,
        *,
        resend: bool,
        grants: tuple[str, ...] | None = None,
    ) -> object:
        """Call once. Raises what the other side ended with; whether it may have seen the call is in `step.sent`."""
        step.sent = False
        context = replace(context_of(scope, step, permission, bool), sending=_sending(scope, step), taken_back=_taken_back(step))
        attempts = scope.attempts
        left = None if attempts is None else attempts.left
        run, watch = scope.run, None
        if run.followed or (run.listening and placement.own):
            watch = self._watch(scope, step.path.removesuffix(THERE), own=placement.own)
        said = handed(scope, form)
        told = "" if said is None else said.text()
        call = PlacedCall(self._target, text_of_form(form), resend, self._most, left, scope.run.via, context, grants, watch, told)
        try:
            answer = await placement.call(call)
        except Fault as fault:
            if fault.details.get("sent") is False:
                step.sent = False
            raise
        if attempts is not None and answer.attempts is not None:
            attempts.left = min(attempts.left, max(0, answer.attempts))
        if answer.taint is not None:
            scope.seen |= answer.taint
        else:
            scope.seen |= {f"service:{self._short}"}
        return self._value(answer, step, scope.run.world.masker)

    def _watch(self, scope: Scope, path: str, *, own: bool) -> Callable[[str, object], None]:
        """Tells what happens inside as this run's own, at the places where it would happen here; what began the call itself is told."""
        run, within = scope.run, f"{self._short}/"

        def place(told: str) -> str:
            return f"{path}/{told.removeprefix(within)}"

        def tell(name: str, data: object) -> None:
            told = data.get("path") if isinstance(data, Mapping) else None
            if not isinstance(told, str) or not told.startswith(within):
                return
            event = heard(name, run.world.masker.value(data), run.id, place)
            if event is not None:
                run.emit(event, own=own)

        return tell

    def _value(self, answer: PlacedAnswer, step: Step, masker: Masker) -> object:
        if answer.ending is not None:
            raise self._ended(cast("Mapping[str, object]", masker.incoming(answer.ending)), step)
        try:
            return self.result.read(cast("bytes", masker.incoming(answer.value or b"")))
        except DecodeError as error:
            raise self._malformed(f"it does not fit its type: {error.text}") from None

    def _ended(self, ending: Mapping[str, object], step: Step) -> Failure | Fault | Uncertain:
        """What the other side ended with, as this program knows it."""
        found: Fault | Uncertain
        match ending.get("outcome"):
            case "error":
                return self._failure(str(ending.get("error", "")), ending.get("value"))
            case "uncertain" if ending.get("key") == step.key:
                found = Uncertain(step.key, self._short, step.path)
            case "uncertain":
                key, operation = str(ending.get("key", "")), str(ending.get("operation", ""))
                found = Uncertain(key, operation, self._step(str(ending.get("step", "")), step))
            case "fault" if str(ending.get("kind")) in FAULT_NAMES:
                found = Told(FaultKind(str(ending.get("kind"))), str(ending.get("message", "")))
            case _:
                return self._malformed("it ended in a way that is not known here")
        details = ending.get("details")
        found.details = {str(name): value for name, value in details.items()} if isinstance(details, Mapping) else {}
        return found

    def _step(self, told: str, step: Step) -> str:
        """The place of an effect inside of the call, as it would be called if the body ran here."""
        return f"{step.path}{told[len(self._short) :]}" if told.startswith(f"{self._short}/") else told

    def _failure(self, error: str, form: object) -> Failure | Fault:
        """The declared error that the other side names: by its whole name, or by its own where its module is called otherwise there."""
        name = error if error in self._fails else full_name(self._fails, error.rpartition(".")[2])
        if name not in self._fails:
            return self._malformed(f"it failed with `{error[:200]}`, which is not declared")
        try:
            value = self._codecs.value(Named(name)).decode(form)
        except DecodeError as problem:
            return self._malformed(f"the error `{error[:200]}` does not fit its type: {problem.text}")
        assert isinstance(value, dict)
        return Failure(name, value)

    def _malformed(self, why: str) -> Fault:
        return Fault(FaultKind.MALFORMED, f"the answer to `{self._short}` is of no use: {why}", sent=True)


def _taken_back(step: Step) -> Callable[[], None]:
    """What an adapter tells when nothing of a call was done after all."""

    def told() -> None:
        step.sent = False

    return told


def _sending(scope: Scope, step: Step) -> Callable[[str], None]:
    """What an adapter tells before bytes go out: for the repeat safety of the call, and for its span."""
    span = scope.span if scope.run.trace is not None else None

    def told(protocol: str) -> None:
        step.sent = True
        if span is not None:
            span.attributes["placement"] = protocol

    return told
