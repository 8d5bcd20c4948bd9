"""Functions of List and Map. Both are never changed: what seems to change one gives another. Sorting is stable."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from ael.lower.abi.equality import frozen, index_of, same
from ael.lower.abi.fault import too_many
from ael.lower.abi.number import ordered_max, ordered_min, total
from ael.lower.abi.size import ENTRIES_MAX, sized, sized_map

Items = list[Any]
Entries = dict[str, Any]

field = dict.get
map_get = dict.get
map_items = dict.items
map_keys = list


def map_values(entries: Entries) -> Items:
    return list(entries.values())


def map_has(entries: Entries, key: str) -> bool:
    return key in entries


def map_set(entries: Entries, key: str, value: object) -> Entries:
    """A map with `key`; a new key comes last."""
    return sized_map({**entries, key: value})


def map_remove(entries: Entries, key: str) -> Entries:
    return {k: v for k, v in entries.items() if k != key}


def map_merge(entries: Entries, other: Entries) -> Entries:
    """Both; where a key is in both, the value of `other`."""
    return sized_map({**entries, **other})


def map_map_values(entries: Entries, function: Callable[[Any], Any]) -> Entries:
    return {key: function(value) for key, value in entries.items()}


def map_filter(entries: Entries, function: Callable[[str, Any], bool]) -> Entries:
    return {key: value for key, value in entries.items() if function(key, value)}


def list_map(items: Items, function: Callable[[Any], Any]) -> Items:
    return [function(x) for x in items]


def list_filter(items: Items, function: Callable[[Any], bool]) -> Items:
    return [x for x in items if function(x)]


def list_find(items: Items, function: Callable[[Any], bool]) -> Any:
    """The first item for which it holds, or null."""
    for x in items:
        if function(x):
            return x
    return None


def list_any(items: Items, function: Callable[[Any], bool]) -> bool:
    for x in items:  # noqa: SIM110  - a loop, so that deep recursion stays within Python frames
        if function(x):
            return True
    return False


def list_all(items: Items, function: Callable[[Any], bool]) -> bool:
    for x in items:  # noqa: SIM110
        if not function(x):
            return False
    return True


def list_count(items: Items, function: Callable[[Any], bool]) -> int:
    found = 0
    for x in items:
        if function(x):
            found += 1
    return found


def list_fold(items: Items, start: Any, function: Callable[[Any, Any], Any]) -> Any:
    """`function(… function(function(start, a), b) …)`."""
    held = start
    for x in items:
        held = bounded(function(held, x))
    return held


def bounded(held: Any) -> Any:
    """A value that something carries on, unless it is too large."""
    kind = type(held)
    if kind is int:
        return total((held,)) if held.bit_length() > 64 else held
    if kind is list:
        return sized(held)
    return held


def list_sort(items: Items) -> Items:
    return sorted(items)


def list_sort_by(items: Items, key: Callable[[Any], Any]) -> Items:
    """Smallest key first; equal keys stay in order."""
    return by_keys(items, [key(x) for x in items])


def by_keys(items: Items, keys: Items) -> Items:
    """`items` in the order of their `keys`."""
    return [items[i] for i in sorted(range(len(items)), key=keys.__getitem__)]


def list_reverse(items: Items) -> Items:
    return items[::-1]


def list_first(items: Items) -> Any:
    return items[0] if items else None


def list_last(items: Items) -> Any:
    return items[-1] if items else None


def list_take(items: Items, count: int) -> Items:
    return items[: max(count, 0)]


def list_drop(items: Items, count: int) -> Items:
    return items[max(count, 0) :]


def list_slice(items: Items, start: int, end: int | None = None) -> Items:
    """From `start` up to `end`, which is not included; a position beyond an end is that end."""
    return items[max(start, 0) :] if end is None else items[max(start, 0) : max(end, 0)]


def list_contains(items: Items, item: object) -> bool:
    return index_of(items, item) is not None


list_index_of = index_of


def list_append(items: Items, item: object) -> Items:
    return sized([*items, item])


def list_concat(items: Items, other: Items) -> Items:
    return sized([*items, *other])


def list_flatten(items: Items) -> Items:
    return _joined(items)


def list_flat_map(items: Items, function: Callable[[Any], Items]) -> Items:
    return _joined(function(x) for x in items)


def _joined(lists: Iterable[Items]) -> Items:
    made: Items = []
    for one in lists:
        made.extend(one)
        if len(made) > ENTRIES_MAX:
            too_many()
    return made


def list_unique(items: Items) -> Items:
    """Each value once, where it first stands."""
    seen: set[Hashable] = set()
    made: Items = []
    for x in items:
        key = frozen(x)
        if key not in seen:
            seen.add(key)
            made.append(x)
    return made


def list_zip(items: Items, other: Items) -> Items:
    """Pairs as `{first, second}`, as many as the shorter list has."""
    return [{"first": a, "second": b} for a, b in zip(items, other, strict=False)]


def list_enumerate(items: Items) -> Items:
    """`{index, value}`, counted from 0."""
    return [{"index": i, "value": x} for i, x in enumerate(items)]


list_sum = total


def list_min(items: Items) -> Any:
    return ordered_min(items) if items else None


def list_max(items: Items) -> Any:
    return ordered_max(items) if items else None


def list_group_by(items: Items, key: Callable[[Any], str]) -> dict[str, Items]:
    """Lists by key, keys in the order in which they first come."""
    return grouped(items, [key(x) for x in items])


def grouped(items: Items, keys: list[str]) -> dict[str, Items]:
    made: dict[str, Items] = {}
    for key, x in zip(keys, items, strict=True):
        made.setdefault(key, []).append(x)
    return made


def without_null(record: Entries, *keys: str) -> Entries:
    """A record without those of `keys` that are null: writing null into an optional field leaves it out."""
    for key in keys:
        if record[key] is None:
            del record[key]
    return record


def in_order(record: Entries, *keys: str) -> Entries:
    """A record with its keys in declared order; others (of an open record) come last."""
    made = {key: record[key] for key in keys if key in record}
    return made if len(made) == len(record) else {**made, **record}


def kind_of(value: object) -> object:
    """The `kind` of a variant with fields; null for any other value."""
    return value.get("kind") if type(value) is dict else None


def among(item: object, container: Any) -> bool:
    """`item in container`, where a Bool and a number could be mistaken for each other."""
    if isinstance(container, list):
        return any(same(item, x) for x in container)
    return item in container
