"""Names for protobuf: of messages, fields and values of enums, each once in its scope, always the same for the same program."""

from __future__ import annotations

import re
from collections.abc import Iterable

_OTHER = re.compile(r"[^A-Za-z0-9]+")
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


class Scope:
    """Names that are taken. What would be there twice gets a number."""

    def __init__(self, taken: Iterable[str] = (), *, loosely: bool = False) -> None:
        """`loosely`: `a_b` and `aB` are the same, as they are for protobuf's JSON."""
        self._loosely = loosely
        self._taken = {self._key(name) for name in taken}

    def take(self, wanted: str) -> str:
        """The name, or with the first number from 2 on that makes it another."""
        name, number = wanted, 1
        while self._key(name) in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(self._key(name))
        return name

    def _key(self, name: str) -> str:
        return name.replace("_", "").lower() if self._loosely else name


def camel(text: str) -> str:
    """`get_order` -> `GetOrder`; what is written with capitals keeps them."""
    return "".join(part[:1].upper() + part[1:] for part in _OTHER.split(text) if part) or "X"


def snake(text: str) -> str:
    """`HTTPCode` -> `http_code`."""
    return "_".join(_WORDS.findall(_OTHER.sub("_", text))).lower() or "x"


def field_name(key: str) -> str:
    """A field for a name of the language or a key of JSON: `If-Match` -> `If_Match`."""
    name = _OTHER.sub("_", key).strip("_") if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", key) else key
    if not name:
        return "field"
    return name if name[0].isalpha() else f"field_{name}"


def value_name(enum: str, variant: str) -> str:
    """`TOPIC_REFUND`: values of all enums of a package share one scope."""
    return f"{snake(enum)}_{snake(variant)}".upper()
