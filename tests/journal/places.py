"""Stores for the suite that holds for both: SQLite in a file, and a real PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import pytest

from ael.journal.database import DatabaseStore
from ael.journal.postgres import PostgresDatabase
from ael.journal.sqlite import SqliteDatabase
from ael.journal.writer import Connection
from tests.postgres import PostgresServer

T = TypeVar("T")
Body = Callable[..., Awaitable[None]]


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """One PostgreSQL for all tests of a process."""
    made = PostgresServer()
    try:
        made.start()
        yield made
    finally:
        made.remove()


class Place:
    """Where a store keeps its runs: each `open` is another process's view of the same runs."""

    def __init__(self, kind: str, path: Path | None, address: str) -> None:
        self.kind = kind
        self.path = path
        self.address = address

        self._watching: SqliteDatabase | PostgresDatabase | None = None

    def look(self, work: Callable[[Connection], T]) -> T:
        """What is there now; PostgreSQL is looked at by a connection that stays open."""
        database = self._watching = self._watching or self.database()
        database.begin()
        try:
            return work(database)
        finally:
            database.commit()
            if self.path is not None:
                self.close()

    def close(self) -> None:
        """Look no more."""
        if self._watching is not None:
            self._watching.close()
            self._watching = None

    def database(self) -> SqliteDatabase | PostgresDatabase:
        return SqliteDatabase(self.path) if self.path is not None else PostgresDatabase(self.address)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[DatabaseStore]:
        store = DatabaseStore(self.database)
        try:
            yield store
        finally:
            await store.close()

    def run(self, body: Callable[[DatabaseStore], Awaitable[None]]) -> None:
        """Run a test's body with an open store."""

        async def main() -> None:
            async with self.open() as store:
                await body(store)

        asyncio.run(main())


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """An empty place of each kind."""
    if request.param == "sqlite":
        made = Place("sqlite", tmp_path / "runs.db", "")
    else:
        server: PostgresServer = request.getfixturevalue("server")
        made = Place("postgres", None, server.create(f"t{uuid4().hex}"))
    yield made
    made.close()
