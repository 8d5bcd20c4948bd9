"""Bytes and texts in other forms, and back."""

from __future__ import annotations

from ael.check.builtin import S, native
from ael.types.type import BytesType, optional

_DATA = BytesType()

TABLE = (
    native("encoding.to_hex", {"data": _DATA}, S),
    native("encoding.from_hex", {"text": S}, optional(_DATA)),
    native("encoding.from_base64", {"text": S}, optional(_DATA)),
    native("encoding.to_base64url", {"data": _DATA}, S),
    native("encoding.from_base64url", {"text": S}, optional(_DATA)),
    native("encoding.percent_encode", {"text": S, "safe": S}, S),
    native("encoding.percent_decode", {"text": S}, optional(S)),
    native("encoding.html_unescape", {"text": S}, S),
)
