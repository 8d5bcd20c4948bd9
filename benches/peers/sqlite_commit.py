"""What a commit costs by itself: the bytes of a step's records in one row, in the log, synchronously (`durable`)."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BYTES = 620
"""What the three records of a call of `programs/durable.ael` hold."""


def durable(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Milliseconds a commit. Runs are one after the other: nothing shares a commit."""
    steps = int(request["steps"]) * int(request["runs"])
    with tempfile.TemporaryDirectory(prefix="ael-bench-") as folder:
        db = sqlite3.connect(Path(folder) / "commits.db", isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("CREATE TABLE entry (run TEXT, seq INTEGER, data BLOB, PRIMARY KEY (run, seq))")
        data = b"x" * BYTES
        started = time.perf_counter()
        for step in range(steps):
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT INTO entry VALUES (?, ?, ?)", ("run", step, data))
            db.execute("COMMIT")
        seconds = time.perf_counter() - started
        db.close()
    return {"ms": seconds * 1000 / steps}


OPS = {"durable": durable}
