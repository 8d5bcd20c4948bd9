"""Stores: typed durable maps, in memory or in SQLite, and the calls on them. Writing twice with the same token acts once."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial
from pathlib import Path
from typing import TypeVar

from ael.project.tenants import DEFAULT_TENANT
from ael.run.stored import Kept, Origin
from ael.types.canonical import encode
from ael.types.fault import Fault, FaultKind
from ael.types.json import read
from ael.types.limits import Limits

T = TypeVar("T")
_PAUSE = 0.005
"""Seconds between attempts to open a file that others are opening."""
_TOKENS = 100_000
"""Tokens that a store remembers; the oldest go first."""
_TABLES = (
    "entry (store TEXT, key TEXT, value BLOB NOT NULL, origin TEXT, PRIMARY KEY (store, key))",
    "token (store TEXT, token TEXT, result INTEGER NOT NULL, PRIMARY KEY (store, token))",
)
_LIMITS = Limits(string_bytes=1 << 30, entries=1 << 30, depth=128, model_output=1 << 30)


class MemoryStore:
    """A store that lives as long as its process."""

    def __init__(self) -> None:
        self._tenants: dict[str, MemoryStore] = {}
        self._values: dict[str, tuple[bytes, Origin | None]] = {}
        self._tokens: OrderedDict[str, bool] = OrderedDict()

    def of(self, tenant: str) -> MemoryStore:
        return self if tenant == DEFAULT_TENANT else self._tenants.setdefault(tenant, MemoryStore())

    async def get(self, key: str) -> Kept | None:
        kept = self._values.get(key)
        return None if kept is None else Kept(_read(kept[0]), kept[1])

    async def put(self, key: str, value: object, token: str, origin: Origin | None = None) -> None:
        if token not in self._tokens:
            self._values[key] = encode(value), origin
            self._remember(token, True)

    async def remove(self, key: str, token: str) -> bool:
        known = self._tokens.get(token)
        if known is None:
            known = self._values.pop(key, None) is not None
            self._remember(token, known)
        return known

    async def swap(self, key: str, was: object | None, value: object, token: str, origin: Origin | None = None) -> bool:
        known = self._tokens.get(token)
        if known is None:
            there = self._values.get(key, (_NULL, None))[0]
            known = there == encode(was)
            if known:
                self._values[key] = encode(value), origin
            self._remember(token, known)
        return known

    async def entries(self, limit: int) -> list[tuple[str, Kept]]:
        return self._kept(sorted(self._values)[:limit])

    async def page(self, after: str, limit: int) -> list[tuple[str, Kept]]:
        return self._kept(sorted(key for key in self._values if key > after)[:limit])

    async def close(self) -> None:
        """Nothing is held."""

    def _kept(self, keys: list[str]) -> list[tuple[str, Kept]]:
        return [(key, Kept(_read(text), origin)) for key in keys for text, origin in (self._values[key],)]

    def _remember(self, token: str, result: bool) -> None:
        self._tokens[token] = result
        if len(self._tokens) > _TOKENS:
            self._tokens.popitem(last=False)


class SqliteStore:
    """A store in a table of a SQLite file (write-ahead log, synchronous).

    Several stores, several tenants and several processes may share a file.
    """

    def __init__(self, path: Path, name: str, *, busy: float = 10.0) -> None:
        self._file = _File(path, name, busy)
        self._name = name

    def of(self, tenant: str) -> SqliteStore:
        if tenant == DEFAULT_TENANT:
            return self
        # No name of a store has a colon, so no two tenants and stores come to the same.
        part = copy(self)
        part._name = f"{tenant}:{self._name}"
        return part

    async def get(self, key: str) -> Kept | None:
        query = "SELECT value, origin FROM entry WHERE store = ? AND key = ?"
        row = await self._file.do(lambda db: db.execute(query, (self._name, key)).fetchone())
        return None if row is None else Kept(_read(row[0]), _origin(row[1]))

    async def put(self, key: str, value: object, token: str, origin: Origin | None = None) -> None:
        text = encode(value)
        told = _told(origin)

        def write(db: sqlite3.Connection) -> None:
            if self._once(db, token) is None:
                self._write(db, key, text, told)
                db.execute("INSERT INTO token (store, token, result) VALUES (?, ?, 1)", (self._name, token))

        await self._file.do(partial(_transaction, write))

    async def remove(self, key: str, token: str) -> bool:
        def write(db: sqlite3.Connection) -> bool:
            known = self._once(db, token)
            if known is None:
                known = db.execute("DELETE FROM entry WHERE store = ? AND key = ?", (self._name, key)).rowcount
                db.execute("INSERT INTO token (store, token, result) VALUES (?, ?, ?)", (self._name, token, known))
            return bool(known)

        return await self._file.do(partial(_transaction, write))

    async def swap(self, key: str, was: object | None, value: object, token: str, origin: Origin | None = None) -> bool:
        old, new, told = encode(was), encode(value), _told(origin)

        def write(db: sqlite3.Connection) -> bool:
            known = self._once(db, token)
            if known is None:
                row = db.execute("SELECT value FROM entry WHERE store = ? AND key = ?", (self._name, key)).fetchone()
                known = int((_NULL if row is None else row[0]) == old)
                if known:
                    self._write(db, key, new, told)
                db.execute("INSERT INTO token (store, token, result) VALUES (?, ?, ?)", (self._name, token, known))
            return bool(known)

        return await self._file.do(partial(_transaction, write))

    async def entries(self, limit: int) -> list[tuple[str, Kept]]:
        return await self._some("", (), limit)

    async def page(self, after: str, limit: int) -> list[tuple[str, Kept]]:
        return await self._some(" AND key > ?", (after,), limit)

    async def _some(self, where: str, given: tuple[str, ...], limit: int) -> list[tuple[str, Kept]]:
        query = f"SELECT key, value, origin FROM entry WHERE store = ?{where} ORDER BY key LIMIT ?"
        rows = await self._file.do(lambda db: db.execute(query, (self._name, *given, limit)).fetchall())
        return [(key, Kept(_read(value), _origin(origin))) for key, value, origin in rows]

    async def close(self) -> None:
        """Close the file, after what is under way."""
        await self._file.close()

    def _write(self, db: sqlite3.Connection, key: str, text: bytes, told: str | None) -> None:
        row = (self._name, key, text, told)
        db.execute("INSERT OR REPLACE INTO entry (store, key, value, origin) VALUES (?, ?, ?, ?)", row)

    def _once(self, db: sqlite3.Connection, token: str) -> int | None:
        """What the call with this token did, if it was here before."""
        row = db.execute("SELECT result FROM token WHERE store = ? AND token = ?", (self._name, token)).fetchone()
        return None if row is None else int(row[0])


class _File:
    """The file of a store, used through one thread of its own. Opened when it is first used."""

    def __init__(self, path: Path, name: str, busy: float) -> None:
        self._path = path
        self._name = name
        self._busy = busy
        self._connection: sqlite3.Connection | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    async def close(self) -> None:
        """Close the file, after what is under way."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            await asyncio.get_running_loop().run_in_executor(thread, self._disconnect)
            thread.shutdown(wait=False)

    async def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, "ael-store")
            thread = self._thread
        try:
            return await asyncio.get_running_loop().run_in_executor(thread, self._work, work)
        except sqlite3.OperationalError as error:
            raise Fault(FaultKind.UNAVAILABLE, f"the store `{self._name}` in {self._path.name}: {error}") from error
        except sqlite3.DatabaseError as error:
            raise Fault(FaultKind.MALFORMED, f"the store `{self._name}` in {self._path.name}: {error}") from error

    def _work(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._connection is None:
            self._connection = self._connect()
        return work(self._connection)

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, timeout=self._busy, isolation_level=None, check_same_thread=False)
        try:
            self._to_wal(db)
            db.execute("PRAGMA synchronous = FULL")
            for table in _TABLES:
                db.execute(f"CREATE TABLE IF NOT EXISTS {table} WITHOUT ROWID")
            self._with_origin(db)
        except sqlite3.Error:
            db.close()
            raise
        return db

    def _to_wal(self, db: sqlite3.Connection) -> None:
        """Write-ahead logging. SQLite does not wait by itself where two connections change a file's mode at once, so this does."""
        end = time.monotonic() + self._busy
        while True:
            try:
                db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= end:
                    raise
                time.sleep(_PAUSE)

    @staticmethod
    def _with_origin(db: sqlite3.Connection) -> None:
        """A file of a version that kept no origins gets a place for them. What is in it has none, and what that version writes has none."""
        if any(column[1] == "origin" for column in db.execute("PRAGMA table_info(entry)")):
            return
        try:
            db.execute("ALTER TABLE entry ADD COLUMN origin TEXT")
        except sqlite3.OperationalError as error:
            if "duplicate column" not in str(error):  # another connection was first
                raise

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _transaction(work: Callable[[sqlite3.Connection], T], db: sqlite3.Connection) -> T:
    db.execute("BEGIN IMMEDIATE")
    try:
        result = work(db)
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
    return result


def _origin(text: object) -> Origin | None:
    """What `put` wrote; None for what it did not write."""
    try:
        sources, written = json.loads(text) if isinstance(text, str) else (None, "")
    except ValueError:
        return None
    if not isinstance(sources, list) or not isinstance(written, str):
        return None
    return Origin(tuple([str(source) for source in sources]), written)


_NULL = encode(None)


def _told(origin: Origin | None) -> str | None:
    return None if origin is None else json.dumps(origin, separators=(",", ":"))


def _read(text: bytes) -> object:
    return read(text, _LIMITS, max_bytes=1 << 30)
