"""The journal in memory: what `ael run` uses without a durable store, and what the durable ones must agree with."""

from __future__ import annotations

from ael.journal.entry import Entry, Header, Kind, State
from ael.journal.store import WriteAheadRequired
from ael.types.fault import Fault, FaultKind

_PROPOSED, _STARTED, _ANSWERED = State.PROPOSED, State.STARTED, State.ANSWERED


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
        path, state = entry[0], entry[1]
        before = self._last.get(path)
        if before is None:
            fits = (
                state is _PROPOSED
                or (entry.kind is Kind.MODEL and state is _STARTED)
                or (entry.kind is Kind.EFFECT and state is _ANSWERED)
            )
        else:
            fits = state is not _PROPOSED and before.state is not _ANSWERED
        if not fits:
            raise WriteAheadRequired(f"{path}: `{state.value}` cannot follow `{before.state.value if before else 'nothing'}`")
        self._last[path] = entry
        self._entries.append(entry)

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
        pinned = found.header
        if (pinned.program, pinned.entry, pinned.input) != (header.program, header.entry, header.input):
            what = "program" if pinned.program != header.program else "entry" if pinned.entry != header.entry else "input"
            message = f"the run {header.run} was started with another {what}, so its journal cannot continue this one"
            raise Fault(FaultKind.DIVERGED, message, run=header.run, pinned=pinned.program, program=header.program)
        found.continued = True
        found.active = max((entry.active for entry in found.entries()), default=0.0)
        return found
