"""Json: values of any type as JSON, JSON taken apart, and `T.check(x)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ael.types.canonical import EncodeError, json_form
from ael.types.fault import Fault, FaultKind
from ael.types.json import JsonError, read
from ael.types.problem import DecodeError


def to_json(value: object) -> object:
    """`json(x)`: the JSON form, with Decimals, times, bytes and files as their text."""
    match value:
        case str() | bool() | int() | float() | None:
            return value
        case list():
            return [to_json(x) for x in value]
        case dict():
            return {key: to_json(x) for key, x in value.items()}
    try:
        return json_form(value)
    except EncodeError as error:
        raise Fault(FaultKind.MALFORMED, str(error)) from None


def std_parse_json(text: str) -> object:
    """The JSON value that a text is, within the bounds of what enters; the fault `Malformed` where it is none."""
    try:
        return read(text)
    except JsonError as error:
        raise Fault(FaultKind.MALFORMED, f"not JSON: {str(error).removeprefix('not JSON: ')}") from None


def check(checker: Callable[[object], Any], value: object) -> Any:
    """`T.check(x)`: the value, or the fault `OutOfRange` with what does not fit."""
    try:
        return checker(value)
    except DecodeError as error:
        raise Fault(FaultKind.OUT_OF_RANGE, str(error)) from None


def json_get(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


def json_at(value: object, index: int) -> object:
    return value[index] if isinstance(value, list) and 0 <= index < len(value) else None


def json_as_string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def json_as_int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def json_as_float(value: object) -> float | None:
    """A number as a Float; null for one that is too large for it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def json_as_bool(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def json_as_list(value: object) -> list[Any] | None:
    return value if isinstance(value, list) else None


def json_as_map(value: object) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None
