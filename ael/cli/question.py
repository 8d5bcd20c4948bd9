"""What a server asks a person in the middle of a call (elicitation), put to whoever sits at the terminal, field by field."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TextIO

from ael.mcp.outside import visible, visible_lines
from ael.run.ports import Question, Reply

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
