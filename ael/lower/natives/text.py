"""Text: what asks for the tables of Unicode, or for speed."""

from __future__ import annotations

import re
import unicodedata

from ael.lower.abi.fault import text_too_large
from ael.lower.abi.size import TEXT_MAX, sized, sized_text
from ael.types.fault import Fault, FaultKind
from ael.types.normal_form import Form, normal_form

_PAIRS_MAX = 1 << 30
"""Pairs of characters that a distance may stand for."""
_RUN = re.compile(r"[0-9]+|[^0-9]+")
_SEPARATOR = re.compile(r"[\W_]+")
_LINES = frozenset("\n\r\t")


def words(text: str) -> list[str]:
    """What stands between blanks."""
    return sized(text.split())


def parts(text: str) -> list[str]:
    """The words of an identifier or a title: between signs, and where a capital letter begins one (`parseHTTPBody`)."""
    made: list[str] = []
    for piece in _SEPARATOR.split(text):
        start = 0
        for at in range(1, len(piece)):
            before, here = piece[at - 1], piece[at]
            if here.isupper() and (not before.isupper() or piece[at + 1 : at + 2].islower()):
                made.append(piece[start:at])
                start = at
        if start < len(piece):
            made.append(piece[start:])
    return sized(made)


def between(text: str, open: str, close: str) -> list[str]:
    """What stands between each `open` and the first `close` after it."""
    made: list[str] = []
    at = 0
    while open and close and (start := text.find(open, at)) >= 0:
        start += len(open)
        end = text.find(close, start)
        if end < 0:
            break
        made.append(text[start:end])
        at = end + len(close)
    return sized(made)


def distance(a: str, b: str) -> int:
    """How many characters have to be put in, taken out or replaced to make one text of the other (Levenshtein).

    One step for each character of one text, each a few operations on a number with a bit for each character of the other: Myers, *A fast
    bit-vector algorithm for approximate string matching* (1999), in the form of Hyyrö (2001).
    """
    if len(a) < len(b):
        a, b = b, a
    if len(a) * len(b) > _PAIRS_MAX:
        raise Fault(FaultKind.TOO_LARGE, "texts whose lengths multiply to more than 1,073,741,824")
    if not b:
        return len(a)
    where: dict[str, int] = {}
    for at, char in enumerate(b):
        where[char] = where.get(char, 0) | 1 << at
    every, last = (1 << len(b)) - 1, 1 << len(b) - 1
    up, down, found = every, 0, len(b)
    for char in a:
        same = where.get(char, 0)
        diagonal = (((same & up) + up) ^ up) | same | down
        right, left = down | (every & ~(diagonal | up)), up & diagonal
        if right & last:
            found += 1
        elif left & last:
            found -= 1
        right, left = (right << 1 | 1) & every, left << 1 & every
        up, down = left | (every & ~(diagonal | right)), right & diagonal
    return found


def normal(text: str, form: Form) -> str:
    """The text in a normal form of Unicode, in which a character grows to 18 at most."""
    return sized_text(normal_form(text, form))


def folded(text: str) -> str:
    """The text as it is compared where case does not matter."""
    return normal(normal(text, "NFC").casefold(), "NFC")


def plain(text: str) -> str:
    """Letters without their marks: `é` as `e`."""
    return normal("".join(c for c in normal(text, "NFKD") if not unicodedata.combining(c)), "NFC")


def natural(text: str) -> str:
    """What orders texts as people do: case and the leading zeros of numbers last, numbers by their size."""
    made: list[str] = []
    for run in _RUN.findall(text.casefold()):
        if run[0].isdigit():
            digits = run.lstrip("0")
            # a number of more digits comes later: how many they are stands in front
            made.append(f"0{len(digits):08d}{digits}")
        else:
            made.append(run)
    made.append(f"\0{text}")
    length = sum(map(len, made))
    if length > TEXT_MAX:
        text_too_large()
    return "".join(made)


def printable(text: str) -> str:
    """The text without what is not seen: controls but ends of lines and tabs, what changes the direction of writing, halves of pairs."""
    return "".join(c for c in text if c in _LINES or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn"))
