"""Values as a durable journal keeps them: JSON that gives back the very value, since a replay hands it to code as it was.

What has a JSON type of its own stands for itself. Everything else is an object with the one key `$kind`; an object of the program that has
such a key itself is wrapped in one, so nothing it holds can be taken for a value of another kind.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from ael.types.json_text import writer
from ael.types.text import decimal_text
from ael.types.value import File, Secret

_WRITE = writer()
_PLAIN = frozenset({str, int, float, bool, type(None)})
_MICROSECOND = timedelta(microseconds=1)
_KIND = re.compile(r"\$[a-z]+")


class FormError(ValueError):
    """A value that no journal keeps (a secret, a function), or bytes that no journal wrote."""


def write(value: object) -> bytes:
    """The bytes of a value. Raises `FormError`."""
    try:
        return _WRITE(_form(value)).encode()
    except (ValueError, RecursionError) as error:
        raise FormError(f"this value cannot be kept: {error}") from None


def read(data: bytes | str) -> object:
    """The value of bytes that `write` gave. Raises `FormError`."""
    try:
        return json.loads(data, object_hook=_revived)
    except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError) as error:
        raise FormError(f"this is not what a journal keeps: {error}") from None


def _form(value: object) -> object:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, dict):
        made = {}
        wrap = False
        for key, item in value.items():
            if type(key) is not str:
                raise FormError("a key is no text")
            wrap = wrap or (len(value) == 1 and _KIND.fullmatch(key) is not None)
            made[key] = item if type(item) in _PLAIN else _form(item)
        return {"$map": list(made.items())} if wrap else made
    if isinstance(value, list | tuple):
        return [item if type(item) in _PLAIN else _form(item) for item in value]
    match value:
        case bool() | int() | float() | str():  # of a class of its own, such as an enum's member
            return value
        case Decimal():
            return {"$decimal": decimal_text(value)}
        case bytes():
            return {"$bytes": b64encode(value).decode()}
        case datetime() if value.tzinfo is not None:
            return {"$time": value.astimezone(UTC).isoformat()}
        case date() if not isinstance(value, datetime):
            return {"$date": value.isoformat()}
        case timedelta():
            return {"$span": value // _MICROSECOND}
        case File():
            data = None if value.data is None else b64encode(value.data).decode()
            return {"$file": [value.media, data, value.uri]}
        case Secret():
            raise FormError("a secret is never kept")
        case _:
            raise FormError(f"a {kind.__name__} is no data")


def _file(form: list[str | None]) -> File:
    media, data, uri = form
    return File(str(media), None if data is None else b64decode(data, validate=True), uri)


_REVIVE: dict[str, Callable[..., object]] = {
    "$map": dict,
    "$decimal": Decimal,
    "$bytes": lambda text: b64decode(text, validate=True),
    "$time": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$span": lambda count: timedelta(microseconds=count),
    "$file": _file,
}


def _revived(made: dict[str, object]) -> object:
    if len(made) != 1:
        return made
    (key, form), *_ = made.items()
    revive = _REVIVE.get(key)
    if revive is None:
        if _KIND.fullmatch(key):
            raise FormError(f"`{key}` is no kind of value")
        return made
    return revive(form)
