"""`std/human`: a question to a person, over the desk where approvals are decided (feature A15.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from ael.natives.world import Functions, World
from ael.run.human import ANSWER, NOBODY
from ael.run.ports import CallContext, Decision, Question
from ael.types.fault import Failure, Fault, FaultKind

TEXT = 8_000
"""Characters of an answer."""
_QUESTION = 8_000
_CHOICES, _CHOICE = 50, 500
_REASON = 2_000
_BY = 200


async def ask(*, question: str, choices: Sequence[str] = (), within: timedelta | None = None, call: CallContext) -> object:
    """The record `Answer`. Raises `Failure` (`NoAnswer`) and, for a question that nobody can be asked, `Fault`."""
    if len(set(choices)) != len(choices) or len(choices) > _CHOICES or any(not 0 < len(one) <= _CHOICE for one in choices):
        message = f"`choices` are up to {_CHOICES} different texts of 1 to {_CHOICE} characters"
        raise Fault(FaultKind.BAD_ARGUMENTS, message)
    field: Mapping[str, object] = {"type": "string", "maxLength": TEXT}
    if choices:
        field = {"type": "string", "enum": list(choices)}
    said = await _put(question, field, within, call)
    if not said.approved:
        raise _none(said)
    return {"text": str((said.arguments or {})[ANSWER]), "by": said.by[:_BY]}


async def confirm(*, question: str, within: timedelta | None = None, call: CallContext) -> object:
    """The record `Confirmation`. Raises as `ask`."""
    said = await _put(question, {"type": "boolean"}, within, call)
    if not said.approved and said.by == NOBODY:
        raise _none(said)
    yes = said.approved and (said.arguments or {}).get(ANSWER) is True
    return {"yes": yes, "reason": said.reason[:_REASON], "by": said.by[:_BY]}


def natives(world: World) -> Functions:
    """The functions of `std/human`. Who is asked is the run's to know."""
    return {"ask": ask, "confirm": confirm}


async def _put(question: str, field: Mapping[str, object], within: timedelta | None, call: CallContext) -> Decision:
    if not question.strip() or len(question) > _QUESTION:
        raise Fault(FaultKind.BAD_ARGUMENTS, f"`question` is a text of up to {_QUESTION:,} characters, and not empty")
    seconds = None if within is None else max(0.0, within.total_seconds())
    schema = {"type": "object", "properties": {ANSWER: dict(field)}, "required": [ANSWER]}
    return await call.ask(Question(question, schema, waits=True), seconds)


def _none(said: Decision) -> Failure:
    return Failure("NoAnswer", {"reason": (said.reason or "the person said no")[:_REASON], "by": said.by[:_BY]})
