"""How large values may grow while a program runs. What enters and leaves has narrower bounds (`ael/types/limits.py`)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, repeat
from typing import Any

from ael.lower.abi.fault import text_too_large, too_many
from ael.types.limits import MAX_INT

INT_HIGH = MAX_INT
INT_LOW = -MAX_INT
FLOAT_HIGH = sys.float_info.max
FLOAT_LOW = -sys.float_info.max
TEXT_MAX = 16_777_216
"""Characters of a String."""
ENTRIES_MAX = 1_000_000
"""Entries of a List or Map."""
LOOP_MAX = 1_000_000
CHUNK = 1_024
"""Iterations of a cheap loop between two looks at the flag that stops it."""


def spans(low: int, end: int) -> Iterable[range]:
    """`range(low, end)` in pieces."""
    return (range(low, end),) if end - low <= CHUNK else _spans(low, end)


def _spans(low: int, end: int) -> Iterator[range]:
    while low < end:
        after = min(low + CHUNK, end)
        yield range(low, after)
        low = after


def turns(limit: int) -> Iterable[Iterable[None]]:
    """`limit` turns of a `while`, in pieces; counting them makes no numbers."""
    return (repeat(None, max(limit, 0)),) if limit <= CHUNK else _turns(limit)


def _turns(limit: int) -> Iterator[Iterable[None]]:
    while limit > 0:
        yield repeat(None, min(limit, CHUNK))
        limit -= CHUNK


push = list.append
push_all = list.extend


def chunks(items: Iterable[Any]) -> Iterable[Sequence[Any]]:
    """A list, or anything else that can be iterated, in pieces."""
    return (items,) if isinstance(items, list) and len(items) <= CHUNK else _chunks(items)


def _chunks(items: Iterable[Any]) -> Iterator[Sequence[Any]]:
    rest = iter(items)
    while piece := list(islice(rest, CHUNK)):
        yield piece


def indexed_chunks(items: list[Any]) -> Iterator[Iterable[tuple[int, Any]]]:
    """The items with their indexes, in pieces."""
    for start in range(0, len(items), CHUNK):
        yield enumerate(items[start : start + CHUNK], start)


def sized(items: list[Any]) -> list[Any]:
    """`items`, unless they are too many."""
    if len(items) > ENTRIES_MAX:
        too_many()
    return items


def sized_map(entries: dict[str, Any]) -> dict[str, Any]:
    """`entries`, unless they are too many."""
    if len(entries) > ENTRIES_MAX:
        too_many()
    return entries


def sized_text(text: str) -> str:
    """`text`, unless it is too long."""
    if len(text) > TEXT_MAX:
        text_too_large()
    return text
