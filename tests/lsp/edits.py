"""Random edits of a document, and what they leave, worked out apart from the server: in UTF-16, as an editor does it."""

from __future__ import annotations

import re
from random import Random
from typing import Any

_LINE = re.compile(r"\r\n?|\n")
PIECES = (
    "{", "}", "(", ")", '"', "${", '"""', "//", "///", ".", ",", "->", "=>",
    "\n", "\r\n", "\r", "\t", " ", "\0", "\ufeff", "\u2028", "\x0b", "\x85",
    "🦊", "👩\u200d👩\u200d👧", "e\u0301", "\u202eabc\u202c", "ÿ", "漢字", "𝒳", "\ud83d", "\udc8a",
    "fn ", "let ", "node ", "record ", "use ", "pub ", "return", "x", "order", "Int", "0", "1_000", "$5",
    "\nfn added(n: Int) -> Int {\n  n + missing\n}\n", "\nrecord Added { s: String }\n", 'let t = "🦊${order}"\n',
    '\ntest "t" { assert 1 == 2 }\n',
)  # fmt: skip
"""What is put in: pieces of the language, and whatever is hard to count."""


def merged(text: str) -> str:
    """The text as UTF-16 holds it: two halves side by side are one character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def place(text: str, offset: int) -> dict[str, int]:
    """The position of a character, in UTF-16."""
    before = text[:offset]
    ends = [found.end() for found in _LINE.finditer(text) if found.end() <= offset]
    start = ends[-1] if ends else 0
    return {"line": len(ends), "character": len(before[start:].encode("utf-16-le", "surrogatepass")) // 2}


def split(text: str, offset: int) -> bool:
    """Whether an offset is between a carriage return and its line feed, where no position is."""
    return text[offset - 1 : offset + 1] == "\r\n" if offset else False


def edit(random: Random, text: str, original: str) -> tuple[dict[str, Any], str]:
    """One change as the protocol says it, and the text after it."""
    if random.random() < 0.02:
        return {"text": original}, original
    start = random.randint(0, len(text))
    end = start if random.random() < 0.5 else min(len(text), start + random.choice((1, 1, 2, 5, 40)))
    while split(text, start):
        start -= 1
    while split(text, end):
        end += 1
    piece = "" if end > start and random.random() < 0.5 else random.choice(PIECES)
    if random.random() < 0.05:
        piece = original[start : start + random.randint(1, 400)]
    change = {"range": {"start": place(text, start), "end": place(text, end)}, "text": piece}
    return change, merged(text[:start] + piece + text[end:])
