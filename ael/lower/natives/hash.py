"""Digests of bytes, in lower-case hexadecimal digits."""

from __future__ import annotations

import hashlib
import hmac

from ael.types.value import Secret


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def sha512(data: bytes) -> str:
    return hashlib.sha512(data).hexdigest()


def sha1(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def hmac_sha256(key: bytes, data: bytes) -> str:
    """RFC 2104, with SHA-256."""
    return hmac.digest(key, data, "sha256").hex()


def hmac_sha256_secret(key: Secret, data: bytes) -> str:
    """The same with the UTF-8 bytes of a secret as the key; the digest does not tell the key."""
    return hmac_sha256(key.reveal().encode("utf-8"), data)


def same(a: bytes, b: bytes) -> bool:
    """Whether they are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(a, b)
