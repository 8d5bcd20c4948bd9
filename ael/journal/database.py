"""A durable store over a database: each method is one of the transactions of `runs`, done by the writer."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence

from ael.journal import access, content, follow, form, runs
from ael.journal.accounts import StoreBook
from ael.journal.durable import Fenced, Held, Pulse, RunRow, RunState
from ael.journal.entry import Access, Entry, Header, Line
from ael.journal.journal import HeldJournal, kept
from ael.journal.writer import BATCH, Connection, Database, Writer


class DatabaseStore:
    """A `DurableStore` over whatever `connect` opens, in a thread of its own, when it is first needed."""

    def __init__(self, connect: Callable[[], Database], name: str = "ael-runs", batch: int = BATCH) -> None:
        self._writer = Writer(connect, name, batch)
        self.book = StoreBook(self._writer.submit)

    async def create(self, header: Header, input: object, pinned: Mapping[str, object], *, delay: float = 0.0) -> bool:
        data, pins = form.write(input), form.write(pinned)
        tried: list[Header] = []

        def work(db: Connection) -> bool:
            made = runs.create(db, header, data, pins, delay)
            if not made and tried:
                # The connection may have broken after the commit: then it is this very run that is there.
                made = _there(db, header)
            tried.append(header)
            return made

        return await self._writer.submit(work)

    def fresh(self, header: Header, input: object, pinned: Mapping[str, object], owner: str, lease: float) -> Held:
        """A new run that this owner holds. The store hears of it with its first record: a run without effects leaves nothing behind."""
        data, pins = form.write(input), form.write(pinned)

        def begin(db: Connection) -> bool:
            made = runs.create(db, header, data, pins, holder=(owner, lease))
            if not made and not db.rows(_MINE, header.run, owner, runs.FIRST_EPOCH):
                # It is not there from a commit that broke before anybody heard of it.
                raise Fenced(header.run)
            return True

        row = RunRow(header, RunState.RUNNING, owner, runs.FIRST_EPOCH)
        return Held(row, input, pinned, HeldJournal(header, runs.FIRST_EPOCH, [], self._writer, pinned, begin))

    async def make(self, header: Header, input: object, pinned: Mapping[str, object], owner: str, lease: float) -> Held | None:
        data, pins = form.write(input), form.write(pinned)

        def work(db: Connection) -> runs.Claimed | None:
            return runs.hold(db, header.run, owner, lease) if runs.create(db, header, data, pins) else None

        claimed = await self._writer.submit(work)
        return None if claimed is None else self._held(claimed)

    async def hold(self, run: str, owner: str, lease: float) -> Held | None:
        claimed = await self._writer.submit(lambda db: runs.hold(db, run, owner, lease))
        return None if claimed is None else self._held(claimed)

    async def claim(
        self, owner: str, programs: Collection[str], slots: int, lease: float, tenants: Mapping[str, int] | None = None
    ) -> Sequence[Held]:
        before: dict[str, int] = {}

        def work(db: Connection) -> list[runs.Claimed]:
            # Done again where the connection broke: what the commit took all the same is this worker's, and nobody else's to find.
            mine = runs.regain(db, owner, before)
            found = [*mine, *runs.claim(db, owner, programs, slots - len(mine), lease, tenants or {})]
            before.update({row.header.run: row.epoch for row, *_ in found})
            return found

        return [self._held(one) for one in await self._writer.submit(work)]

    def _held(self, claimed: runs.Claimed) -> Held:
        row, input, pinned, entries = claimed
        return Held(row, input, pinned, HeldJournal(row.header, row.epoch, entries, self._writer, pinned))

    async def pulse(self, owner: str, held: Mapping[str, int], lease: float) -> Pulse:
        lost, cancel = await self._writer.submit(lambda db: runs.pulse(db, owner, held, lease))
        return Pulse(lost, cancel)

    async def park(self, run: str, epoch: int, waits: str, after: float | None, active: float) -> None:
        def work(db: Connection) -> None:
            wake = None if after is None else db.now() + after
            changes = {"state": RunState.PARKED.value, "waits": waits, "wake": wake, "active": active, "attempts": 0}
            runs.leave(db, run, epoch, changes)

        await self._writer.submit(work, of=run, last=True)

    async def release(self, run: str, epoch: int, *, delay: float = 0.0) -> None:
        def work(db: Connection) -> None:
            later = {"state": RunState.PARKED.value, "wake": db.now() + delay, "waits": "its time"}
            runs.leave(db, run, epoch, {"attempts": 0, **(later if delay > 0 else {"state": RunState.READY.value})})

        await self._writer.submit(work)

    async def finish(self, run: str, epoch: int, ending: str, outcome: object, active: float) -> None:
        data = form.write(outcome)

        def work(db: Connection) -> None:
            ended = {"state": RunState.ENDED.value, "ending": ending, "outcome": data, "active": active, "ended": db.now()}
            runs.leave(db, run, epoch, ended)

        await self._writer.submit(work, of=run, last=True)

    async def answer(self, run: str, entry: Entry, *, wake: bool = True) -> bool:
        tried: list[Entry] = []

        def work(db: Connection) -> bool:
            given = runs.answer(db, run, entry, wake, bool(tried))
            tried.append(entry)
            return given

        return await self._writer.submit(work)

    async def cancel(self, run: str, reason: str) -> bool:
        return await self._writer.submit(lambda db: runs.cancel(db, run, reason))

    async def revive(self, run: str) -> bool:
        return await self._writer.submit(lambda db: runs.revive(db, run))

    async def given(self, run: str) -> tuple[object, Mapping[str, object]] | None:
        return await self._writer.submit(lambda db: runs.given(db, run))

    async def find(self, run: str) -> RunRow | None:
        return await self._writer.submit(lambda db: runs.find(db, run))

    async def entries(self, run: str) -> list[Entry]:
        found = await self._writer.submit(lambda db: kept(db, run))
        return [entry for _, entry in found]

    async def lines(self, run: str, after: int, most: int) -> list[Line]:
        return await self._writer.submit(lambda db: follow.lines(db, run, after, most))

    async def rows(self, *, states: Collection[RunState] = (), tenant: str | None = None, limit: int = 100) -> list[RunRow]:
        return await self._writer.submit(lambda db: runs.rows(db, states, tenant, limit))

    async def unclaimed(self, programs: Collection[str], limit: int = 100) -> list[RunRow]:
        return await self._writer.submit(lambda db: runs.unclaimed(db, programs, limit))

    async def read_by(self, run: str, reader: str, what: str) -> None:
        await self._writer.submit(lambda db: access.note(db, run, reader, what))

    async def readings(self, run: str) -> list[Access]:
        return await self._writer.submit(lambda db: access.readings(db, run))

    async def prune(self, before: float, *, keep: int = 0) -> int:
        return await self._writer.submit(lambda db: runs.prune(db, before, keep))

    async def forget_content(self, before: float) -> int:
        count = 0
        while done := await self._writer.submit(lambda db: content.forget(db, before)):
            count += done
        return count

    async def identity(self) -> str:
        """A name that this store, whoever has it open, has alone: made when it is first asked for."""
        return await self._writer.submit(_identity)

    async def close(self) -> None:
        await self._writer.close()


_MINE = "SELECT 1 FROM ael_run WHERE run = ? AND owner = ? AND epoch = ? AND state = 'running'"


def _identity(db: Connection) -> str:
    found = db.rows("SELECT value FROM ael_meta WHERE name = 'identity'")
    if not found:
        db.alone("ael identity")
        db.change("INSERT INTO ael_meta (name, value) VALUES ('identity', ?) ON CONFLICT DO NOTHING", secrets.randbits(31))
        found = db.rows("SELECT value FROM ael_meta WHERE name = 'identity'")
    return f"{int(found[0][0]):08x}"


def _there(db: Connection, header: Header) -> bool:
    row = runs.find(db, header.run)
    return row is not None and row.header == header
