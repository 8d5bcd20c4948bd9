"""The journal in memory: what `ael run` uses without a durable store, and what the durable ones must agree with."""

from __future__ import annotations

from ael.journal.entry import Entry, Header, State
from ael.journal.store import check_approved, check_order, held


class MemoryRunJournal:
    """Records of one run. A record that skips its predecessor, or a second answer, is refused."""

    __slots__ = ("_entries", "_last", "active", "continued", "header")

    def __init__(self, header: Header) -> None:
        self.header = header
        self.active = 0.0
        self.continued = False
        self._entries: list[Entry] = []
        self._last: dict[str, Entry] = {}

    def last(self, path: str) -> Entry | None:
        return self._last.get(path)

    def append(self, entry: Entry) -> None:
        path = entry[0]
        check_order(self._last.get(path), entry)
        if entry[1] is State.STARTED:
            check_approved(self._last.get(f"{path}/approval"), entry)
        self._last[path] = entry
        self._entries.append(entry)

    def hurry(self) -> None:
        """Nothing waits."""

    def entries(self) -> list[Entry]:
        return list(self._entries)


class MemoryJournal:
    """Journals by run. A run that is opened again continues; `keep` False forgets a run's records when nothing refers to them."""

    __slots__ = ("_keep", "_runs")

    def __init__(self, keep: bool = True) -> None:
        self._keep = keep
        self._runs: dict[str, MemoryRunJournal] = {}

    def open(self, header: Header) -> MemoryRunJournal:
        found = self._runs.get(header.run)
        if found is None:
            found = MemoryRunJournal(header)
            if self._keep:
                self._runs[header.run] = found
            return found
        held(found, header)
        found.continued = True
        found.active = max((entry.active for entry in found.entries()), default=0.0)
        return found
