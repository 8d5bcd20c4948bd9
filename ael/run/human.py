"""A question of the program's to a person, as a call that waits: asked where approvals are, answered there, and parked like them (A15.6).

Unlike a server's question in the middle of a call (`ael.run.elicit`) it can be answered later, in another process, by whoever answers
what runs wait for. The answer is data: it gives nobody a right, and approves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from ael.data import replace
from ael.journal.entry import Kind
from ael.run.approval import asked_at, decided, parked, record, recorded
from ael.run.codec import digest
from ael.run.elicit import misfit, shown
from ael.run.events import ApprovalAsked, ApprovalDecided
from ael.run.ports import ApprovalRequest, Decision, Question
from ael.run.scope import Scope
from ael.run.step import Step

ANSWER = "answer"
"""The one field of what is answered."""
NOBODY = "nobody"
"""Who decided, where no person did."""
REASON = "the program asks"


async def put_question(scope: Scope, call: Step, question: Question, within: float | None) -> Decision:
    """The answer to a question of the call `call`, or the one that the journal holds; `within` so many seconds of being asked.

    Not approved: the person declined, or nobody was there. Raises `Parked` where the run can wait for somebody.
    """
    run = scope.run
    step = Step(run, f"{call.path}/question", Kind.APPROVAL, call.target, digest([question.message, question.schema]), call.key)
    known = step.replayed()
    span = run.trace.begin("approval", call.target, step.path, scope.span) if run.trace is not None else None
    if known is not None:
        decision = fitting(question, recorded(known.value))
    else:
        since = asked_at(step)
        seen = shown(question, run.world.masker)
        put = {"message": seen.message, "schema": seen.schema, "within": within}
        step.propose({"role": None, "arguments": {}, "reason": REASON, "question": put})
        if run.listening:
            run.emit(ApprovalAsked(run.id, step.path, call.target, None))
        request = ApprovalRequest(run.id, call.path, run.tenant, call.target, None, {}, step.digest, REASON, seen)
        said = await decided(scope, run.world.bindings.approver, request, since, within)
        if said is None and run.parks:
            if span is not None:
                span.end("parked")
            raise parked(scope, request, step, since, within)
        decision = fitting(question, said or Decision(False, NOBODY, "nobody is there to answer"))
        record(step, decision)
    if run.listening:
        run.emit(ApprovalDecided(run.id, step.path, call.target, decision.approved, decision.by))
    if span is not None:
        span.end("value" if decision.approved else "refused", by=decision.by, reason=decision.reason)
    return decision


def fitting(question: Question, decision: Decision) -> Decision:
    """The decision, if what it answers fits what was asked for; else a no that says why. A bare yes answers a question of yes or no."""
    if not decision.approved:
        return replace(decision, arguments=None)
    given = decision.arguments
    if not given and _yes_or_no(question):
        given = {ANSWER: True}
    problem = _misfit(question, given or {})
    if problem is not None:
        return Decision(False, NOBODY, problem)
    return replace(decision, arguments=dict(given or {}))


def _misfit(question: Question, given: Mapping[str, object]) -> str | None:
    more = sorted(given.keys() - {ANSWER})
    return f"the answer has a field `{more[0][:80]}` that nobody asked for" if more else misfit(question, given)


def question_in(value: Mapping[str, object]) -> Question | None:
    """The question that a journaled request holds, None where it is an approval."""
    match value.get("question"):
        case {"message": str(message), "schema": dict(schema)}:
            return Question(message, schema, waits=True)
        case _:
            return None


def within_of(value: Mapping[str, object]) -> float | None:
    """The seconds that a journaled question leaves for an answer."""
    match value.get("question"):
        case {"within": int(seconds) | float(seconds)}:
            return float(seconds)
        case _:
            return None


def _yes_or_no(question: Question) -> bool:
    match question.schema:
        case {"properties": {"answer": {"type": "boolean"}}}:
            return True
        case _:
            return False
