"""The journal of one held run in a durable store: in memory for reading, and every record guarded and written by the store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from json.encoder import encode_basestring_ascii
from typing import Any

from ael.journal import form
from ael.journal.durable import Damaged, Fenced, HandedBack, StoreError
from ael.journal.entry import Ending, Entry, Header, Kind, State
from ael.journal.store import check_order
from ael.journal.writer import Connection, Work

Submit = Callable[..., "asyncio.Future[bool]"]

COLUMNS = "path, state, kind, target, digest, key, value, ending, at, active, taint, derived"
PUT = f"INSERT INTO ael_entry (run, seq, epoch, {COLUMNS}) VALUES ({', '.join('?' * 15)})"
_NOTHING = "[]"


class HeldJournal:
    """A `RunJournal` over the records that were there when the run was claimed, and those that this holder adds.

    Records out of order are refused here at once, and by the store, which also refuses every record of a holder that was fenced.
    """

    __slots__ = ("_begin", "_entries", "_epoch", "_header", "_last", "_next", "_run", "_submit", "active", "continued", "lost")

    def __init__(
        self, header: Header, epoch: int, kept: list[tuple[int, Entry]], submit: Submit, begin: Work[bool] | None = None
    ) -> None:
        """`begin` is work that goes before the first record: a new run is made and claimed with it."""
        self._header = header
        self._run = header.run
        self._epoch = epoch
        self._submit = submit
        self._begin = begin
        self._entries = [entry for _, entry in kept]
        self._last = {entry.path: entry for entry in self._entries}
        self._next = kept[-1][0] + 1 if kept else 0
        self.continued = bool(kept)
        self.active = max((entry.active for entry in self._entries), default=0.0)
        self.lost: BaseException | None = None
        """Why nothing more is kept: another worker has the run, or the store is gone."""

    @property
    def header(self) -> Header:
        return self._header

    def last(self, path: str) -> Entry | None:
        return self._last.get(path)

    def entries(self) -> list[Entry]:
        return list(self._entries)

    def append(self, entry: Entry) -> Awaitable[None] | None:
        if self.lost is not None:
            raise self.lost
        check_order(self._last.get(entry.path), entry)
        self.begin()
        seq, self._next = self._next, self._next + 1
        self._last[entry.path] = entry
        self._entries.append(entry)
        work = put(self._run, self._epoch, seq, entry)
        return self._submit(work, lazy=entry.state is not State.STARTED, failed=self._failed)  # type: ignore[return-value]

    def hurry(self) -> None:
        with suppress(StoreError):  # a store that is closed has written what waited
            self._submit(_nothing, failed=self._failed)

    @property
    def begun(self) -> bool:
        """Whether the store knows of this run: a new one is made with its first record."""
        return self._begin is None

    def begin(self) -> None:
        """Make a new run known to the store, in the same commit as what follows."""
        if self._begin is not None:
            work, self._begin = self._begin, None
            self._submit(work, lazy=True, failed=self._failed)

    def hand_back(self) -> None:
        """Keep nothing more of this execution. May be called from any thread."""
        self.lost = self.lost or HandedBack(f"the run {self._run} is given back")

    def _failed(self, error: BaseException) -> None:
        self.lost = self.lost or error


def _nothing(db: Connection) -> bool:
    """Work that only asks for a commit."""
    return True


def put(run: str, epoch: int, seq: int, entry: Entry) -> Work[bool]:
    """The work that adds a record under an epoch: fence, order and record in one transaction. Done a second time it changes nothing.

    It raises `Fenced`, and `WriteAheadRequired`.
    """
    row = to_row(entry)
    holder, place = (run, epoch), (run, entry.path)

    def work(db: Connection) -> bool:
        # What holds for one record of a transaction holds for those after it: nobody else changes it before the commit.
        if holder not in db.seen:
            if not db.rows(_HELD + db.share, run, epoch):
                raise Fenced(run)
            db.seen[holder] = True
        before = db.seen.get(place)
        if before is None:
            for known, state, kind in sorted(db.rows(_PLACE, run, entry.path)):
                if known == seq and state == entry.state.value:
                    return True
                before = entry._replace(state=State(state), kind=Kind(kind))
        assert before is None or isinstance(before, Entry)
        check_order(before, entry)
        db.change(PUT, run, seq, epoch, *row)
        db.seen[place] = entry
        return True

    return work


_HELD = "SELECT 1 FROM ael_run WHERE run = ? AND epoch = ? AND state = 'running'"
_PLACE = "SELECT seq, state, kind FROM ael_entry WHERE run = ? AND path = ?"
"""Sorted by who asks: with an ORDER BY, SQLite reads the whole run by its numbers instead of the index of places."""


def to_row(entry: Entry) -> tuple[object, ...]:
    """A record as its columns. Raises `FormError` for a value that is never kept."""
    return (
        entry.path,
        entry.state.value,
        entry.kind.value,
        entry.target,
        entry.digest,
        entry.key,
        None if entry.value is None else form.write(entry.value),
        None if entry.ending is None else entry.ending.value,
        entry.at,
        entry.active,
        _names(entry.taint),
        _names(entry.derived),
    )


def _names(names: tuple[str, ...]) -> str:
    """A JSON list of strings: made of each, which costs a tenth of an encoder for the list."""
    return f"[{', '.join(map(encode_basestring_ascii, names))}]" if names else _NOTHING


def from_row(row: tuple[Any, ...]) -> Entry:
    """A record from its columns. Raises `Damaged` where they hold what no store wrote."""
    path, state, kind, target, digest, key, value, ending, at, active, taint, derived = row
    try:
        return Entry(
            str(path),
            State(state),
            Kind(kind),
            str(target),
            str(digest),
            str(key),
            None if value is None else form.read(bytes(value)),
            None if ending is None else Ending(ending),
            float(at),
            float(active),
            tuple(json.loads(str(taint))),
            tuple(json.loads(str(derived))),
        )
    except (ValueError, TypeError) as error:
        raise Damaged(f"the journal is damaged at `{path}`: {error}") from None


def kept(db: Connection, run: str) -> list[tuple[int, Entry]]:
    """The records of a run with their numbers, in order. Raises `Damaged` for a journal with a gap (feature A12.9)."""
    found = [(int(seq), from_row(tuple(row))) for seq, *row in db.rows(_READ, run)]
    for at, (seq, entry) in enumerate(found):
        if seq != at:
            raise Damaged(f"the journal of the run {run} is damaged: record {at} is missing before `{entry.path}`")
    return found


_READ = f"SELECT seq, {COLUMNS} FROM ael_entry WHERE run = ? ORDER BY seq"
