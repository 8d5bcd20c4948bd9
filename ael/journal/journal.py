"""The journal of one held run in a durable store: in memory for reading, and every record guarded and written by the store."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from json.encoder import encode_basestring_ascii
from typing import Any, NamedTuple

from ael.journal import form
from ael.journal.durable import Damaged, Fenced, HandedBack, StoreError
from ael.journal.entry import Ending, Entry, Header, Kind, State
from ael.journal.schema import BITS, MOST
from ael.journal.store import check_approved, check_order
from ael.journal.terms import Terms
from ael.journal.writer import Connection, Job, Work, Writer

COLUMNS = "path, state, kind, target, digest, key, value, ending, at, active, taint, derived"
PUT = f"INSERT INTO ael_record (place, epoch, {COLUMNS}) VALUES ({', '.join('?' * 14)})"
_NOTHING = "[]"


class Record(NamedTuple):
    """An entry with its number in the run, that of the entry before it at its place (None for the first), and its columns.

    `asked`: the number of the last record of its approval, for a call that begins.
    """

    seq: int
    after: int | None
    entry: Entry
    row: tuple[object, ...]
    asked: int | None = None


class HeldJournal:
    """A `RunJournal` over the records that were there when the run was claimed, and those that this holder adds.

    Records out of order are refused here at once, and by the store, which also refuses every record of a holder that was fenced.
    """

    __slots__ = (
        "_begin", "_entries", "_epoch", "_header", "_job", "_last", "_next", "_run", "_terms", "_waiting", "_writer", "active",
        "continued", "lost",
    )  # fmt: skip

    def __init__(
        self,
        header: Header,
        epoch: int,
        kept: list[tuple[int, Entry]],
        writer: Writer,
        pinned: Mapping[str, object],
        begin: Work[bool] | None = None,
    ) -> None:
        """`pinned` has the terms of the run. `begin` is work that goes before the first record: a new run is made and claimed with it."""
        self._header = header
        self._run = header.run
        self._epoch = epoch
        self._writer = writer
        self._begin = begin
        self._entries = [entry for _, entry in kept]
        self._terms = Terms(pinned, self._entries)
        self._last = {entry.path: (seq, entry) for seq, entry in kept}
        self._next = kept[-1][0] + 1 if kept else 0
        self._waiting: deque[Record] = deque()
        """Records that no transaction has taken. One that does takes all: whoever adds one before it looks if a job is queued is in it."""
        self._job: Job | None = None
        self.continued = bool(kept)
        self.active = max((entry.active for entry in self._entries), default=0.0)
        self.lost: BaseException | None = None
        """Why nothing more is kept: another worker has the run, or the store is gone."""

    @property
    def header(self) -> Header:
        return self._header

    def last(self, path: str) -> Entry | None:
        found = self._last.get(path)
        return None if found is None else found[1]

    def entries(self) -> list[Entry]:
        return list(self._entries)

    def append(self, entry: Entry) -> Awaitable[None] | None:
        if self.lost is not None:
            raise self.lost
        path = entry.path
        known = self._last.get(path)
        check_order(None if known is None else known[1], entry)
        eager = entry.state is State.STARTED
        asked = None
        if eager:
            self._terms.check(entry)
            asked = self._last.get(f"{path}/approval")
            if asked is not None:
                check_approved(asked[1], entry)
        row = to_row(entry)
        if self._begin is not None:
            self.begin()
        seq = self._next
        self._next = seq + 1
        self._last[path] = (seq, entry)
        self._entries.append(entry)
        if eager or entry.kind is Kind.MODEL:
            self._terms.add(entry)
        record = Record(seq, None if known is None else known[0], entry, row, None if asked is None else asked[0])
        self._waiting.append(record)
        job, writer = self._job, self._writer
        if job is None or not job.queued or writer.batch == 1:
            self._job = job = writer.queue(Job(self._work(), not eager, self._failed, self._why_lost), self._run)
        elif eager:
            writer.hasten(job, self._run)
        future = job.future
        return None if future.done() and future.exception() is None else future

    def _work(self) -> Work[bool]:
        """Work that writes what waits when it is done first; done again, the same."""
        taken: list[Record] = []

        def work(db: Connection) -> bool:
            waiting = self._waiting
            # All of it, however much: who waits for the newest record waits for this. Only where each record is to be a boundary of its
            # own, each has work of its own.
            alone = self._writer.batch == 1
            while waiting and not (alone and taken):
                taken.append(waiting.popleft())
            return not taken or put(db, self._run, self._epoch, taken)

        return work

    def hurry(self) -> None:
        with suppress(StoreError):  # a store that is closed has written what waited
            self._writer.submit(_nothing, failed=self._failed, of=self._run)

    @property
    def begun(self) -> bool:
        """Whether the store knows of this run: a new one is made with its first record."""
        return self._begin is None

    def begin(self) -> None:
        """Make a new run known to the store, in the same commit as what follows."""
        if self._begin is not None:
            work, self._begin = self._begin, None
            self._writer.submit(work, lazy=True, failed=self._failed)

    def hand_back(self) -> None:
        """Keep nothing more of this execution. May be called from any thread."""
        self.lost = self.lost or HandedBack(f"the run {self._run} is given back")

    def _why_lost(self) -> BaseException | None:
        """A commit may take records that came after its job: where it fails they are not written, though their own job finds no work."""
        return self.lost

    def _failed(self, error: BaseException) -> None:
        self.lost = self.lost or error


def _nothing(db: Connection) -> bool:
    """Work that only asks for a commit."""
    return True


def put(db: Connection, run: str, epoch: int, records: Sequence[Record]) -> bool:
    """Add records under an epoch: fence, sequence, order and records in one transaction. Done a second time it changes nothing.

    The numbers fit only where the store holds what the holder knows, record for record. Raises `Fenced`, `WriteAheadRequired`,
    and `StoreError` for a journal that holds another number of records.
    """
    found = db.rows(_HELD + db.share, run, epoch)
    if not found:
        raise Fenced(run)
    base = int(found[0][0]) << BITS
    last = -1 if found[0][1] is None else int(found[0][1]) - base
    first = records[0].seq
    if last + 1 < first or last > records[-1].seq:
        raise StoreError(f"the journal of the run {run} is damaged: it ends with record {last}, and {first} comes next")
    new: dict[int, Entry] = {}
    rows: list[tuple[object, ...]] = []
    for seq, after, entry, row, asked in records:
        if seq > last:
            check_order(None if after is None else new.get(after) or _recorded(db, base + after, entry), entry)
            if asked is not None:
                check_approved(new.get(asked) or _asked(db, base + asked, entry), entry)
            rows.append((base + seq, epoch, *row))
        new[seq] = entry
    db.add(PUT, rows)
    return True


def number(db: Connection, run: str) -> int:
    """The number of a run that is there: with that of a record, the key of the record."""
    return int(db.rows("SELECT number FROM ael_run WHERE run = ?", run)[0][0])


def _recorded(db: Connection, place: int, entry: Entry) -> Entry | None:
    """The record there as the one before `entry`; None where it is of another path, or not there."""
    for path, state, kind in db.rows(_BEFORE, place):
        if path == entry.path:
            return entry._replace(state=State(state), kind=Kind(kind))
    return None


def _asked(db: Connection, place: int, entry: Entry) -> Entry:
    """The last record of the approval of the call of `entry`, which is there; one that answers nothing where something else is."""
    path = f"{entry.path}/approval"
    asked = entry._replace(path=path, state=State.PROPOSED, value=None)
    for found, state, value in db.rows(_SAID, place):
        if found == path and value is not None:
            return asked._replace(state=State(state), value=form.read(bytes(value)))
    return asked


_LAST = f"SELECT place FROM ael_record WHERE place BETWEEN number << {BITS} AND (number << {BITS}) | {MOST - 1} ORDER BY place DESC LIMIT 1"
_HELD = f"SELECT number, ({_LAST}) FROM ael_run WHERE run = ? AND epoch = ? AND state = 'running'"
_BEFORE = "SELECT path, state, kind FROM ael_record WHERE place = ?"
_SAID = "SELECT path, state, value FROM ael_record WHERE place = ?"


def to_row(entry: Entry) -> tuple[object, ...]:
    """A record as its columns. Raises `FormError` for a value that is never kept."""
    path, state, kind, target, digest, key, value, ending, at, active, taint, derived = entry
    return (
        path,
        state._value_,  # what `value` looks up, which is done three times for each record
        kind._value_,
        target,
        digest,
        key,
        None if value is None else form.write(value),
        None if ending is None else ending._value_,
        at,
        active,
        _names(taint) if taint else _NOTHING,
        _names(derived) if derived else _NOTHING,
    )


def _names(names: tuple[str, ...]) -> str:
    """A JSON list of strings: made of each, which costs a tenth of an encoder for the list."""
    return f"[{', '.join(map(encode_basestring_ascii, names))}]"


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
