"""Patterns in the smallest common form: what every converter of a schema into a grammar takes, or nothing.

Converters copy a pattern into a grammar of JSON text: short forms (`\\d`), escapes, `.` and negated sets either break the grammar or let
a quote end the text early. So a pattern is written anew from its tree, with explicit sets of printable ASCII, and is left out where that
cannot be done; it is checked anyway when the reply is decoded.
"""

from __future__ import annotations

from ael.types.pattern_syntax import Alternation, Anchor, CharSet, Item, PatternError, Repeat, Sequence, parse

_SPECIAL = frozenset("^$.[](){}|*+?/")
_UNSAFE = frozenset('"\\')


class _NotPortable(Exception):
    """Something that cannot be written in the common form."""


def portable(pattern: str, largest: int) -> str | None:
    """`pattern` in the common form, `^…$`, with no more than `largest` repetitions; None where it has none."""
    try:
        tree = parse(pattern)
        items = tree.items if isinstance(tree, Sequence) else (tree,)
        if len(items) < 3 or items[0] != Anchor("^") or items[-1] != Anchor("$"):
            return None
        return "^" + "".join(_text(item, largest) for item in items[1:-1]) + "$"
    except (PatternError, _NotPortable):
        return None


def _text(item: Item, room: int) -> str:
    """The text of a part; `room` is how often it may still be repeated by what is around it."""
    match item:
        case CharSet(ranges):
            return _set(ranges)
        case Repeat(inner, low, high):
            most = max(low, 1) if high is None else max(high, 1)
            if most > room or high == 0:
                raise _NotPortable
            text = _text(inner, room // most)
            if not isinstance(inner, CharSet) and not (text.startswith("(") and isinstance(inner, Alternation)):
                text = f"({text})"
            return text + _count(low, high)
        case Sequence(items) if items:
            return "".join(_text(part, room) for part in items)
        case Alternation(options):
            return "(" + "|".join(_text(option, room) for option in options) + ")"
        case _:
            raise _NotPortable


def _count(low: int, high: int | None) -> str:
    match low, high:
        case 0, None:
            return "*"
        case 1, None:
            return "+"
        case 0, 1:
            return "?"
        case _ if low == high:
            return f"{{{low}}}"
        case _:
            return f"{{{low},{'' if high is None else high}}}"


def _set(ranges: tuple[tuple[int, int], ...]) -> str:
    parts = [(chr(low), chr(high)) for low, high in ranges]
    for low, high in parts:
        if not " " <= low <= high <= "~" or any(low <= char <= high for char in _UNSAFE):
            raise _NotPortable
    if not parts:
        raise _NotPortable
    if len(parts) == 1 and parts[0][0] == parts[0][1]:
        char = parts[0][0]
        if char == "/":
            return "[/]"
        return f"\\{char}" if char in _SPECIAL else char
    single = {low for low, high in parts if low == high} | {
        c for low, high in parts if ord(high) == ord(low) + 1 for c in (low, high)
    }
    if {"[", "]", "^"} & ({low for low, _ in parts} | {high for _, high in parts}):
        raise _NotPortable
    text = "".join(f"{low}-{high}" for low, high in parts if low not in single)
    # a hyphen that is no range stands last
    return "[" + text + "".join(sorted(single - {"-"})) + ("-" if "-" in single else "") + "]"
