"""Functions of String. Positions and lengths count Unicode code points; a position beyond an end is that end."""

from __future__ import annotations

import re
from base64 import b64encode
from decimal import Decimal, InvalidOperation

from ael.lower.abi.fault import text_too_large
from ael.lower.abi.size import TEXT_MAX, sized, sized_text
from ael.types.limits import MAX_INT, decimal_within

_INT = re.compile(r"[+-]?[0-9](?:_?[0-9])*", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_DIGITS = 4_096
"""A longer text is no number."""

string_lower = str.lower
string_upper = str.upper
string_trim = str.strip
string_starts_with = str.startswith
string_ends_with = str.endswith
string_chars = list
float_text = repr


def string_contains(text: str, part: str) -> bool:
    return part in text


def string_split(text: str, separator: str) -> list[str]:
    """The parts between the separators; an empty separator gives the characters."""
    return sized(text.split(separator) if separator else list(text))


def string_replace(text: str, old: str, new: str) -> str:
    """Each `old` replaced, from the left; an empty `old` is nowhere."""
    if not old:
        return text
    if len(new) > len(old) and len(text) + text.count(old) * (len(new) - len(old)) > TEXT_MAX:
        text_too_large()
    return text.replace(old, new)


def string_lines(text: str) -> list[str]:
    """The lines, without their ends (LF, CRLF or CR); an end of line at the end begins no other line."""
    parts = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if parts[-1] == "":
        parts.pop()
    return sized(parts)


def string_slice(text: str, start: int, end: int | None = None) -> str:
    """From `start` up to `end`, which is not included; without `end` the rest."""
    if start < 0:
        start = 0
    if end is None:
        return text[start:]
    return text[start : end if end > 0 else 0]


def string_index_of(text: str, part: str) -> int | None:
    """Where `part` first stands, or null."""
    found = text.find(part)
    return None if found < 0 else found


def string_repeat(text: str, count: int) -> str:
    if count > 0 and len(text) * count > TEXT_MAX:
        text_too_large()
    return text * max(count, 0) if text else ""


def string_to_int(text: str) -> int | None:
    """The Int that the text is, blanks around it allowed, or null."""
    text = text.strip()
    if len(text) > _DIGITS or _INT.fullmatch(text) is None:
        return None
    value = int(text)
    return value if -MAX_INT <= value <= MAX_INT else None


def string_to_float(text: str) -> float | None:
    """The Float that the text is, or null; what is too large for one is null."""
    text = text.strip()
    if len(text) > _DIGITS or _FLOAT.fullmatch(text) is None:
        return None
    value = float(text)
    return value if value - value == 0.0 else None


def string_to_decimal(text: str) -> Decimal | None:
    """The Decimal that the text is, or null."""
    text = text.strip()
    if len(text) > _DIGITS or _FLOAT.fullmatch(text) is None:
        return None
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return value if decimal_within(value) else None


def string_to_bytes(text: str) -> bytes:
    """The text in UTF-8; a lone surrogate becomes the replacement character."""
    return text.encode("utf-8", "replace") if text.isascii() else _scalar(text).encode("utf-8")


def _scalar(text: str) -> str:
    return "".join("\N{REPLACEMENT CHARACTER}" if "\ud800" <= c <= "\udfff" else c for c in text)


def string_pad_left(text: str, width: int, fill: str = " ") -> str:
    """`text` with `fill` in front until it is `width` characters long."""
    return _padding(text, width, fill) + text


def string_pad_right(text: str, width: int, fill: str = " ") -> str:
    return text + _padding(text, width, fill)


def _padding(text: str, width: int, fill: str) -> str:
    missing = width - len(text)
    if missing <= 0 or not fill:
        return ""
    if width > TEXT_MAX:
        text_too_large()
    return (fill * (missing // len(fill) + 1))[:missing]


def list_join(items: list[str], separator: str = "") -> str:
    """The items with `separator` between them."""
    if sum(map(len, items)) + len(separator) * len(items) > TEXT_MAX:
        text_too_large()
    return separator.join(items)


def bytes_to_base64(data: bytes) -> str:
    return sized_text(b64encode(data).decode("ascii"))


def bytes_to_string(data: bytes) -> str | None:
    """The text that the bytes are in UTF-8, or null."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
