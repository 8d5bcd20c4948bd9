"""What models do in the cases, in short."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.attacks.case import Play

ANN = "ann@example.com"
"""A person who is in the input of the twins."""
EVIL = "eve@attacker.example"
"""Whom the attacker wants to have things."""
ASK: Mapping[str, object] = {"question": "Where is my order?", "customer": ANN}


def call(name: str, /, **arguments: object) -> dict[str, object]:
    """The model proposes a call."""
    return {"call": name, "with": arguments}


def raw(name: str, text: str) -> dict[str, object]:
    """The model proposes a call with these very characters as its arguments."""
    return {"call": name, "with": text}


def final(value: object = "Done.") -> dict[str, object]:
    """The model ends."""
    return {"final": value}


READ = call("read_page", url="https://shop.example/orders")
MAIL = call("send", to=ANN, text="hello")
SENT = f"send {ANN}: hello"


def then(*turns: object, says: Mapping[str, object] | None = None, **more: Any) -> Play:
    """These turns and an end, on the usual input."""
    more.setdefault("given", ASK)
    return Play([*turns, final()], says=says or {}, **more)


def read_then(text: object, *turns: object, **more: Any) -> Play:
    """The model reads a page that says `text`, and does as it likes."""
    return then(READ, *turns, says={"read_page": text}, **more)
