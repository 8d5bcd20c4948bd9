"""Digests."""

from __future__ import annotations

from ael.check.builtin import B, S, native
from ael.types.type import BytesType, SecretType

_DATA = BytesType()

TABLE = (
    native("hash.sha256", {"data": _DATA}, S),
    native("hash.sha512", {"data": _DATA}, S),
    native("hash.sha1", {"data": _DATA}, S),
    native("hash.md5", {"data": _DATA}, S),
    native("hash.hmac_sha256", {"key": _DATA, "data": _DATA}, S),
    native("hash.hmac_sha256_secret", {"key": SecretType(), "data": _DATA}, S),
    native("hash.same", {"a": _DATA, "b": _DATA}, B),
)
