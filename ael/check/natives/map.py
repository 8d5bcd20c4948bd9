"""Maps."""

from __future__ import annotations

from ael.check.builtin import S, T, native
from ael.types.type import MapType

TABLE = (native("map.value", {"entries": MapType(T), "key": S}, T),)
