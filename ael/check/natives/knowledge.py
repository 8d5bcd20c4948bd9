"""What is done to a text before it is kept, and how alike two are."""

from __future__ import annotations

from ael.check.builtin import F, I, S, native
from ael.types.type import ListType

TABLE = (
    native("knowledge.visible", {"text": S}, S),
    native("knowledge.unmarked", {"text": S}, S),
    native("knowledge.masked", {"text": S}, S),
    native("knowledge.chunks", {"text": S, "size": I}, ListType(S)),
    native("knowledge.alike", {"a": S, "b": S}, F),
    native("knowledge.tokens", {"text": S}, I),
)
