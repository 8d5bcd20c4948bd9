"""The functions that take functions, for acting ones: one item after the other, each call in a frame of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from ael.lower.abi.list import Entries, Items, bounded, by_keys, grouped, list_flatten

Acting = Callable[..., Awaitable[Any]]


class Enters(Protocol):
    """What these need of a frame."""

    def enter(self, site: int) -> Any:
        """The frame of a call."""


async def list_map_acting(k: Enters, site: int, items: Items, function: Acting) -> Items:
    return [await function(k.enter(site), x) for x in items]


async def list_filter_acting(k: Enters, site: int, items: Items, function: Acting) -> Items:
    return [x for x in items if await function(k.enter(site), x)]


async def list_find_acting(k: Enters, site: int, items: Items, function: Acting) -> Any:
    for x in items:
        if await function(k.enter(site), x):
            return x
    return None


async def list_any_acting(k: Enters, site: int, items: Items, function: Acting) -> bool:
    for x in items:
        if await function(k.enter(site), x):
            return True
    return False


async def list_all_acting(k: Enters, site: int, items: Items, function: Acting) -> bool:
    for x in items:
        if not await function(k.enter(site), x):
            return False
    return True


async def list_count_acting(k: Enters, site: int, items: Items, function: Acting) -> int:
    return len(await list_filter_acting(k, site, items, function))


async def list_fold_acting(k: Enters, site: int, items: Items, start: Any, function: Acting) -> Any:
    held = start
    for x in items:
        held = bounded(await function(k.enter(site), held, x))
    return held


async def list_sort_by_acting(k: Enters, site: int, items: Items, key: Acting) -> Items:
    return by_keys(items, await list_map_acting(k, site, items, key))


async def list_flat_map_acting(k: Enters, site: int, items: Items, function: Acting) -> Items:
    return list_flatten(await list_map_acting(k, site, items, function))


async def list_group_by_acting(k: Enters, site: int, items: Items, key: Acting) -> dict[str, Items]:
    return grouped(items, await list_map_acting(k, site, items, key))


async def map_map_values_acting(k: Enters, site: int, entries: Entries, function: Acting) -> Entries:
    return {key: await function(k.enter(site), value) for key, value in entries.items()}


async def map_filter_acting(k: Enters, site: int, entries: Entries, function: Acting) -> Entries:
    return {key: value for key, value in entries.items() if await function(k.enter(site), key, value)}
