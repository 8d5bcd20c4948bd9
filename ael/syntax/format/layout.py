"""Lays out a line of commands within the width: groups that fit stay on one line, others break at their lines.

Commands come in source order, as the printers emit them, so that a comment is always where it stood between its neighbours.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

WIDTH = 110
"""Columns of a line."""

INDENT = 2


class Op(IntEnum):
    """What a command does."""

    TEXT = 0
    SPACE = 1
    LINE = 2
    """A new line in a group that breaks, else the text of the command."""
    HARD = 3
    BLANK = 4
    OPEN = 5
    """A group; its argument numbers it."""
    CLOSE = 6
    INDENT = 7
    """Further in, where the group breaks."""
    DEDENT = 8
    OWN = 9
    """A comment on a line of its own."""
    TRAIL = 10
    """A comment at the end of the line."""
    BROKEN = 11
    """Text in a group that breaks, nothing else."""
    RAW = 12
    """Text of several lines. With a number above 0, all lines but the first move to the indentation from a margin of one column less."""


class Command(NamedTuple):
    """One command."""

    op: Op
    text: str = ""
    group: int = 0


def render(commands: list[Command], broken: frozenset[int]) -> str:
    """The text that `commands` say. Groups in `broken` break whether they fit or not."""
    out: list[str] = []
    modes = [True]
    margins: list[int] = []
    indent = column = 0
    fresh, must_break, space = True, False, ""
    for at, command in enumerate(commands):
        op, text = command.op, command.text
        breaks = op is Op.HARD or (op is Op.LINE and modes[-1])
        if op in (Op.TEXT, Op.RAW, Op.OWN) or (op is Op.BROKEN and modes[-1]) or (op is Op.LINE and not modes[-1]):
            if op is Op.LINE and not text.strip():
                space = space or text
                continue
            if (must_break or op is Op.OWN) and not fresh:
                out.append("\n")
                fresh, must_break, space = True, False, ""
            if fresh:
                column = 0
                if op is not Op.LINE or text:
                    out.append(" " * indent)
                    column = indent
            elif space:
                out.append(space)
                column += len(space)
            space, fresh = "", False
            must_break = op is Op.OWN
            if op is Op.LINE and text.endswith(" "):
                text, space = text.rstrip(" "), " "
            if op is Op.RAW and command.group:
                text = _move(text, command.group - 1, indent)
            out.append(text)
            newline = text.rfind("\n")
            column = len(text) - newline - 1 if newline >= 0 else column + len(text)
        elif breaks:
            if not fresh:
                out.append("\n")
            fresh, must_break, space, column = True, False, "", 0
        elif op is Op.SPACE:
            space = space or " "
        elif op is Op.BLANK:
            if fresh and out and out[-2:] != ["\n", "\n"]:
                out.append("\n")
        elif op is Op.TRAIL:
            out.append("  " + text)
            must_break = True
        elif op is Op.OPEN:
            here = indent if fresh else column + len(space)
            modes.append(command.group in broken or not _fits(commands, at, here))
        elif op is Op.CLOSE:
            modes.pop()
        elif op is Op.INDENT:
            margins.append(indent)
            indent += INDENT if modes[-1] else 0
        elif op is Op.DEDENT:
            indent = margins.pop()
    return "".join(out)


def _move(text: str, margin: int, indent: int) -> str:
    first, *rest = text.splitlines() if text[-1:] not in "\r\n" else [*text.splitlines(), ""]
    return "\n".join([first, *(" " * indent + line[margin:] if line[margin:] else "" for line in rest)])


def _fits(commands: list[Command], at: int, column: int) -> bool:
    """Whether the group that opens at `at` fits on the rest of the line, with what follows up to where a line may end."""
    depth = 0
    closed = False
    for index in range(at, len(commands)):
        op, text, _ = commands[index]
        if op is Op.TEXT:
            column += len(text)
        elif op is Op.LINE:
            if closed:
                return True
            column += len(text)
        elif op is Op.SPACE:
            column += 1
        elif op is Op.OPEN:
            depth += 1
        elif op is Op.CLOSE:
            depth -= 1
            closed = closed or depth <= 0
        elif op is Op.RAW:
            return column + text.find("\n") <= WIDTH
        elif op in (Op.HARD, Op.OWN, Op.TRAIL):
            return True
        if column > WIDTH:
            return False
    return True
