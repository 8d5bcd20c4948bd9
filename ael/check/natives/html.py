"""Pages of HTML as what a reader sees of them."""

from __future__ import annotations

from ael.check.builtin import B, S, native
from ael.types.type import AnonymousRecord, ListType, optional

_LINK = AnonymousRecord((("text", S), ("url", S)))

TABLE = (
    native("html.to_markdown", {"page": S, "base": S, "images": B}, S),
    native("html.to_text", {"page": S}, S),
    native("html.title", {"page": S}, optional(S)),
    native("html.links", {"page": S, "base": S}, ListType(_LINK)),
)
