"""Texts that match a pattern: a walk over the tree that Python's own parser of patterns gives. Look-ahead is left to the judge."""

from __future__ import annotations

import re
from functools import lru_cache
from random import Random
from typing import Any

from tests.external.mcp_tools_oracle import ecma

_parser: Any = vars(re)["_parser"]
_PRINTABLE = [chr(code) for code in range(32, 127)]
_MORE = 3


def text_of(pattern: str, random: Random) -> str:
    """A text in which `pattern` is likely to occur; now and then with something around it, which anchors refuse."""
    made = _text(_parsed(pattern), random)
    return f"{random.choice(('', 'x', ' '))}{made}{random.choice(('', 'x', chr(10)))}" if random.random() < 0.1 else made


@lru_cache(maxsize=256)
def _parsed(pattern: str) -> Any:
    return _parser.parse(ecma(pattern).pattern)


def _text(items: Any, random: Random) -> str:
    return "".join(_item(str(kind), value, random) for kind, value in items)


def _item(kind: str, value: Any, random: Random) -> str:
    match kind:
        case "LITERAL":
            return chr(value)
        case "NOT_LITERAL":
            return random.choice([char for char in _PRINTABLE if ord(char) != value])
        case "ANY":
            return random.choice(_PRINTABLE)
        case "IN":
            return _member(value, random)
        case "MAX_REPEAT" | "MIN_REPEAT":
            low, high, inner = value
            count = random.randint(low, max(low, min(int(high), low + _MORE)))
            if random.random() < 0.1 and int(high) < 100:
                count = int(high)
            return "".join(_text(inner, random) for _ in range(count))
        case "SUBPATTERN":
            return _text(value[3], random)
        case "BRANCH":
            return _text(random.choice(value[1]), random)
        case _:
            return ""


def _member(parts: Any, random: Random) -> str:
    """A character of a set."""
    if str(parts[0][0]) == "NEGATE":
        refused = _codes(parts[1:])
        return random.choice([char for char in _PRINTABLE if ord(char) not in refused])
    codes = _codes(parts)
    return chr(random.choice(sorted(codes)))


def _codes(parts: Any) -> set[int]:
    found: set[int] = set()
    for kind, value in parts:
        found |= {value} if str(kind) == "LITERAL" else set(range(value[0], value[1] + 1))
    return found
