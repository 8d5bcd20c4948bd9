"""Hearing of runs that may be ready in PostgreSQL: a thread that listens, so that a worker need not look all the time."""

from __future__ import annotations

import threading
from collections.abc import Callable

import psycopg

CHANNEL = "ael_runs"
_WAIT = 1.0
"""Seconds between looks whether to stop."""
_AGAIN = 2.0
"""Seconds before a connection that broke is made again."""
_CONNECT = 10


class Listener:
    """Calls `wake`, from its own thread, for each word on a channel. A database that is away is tried again."""

    def __init__(self, address: str, wake: Callable[[], None], channel: str = CHANNEL) -> None:
        self._address = address
        self._channel = channel
        self._wake = wake
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ael-listen", daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def stop(self) -> None:
        """End within a second."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with psycopg.connect(
                    self._address, autocommit=True, connect_timeout=_CONNECT, application_name="ael-listen"
                ) as db:
                    db.execute(f"LISTEN {self._channel}".encode())
                    self._wake()
                    while not self._stop.is_set():
                        for _ in db.notifies(timeout=_WAIT, stop_after=1):
                            self._wake()
            except psycopg.Error:
                self._stop.wait(_AGAIN)
