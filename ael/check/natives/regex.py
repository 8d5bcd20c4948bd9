"""Patterns."""

from __future__ import annotations

from ael.check.builtin import B, I, S, native
from ael.types.type import AnonymousRecord, ListType, MapType, optional

_PROBLEM = AnonymousRecord((("reason", S), ("at", I)))
_MATCH = AnonymousRecord((
    ("text", S), ("start", I), ("end", I), ("groups", ListType(optional(S))), ("names", MapType(S)),
))  # fmt: skip

TABLE = (
    native("regex.problem", {"pattern": S}, optional(_PROBLEM)),
    native("regex.found", {"pattern": S, "text": S, "most": I}, ListType(_MATCH)),
    native("regex.whole", {"pattern": S, "text": S}, B),
    native("regex.replaced", {"pattern": S, "text": S, "replacement": S}, S),
    native("regex.parts", {"pattern": S, "text": S}, ListType(S)),
)
