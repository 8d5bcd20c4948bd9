"""The journal of a test's run: in memory, and dead from where the test crashes the run until the run goes on."""

from __future__ import annotations

import asyncio

from ael.journal.entry import Entry, Header, State
from ael.journal.memory import MemoryJournal, MemoryRunJournal


class TestJournal:
    """Holds the one run of a test. While it is `dead` nothing is recorded, and nothing may begin: a killed process does neither."""

    __test__ = False

    def __init__(self) -> None:
        self.dead = False
        self._runs = MemoryJournal()

    def open(self, header: Header) -> _RunJournal:
        """The journal of the run, with what earlier executions recorded."""
        return _RunJournal(self, self._runs.open(header))


class _RunJournal:
    __slots__ = ("_inner", "_journal", "continued")

    def __init__(self, journal: TestJournal, inner: MemoryRunJournal) -> None:
        self._journal = journal
        self._inner = inner
        self.continued = inner.continued

    @property
    def header(self) -> Header:
        return self._inner.header

    @property
    def active(self) -> float:
        return self._inner.active

    def last(self, path: str) -> Entry | None:
        return self._inner.last(path)

    def append(self, entry: Entry) -> None:
        if not self._journal.dead:
            self._inner.append(entry)
        elif entry.state is State.STARTED:
            raise asyncio.CancelledError

    def hurry(self) -> None:
        """Nothing waits."""

    def entries(self) -> list[Entry]:
        return self._inner.entries()
