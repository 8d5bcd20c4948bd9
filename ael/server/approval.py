"""Approvals of served runs: the person behind the client is asked, about exactly these arguments; where nobody can be asked, it is a no."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence

from ael.mcp.outside import visible_lines
from ael.run.human import NOBODY
from ael.run.ports import ApprovalRequest, Decision, Question
from ael.run.role import not_a_member
from ael.server.flight import Flight, Request, Unasked

SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "approve": {
            "type": "boolean",
            "title": "Approve",
            "description": "Let this call run, once, with exactly these arguments.",
        },
        "reason": {"type": "string", "title": "Reason", "description": "Why not; the program is told.", "maxLength": 500},
    },
    "required": ["approve"],
}
"""What is asked for: one of the flat forms that every client can show."""
_SHOWN = 8_000
_PREVIEW_LINES, _PREVIEW_LINE = 400, 400


class ServedApprover:
    """Finds the call that a run belongs to and asks its client. `members`: role -> the callers who may decide for it.

    `known`: callers have tokens; then `local` in a role, which means whoever runs the program, is none of them. `seconds`: how long a
    person has for an answer.
    """

    def __init__(self, members: Mapping[str, tuple[str, ...]], *, known: bool, seconds: float) -> None:
        self.seconds = seconds
        self.members = {role: tuple(n for n in names if n != "local") for role, names in members.items()} if known else members
        self.flights: dict[str, Flight] = {}

    async def decide(self, request: ApprovalRequest) -> Decision:
        """Ask, unless the caller does not have the role that decides."""
        flight = self.flights.get(request.run)
        if flight is None:
            return Decision(False, "nobody", "the client is gone")
        name = flight.request.caller.name
        refusal = not_a_member(request, name, self.members)
        if refusal is not None:
            return refusal
        if request.question is not None and not request.question.waits:
            return await passed_on(flight.request, request.question, self.seconds)
        if flight.request.elicit is not None:
            try:
                async with asyncio.timeout(self.seconds):
                    return decision(name, await flight.request.elicit(*asked_for(request)), request.question)
            except Unasked:
                return Decision(False, _unheard(name, request), "the client could not ask")
            except TimeoutError:
                return Decision(False, _unheard(name, request), f"nobody answered within {self.seconds:g} s")
        if flight.request.parks:
            async with flight.turn:
                open_question = flight.ask(request)
                try:
                    return await open_question.answer
                finally:
                    flight.closed()
        return Decision(False, "nobody", "the client cannot ask anybody: it does not support elicitation")


def _unheard(name: str, request: ApprovalRequest) -> str:
    """Who said no, where no answer came: the caller to an approval, nobody to a question."""
    return name if request.question is None else NOBODY


class KeptApprover:
    """Approvals of runs that are kept: none is given here, they wait in the store. What a server asks in the middle of a call cannot wait.

    `waiting` gives the calls that wait for a run.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.waiting: Callable[[str], Sequence[Request]] = lambda run: ()

    async def decide(self, request: ApprovalRequest) -> Decision | None:
        """None, unless it is another server that asks: then the client's person is asked that at once."""
        if request.question is None or request.question.waits:
            return None
        asking = next((one for one in self.waiting(request.run) if one.elicit is not None), None)
        if asking is None:
            return Decision(False, "nobody", "nobody is there whom another server could ask")
        return await passed_on(asking, request.question, self.seconds)


async def passed_on(request: Request, asked: Question, seconds: float) -> Decision:
    """What a server asks that the program calls goes to the person behind the client, as that server says it."""
    name = request.caller.name
    if request.elicit is None or asked.url is not None:
        return Decision(False, name, "the client cannot be asked what another server wants to know")
    try:
        async with asyncio.timeout(seconds):
            answer = await request.elicit(asked.message, asked.schema)
    except Unasked:
        return Decision(False, name, "the client could not ask")
    except TimeoutError:
        return Decision(False, name, f"nobody answered within {seconds:g} s")
    return Decision(answer is not None, name, "" if answer is not None else "the person declined", answer)


def asked_for(request: ApprovalRequest) -> tuple[str, Mapping[str, object]]:
    """What the person reads, and the form of the answer: a yes or a no to a call, or the answer to a question of the program's."""
    asked = request.question
    if asked is None:
        return question(request), SCHEMA
    return f"{request.tool} asks:\n{shown_lines(asked.message)}", asked.schema


def question(request: ApprovalRequest) -> str:
    """What the person reads: the tool, the arguments, and why."""
    arguments = json.dumps(request.arguments, ensure_ascii=False, indent=2, default=str)
    missing = len(arguments) - _SHOWN
    # A model wrote them: what does not print, or turns the order of letters round, is shown as what it is.
    arguments = "\n".join(visible_lines(arguments[:_SHOWN], _SHOWN, _SHOWN))
    if missing > 0:
        arguments = f"{arguments}…\n({missing:,} more characters of the arguments are not shown)"
    role = f" (as {request.role})" if request.role else ""
    reason = f"\nReason: {request.reason}" if request.reason else ""
    seen = f"\nWhat it would do:\n{shown_lines(request.preview)}" if request.preview else ""
    return f"{request.tool} needs your approval{role}:\n{arguments}{seen}{reason}\nDigest of the arguments: {request.digest}"


def shown_lines(preview: str) -> str:
    """What a call would do, as its tool says it: outside text, set apart from ours by the sign in front of each line."""
    lines = visible_lines(preview, _PREVIEW_LINES, _PREVIEW_LINE)
    return "\n".join(f"| {line}" for line in lines)


def decision(name: str, content: Mapping[str, object] | None, asked: Question | None = None) -> Decision:
    """A person's answer: to the question `asked`, else to an approval, where anything but a clear yes is a no."""
    if content is None:
        return Decision(False, name, "the person declined")
    if asked is not None:
        return Decision(True, name, "", content)
    reason = content.get("reason")
    said = reason[:500] if isinstance(reason, str) else ""
    if content.get("approve") is True:
        return Decision(True, name, said)
    return Decision(False, name, said or "the person said no")


def accepted(response: object) -> Mapping[str, object] | None:
    """The content of an elicitation's result, None unless it was accepted."""
    if not isinstance(response, Mapping) or response.get("action") != "accept":
        return None
    content = response.get("content")
    return content if isinstance(content, Mapping) else {}


def settle(flight: Flight, response: object) -> None:
    """Give the answer to a parked question."""
    asked = flight.question
    if asked is not None and not asked.answer.done():
        asked.answer.set_result(decision(flight.request.caller.name, accepted(response), asked.request.question))
    flight.closed()
