"""What a server asks in the middle of a call (elicitation): a person decides and answers, and the answer has to fit what was asked for.

The server's message and schema are outside data: shown, never followed. The answer goes to the server alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ael.data import replace
from ael.journal.entry import Kind
from ael.run.approval import decided, record, recorded
from ael.run.codec import digest
from ael.run.events import ApprovalAsked, ApprovalDecided
from ael.run.masker import Masker
from ael.run.ports import ApprovalRequest, Decision, Question, Reply
from ael.run.scope import Scope
from ael.run.step import Step
from ael.types.decode import decoder, encoder
from ael.types.problem import DecodeError
from ael.types.tool_schema import SchemaRefused, import_schema

_MESSAGE = 4_000
"""Characters of the server's message that a person is shown."""


async def ask_person(scope: Scope, path: str, call: Step, tool: str, question: Question) -> Reply:
    """The answer of the run's approver to a question in the call `call`, or the one that the journal holds; None: declined."""
    run = scope.run
    asked = digest([question.message, question.schema, question.url])
    step = Step(run, path, Kind.APPROVAL, call.target, asked, call.key)
    known = step.replayed()
    span = run.trace.begin("approval", tool, path, scope.span) if run.trace is not None else None
    if known is not None:
        decision = recorded(known.value)
    else:
        seen = shown(question, run.world.masker)
        step.propose({"message": seen.message, "schema": seen.schema, "url": seen.url})
        if run.listening:
            run.emit(ApprovalAsked(run.id, path, tool, None))
        approver = run.world.bindings.approver
        if approver is None:
            decision = Decision(False, "nobody", "nobody is there to answer")
        else:
            reason = f"the server of `{tool}` asks"
            request = ApprovalRequest(run.id, call.path, run.tenant, call.target, None, {}, asked, reason, seen)
            said = await decided(scope, approver, request, run.world.clock.now())
            decision = _fitting(said or Decision(False, "nobody", "nobody is there to decide"), question)
        record(step, decision)
    if run.listening:
        run.emit(ApprovalDecided(run.id, path, tool, decision.approved, decision.by))
    if span is not None:
        span.end("value" if decision.approved else "refused", by=decision.by, reason=decision.reason)
    return (decision.arguments or {}) if decision.approved else None


def _fitting(decision: Decision, question: Question) -> Decision:
    """The decision, if what it answers fits the schema; else a no that says why."""
    if not decision.approved or question.url is not None:
        return replace(decision, arguments=None)
    problem = misfit(question, decision.arguments or {})
    if problem is not None:
        return Decision(False, decision.by, problem)
    return replace(decision, arguments=dict(decision.arguments or {}))


def misfit(question: Question, answer: object) -> str | None:
    """Why an answer does not fit the question's schema; None when it does."""
    try:
        imported = import_schema(question.schema, "Answer")
    except SchemaRefused as refused:
        return f"the answer cannot be checked: {refused}"
    try:
        value = decoder(imported.type, imported.definitions)(answer)
        encoder(imported.type, imported.definitions)(value)
    except DecodeError as error:
        return f"the answer does not fit what was asked for: {error.text}"
    return None


def shown(question: Question, masker: Masker) -> Question:
    """The question for a person and the journal: whoever asks may have secrets, and say them again in any part of it (K41)."""
    url = None if question.url is None else masker.text(question.url)
    schema = cast("Mapping[str, object]", masker.value(question.schema))
    return replace(question, message=_cut(masker.text(question.message)), schema=schema, url=url)


def _cut(text: str) -> str:
    return text if len(text) <= _MESSAGE else f"{text[:_MESSAGE]}… ({len(text):,} characters)"
