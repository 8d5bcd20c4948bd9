"""A pattern written out: sets of characters by number, no classes, so that it means the same to every engine of regular expressions."""

from __future__ import annotations

from functools import lru_cache
from typing import assert_never

from ael.types.pattern_syntax import Alternation, Anchor, CharSet, Item, Repeat, Sequence, parse

_SURROGATES = (0xD800, 0xDFFF)


@lru_cache(maxsize=1_024)
def written_out(pattern: str) -> str:
    """The same pattern for any engine that knows `[a-z\\x2d]`, `(?:)`, `{1,2}`, `^` and `$`. Raises PatternError."""
    return _item(parse(pattern))


def _item(item: Item) -> str:
    match item:
        case CharSet(ranges):
            return _set(ranges)
        case Anchor(kind):
            return kind
        case Sequence(items):
            return "".join(_item(one) for one in items)
        case Alternation(options):
            return f"(?:{'|'.join(_item(option) for option in options)})"
        case Repeat(inner, low, high):
            count = f"{{{low},{'' if high is None else high}}}"
            return f"(?:{_item(inner)}){count}"
        case _:
            assert_never(item)


def _set(ranges: tuple[tuple[int, int], ...]) -> str:
    parts: list[tuple[int, int]] = []
    for low, high in ranges:
        # text that is decoded holds no half of a surrogate pair
        before, after = (low, min(high, _SURROGATES[0] - 1)), (max(low, _SURROGATES[1] + 1), high)
        parts += [part for part in (before, after) if part[0] <= part[1]]
    if not parts:
        return f"[^{_char(0)}-{_char(0x10FFFF)}]"
    return "[" + "".join(_char(low) if low == high else f"{_char(low)}-{_char(high)}" for low, high in parts) + "]"


def _char(code: int) -> str:
    """A character inside of a set: itself, or by number where an engine could take it for a sign."""
    return chr(code) if code > 0x9F or chr(code).isalnum() else f"\\x{code:02x}"
