"""Text."""

from __future__ import annotations

from ael.check.builtin import I, S, native
from ael.types.type import ListType, LiteralType, UnionType

_FORM = UnionType(tuple(LiteralType(form) for form in ("NFC", "NFD", "NFKC", "NFKD")))

TABLE = (
    native("text.words", {"text": S}, ListType(S)),
    native("text.parts", {"text": S}, ListType(S)),
    native("text.between", {"text": S, "open": S, "close": S}, ListType(S)),
    native("text.distance", {"a": S, "b": S}, I),
    native("text.normal", {"text": S, "form": _FORM}, S),
    native("text.folded", {"text": S}, S),
    native("text.plain", {"text": S}, S),
    native("text.natural", {"text": S}, S),
    native("text.printable", {"text": S}, S),
)
