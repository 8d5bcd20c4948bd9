"""Characters: those that no source may hold, and those that mean nothing in code."""

from __future__ import annotations

import re
import unicodedata

from ael.diagnostics.diagnostic import Bag
from ael.source import Source, Span

MAX_REPORTED = 20
"""Forbidden characters that are reported in one file."""

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_WORD = re.compile(r"\w++")
_QUOTED = re.compile(r"'[^'\"\n]{0,200}+'")
"""Text in the wrong quotes: one mistake, not two and what stands between."""
_SHOWN = 40

_HINTS = {
    ";": "`;` ends nothing in AEL: a new line does",
    "!": "`!` is written `not`",
    "'": "text stands in `\"`, not in `'`",
    "`": 'text stands in `"`',
    "#": "a comment begins with `//`",
    "@": "there are no `@` annotations",
    "\\": "a line goes on after an operator, a comma or an open bracket; `\\` is not needed",
    "~": "there is no `~`",
    "^": "there is no `^`",
    "$": "`$` begins an amount of money, as in `$0.25`, or `${…}` in a string",
}


def check_characters(source: Source, bag: Bag) -> None:
    """Report characters that are refused everywhere, in strings and comments too."""
    text = source.text
    found = _first(_CONTROL, text)
    if not text.isascii():
        found += _first(_BIDI, text)
    for match in found:
        code, message, note = _forbidden(match[0])
        bag.report(code, message, source, Span(match.start(), match.end()), notes=(note,))


def _forbidden(char: str) -> tuple[str, str, str]:
    shown = f"U+{ord(char):04X}"
    note = f"remove it, or in a string write it as `\\u{{{ord(char):X}}}`"
    if _BIDI.match(char):
        return (
            "AEL0002",
            f"the character {shown} changes the direction of the text around it, so that code reads as what it is not",
            note,
        )
    return "AEL0001", f"the control character {shown} may not stand in source", note


def _first(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    found = []
    for match in pattern.finditer(text):
        found.append(match)
        if len(found) == MAX_REPORTED:
            break
    return found


def unexpected(text: str, at: int) -> tuple[str, str, Span, tuple[str, ...]]:
    """Code, message, place and notes of what the lexer cannot take."""
    char = text[at]
    if _CONTROL.match(char) or _BIDI.match(char):
        code, message, note = _forbidden(char)
        return code, message, Span(at, at + 1), (note,)
    if char.isalpha():
        start = at
        while start > 0 and at - start < _SHOWN and (text[start - 1].isalnum() or text[start - 1] == "_"):
            start -= 1
        found = _WORD.match(text, at)
        end = found.end() if found else at + 1
        return (
            "AEL0005",
            f"`{text[start:end][:_SHOWN]}` is no name: names are ASCII letters, digits and `_`",
            Span(start, end),
            (),
        )
    code, message = _meaningless(char)
    quoted = _QUOTED.match(text, at)
    return code, message, Span(at, quoted.end() if quoted else at + 1), ()


def _meaningless(char: str) -> tuple[str, str]:
    if char in _HINTS:
        return "AEL0006", _HINTS[char]
    if char.isspace():
        return "AEL0006", f"{unicodedata.name(char, 'this character').lower()} is no space of AEL; use an ordinary space"
    name = "" if char.isascii() else f" ({unicodedata.name(char, f'U+{ord(char):04X}').lower()})"
    return "AEL0006", f"`{char}`{name} means nothing here"
