"""The one way a value is written as JSON: no white space, keys in their order or sorted, UTF-8.

Everything that the reader takes can be written. What is no value is refused with its path: sets, objects, functions, secrets,
numbers that are not finite, keys that are no text, half a surrogate pair, cycles.
"""

from __future__ import annotations

import hashlib
import math
from base64 import b64encode
from datetime import date, datetime, timedelta
from decimal import Decimal

from ael.types.json_text import writer
from ael.types.limits import MAX_INT, MAX_INT_BITS, decimal_within
from ael.types.problem import Path, describe, show_path
from ael.types.text import decimal_text
from ael.types.times import print_date, print_duration, print_timestamp
from ael.types.value import File

_WRITE_DEPTH = 256
"""Deeper than what any reader lets in; a cycle ends here."""
_LEAVES = frozenset({str, float, bool, type(None)})
_OTHER_LEAVES = frozenset({Decimal, bytes, datetime, date, timedelta, File})


class EncodeError(ValueError):
    """A value that is no data; `path` is like `orders[2].id`."""

    def __init__(self, path: Path, message: str) -> None:
        self.path = show_path(path)
        self.message = message
        super().__init__(f"`{self.path}`: {message}" if path else message)


def encode(value: object, *, sort: bool = False) -> bytes:
    """The JSON text of a run-time value; Decimals, times, bytes and files in their JSON form. Raises EncodeError."""
    if not _plain(value, _WRITE_DEPTH):
        _refuse(value, (), frozenset())
    try:
        return (_SORTED if sort else _ORDERED)(value).encode()
    except ValueError:
        _refuse(value, (), frozenset())
        raise


def encode_checked(value: object) -> bytes:
    """The same for a value that was checked by its type, which is not looked at again. Raises ValueError."""
    return _ORDERED(value).encode()


def digest(value: object) -> str:
    """SHA-256 of the text with sorted keys, in hexadecimal: the same for values that differ in the order of keys only."""
    return hashlib.sha256(encode(value, sort=True)).hexdigest()


def json_form(value: object) -> object:
    """The JSON form of a value that has no JSON type of its own. Raises EncodeError for what is no data."""
    match value:
        case Decimal() if decimal_within(value):
            return decimal_text(value)
        case datetime() if value.tzinfo is not None:
            return print_timestamp(value)
        case datetime():
            raise EncodeError((), "a Python datetime without an offset")
        case date():
            return print_date(value)
        case timedelta():
            return print_duration(value)
        case bytes():
            return b64encode(value).decode()
        case File():
            return file_form(value)
    raise EncodeError((), f"{describe(value)} is no data")


def file_form(file: File) -> dict[str, object]:
    """`{"media": …, "data": …}` or `{"media": …, "uri": …}`."""
    form: dict[str, object] = {"media": file.media}
    if file.data is not None:
        form["data"] = b64encode(file.data).decode()
    if file.uri is not None:
        form["uri"] = file.uri
    return form


_ORDERED = writer(json_form)
_SORTED = writer(json_form, sort=True)


def _plain(value: object, depth: int) -> bool:
    """Whether the standard encoder, which lets tuples, subclasses and keys of other types pass, can be trusted with `value`."""
    kind = type(value)
    if kind is dict:
        return depth > 0 and all(
            type(key) is str and (type(item) in _LEAVES or _plain(item, depth - 1))
            for key, item in value.items()  # type: ignore[attr-defined]
        )
    if kind is list:
        return depth > 0 and all(type(item) in _LEAVES or _plain(item, depth - 1) for item in value)  # type: ignore[attr-defined]
    if kind is int:
        return -MAX_INT <= value <= MAX_INT  # type: ignore[operator]
    return kind in _LEAVES or kind in _OTHER_LEAVES


def _refuse(value: object, path: Path, around: frozenset[int]) -> None:
    """Raise for the first thing in `value` that cannot be written."""
    if id(value) in around:
        raise EncodeError(path, "the value contains itself")
    if len(path) > _WRITE_DEPTH:
        raise EncodeError(path[:16], f"nested more than {_WRITE_DEPTH} deep")
    kind = type(value)
    if kind is dict:
        for key, item in value.items():  # type: ignore[attr-defined]
            if type(key) is not str:
                raise EncodeError(path, f"a key is {describe(key)}, no text")
            _refuse_text(key, path)
            _refuse(item, (*path, key), around | {id(value)})
    elif kind is list:
        for at, item in enumerate(value):  # type: ignore[arg-type]
            _refuse(item, (*path, at), around | {id(value)})
    elif isinstance(value, str) and kind is str:
        _refuse_text(value, path)
    elif isinstance(value, float) and kind is float:
        if not math.isfinite(value):
            raise EncodeError(path, f"{value} is no finite number")
    elif isinstance(value, int) and kind is int:
        if not -MAX_INT <= value <= MAX_INT:
            raise EncodeError(path, f"a whole number of more than {MAX_INT_BITS:,} bits")
    elif kind not in _LEAVES:
        try:
            json_form(value)
        except EncodeError as error:
            raise EncodeError(path, error.message) from None
        if kind not in _OTHER_LEAVES:
            raise EncodeError(path, f"{describe(value)} is no data")


def _refuse_text(text: str, path: Path) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise EncodeError(path, "half of a surrogate pair stands alone in the text") from None
