"""Entries on their way to a sink: a bounded queue, a thread that delivers, and a count of what was lost.

A sink never holds up a run. What does not fit, and what a sink fails to take, is left out, counted, and told.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from typing import Literal, Protocol

from ael.observe.entry import Entry, at_least, entry_of, size_of
from ael.run.ports import Span

QUEUE, QUEUE_BYTES = 8_192, 16 * 1024 * 1024
"""Entries that wait at most, and their bytes."""
BATCH, BATCH_BYTES = 64, 512 * 1024
"""Entries that are delivered at once at most, and about how many bytes."""
FLUSH = 5.0
"""Seconds that the end of a program waits for its last entries."""


class Delivery(Protocol):
    """Where the entries of one sink go. All of it is called by one thread."""

    name: str
    """As messages say it: `the file run.jsonl`."""

    def deliver(self, entries: list[Entry]) -> None:
        """Take some entries, in order. Raises `OSError`, `Undelivered` where it cannot: they are not offered again."""

    def give_up(self) -> None:
        """Stop what is under way: nobody waits for it any more. Called by another thread."""

    def close(self) -> None:
        """Release what is open."""


class Undelivered(Exception):
    """Why a sink did not take entries: a sentence."""


class WaitingSink:
    """A sink of spans whose entries wait for a `Delivery`. `level`: the least urgent that it gets; `content`: whether with content;
    `flush`: the seconds that its end waits for the last ones."""

    def __init__(self, delivery: Delivery, *, level: str = "Debug", content: bool = False, flush: float | None = None) -> None:
        self.content: bool | Literal["log"] = True if content else "log"
        self.lost = 0
        self.given = 0
        self._delivery = delivery
        self._level = level
        self._with_content = content
        self._flush = FLUSH if flush is None else flush
        self._waiting: deque[tuple[Entry, int]] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._gone = False
        self._reason = ""
        self._under_way = 0

    def span(self, span: Span) -> None:
        """A span ended. What a run over its journal saw again was told by the execution that did it."""
        if span.attributes.get("replayed"):
            return
        entry = entry_of(span, content=self._with_content)
        if not at_least(entry, self._level):
            return
        size = size_of(entry)
        with self._changed:
            if self._closed:
                return
            self.given += 1
            if len(self._waiting) >= QUEUE or self._bytes + size > QUEUE_BYTES:
                self._lose(1, "it takes them more slowly than they come")
                return
            self._waiting.append((entry, size))
            self._bytes += size
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="ael-log", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> str | None:
        """Deliver what waits, for at most `FLUSH` seconds. What was lost, in a sentence; None when nothing was."""
        with self._changed:
            self._closed = True
            self._changed.notify()
            thread = self._thread
        if thread is None:
            self._delivery.close()
        else:
            thread.join(self._flush)
            if thread.is_alive():
                self._gone = True
                self._delivery.give_up()
                thread.join(_LAST)
        with self._changed:
            lost = self.lost + len(self._waiting) + self._under_way
            if not lost:
                return None
            reason = self._reason or "there was no time left"
            return f"{lost:,} of {self.given:,} log entries did not reach {self._delivery.name}: {reason}"

    def _run(self) -> None:
        try:
            while (batch := self._next()) is not None:
                try:
                    self._delivery.deliver(batch)
                except (OSError, Undelivered) as error:
                    with self._changed:
                        self._lose(len(batch), str(error))
                except Exception as error:  # a defect here is no reason to end a run, nor to be silent
                    with self._changed:
                        self._lose(len(batch), f"{type(error).__name__}: {error}")
                finally:
                    self._under_way = 0
        finally:
            self._delivery.close()

    def _next(self) -> list[Entry] | None:
        """The entries to deliver next; None at the end."""
        with self._changed:
            while not self._waiting:
                if self._closed:
                    return None
                self._changed.wait()
            if self._gone:
                return None
            batch: list[Entry] = []
            total = 0
            tenant = self._waiting[0][0]["tenant"]
            while self._waiting and len(batch) < BATCH and (not batch or total + self._waiting[0][1] <= BATCH_BYTES):
                # What is one tenant's is delivered apart from what is another's.
                if self._waiting[0][0]["tenant"] != tenant:
                    break
                entry, size = self._waiting.popleft()
                batch.append(entry)
                total += size
            self._bytes -= total
            self._under_way = len(batch)
            return batch

    def _lose(self, count: int, reason: str) -> None:
        """Count what is lost, and say so the first time: a program that serves has no end at which it would be told."""
        if not self.lost:
            print(f"ael: warning: log entries do not reach {self._delivery.name}: {reason}", file=sys.stderr)
        self.lost += count
        self._reason = reason


_LAST = 1.0
"""Seconds for a delivery that was told to stop."""
