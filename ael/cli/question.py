"""What a person at the terminal is asked: by a server in the middle of a call (elicitation), field by field, or by the program."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TextIO

from ael.mcp.outside import visible, visible_lines
from ael.run.elicit import misfit
from ael.run.human import ANSWER
from ael.run.ports import Decision, Question, Reply

Line = Callable[[str], Awaitable[str | None]]
"""Prints a question and gives the line that is typed, None at the end of the input."""


async def answered(tool: str, question: Question, line: Line, out: TextIO) -> Reply:
    """The answer; None: the person said no, or nobody is there any more. An address is shown, never opened."""
    print(f"\nthe server of {tool} asks, in its own words:", file=out)
    for said in visible_lines(question.message):
        print(f"  | {said}", file=out)
    if question.url is not None:
        print(f"it wants this address to be opened; nothing opens it but you:\n  | {visible(question.url, 2_000)}", file=out)
        return {} if await said_yes(line, "did you, and shall the call go on?") else None
    if not await said_yes(line, "answer it?"):
        return None
    fields = question.schema.get("properties")
    required = question.schema.get("required")
    found: dict[str, object] = {}
    for name, schema in (fields if isinstance(fields, Mapping) else {}).items():
        needed = isinstance(required, list) and name in required
        typed = await line(f"  {visible(name, 80)} ({_expected(schema)}{'' if needed else ', may be left empty'}): ")
        if typed is None:
            return None
        if typed or needed:
            found[name] = _value(typed, schema)
    return found


async def told_program(tool: str, question: Question, line: Line, out: TextIO) -> Decision | None:
    """The answer to a question of the program's, by nobody yet: who asked knows. None: later."""
    print(f"\n{visible(tool)} asks:", file=out)
    for said in visible_lines(question.message):
        print(f"  | {said}", file=out)
    choices = _choices(question)
    for number, choice in enumerate(choices, 1):
        print(f"  {number}. {visible(choice)}", file=out)
    while True:
        found = await line(f"{expected(question)} (empty: later, `/no`: no answer): ")
        if not found:
            return None
        if found == "/no" or (_kind(question) == "boolean" and found.lower() in ("n", "no")):
            reason = await line("the reason, which the program is told: ") if found == "/no" else ""
            return Decision(False, "", reason or "the person said no")
        given = typed(question, found)
        problem = unfit(question, given)
        if problem is None:
            return Decision(True, "", "", {ANSWER: given})
        print(f"  {problem}", file=out)


def expected(question: Question) -> str:
    """What a question takes, in a few words."""
    choices = _choices(question)
    if choices:
        return " | ".join(visible(choice, 80) for choice in choices)
    return "yes | no" if _kind(question) == "boolean" else "a text"


def typed(question: Question, text: str) -> object:
    """What was typed, as the question takes it: a choice by its number or its text, yes or no, else the text."""
    choices = _choices(question)
    if choices and text.isdecimal() and text not in choices and 1 <= int(text) <= len(choices):
        return choices[int(text) - 1]
    if _kind(question) == "boolean" and text.lower() in _YES_OR_NO:
        return _YES_OR_NO[text.lower()]
    return text


def takes_yes(question: Question) -> bool:
    """Whether a yes answers the question."""
    return _kind(question) == "boolean"


def unfit(question: Question, given: object) -> str | None:
    """Why what `typed` gave is no answer, in words for whoever typed it; None where it is one."""
    if takes_yes(question) and not isinstance(given, bool):
        return "this is no answer here: say `yes` or `no`"
    return misfit(question, {ANSWER: given})


_YES_OR_NO = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}


def _field(question: Question) -> Mapping[str, object]:
    match question.schema:
        case {"properties": {"answer": dict(found)}}:
            return found
        case _:
            return {}


def _choices(question: Question) -> list[str]:
    choices = _field(question).get("enum")
    return [str(choice) for choice in choices] if isinstance(choices, list) else []


def _kind(question: Question) -> object:
    return _field(question).get("type")


async def said_yes(line: Line, question: str) -> bool:
    """Ask. Anything but a clear yes is a no."""
    typed = await line(f"{question} [y]es, [n]o: ")
    return typed is not None and typed.lower() in ("y", "yes")


def _expected(schema: object) -> str:
    """What a field takes, in a few words of the server's schema."""
    if not isinstance(schema, Mapping):
        return "anything"
    choices = schema.get("enum")
    kind = " | ".join(map(str, choices)) if isinstance(choices, list) else str(schema.get("type", "anything"))
    said = schema.get("description", schema.get("title"))
    return visible(f"{kind}; {said}" if isinstance(said, str) else kind, 160)


def _value(typed: str, schema: object) -> object:
    """What was typed: text as it is where the field takes text, else JSON. What is no JSON stays text, which the check then refuses."""
    if isinstance(schema, Mapping) and schema.get("type") == "string":
        return typed
    try:
        return json.loads(typed)
    except ValueError:
        return typed
