"""The databases of documents for the suite that holds for both: SQLite with FTS5 in a file, and a real PostgreSQL."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from ael.natives.knowledge_base import Base, Document
from ael.natives.knowledge_postgres import PostgresBase
from ael.natives.knowledge_sqlite import SqliteBase
from ael.natives.knowledge_terms import query_terms
from tests.postgres import PostgresServer

ROOT = Path(__file__).parents[2]


@dataclass
class Place:
    """Where documents are: each `open` is another process's view of the same."""

    kind: str
    where: str

    def open(self) -> Base:
        return open_base(self.kind, self.where)

    @property
    def line(self) -> str:
        """What a deployment says of it."""
        if self.kind == "sqlite":
            return f'knowledge = sqlite("{self.where}")\n'
        return 'secret DB = env("KNOWLEDGE_DB")\nknowledge = postgres(secret("DB"))\n'


def open_base(kind: str, where: str) -> Base:
    return SqliteBase(Path(where)) if kind == "sqlite" else PostgresBase(where)


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """One PostgreSQL for all tests of a process."""
    made = PostgresServer()
    try:
        made.start()
        yield made
    finally:
        made.remove()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty place of each kind."""
    if request.param == "sqlite":
        return Place("sqlite", str(tmp_path / "knowledge.db"))
    server: PostgresServer = request.getfixturevalue("server")
    return Place("postgres", server.create(f"k{uuid4().hex}"))


@pytest.fixture
def base(place: Place) -> Iterator[Base]:
    """One that is open."""
    made = place.open()
    yield made
    made.close()


def document(id: str, text: str, *, title: str = "", version: int = 0) -> Document:
    return Document(id, version, title, "", text)


def put(base: Base, id: str, text: str, *, title: str = "", version: int = 0, tenant: str = "local", token: str = "") -> str:
    """Put a document of one passage; a write of its own unless it has a token."""
    return base.put(tenant, document(id, text, title=title, version=version), [text], token or uuid4().hex)


def ids(base: Base, query: str, tenant: str = "local", limit: int = 100) -> list[str]:
    """The documents that a question finds, in order."""
    return [one.id for one in base.search(tenant, query_terms(query), limit)]


def main() -> None:
    """Another process: put documents with one's own prefix, and say of each that it is kept."""
    kind, where, prefix, count = sys.argv[1:]
    base = open_base(kind, where)
    for at in range(int(count)):
        put(base, f"{prefix}-{at}", f"common words of {prefix} {at}", token=f"{prefix}-{at}")
        # One that everybody writes: the highest version stays.
        put(base, "shared", f"shared text {at}", version=at + 1, token=f"shared-{prefix}-{at}")
        print("kept", at, flush=True)
    base.close()


if __name__ == "__main__":
    main()
