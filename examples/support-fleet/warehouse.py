"""The books of the warehouse: what the orders service works with. They are in a SQLite file, `warehouse.db`.

Like the sandbox of a payment provider it knows numbers with which something goes wrong, each in its own way. `A-…` concerns the reading
of an order, `B-…` its refund, `C-…` the courier; all other numbers are orders that were paid.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

BOOKS = Path(__file__).parent / "warehouse.db"
TABLES = """
CREATE TABLE IF NOT EXISTS asked (what TEXT NOT NULL, id TEXT NOT NULL, key TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS refund (key TEXT PRIMARY KEY, id TEXT NOT NULL, amount TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS trip (number INTEGER PRIMARY KEY, id TEXT NOT NULL);
"""
TROUBLE = {
    "500": "breaks",
    "503": "is away, the first time",
    "504": "hangs",
    "505": "loses its answer",
    "506": "hangs when it has acted",
    "900": "dies before it acts, the first time",
    "901": "dies after it acted, the first time",
    "909": "dies before it acts, each time",
}
"""By the digits of an order number, what happens to the process that acts on it."""
_T = TypeVar("_T")


async def row(id: str, *, call: Any) -> dict[str, object] | None:
    """An order, None where there is no such order."""

    def read(books: sqlite3.Connection) -> dict[str, object] | None:
        if id == "A-404":
            return None
        status = "Refunded" if id == "A-410" else "Paid"
        return {"id": id, "customer": "c-1", "total": Decimal("19.90"), "status": status}

    return await _act("A", id, call, read)


async def pay_back(id: str, amount: Decimal, key: str, *, call: Any) -> dict[str, object]:
    """Book a refund under its key: the second time it is there already."""

    def book(books: sqlite3.Connection) -> dict[str, object]:
        books.execute("INSERT OR IGNORE INTO refund VALUES (?, ?, ?)", (key, id, str(amount)))
        return {"order": id, "amount": amount, "key": key}

    return await _act("B", id, call, book)


async def refunds(id: str, *, call: Any) -> list[dict[str, object]]:
    """The refunds of an order."""

    def read(books: sqlite3.Connection) -> list[dict[str, object]]:
        found = books.execute("SELECT key, amount FROM refund WHERE id = ?", (id,)).fetchall()
        return [{"order": id, "amount": Decimal(amount), "key": key} for key, amount in found]

    return await _act("D", id, call, read)


async def send_courier(id: str, *, call: Any) -> str:
    """Send a courier. Nobody here looks at keys."""

    def send(books: sqlite3.Connection) -> str:
        books.execute("INSERT INTO trip (id) VALUES (?)", (id,))
        return f"a courier fetches {id}"

    return await _act("C", id, call, send)


async def _act(letter: str, id: str, call: Any, do: Callable[[sqlite3.Connection], _T]) -> _T:
    """Act, or do what the order number says."""
    with _books() as books:
        before = books.execute("SELECT COUNT(*) FROM asked WHERE what = ? AND id = ?", (letter, id)).fetchone()[0]
        books.execute("INSERT INTO asked VALUES (?, ?, ?)", (letter, id, call.key))
    trouble = TROUBLE.get(id[2:], "") if id.startswith(letter) else ""
    if before and trouble.endswith("the first time"):
        trouble = ""
    if trouble == "breaks":
        raise ValueError(f"the page of {id} is torn")
    if trouble.startswith("is away"):
        raise ConnectionError
    if trouble == "hangs":
        await asyncio.sleep(3_600)
    if trouble.startswith("dies before"):
        os.kill(os.getpid(), signal.SIGKILL)
    with _books() as books:
        done = do(books)
    if trouble == "loses its answer":
        raise ConnectionError
    if trouble == "hangs when it has acted":
        await asyncio.sleep(3_600)
    if trouble.startswith("dies after"):
        os.kill(os.getpid(), signal.SIGKILL)
    return done


@contextmanager
def _books() -> Iterator[sqlite3.Connection]:
    """The file, in a transaction of its own."""
    with closing(sqlite3.connect(BOOKS, timeout=60)) as books:
        books.executescript(TABLES)
        with books:
            yield books
