"""Who read the content of kept runs: a line for each reading, kept when the run itself is forgotten (feature A16.6)."""

from __future__ import annotations

from ael.journal.entry import Access
from ael.journal.writer import Connection

TABLE = (
    "CREATE TABLE ael_access (run TEXT NOT NULL, at {real} NOT NULL, reader TEXT NOT NULL, what TEXT NOT NULL){table}",
    "CREATE INDEX ael_access_run ON ael_access (run, at)",
)


def note(db: Connection, run: str, reader: str, what: str) -> None:
    """Write down that the content of a run is read, before it is."""
    db.change("INSERT INTO ael_access (run, at, reader, what) VALUES (?, ?, ?, ?)", run, db.now(), reader, what)


def readings(db: Connection, run: str) -> list[Access]:
    """The readings of a run, oldest first."""
    found = db.rows("SELECT run, at, reader, what FROM ael_access WHERE run = ? ORDER BY at", run)
    return [Access(str(name), float(at), str(reader), str(what)) for name, at, reader, what in found]
