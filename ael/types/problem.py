"""What is wrong with a value, as data: where, what was expected, what was there, in words that a model can act on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TypeAlias

from ael.data import dataclass
from ael.types.value import File, Secret

Path: TypeAlias = tuple[str | int, ...]
"""Keys and positions from the root."""

_EXCERPT = 60
_KEYS = 8
_TEXT_LIMIT = 4_000


@dataclass(frozen=True, slots=True)
class Problem:
    """`path` is like `orders[2].id`, empty for the value itself. `expected` and `got` are descriptions, never unbounded."""

    path: str
    message: str
    expected: str = ""
    got: str = ""

    def __str__(self) -> str:
        return f"`{self.path}`: {self.message}" if self.path else self.message


class DecodeError(ValueError):
    """A value that does not fit; `problems` is never empty, and `more` says whether further ones were left out."""

    def __init__(self, problems: Iterable[Problem], *, more: bool = False) -> None:
        self.problems = tuple(problems)
        self.more = more
        super().__init__(self.text)

    @property
    def text(self) -> str:
        """All problems, one a line, bounded."""
        lines = "\n".join(map(str, self.problems)) + ("\nand more" if self.more else "")
        return lines if len(lines) <= _TEXT_LIMIT else lines[: _TEXT_LIMIT - 1] + "…"


def show_path(path: Path) -> str:
    """`orders[2].id`; a key that is no plain name is quoted: `headers["If-Match"]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.isidentifier() and part.isascii():
            text += f".{part}" if text else part
        else:
            text += f"[{quote(part)}]"
    return text


def quote(text: str, length: int = _EXCERPT) -> str:
    """A JSON string of `text`, cut with `…`. Lone surrogates stand as escapes, so that it can be written anywhere."""
    cut = text if len(text) <= length else text[:length] + "…"
    if cut.isprintable():
        return json.dumps(cut, ensure_ascii=False)
    return json.dumps(cut)


def describe(value: object) -> str:
    """What a value is, in JSON's words, with a short excerpt. Secrets and content show nothing."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return f"number {value}" if value.bit_length() < 200 else f"a number of {value.bit_length():,} bits"
        case float():
            return f"number {value!r}"
        case Decimal():
            return f"number {value}" if value.is_finite() and len(str(value)) < _EXCERPT else "a Decimal"
        case str():
            return f"string {quote(value)}"
        case list():
            return f"array of {len(value)}" if value else "empty array"
        case dict():
            if not value:
                return "empty object"
            return f"object with {'key' if len(value) == 1 else 'keys'} {names(value)}"
        case bytes():
            return f"{len(value):,} bytes"
        case File():
            return f"a File of {value.media}"
        case Secret():
            return "a Secret"
        case datetime():
            return f"Timestamp {value.isoformat()}"
        case date():
            return f"Date {value.isoformat()}"
        case timedelta():
            return "a Duration"
        case _:
            kind = "function" if callable(value) else type(value).__name__
            return f"a Python {kind}"


def names(keys: Iterable[object], limit: int = _KEYS) -> str:
    """Names in back quotes with commas; those beyond `limit` are counted."""
    shown = [str(key) for key in keys]
    text = ", ".join(f"`{key if len(key) <= _EXCERPT else key[:_EXCERPT] + '…'}`" for key in shown[:limit])
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(shown) <= limit else f"{text} and {len(shown) - limit} more"
