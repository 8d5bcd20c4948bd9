"""A person's word before a call acts: bound to the tool, its exact arguments, the run, the position and the tenant; used once (K30)."""

from __future__ import annotations

from typing import cast

from ael.data import dataclass
from ael.journal.entry import Ending, Kind
from ael.run.codec import InputCodec, digest
from ael.run.deadline import Deadline, Expired
from ael.run.events import ApprovalAsked, ApprovalDecided
from ael.run.gate import Check, Refusal, bad_arguments
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
    scope: Scope, tool: str, role: str | None, input: InputCodec, call: Step, arguments: dict[str, object], reason: str
) -> Approved | Refusal:
    """Ask for the call at `call`, or take the journaled decision. What a person edits is decoded like a new call's arguments."""
    run = scope.run
    step = Step(run, f"{call.path}/approval", Kind.APPROVAL, tool, digest(arguments), call.key)
    known = step.replayed()
    span = run.trace.begin("approval", tool, step.path, scope.span) if run.trace is not None else None
    if known is not None:
        decision = recorded(known.value)
    else:
        approver = run.world.bindings.approver
        if approver is None:
            who = f" by {role}" if role else ""
            return Refusal(
                Check.APPROVAL, FaultKind.APPROVAL_DENIED, f"`{tool}` needs an approval{who}, and nobody is there to give one"
            )
        step.propose({"role": role, "arguments": arguments, "reason": reason})
        if run.listening:
            run.emit(ApprovalAsked(run.id, step.path, tool, role))
        shown = cast("dict[str, object]", run.world.masker.value(arguments))
        request = ApprovalRequest(run.id, call.path, run.tenant, tool, role, shown, step.digest, reason)
        decision = await decided(scope, approver, request)
        record(step, decision)
    if run.listening:
        run.emit(ApprovalDecided(run.id, step.path, tool, decision.approved, decision.by))
    if span is not None:
        span.end("value" if decision.approved else "refused", by=decision.by, reason=decision.reason)
    if not decision.approved:
        why = f": {decision.reason}" if decision.reason else ""
        text = f"{decision.by} did not approve `{tool}`{why}"
        return Refusal(Check.APPROVAL, FaultKind.APPROVAL_DENIED, text)
    if decision.arguments is None or decision.arguments == arguments:
        return Approved(tool, call.path, step.digest, decision.by, arguments, False)
    try:
        edited, _ = input.checked(dict(decision.arguments))
    except DecodeError as error:
        refused = bad_arguments(error)
        return Refusal(Check.ARGUMENTS, refused.kind, f"the arguments as {decision.by} edited them do not fit: {refused.text}")
    return Approved(tool, call.path, digest(edited), decision.by, edited, True)


async def decided(scope: Scope, approver: Approver, request: ApprovalRequest) -> Decision:
    """A person's word, for which limits of active time stand still; none within the deployment's time is a no."""
    bindings = scope.run.world.bindings
    scope.deadline.pause()
    try:
        with Deadline(bindings.clock, bindings.approval_timeout, "the approval"):
            return await approver.decide(request)
    except Expired:
        return Decision(False, "nobody", f"there was no decision within {bindings.approval_timeout:g} s")
    finally:
        scope.deadline.go_on()


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
