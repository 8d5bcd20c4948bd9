"""Digests."""

from __future__ import annotations

from ael.check.builtin import S, native
from ael.types.type import BytesType

TABLE = (native("hash.sha256", {"data": BytesType()}, S),)
