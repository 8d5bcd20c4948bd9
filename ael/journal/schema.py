"""The tables of a durable store, in versions: a store of an older version is brought up to date when it is opened.

Each step is SQL that SQLite and PostgreSQL both take; `{…}` stands for what they write differently.
"""

from __future__ import annotations

from collections.abc import Mapping

from ael.journal import access, accounts
from ael.journal.durable import StoreError
from ael.journal.writer import Connection

BITS = 26
"""Bits of a record's key that number it within its run; those above them are the number of the run."""
MOST = 1 << BITS
"""Records that a run may have."""
VERSIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE ael_run (
            run TEXT NOT NULL PRIMARY KEY, program TEXT NOT NULL, entry TEXT NOT NULL, digest TEXT NOT NULL, input {bytes} NOT NULL,
            pinned {bytes} NOT NULL, tenant TEXT NOT NULL, caller TEXT NOT NULL, started {real} NOT NULL, deadline {real},
            version INTEGER NOT NULL, state TEXT NOT NULL, owner TEXT NOT NULL, epoch INTEGER NOT NULL, lease {real} NOT NULL,
            wake {real}, waits TEXT NOT NULL, attempts INTEGER NOT NULL, cancel TEXT, ending TEXT NOT NULL, outcome {bytes},
            ended {real}, active {real} NOT NULL, reached INTEGER NOT NULL
        ){table}""",
        "CREATE INDEX ael_run_state ON ael_run (state, wake)",
        "CREATE INDEX ael_run_started ON ael_run (started)",
        """CREATE TABLE ael_entry (
            run TEXT NOT NULL, seq INTEGER NOT NULL, epoch INTEGER NOT NULL, path TEXT NOT NULL, state TEXT NOT NULL, kind TEXT NOT NULL,
            target TEXT NOT NULL, digest TEXT NOT NULL, key TEXT NOT NULL, value {bytes}, ending TEXT, at {real} NOT NULL,
            active {real} NOT NULL, taint TEXT NOT NULL, derived TEXT NOT NULL, PRIMARY KEY (run, seq)
        ){table}""",
        """CREATE TABLE ael_signal (
            run TEXT NOT NULL, path TEXT NOT NULL, state TEXT NOT NULL, kind TEXT NOT NULL, target TEXT NOT NULL, digest TEXT NOT NULL,
            key TEXT NOT NULL, value {bytes}, ending TEXT, at {real} NOT NULL, active {real} NOT NULL, taint TEXT NOT NULL,
            derived TEXT NOT NULL, PRIMARY KEY (run, path)
        ){table}""",
        "CREATE UNIQUE INDEX ael_entry_place ON ael_entry (run, path, state)",
    ),
    access.TABLE,
    (
        # The records of a run lie beside each other, in one tree whose keys are small: the number of the run, then that of the record. A
        # commit writes one page of it, at its end. A record is told the number of the one before it at its place (`ael.journal.journal`),
        # so nothing is looked for by its place while a run goes on.
        "ALTER TABLE ael_run ADD COLUMN number {big}",
        "UPDATE ael_run SET number = made.number FROM"
        " (SELECT run AS known, ROW_NUMBER() OVER (ORDER BY started, run) AS number FROM ael_run) AS made WHERE made.known = run",
        "CREATE UNIQUE INDEX ael_run_number ON ael_run (number)",
        "{numbers}",
        """CREATE TABLE ael_record (
            place {place} PRIMARY KEY, epoch INTEGER NOT NULL, path TEXT NOT NULL, state TEXT NOT NULL, kind TEXT NOT NULL,
            target TEXT NOT NULL, digest TEXT NOT NULL, key TEXT NOT NULL, value {bytes}, ending TEXT, at {real} NOT NULL,
            active {real} NOT NULL, taint TEXT NOT NULL, derived TEXT NOT NULL
        ){table}""",
        f"""INSERT INTO ael_record SELECT (number << {BITS}) | seq, e.epoch, path, e.state, kind, target, e.digest, key, value, e.ending,
            at, e.active, taint, derived
        FROM ael_entry AS e JOIN ael_run ON ael_run.run = e.run""",
        "DROP TABLE ael_entry",
        f"""CREATE VIEW ael_entry AS SELECT run, place & {MOST - 1} AS seq, e.epoch AS epoch, path, e.state AS state, kind, target,
            e.digest AS digest, key, value, e.ending AS ending, at, e.active AS active, taint, derived
        FROM ael_run JOIN ael_record AS e ON place BETWEEN number << {BITS} AND (number << {BITS}) | {MOST - 1}""",
    ),
    accounts.TABLES,
)
"""The steps from one version to the next, oldest first; never changed once released."""


def upgrade(db: Connection, words: Mapping[str, str]) -> None:
    """Bring the tables to the newest version, in the running transaction. Raises `StoreError` for a store of a newer release."""
    db.alone("ael schema")
    db.change("CREATE TABLE IF NOT EXISTS ael_meta (name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL)")
    found = db.rows("SELECT value FROM ael_meta WHERE name = 'version'")
    version = int(found[0][0]) if found else 0
    if version > len(VERSIONS):
        raise StoreError(
            f"the runs here were written by a newer release (format {version}); this one knows {len(VERSIONS)}: update `ael`"
        )
    for steps in VERSIONS[version:]:
        for step in steps:
            db.change(step.format(**words))
    if version == 0:
        db.change("INSERT INTO ael_meta (name, value) VALUES ('version', ?)", len(VERSIONS))
    elif version < len(VERSIONS):
        db.change("UPDATE ael_meta SET value = ? WHERE name = 'version'", len(VERSIONS))
