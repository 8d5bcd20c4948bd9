"""Dying on purpose: a database that tells of each write boundary, so that a process can be ended right after one (feature D1).

A *boundary* is a commit of one record of a run: that it is there, each record of its journal, how it ended. Where a store writes one
piece of work in a commit (`DatabaseStore(…, batch=1)`), nothing that comes after record N is durable when boundary N is told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ael.journal.writer import Database

_HEARTBEAT = "UPDATE ael_run SET lease"


class Watched:
    """A `Database` that calls `committed` after each commit that wrote a record, in the thread that wrote it."""

    def __init__(self, inner: Database, committed: Callable[[], None]) -> None:
        self.share = inner.share
        self.skip = inner.skip
        self.number = inner.number
        self._inner = inner
        self._committed = committed
        self._wrote = False

    def rows(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        return self._inner.rows(query, *parameters)

    def change(self, query: str, *parameters: object) -> int:
        touched = self._inner.change(query, *parameters)
        # A heartbeat comes by the clock, and writes nothing that a run goes on from.
        self._wrote = self._wrote or (touched > 0 and not query.startswith(_HEARTBEAT))
        return touched

    def add(self, query: str, rows: Sequence[tuple[object, ...]]) -> None:
        self._inner.add(query, rows)
        self._wrote = True

    def now(self) -> float:
        return self._inner.now()

    def ticks(self) -> float:
        return self._inner.ticks()

    def alone(self, what: str) -> None:
        self._inner.alone(what)

    def begin(self) -> None:
        self._wrote = False
        self._inner.begin()

    def begin_at_once(self) -> bool:
        return False

    def commit(self) -> None:
        self._inner.commit()
        if self._wrote:
            self._wrote = False
            self._committed()

    def rollback(self) -> None:
        self._wrote = False
        self._inner.rollback()

    def close(self) -> None:
        self._inner.close()
