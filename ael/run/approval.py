"""A person's word before a call acts: bound to the tool, its exact arguments, the run, the position and the tenant; used once (K30)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import cast

from ael.data import dataclass
from ael.journal.entry import Ending, Kind
from ael.run.codec import InputCodec, digest
from ael.run.deadline import Deadline, Expired
from ael.run.events import ApprovalAsked, ApprovalDecided
from ael.run.gate import Check, Refusal, bad_arguments
from ael.run.park import Parked, Wait
from ael.run.ports import ApprovalRequest, Approver, Decision
from ael.run.scope import Scope
from ael.run.step import Step
from ael.types.fault import FaultKind
from ael.types.problem import DecodeError


@dataclass(frozen=True, slots=True)
class Approved:
    """An approval in hand. It fits exactly one call: the one at `step` with arguments of this digest."""

    tool: str
    step: str
    digest: str
    by: str
    arguments: dict[str, object]
    edited: bool

    def fits(self, tool: str, step: str, arguments: object) -> bool:
        """Whether this is the approval of that call, with those arguments."""
        return self.tool == tool and self.step == step and self.digest == digest(arguments)


async def ask(
    scope: Scope,
    tool: str,
    role: str | None,
    input: InputCodec,
    call: Step,
    arguments: dict[str, object],
    reason: str,
    preview: Callable[[], Awaitable[str]] | None = None,
) -> Approved | Refusal:
    """Ask for the call at `call`, or take the journaled decision. What a person edits is decoded like a new call's arguments.

    Raises what `preview` does: a call that could not act is asked about nobody.
    """
    run = scope.run
    step = Step(run, f"{call.path}/approval", Kind.APPROVAL, tool, digest(arguments), call.key)
    known = step.replayed()
    span = run.trace.begin("approval", tool, step.path, scope.span) if run.trace is not None else None
    if known is not None:
        decision = recorded(known.value)
    else:
        approver = run.world.bindings.approver
        if approver is None and not run.parks:
            who = f" by {role}" if role else ""
            return Refusal(
                Check.APPROVAL, FaultKind.APPROVAL_DENIED, f"`{tool}` needs an approval{who}, and nobody is there to give one"
            )
        since = asked_at(step)
        seen = await _preview(preview, step)
        step.propose({"role": role, "arguments": arguments, "reason": reason, **({"preview": seen} if seen else {})})
        if run.listening:
            run.emit(ApprovalAsked(run.id, step.path, tool, role))
        shown = cast("dict[str, object]", run.world.masker.value(arguments))
        request = ApprovalRequest(run.id, call.path, run.tenant, tool, role, shown, step.digest, reason, preview=seen)
        said = await decided(scope, approver, request, since)
        if said is None and run.parks:
            if span is not None:
                span.end("parked")
            raise parked(scope, request, step, since)
        decision = said or Decision(False, "nobody", "nobody is there to decide")
        record(step, decision)
    if run.listening:
        run.emit(ApprovalDecided(run.id, step.path, tool, decision.approved, decision.by))
    if span is not None:
        if known is not None:
            span.attributes["replayed"] = True
        span.end("value" if decision.approved else "refused", by=decision.by, reason=decision.reason)
    if not decision.approved:
        why = f": {decision.reason}" if decision.reason else ""
        text = f"{decision.by} did not approve `{tool}`{why}"
        return Refusal(Check.APPROVAL, FaultKind.APPROVAL_DENIED, text)
    if decision.arguments is None or decision.arguments == arguments:
        return Approved(tool, call.path, step.digest, decision.by, arguments, False)
    try:
        edited = _edited(input, dict(decision.arguments))
    except DecodeError as error:
        refused = bad_arguments(error)
        return Refusal(Check.ARGUMENTS, refused.kind, f"the arguments as {decision.by} edited them do not fit: {refused.text}")
    return Approved(tool, call.path, digest(edited), decision.by, edited, True)


def _edited(input: InputCodec, arguments: dict[str, object]) -> dict[str, object]:
    """The arguments as they were edited: values, or JSON as a person writes it, where a decimal or a time is text. Raises `DecodeError`."""
    try:
        return input.checked(arguments)[0]
    except DecodeError:
        return input.checked(cast("dict[str, object]", input.value.decode(arguments)))[0]


async def decided(
    scope: Scope, approver: Approver | None, request: ApprovalRequest, since: float, within: float | None = None
) -> Decision | None:
    """A person's word, for which limits of active time stand still; none within the deployment's time, or `within`, is a no.

    `since`: when this was asked first, in seconds since the epoch. None: nobody in this process decides.
    """
    bindings = scope.run.world.bindings
    limit = _limit(scope, within)
    left = None if limit is None else since + limit - bindings.clock.now()
    if left is not None and left <= 0:
        return _late(limit)
    if approver is None:
        return None
    scope.deadline.pause()
    try:
        with Deadline(bindings.clock, left, "the approval"):
            return await approver.decide(request)
    except Expired:
        return _late(limit)
    finally:
        scope.deadline.go_on()


async def _preview(preview: Callable[[], Awaitable[str]] | None, step: Step) -> str:
    """What the person is shown of the call: what was shown when it was asked first, where that is in the journal."""
    if preview is None:
        return ""
    asked = step.run.journal.last(step.path) if step.state is not None else None
    if asked is not None and isinstance(asked.value, Mapping):
        return str(asked.value.get("preview", ""))
    return await preview()


def parked(scope: Scope, request: ApprovalRequest, step: Step, since: float, within: float | None = None) -> Parked:
    """The run waits for the answer at `step`, for the deployment's time at most, or `within`."""
    limit = _limit(scope, within)
    detail = {"role": request.role, "arguments": request.arguments, "reason": request.reason, "call": request.step}
    if request.question is not None:
        detail["asks"] = request.question.message
    return Parked(Wait("approval", step.path, request.tool, None if limit is None else since + limit, detail))


def _limit(scope: Scope, within: float | None) -> float | None:
    """Seconds that a person has."""
    known = [limit for limit in (scope.run.world.bindings.approval_timeout, within) if limit is not None]
    return min(known, default=None)


def _late(limit: float | None) -> Decision:
    return Decision(False, "nobody", f"there was no decision within {limit or 0:g} s")


def asked_at(step: Step) -> float:
    """When this was asked first: by the journal, where an earlier execution did."""
    asked = step.run.journal.last(step.path) if step.state is not None else None
    return step.run.world.clock.now() if asked is None else asked.at


def record(step: Step, decision: Decision) -> None:
    """Journal a decision."""
    step.answer(
        Ending.VALUE,
        {"approved": decision.approved, "by": decision.by, "reason": decision.reason, "arguments": decision.arguments},
    )


def recorded(value: object) -> Decision:
    """The decision that a journal holds."""
    fields = cast("dict[str, object]", value)
    arguments = cast("dict[str, object] | None", fields["arguments"])
    return Decision(bool(fields["approved"]), str(fields["by"]), str(fields["reason"]), arguments)
