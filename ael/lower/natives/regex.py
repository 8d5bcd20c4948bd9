"""Patterns: matches, replaced and split text, in linear time (`ael/types/pattern_find.py`).

A pattern was looked at by `problem` before it comes to any other function here; one that is refused finds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ael.lower.abi.fault import text_too_large, too_many
from ael.lower.abi.size import ENTRIES_MAX, TEXT_MAX
from ael.types.pattern_find import Span, finder
from ael.types.pattern_syntax import PatternError

_REFERENCE = re.compile(r"\$(?:(\$)|(&)|([1-9][0-9]?)|<([^>]*)>)")


def problem(pattern: str) -> dict[str, object] | None:
    """What is wrong with a pattern, or null."""
    try:
        finder(pattern)
    except PatternError as error:
        return {"reason": error.message, "at": error.at}
    return None


def found(pattern: str, text: str, most: int) -> list[dict[str, object]]:
    """The first `most` matches; all, where that is below zero."""
    names = _names(pattern)
    made: list[dict[str, object]] = []
    for whole, *groups in _matches(pattern, text, most):
        parts = [text[slice(*span)] if span is not None else None for span in groups]
        named = {name: part for name, part in zip(names, parts, strict=True) if name is not None and part is not None}
        assert whole is not None
        made.append({"text": text[slice(*whole)], "start": whole[0], "end": whole[1], "groups": parts, "names": named})
    return made


def whole(pattern: str, text: str) -> bool:
    """Whether the pattern takes the whole text."""
    try:
        return next(finder(pattern, whole=True).find(text), None) is not None
    except PatternError:
        return False


def replaced(pattern: str, text: str, replacement: str) -> str:
    """The text with each match replaced: `$&` stands for the match, `$1` and `$<name>` for a group, `$$` for `$`, as in ECMA-262."""
    pieces = _template(replacement, _names(pattern))
    made: list[str] = []
    length = end = 0
    for spans in _matches(pattern, text, -1):
        whole = spans[0]
        assert whole is not None
        before = len(made)
        made.append(text[end : whole[0]])
        for piece in pieces:
            span = spans[piece] if isinstance(piece, int) else None
            made.append(piece if isinstance(piece, str) else text[slice(*span)] if span is not None else "")
        end = whole[1]
        length += sum(map(len, made[before:]))
        if length > TEXT_MAX:
            text_too_large()
    made.append(text[end:])
    if length + len(made[-1]) > TEXT_MAX:
        text_too_large()
    return "".join(made)


def parts(pattern: str, text: str) -> list[str]:
    """What stands between the matches; an empty match separates nothing at the ends of the text."""
    made: list[str] = []
    at = 0
    for (low, high), *_ in _matches(pattern, text, -1):  # type: ignore[misc]
        if low == high and low in (0, len(text)):
            continue
        made.append(text[at:low])
        at = high
    made.append(text[at:])
    return made


def _matches(pattern: str, text: str, most: int) -> Iterator[list[Span | None]]:
    try:
        every = finder(pattern).find(text)
    except PatternError:
        return
    for count, spans in enumerate(every if most < 0 else islice(every, most)):
        if count >= ENTRIES_MAX:
            too_many()
        yield spans


def _names(pattern: str) -> tuple[str | None, ...]:
    try:
        return finder(pattern).names
    except PatternError:
        return ()


def _template(replacement: str, names: tuple[str | None, ...]) -> list[str | int]:
    """A replacement as texts and numbers of groups. What names no group of the pattern stands for itself."""
    made: list[str | int] = []
    at = 0
    for reference in _REFERENCE.finditer(replacement):
        dollar, whole, number, name = reference.groups()
        value: str | int
        if dollar is not None:
            value = "$"
        elif whole is not None:
            value = 0
        elif number is not None:
            if int(number) > len(names):
                number = number[:1]
            if int(number) > len(names):
                continue
            value = int(number)
        elif name in names:
            value = names.index(name) + 1
        else:
            continue
        made += [replacement[at : reference.start()], value]
        at = reference.start() + 1 + len(number) if number is not None else reference.end()
    made.append(replacement[at:])
    return made
