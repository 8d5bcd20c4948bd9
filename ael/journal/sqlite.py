"""Runs in a SQLite file: write-ahead log, synchronous commits, one writer in this process."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ael.journal.durable import StoreError
from ael.journal.schema import upgrade
from ael.journal.writer import Unreachable

WORDS = {"bytes": "BLOB", "real": "REAL", "table": "", "big": "INTEGER", "place": "INTEGER", "numbers": "SELECT 1"}
CHECKPOINT = 4_000
"""Pages of 4 KiB in the log before they are moved into the file: rarely, since it syncs both."""
RESERVE = 1 << 20
"""Bytes by which the log is made longer ahead. A commit that lengthens a file has the file system write more than the commit, which takes
twice the time."""
_LOOKS = 4
"""Commits from one look at the size of the log to the next."""
_GROWN = 2
"""Looks that may find it longer before that is worth it: a short run makes no more commits."""
BUSY = 10.0
"""Seconds that a commit waits for another process's."""
_HEAD = 100
"""Bytes of a SQLite file's header, which begins with `_MAGIC`; the size of its pages is in it."""
_MAGIC = b"SQLite format 3\0"
NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "fuse.sshfs", "fuse.glusterfs", "lustre"}
)
"""File systems on which SQLite's locks do not hold between machines."""


_WRITABLE = "; the file and its folder have to be there, and writable"
_WAY_OUT = {
    sqlite3.SQLITE_NOTADB: "; move the file away, or name another one",
    sqlite3.SQLITE_CORRUPT: "; put back a copy of the file, or move it away",
    sqlite3.SQLITE_FULL: "; make room on its disk: nothing that was committed is lost",
    sqlite3.SQLITE_READONLY: _WRITABLE,
    sqlite3.SQLITE_CANTOPEN: _WRITABLE,
    sqlite3.SQLITE_PERM: _WRITABLE,
}
"""What to do about a file that cannot be used."""


class SqliteDatabase:
    """One connection. Raises `StoreError` for a file that cannot hold runs."""

    share = ""
    skip = ""
    number = "(SELECT COALESCE(MAX(number), 0) + 1 FROM ael_run)"

    def __init__(self, path: Path, clock: Callable[[], float] = time.time, ticks: Callable[[], float] | None = None) -> None:
        refuse_network(path)
        refuse_stump(path)
        self._boot = boot()
        self._ticks = ticks or (clock if self._boot is None else _since_boot)
        self._path = path
        self._patient = True
        self._log = Path(f"{path}-wal")
        self._size = 0
        self._grown = 0
        """Looks that found the log longer."""
        self._commits = 0
        self._clock = clock
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=BUSY, isolation_level=None, check_same_thread=False, cached_statements=64)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"the runs in {path} cannot be opened: {error}{_WRITABLE}") from None
        try:
            self._open()
        except BaseException:
            self._db.close()
            raise

    def _open(self) -> None:
        end = time.monotonic() + BUSY
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:
                # SQLite does not wait by itself where two connections change a file's mode at once.
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= end:
                    raise self._broken(error) from None
                time.sleep(0.02)
            except sqlite3.DatabaseError as error:
                raise self._broken(error) from None
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT}")
        self.begin()
        try:
            upgrade(self, WORDS)
            self._note_boot()
        except BaseException:
            self.rollback()
            raise
        self.commit()

    def _note_boot(self) -> None:
        """Leases count from the start of the machine: those of an earlier one are over, and so is whoever had them."""
        boot = self._boot or 0
        found = self.rows("SELECT value FROM ael_meta WHERE name = 'boot'")
        if found and found[0][0] == boot:
            return
        self.change("INSERT OR REPLACE INTO ael_meta (name, value) VALUES ('boot', ?)", boot)
        self.change("UPDATE ael_run SET lease = 0 WHERE state = 'running'")

    def rows(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(query, parameters).fetchall()
        except sqlite3.Error as error:
            raise self._broken(error) from None

    def change(self, query: str, *parameters: object) -> int:
        try:
            return self._db.execute(query, parameters).rowcount
        except sqlite3.Error as error:
            raise self._broken(error) from None

    def add(self, query: str, rows: Sequence[tuple[object, ...]]) -> None:
        try:
            self._db.executemany(query, rows)
        except sqlite3.Error as error:
            raise self._broken(error) from None

    def now(self) -> float:
        return self._clock()

    def ticks(self) -> float:
        """Seconds since the machine was started, which a clock that is set does not change."""
        return self._ticks()

    def alone(self, what: str) -> None:
        """Nothing to do: `BEGIN IMMEDIATE` lets one transaction write at a time."""

    def begin(self) -> None:
        if not self._patient:
            self.change(f"PRAGMA busy_timeout = {BUSY * 1000:.0f}")
            self._patient = True
        self.change("BEGIN IMMEDIATE")

    def begin_at_once(self) -> bool:
        try:
            if self._patient:
                self.change("PRAGMA busy_timeout = 0")
                self._patient = False
            self.change("BEGIN IMMEDIATE")
        except Unreachable:
            return False
        return True

    def commit(self) -> None:
        self.change("COMMIT")
        self._commits += 1
        if self._commits % _LOOKS == 0:
            self._look()

    def _look(self) -> None:
        """Whether the log has become longer, time and again."""
        with suppress(OSError):
            size = self._log.stat().st_size
            if size != self._size:
                self._size = size
                self._grown += 1
                if self._grown >= _GROWN:
                    self._reserve()

    def _reserve(self) -> None:
        """Lengthen the log: what is too large for the cache is written there before it is taken back, and what comes next in its place."""
        try:
            self._db.execute("PRAGMA cache_size = 10")
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("INSERT INTO ael_meta (name, value) VALUES ('', zeroblob(?))", (RESERVE,))
        except sqlite3.Error:
            self._grown = -1_000_000  # no room: it goes on without
        finally:
            self.rollback()
            with suppress(sqlite3.Error):
                self._db.execute("PRAGMA cache_size = -2000")
        self._size = self._log.stat().st_size
        self._grown = min(self._grown, _GROWN - 1)

    def rollback(self) -> None:
        with suppress(sqlite3.Error):
            self._db.execute("ROLLBACK")

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._db.close()

    def _broken(self, error: sqlite3.Error) -> Exception:
        """Busy for long: tried again. A full disk, a damaged or foreign file: told."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return Unreachable(f"{self._path} is locked by another process")
        return StoreError(f"the runs in {self._path} cannot be used: {error}{_WAY_OUT.get(code, '')}")


def boot(source: Path = Path("/proc/sys/kernel/random/boot_id")) -> int | None:
    """A number that tells this start of the machine from others; None where the platform has none, or no clock that goes with it."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return None
    try:
        return int(source.read_text(encoding="ascii").strip().replace("-", "")[:15], 16)
    except (OSError, ValueError):
        return None


def _since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def refuse_stump(path: Path) -> None:
    """Refuse a file that is cut off within its first page, which SQLite takes for an empty database. Raises `StoreError`."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            size = os.fstat(file.fileno()).st_size
    except OSError:
        return  # it is not there yet, or opening it will tell
    if head[: len(_MAGIC)] != _MAGIC[: len(head)]:
        return  # it is something else, which SQLite says itself
    page = int.from_bytes(head[16:18], "big") if len(head) == _HEAD else _HEAD
    if 0 < size < max(page, _HEAD):
        raise StoreError(f"the runs in {path} cannot be used: the file is cut off after {size} bytes; put a backup in its place")


def refuse_network(path: Path) -> None:
    """Refuse a file on a network file system, where its locks would not hold (runtime.md, section 5). Raises `StoreError`."""
    kind = file_system(path)
    if kind in NETWORK:
        raise StoreError(f"{path} is on a network file system ({kind}), where SQLite loses runs: use a local disk, or PostgreSQL")


def file_system(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """The type of the file system that holds `path`; "" where this platform does not say."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    place = os.path.realpath(path)
    best, kind = "", ""
    for line in lines:
        _, at, found, *_ = [*line.split(" "), "", "", ""]
        at = at.replace("\\040", " ")
        inside = place == at or place.startswith(at.rstrip("/") + "/")
        if inside and len(at) >= len(best):
            best, kind = at, found
    return kind
