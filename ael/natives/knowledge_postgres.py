"""Documents in PostgreSQL with its full-text search, for programs on more than one machine. All tenants share the tables; every row and
every question names one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TypeVar

import psycopg

from ael.natives.knowledge_base import SWEEP, TOKENS, Document, Found, Written, verdict
from ael.natives.knowledge_terms import terms
from ael.types.fault import Fault, FaultKind

T = TypeVar("T")

CONNECT = 10
"""Seconds to wait for a connection."""
_TIME = 30_000
"""Milliseconds of one statement."""
_POSITIONS, _LAST = 255, 16_383
"""Positions of a word that PostgreSQL keeps, and the last one that it counts."""
_TABLES = (
    "CREATE TABLE IF NOT EXISTS ael_knowledge_document (tenant TEXT, id TEXT, version BIGINT NOT NULL, title TEXT NOT NULL,"
    " source TEXT NOT NULL, text TEXT NOT NULL, digest BYTEA NOT NULL, PRIMARY KEY (tenant, id))",
    "CREATE TABLE IF NOT EXISTS ael_knowledge_passage (tenant TEXT, id TEXT, place INTEGER, text TEXT NOT NULL,"
    " words TSVECTOR NOT NULL, PRIMARY KEY (tenant, id, place))",
    "CREATE INDEX IF NOT EXISTS ael_knowledge_words ON ael_knowledge_passage USING GIN (words)",
    "CREATE TABLE IF NOT EXISTS ael_knowledge_token (number BIGINT GENERATED ALWAYS AS IDENTITY, tenant TEXT, token TEXT,"
    " result TEXT NOT NULL, PRIMARY KEY (tenant, token))",
)
_SEARCH = (
    "SELECT d.id, d.version, d.title, d.source, p.place, p.text, ts_rank(p.words, q.words, 1)::float8 AS score"
    " FROM (SELECT %s::tsquery AS words) q, ael_knowledge_passage p JOIN ael_knowledge_document d USING (tenant, id)"
    ' WHERE p.tenant = %s AND p.words @@ q.words ORDER BY score DESC, d.id COLLATE "C", p.place LIMIT %s'
)
_OLD = (
    "DELETE FROM ael_knowledge_token WHERE tenant = %s AND number <= (SELECT number FROM ael_knowledge_token"
    " WHERE tenant = %s ORDER BY number DESC LIMIT 1 OFFSET %s)"
)


class PostgresBase:
    """One connection. `address` is a libpq connection string or URL; its password is never told."""

    def __init__(self, address: str) -> None:
        """Raises `Fault` (`Unavailable`, `Malformed`)."""
        self._address = address
        self._db: psycopg.Connection[tuple[object, ...]] | None = None
        self._guarded(self._open)

    def search(self, tenant: str, words: Sequence[str], limit: int) -> list[Found]:
        if not words:
            return []
        # Words are letters, digits and marks alone, and each is quoted: none can be an operator of a query.
        wanted = " | ".join(f"'{word}'" for word in words)
        rows = self._guarded(lambda: self._open().execute(_SEARCH.encode(), (wanted, tenant, limit)).fetchall())
        return [Found(*row) for row in rows]  # type: ignore[arg-type]  # as the columns are declared

    def get(self, tenant: str, id: str) -> Document | None:
        query = b"SELECT id, version, title, source, text FROM ael_knowledge_document WHERE tenant = %s AND id = %s"
        row = self._guarded(lambda: self._open().execute(query, (tenant, id)).fetchone())
        return None if row is None else Document(*row)  # type: ignore[arg-type]  # as the columns are declared

    def put(self, tenant: str, document: Document, passages: Sequence[str], token: str) -> Written:
        def write(db: psycopg.Cursor[tuple[object, ...]]) -> Written:
            known = _once(db, tenant, token)
            if known is not None:
                return known
            row = db.execute(
                "SELECT version, digest FROM ael_knowledge_document WHERE tenant = %s AND id = %s", (tenant, document.id)
            ).fetchone()
            what = verdict(None if row is None else (int(str(row[0])), bytes(row[1])), document)  # type: ignore[call-overload]
            if what == "written":
                _forget(db, tenant, document.id)
                _insert(db, tenant, document, passages)
            _remember(db, tenant, token, what)
            return what

        return self._transaction(tenant, document.id, write)

    def remove(self, tenant: str, id: str, token: str) -> bool:
        def write(db: psycopg.Cursor[tuple[object, ...]]) -> bool:
            known = _once(db, tenant, token)
            if known is None:
                known = "written" if _forget(db, tenant, id) else "same"
                _remember(db, tenant, token, known)
            return known == "written"

        return self._transaction(tenant, id, write)

    def close(self) -> None:
        if self._db is not None:
            with suppress(psycopg.Error):
                self._db.close()
            self._db = None

    # --- the connection -----------------------------------------------------------------------------------------------

    def _open(self) -> psycopg.Connection[tuple[object, ...]]:
        if self._db is not None and not self._db.closed:
            return self._db
        try:
            db = psycopg.connect(
                self._address,
                autocommit=True,
                connect_timeout=CONNECT,
                application_name="ael",
                options=f"-c statement_timeout={_TIME}",
            )
        except psycopg.ProgrammingError:
            # The driver shows the part that it cannot read, which may be the password.
            message = "the database of the documents: its address is no connection string or URL of PostgreSQL"
            raise Fault(FaultKind.UNAVAILABLE, message, final=True) from None
        try:
            with db.transaction(), db.cursor() as cursor:
                # Two processes that make the same table at once would disturb each other.
                cursor.execute("SELECT pg_advisory_xact_lock(hashtext('ael_knowledge'))")
                for table in _TABLES:
                    cursor.execute(table.encode())
        except BaseException:
            db.close()
            raise
        self._db = db
        return db

    def _transaction(self, tenant: str, id: str, work: Callable[[psycopg.Cursor[tuple[object, ...]]], T]) -> T:
        def whole() -> T:
            db = self._open()
            with db.transaction(), db.cursor() as cursor:
                # Writers of one document come one after the other, whoever they are.
                cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s), hashtext(%s))", (tenant, id))
                return work(cursor)

        return self._guarded(whole)

    def _guarded(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            self.close()
            raise Fault(FaultKind.UNAVAILABLE, f"the database of the documents: {_first_line(error)}") from None
        except psycopg.Error as error:
            raise Fault(FaultKind.MALFORMED, f"the database of the documents refuses: {_first_line(error)}") from None


def _insert(db: psycopg.Cursor[tuple[object, ...]], tenant: str, document: Document, passages: Sequence[str]) -> None:
    row = (tenant, document.id, document.version, document.title, document.source, document.text, document.digest())
    db.execute(
        "INSERT INTO ael_knowledge_document (tenant, id, version, title, source, text, digest) VALUES (%s, %s, %s, %s, %s, %s, %s)",
        row,
    )
    title = _vector(terms(document.title))
    db.executemany(
        "INSERT INTO ael_knowledge_passage (tenant, id, place, text, words)"
        " VALUES (%s, %s, %s, %s, setweight(%s::tsvector, 'A') || setweight(%s::tsvector, 'D'))",
        [(tenant, document.id, place, text, title, _vector(terms(text))) for place, text in enumerate(passages)],
    )


def _forget(db: psycopg.Cursor[tuple[object, ...]], tenant: str, id: str) -> bool:
    db.execute("DELETE FROM ael_knowledge_passage WHERE tenant = %s AND id = %s", (tenant, id))
    return db.execute("DELETE FROM ael_knowledge_document WHERE tenant = %s AND id = %s", (tenant, id)).rowcount > 0


def _once(db: psycopg.Cursor[tuple[object, ...]], tenant: str, token: str) -> Written | None:
    """What the call with this key did, if it was here before."""
    row = db.execute("SELECT result FROM ael_knowledge_token WHERE tenant = %s AND token = %s", (tenant, token)).fetchone()
    return None if row is None else row[0]  # type: ignore[return-value]  # as it was written


def _remember(db: psycopg.Cursor[tuple[object, ...]], tenant: str, token: str, what: str) -> None:
    row = db.execute(
        "INSERT INTO ael_knowledge_token (tenant, token, result) VALUES (%s, %s, %s) RETURNING number", (tenant, token, what)
    ).fetchone()
    number = int(str(row[0])) if row is not None else 0
    if number % SWEEP == 0:
        db.execute(_OLD, (tenant, tenant, TOKENS))


def _vector(words: Iterable[str]) -> str:
    """Words with their positions, as PostgreSQL writes a `tsvector`."""
    positions: dict[str, list[str]] = {}
    for at, word in enumerate(words, 1):
        known = positions.setdefault(word, [])
        if len(known) < _POSITIONS:
            known.append(str(min(at, _LAST)))
    return " ".join(f"'{word}':{','.join(places)}" for word, places in positions.items())


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]
