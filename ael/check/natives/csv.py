"""CSV."""

from __future__ import annotations

from ael.check.builtin import I, S, native
from ael.types.type import AnonymousRecord, ListType

_TOLD = AnonymousRecord((("rows", ListType(ListType(S))), ("lines", ListType(I)), ("line", I), ("reason", S)))

TABLE = (native("csv.parse", {"text": S, "delimiter": S}, _TOLD),)
