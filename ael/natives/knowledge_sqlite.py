"""Documents in a SQLite file with FTS5. Several processes may use one file; each tenant has an index of its own in it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from ael.natives.knowledge_base import SWEEP, TOKENS, Document, Found, Written, verdict
from ael.natives.knowledge_terms import terms
from ael.types.fault import Fault, FaultKind

T = TypeVar("T")

BUSY = 10.0
"""Seconds that a write waits for another process's."""
_PAUSE = 0.005
_TABLES = (
    "ael_knowledge_tenant (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "ael_knowledge_document (number INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL,"
    " title TEXT NOT NULL, source TEXT NOT NULL, text TEXT NOT NULL, digest BLOB NOT NULL, UNIQUE (tenant, id))",
    "ael_knowledge_passage (number INTEGER PRIMARY KEY, document INTEGER NOT NULL, place INTEGER NOT NULL, text TEXT NOT NULL,"
    " UNIQUE (document, place))",
    "ael_knowledge_token (number INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, token TEXT NOT NULL, result TEXT NOT NULL,"
    " UNIQUE (tenant, token))",
)
_OLD = (
    "DELETE FROM ael_knowledge_token WHERE tenant = ? AND number <= (SELECT number FROM ael_knowledge_token"
    " WHERE tenant = ? ORDER BY number DESC LIMIT 1 OFFSET ?)"
)
_TITLE = 4.0
"""How much more a word in the title counts than one in the text."""


class SqliteBase:
    """One connection. `path` None: in memory."""

    def __init__(self, path: Path | None) -> None:
        """Raises `Fault` (`Unavailable`, `Malformed`)."""
        self._name = "memory" if path is None else path.name
        if path is not None:
            with suppress(OSError):  # what cannot be made is told when it cannot be opened
                path.parent.mkdir(parents=True, exist_ok=True)
        self._indexes: dict[str, int] = {}
        self._db = self._guarded(lambda: self._connect(":memory:" if path is None else str(path)))

    def search(self, tenant: str, words: Sequence[str], limit: int) -> list[Found]:
        number = self._guarded(lambda: self._tenant(tenant))
        if number is None or not words:
            return []
        # Words are letters and digits alone, and each is a string of the query language: none can be an operator of it.
        wanted = " OR ".join(f'"{word}"' for word in words)
        table = f"ael_knowledge_words_{number}"
        query = (
            f"SELECT d.id, d.version, d.title, d.source, p.place, p.text, -bm25({table}, {_TITLE}, 1.0) AS score FROM {table}"
            f" JOIN ael_knowledge_passage p ON p.number = {table}.rowid JOIN ael_knowledge_document d ON d.number = p.document"
            f" WHERE {table} MATCH ? AND d.tenant = ? ORDER BY score DESC, d.id, p.place LIMIT ?"
        )
        return [Found(*row) for row in self._guarded(lambda: self._db.execute(query, (wanted, number, limit)).fetchall())]

    def get(self, tenant: str, id: str) -> Document | None:
        query = (
            "SELECT d.id, d.version, d.title, d.source, d.text FROM ael_knowledge_document d"
            " JOIN ael_knowledge_tenant t ON t.number = d.tenant WHERE t.name = ? AND d.id = ?"
        )
        row = self._guarded(lambda: self._db.execute(query, (tenant, id)).fetchone())
        return None if row is None else Document(*row)

    def put(self, tenant: str, document: Document, passages: Sequence[str], token: str) -> Written:
        def write(db: sqlite3.Connection) -> Written:
            number = self._index(tenant)
            known: Written | None = self._once(number, token)
            if known is not None:
                return known
            kept = db.execute(
                "SELECT version, digest FROM ael_knowledge_document WHERE tenant = ? AND id = ?", (number, document.id)
            ).fetchone()
            what = verdict(kept, document)
            if what == "written":
                self._forget(number, document.id)
                self._insert(number, document, passages)
            self._remember(number, token, what)
            return what

        return self._transaction(write)

    def remove(self, tenant: str, id: str, token: str) -> bool:
        def write(db: sqlite3.Connection) -> bool:
            number = self._index(tenant)
            known = self._once(number, token)
            if known is None:
                known = "written" if self._forget(number, id) else "same"
                self._remember(number, token, known)
            return known == "written"

        return self._transaction(write)

    def close(self) -> None:
        self._db.close()

    # --- one transaction ----------------------------------------------------------------------------------------------

    def _insert(self, number: int, document: Document, passages: Sequence[str]) -> None:
        db = self._db
        row = (number, document.id, document.version, document.title, document.source, document.text, document.digest())
        of = db.execute(
            "INSERT INTO ael_knowledge_document (tenant, id, version, title, source, text, digest) VALUES (?, ?, ?, ?, ?, ?, ?)",
            row,
        ).lastrowid
        title = " ".join(terms(document.title))
        for place, text in enumerate(passages):
            passage = db.execute(
                "INSERT INTO ael_knowledge_passage (document, place, text) VALUES (?, ?, ?)", (of, place, text)
            ).lastrowid
            words = " ".join(terms(text))
            db.execute(f"INSERT INTO ael_knowledge_words_{number} (rowid, title, text) VALUES (?, ?, ?)", (passage, title, words))

    def _forget(self, number: int, id: str) -> bool:
        db = self._db
        row = db.execute("SELECT number FROM ael_knowledge_document WHERE tenant = ? AND id = ?", (number, id)).fetchone()
        if row is None:
            return False
        passages = "SELECT number FROM ael_knowledge_passage WHERE document = ?"
        db.execute(f"DELETE FROM ael_knowledge_words_{number} WHERE rowid IN ({passages})", row)
        db.execute("DELETE FROM ael_knowledge_passage WHERE document = ?", row)
        db.execute("DELETE FROM ael_knowledge_document WHERE number = ?", row)
        return True

    def _once(self, number: int, token: str) -> Written | None:
        """What the call with this key did, if it was here before."""
        row = self._db.execute(
            "SELECT result FROM ael_knowledge_token WHERE tenant = ? AND token = ?", (number, token)
        ).fetchone()
        return None if row is None else row[0]

    def _remember(self, number: int, token: str, what: str) -> None:
        row = self._db.execute(
            "INSERT INTO ael_knowledge_token (tenant, token, result) VALUES (?, ?, ?)", (number, token, what)
        ).lastrowid
        if (row or 0) % SWEEP == 0:
            self._db.execute(_OLD, (number, number, TOKENS))

    def _index(self, tenant: str) -> int:
        """The number of a tenant, whose index is made if there is none."""
        found = self._tenant(tenant)
        if found is not None:
            return found
        number = self._db.execute("INSERT INTO ael_knowledge_tenant (name) VALUES (?)", (tenant,)).lastrowid
        assert number is not None
        self._db.execute(
            f"CREATE VIRTUAL TABLE ael_knowledge_words_{number} USING fts5(title, text, tokenize = 'unicode61 remove_diacritics 0')"
        )
        return number

    def _tenant(self, tenant: str) -> int | None:
        # A number never changes. One of a transaction that is taken back is not kept: `_index` reads it again.
        found = self._indexes.get(tenant)
        if found is None:
            row = self._db.execute("SELECT number FROM ael_knowledge_tenant WHERE name = ?", (tenant,)).fetchone()
            if row is None:
                return None
            found = int(row[0])
            if not self._db.in_transaction:
                self._indexes[tenant] = found
        return found

    # --- the file -----------------------------------------------------------------------------------------------------

    def _transaction(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def whole() -> T:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                result = work(self._db)
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise
            return result

        return self._guarded(whole)

    def _guarded(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except sqlite3.OperationalError as error:
            raise Fault(FaultKind.UNAVAILABLE, f"the documents in {self._name}: {error}") from error
        except sqlite3.DatabaseError as error:
            raise Fault(FaultKind.MALFORMED, f"the documents in {self._name}: {error}") from error

    def _connect(self, path: str) -> sqlite3.Connection:
        db = sqlite3.connect(path, timeout=BUSY, isolation_level=None, check_same_thread=False)
        try:
            _to_wal(db)
            db.execute("PRAGMA synchronous = FULL")
            # What is removed is not left lying in the file.
            db.execute("PRAGMA secure_delete = ON")
            for table in _TABLES:
                db.execute(f"CREATE TABLE IF NOT EXISTS {table}")
        except sqlite3.Error:
            db.close()
            raise
        return db


def _to_wal(db: sqlite3.Connection) -> None:
    """Write-ahead logging. SQLite does not wait by itself where two connections change a file's mode at once."""
    end = time.monotonic() + BUSY
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= end:
                raise
            time.sleep(_PAUSE)
