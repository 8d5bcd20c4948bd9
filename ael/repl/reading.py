"""What was typed: whether it is whole, and what it is: a command, declarations, or statements."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from ael.diagnostics.diagnostic import Bag
from ael.source import Source
from ael.syntax.lexer import lex
from ael.syntax.words import CAN_END, DOC

Kind: TypeAlias = Literal["nothing", "command", "declarations", "statements"]

MAX_INPUT = 256 * 1024
"""Characters of one input."""
_DECLARES = re.compile(
    r"\s*(?://[^\n]*\n\s*)*(?:pub\s+|open\s+)*"
    r"(use|permission|role|enum|record|error|type|const|fn|tool|node|agent|skill|service|provide|mcp|model|store|test)\s+[\w.\"/]"
)
_BODIES = frozenset({"fn", "tool", "node", "agent", "skill", "service", "provide", "mcp", "model", "enum", "record", "test"})
"""Declarations that are not whole before their braces."""
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_ENDLESS = ("AEL0003", "AEL0007")


def kind_of(text: str) -> Kind:
    """What an input is."""
    stripped = text.strip()
    if not stripped or all(line.strip().startswith("//") for line in stripped.splitlines()):
        return "nothing"
    if stripped.startswith(":"):
        return "command"
    return "declarations" if _DECLARES.match(text) is not None or stripped.startswith(("///", "//!")) else "statements"


def is_whole(text: str) -> bool:
    """Whether nothing more has to be typed: brackets and block strings are closed, and the last line can be the last one."""
    return wants(text) == "nothing"


def wants(text: str) -> Literal["nothing", "a closer", "more"]:
    """What is missing of an input: the other half of a bracket or of quotes, or anything."""
    if kind_of(text) in ("nothing", "command"):
        return "more" if text.strip().startswith("///") else "nothing"
    bag = Bag()
    tokens = lex(Source("", text), bag, "module")
    for found in bag.sorted():
        opener = text[found.place.span.start : found.place.span.end]
        if found.code in _ENDLESS and (opener in _OPEN or opener == '"""'):
            return "a closer"
    texts = [part for part in tokens.texts if part.strip()]
    if not texts:
        return "nothing"
    last = max((at for at, part in enumerate(tokens.texts) if part.strip()), default=0)
    kind = tokens.kinds[last]
    if kind == DOC or (kind not in CAN_END and texts[-1] not in _CLOSE):
        return "more"
    declared = _DECLARES.match(text)
    if declared is not None and declared[1] in _BODIES and not bag.errors:
        return "nothing" if "{" in texts or "extern" in texts else "more"
    return "nothing"
