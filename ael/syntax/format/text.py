"""Printer of strings: as they are written, a block string moved with the code around it."""

from __future__ import annotations

import re

from ael.syntax import nodes as n
from ael.syntax.format.layout import Command, Op
from ael.syntax.format.stream import Stream

_LINE_END = re.compile(r"\r\n?|\n")


def string(p: Stream, node: n.StringLit) -> None:
    margin = _margin(p.source.text[node.span.start : node.span.end]) if node.form == "block" else None
    _piece(p, margin)
    for part in node.parts:
        if not isinstance(part, n.TextPart):
            p.show(part)
            _piece(p, margin)


def plain(p: Stream) -> None:
    """Emit the string that is the next token."""
    _piece(p, _margin(p.peek()) if p.peek().startswith('"""') else None)


def _margin(text: str) -> int | None:
    """How far the closing quotes of a block string stand in; None when it is not laid out as a block."""
    lines = _LINE_END.split(text)
    if len(lines) < 2 or lines[0][3:].strip(" \t"):
        return None
    return len(lines[-1]) - 3


def _piece(p: Stream, margin: int | None) -> None:
    lines = _LINE_END.split(p.peek())
    if len(lines) == 1:
        p.take()
    else:
        if margin is not None and lines[0] == p.peek()[: len(lines[0])] and lines[0].startswith('"""'):
            lines[0] = lines[0].rstrip(" \t")
        p.take_as(Command(Op.RAW, "\n".join(lines), 0 if margin is None else margin + 1))
