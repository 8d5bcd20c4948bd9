"""Bytes and texts in other forms: hexadecimal digits, base64 (RFC 4648), percent-encoding (RFC 3986), HTML's references.

Decoding is strict: there is one text for each value, but for the case of hexadecimal digits and the padding of base64url.
"""

from __future__ import annotations

import re
from base64 import b64decode, urlsafe_b64encode
from binascii import Error
from html import unescape
from urllib.parse import quote, unquote_to_bytes

from ael.lower.abi.size import sized_text
from ael.lower.abi.text import string_to_bytes

_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})*", re.ASCII)
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}", re.ASCII)
_BASE64URL = re.compile(r"[A-Za-z0-9_-]*={0,2}", re.ASCII)
_MALFORMED = re.compile(r"%(?![0-9A-Fa-f]{2})")
_LONG = re.compile(r"&#(?:0*[0-9]{8,}|[xX]0*[0-9A-Fa-f]{7,});?")
"""A reference to a character that there is not. Python's own `unescape` would make a number of all its digits."""
_ZEROS = re.compile(r"(&#[xX]?)0+(?=[0-9A-Fa-f])")


def to_hex(data: bytes) -> str:
    return sized_text(data.hex())


def from_hex(text: str) -> bytes | None:
    """None for an odd number of digits, and for anything but digits."""
    return bytes.fromhex(text) if _HEX.fullmatch(text) else None


def from_base64(text: str) -> bytes | None:
    """None without the right padding, with another letter, and where bits that mean nothing are set."""
    return _base64(text) if _BASE64.fullmatch(text) else None


def to_base64url(data: bytes) -> str:
    """Without padding."""
    return sized_text(urlsafe_b64encode(data).decode("ascii").rstrip("="))


def from_base64url(text: str) -> bytes | None:
    """With the right padding or without any."""
    if not _BASE64URL.fullmatch(text):
        return None
    if not text.endswith("="):
        text += "=" * (-len(text) % 4)
    return _base64(text.translate(_FROM_URL))


_FROM_URL = {ord("-"): "+", ord("_"): "/"}


def _base64(text: str) -> bytes | None:
    try:
        data = b64decode(text, validate=True)
    except Error:
        return None
    # The last letter before the padding may carry bits that are thrown away: two texts would mean the same.
    end = {0: "", 1: "==", 2: "="}[len(data) % 3]
    whole = (len(text) - len(end)) == (len(data) * 8 + 5) // 6 and text.endswith(end)
    return data if whole and not _loose(text.rstrip("="), len(data)) else None


def _loose(letters: str, length: int) -> bool:
    bits = {0: 0, 1: 4, 2: 2}[length % 3]
    return bits != 0 and _LETTERS.index(letters[-1]) % (1 << bits) != 0


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def percent_encode(text: str, safe: str) -> str:
    """All but the unreserved characters (RFC 3986, section 2.3) and those of `safe`; a lone surrogate is the replacement character."""
    return sized_text(quote(string_to_bytes(text), safe=safe))


def percent_decode(text: str) -> str | None:
    """None for a `%` without two digits, and for bytes that are no UTF-8."""
    if _MALFORMED.search(text):
        return None
    try:
        return unquote_to_bytes(string_to_bytes(text)).decode("utf-8")
    except UnicodeDecodeError:
        return None


def html_unescape(text: str) -> str:
    """References to characters become them, by HTML's own rules; one to no character is the replacement character."""
    if "&" not in text:
        return text
    return sized_text(unescape(_LONG.sub("\N{REPLACEMENT CHARACTER}", _ZEROS.sub(r"\1", text))))
