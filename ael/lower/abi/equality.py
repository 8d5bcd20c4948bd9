"""Equality of values: numbers by value, Bools apart from numbers, lists and records by their parts."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any


def same(a: object, b: object) -> bool:
    """Whether two values are equal. Values nest at most some hundred levels, so this recurses."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(x, b[key]) for key, x in a.items())
    return a == b


def index_of(items: list[Any], item: object) -> int | None:
    """Where `item` first stands, or null."""
    if isinstance(item, str):
        try:
            return items.index(item)
        except ValueError:
            return None
    for at, x in enumerate(items):
        if same(x, item):
            return at
    return None


def frozen(value: object) -> Hashable:
    """Something to hash that is equal exactly where the values are."""
    match value:
        case bool():
            return (bool, value)
        case list():
            return (list, tuple(frozen(x) for x in value))
        case dict():
            return (dict, frozenset((key, frozen(x)) for key, x in value.items()))
        case Hashable():
            return value
        case _:
            return (object, id(value))
