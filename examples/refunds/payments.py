"""A payment service that loses replies: it pays, and then the connection breaks. It keeps a ledger, and knows a refund by its key.

python payments.py ledger.db      prints its port, and serves until it is ended
"""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SLOW = "A-2"
"""The order whose first refund takes so long that its worker can be killed in the middle of it."""
LONGEST = 6.0


class Ledger:
    """Every request as it came, and every refund that was paid. A key is paid once, whatever is asked under it."""

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._lock = threading.Lock()
        self._db.execute("CREATE TABLE request (path TEXT, key TEXT, what TEXT)")
        self._db.execute("CREATE TABLE booked (path TEXT, key TEXT PRIMARY KEY, what TEXT, number TEXT)")

    def book(self, path: str, key: str, what: str) -> tuple[int, str]:
        """How often this was asked for, and the number under which it is booked."""
        with self._lock:
            self._db.execute("INSERT INTO request VALUES (?, ?, ?)", (path, key, what))
            (asked,) = self._db.execute("SELECT COUNT(*) FROM request WHERE key = ?", (key,)).fetchone()
            (count,) = self._db.execute("SELECT COUNT(*) FROM booked").fetchone()
            self._db.execute("INSERT OR IGNORE INTO booked VALUES (?, ?, ?, ?)", (path, key, what, f"N-{count + 1}"))
            (number,) = self._db.execute("SELECT number FROM booked WHERE key = ?", (key,)).fetchone()
            return asked, number


class Payments(BaseHTTPRequestHandler):
    """Does what is asked, and loses the reply of every first request: the second one is answered."""

    ledger: Ledger

    def do_POST(self) -> None:
        key = self.headers["Idempotency-Key"]
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        order = json.loads(body)["order"]
        asked, number = self.ledger.book(self.path, key, body)
        if order == SLOW and asked == 1:
            self._slow()
        if asked == 1:
            # It is paid, and nobody hears of it.
            self.close_connection = True
            return
        self._answer(200, {"number": number})

    def _slow(self) -> None:
        """Until somebody makes the file `go`, or for `LONGEST` seconds."""
        end = time.monotonic() + LONGEST
        while not Path("go").exists() and time.monotonic() < end:
            time.sleep(0.02)

    def _answer(self, status: int, what: dict[str, str]) -> None:
        data = json.dumps(what).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


def main() -> None:
    Payments.ledger = Ledger(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Payments)
    print(server.server_address[1], flush=True)
    server.serve_forever()


main()
