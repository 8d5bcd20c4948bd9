"""A queue that is a table in PostgreSQL: claims skip what others are claiming, time is the database's, words go by NOTIFY.

The table stands beside those of the runs, in whatever schema the address of the database leads to.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from ael.journal.durable import StoreError
from ael.journal.listen import Listener
from ael.journal.postgres import PostgresDatabase
from ael.journal.writer import Connection, Writer
from ael.services.queue import Away, Entered, Full, Item, OtherStore, Sizes, Stage, State, Unreadable, entering, item_of

T = TypeVar("T")

_AGAIN = 1.0
"""Seconds between looks where no word came: one may have been missed."""
_TABLE = (
    """CREATE TABLE IF NOT EXISTS ael_item (
        queue TEXT NOT NULL, token TEXT NOT NULL, turn INTEGER NOT NULL, number BIGINT NOT NULL, program TEXT NOT NULL,
        request TEXT NOT NULL, item BYTEA NOT NULL, stage TEXT NOT NULL, expires DOUBLE PRECISION NOT NULL, sender TEXT NOT NULL,
        owner TEXT NOT NULL, lease DOUBLE PRECISION NOT NULL, store TEXT NOT NULL, begun INTEGER NOT NULL, cancel INTEGER NOT NULL,
        answer BYTEA, changed DOUBLE PRECISION NOT NULL, PRIMARY KEY (queue, token)
    )""",
    "CREATE INDEX IF NOT EXISTS ael_item_open ON ael_item (queue, program, number) WHERE stage IN ('waits', 'taken')",
    "CREATE INDEX IF NOT EXISTS ael_item_done ON ael_item (queue, changed) WHERE stage IN ('withdrawn', 'answered')",
    "CREATE SEQUENCE IF NOT EXISTS ael_item_number",
)


class QueueDatabase(PostgresDatabase):
    """A connection to a database of runs that has the table of the queues too."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        try:
            self.begin()
            if not self.rows("SELECT 1 FROM ael_meta WHERE name = 'queue'"):
                self.alone("ael schema")
                for step in _TABLE:
                    self.change(step)
                self.change("INSERT INTO ael_meta (name, value) VALUES ('queue', 1) ON CONFLICT DO NOTHING")
            self.commit()
        except BaseException:
            self.close()
            raise


class TableLine:
    """Implements `Line`. `address`: of the database, `patience`: seconds for which it is tried again where it is away; `program`: the
    digest of the program whose items are taken here."""

    def __init__(self, address: str, queue: str, program: str, sizes: Sizes, patience: float = 10.0) -> None:
        self._address = address
        self._queue = queue
        self._program = program
        self._sizes = sizes
        self._writer = Writer(partial(QueueDatabase, address), f"ael-queue-{queue}", patience=patience)
        self._me = secrets.token_hex(8)
        self._bells: dict[str, _Bell] = {}
        self._asked: dict[asyncio.Future[bytes], Item] = {}
        self._looking: asyncio.Task[None] | None = None

    # --- a sender -------------------------------------------------------------------------------------------------------

    async def enter(self, item: Item, seen: int) -> Entered:
        """As `Line`."""
        self._bell(_answers(self._me))
        entered = await self._do(partial(_enter, self, item, seen))
        if isinstance(entered, Full):
            raise entered
        return entered

    async def answered(self, item: Item) -> bytes:
        """As `Line`."""
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._asked[future] = item
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._look())
        try:
            return await future
        finally:
            del self._asked[future]

    async def withdraw(self, item: Item) -> bool:
        """As `Line`."""
        return await self._do(partial(_withdraw, self, item))

    async def _look(self) -> None:
        """Look for the answers of all that are waited for, at each word and now and then."""
        bell = self._bell(_answers(self._me))
        while self._asked:
            found: Mapping[str, tuple[int, bytes]] = {}
            # While the database is away, a look waits: the item is where it is.
            with suppress(Away):
                found = await self._do(partial(_answered, self._queue, [item.token for item in self._asked.values()]))
            for future, item in self._asked.items():
                turn, answer = found.get(item.token, (0, b""))
                if turn >= item.turn and not future.done():
                    future.set_result(answer)
            await bell.wait(_AGAIN)

    # --- a worker -------------------------------------------------------------------------------------------------------

    async def take(self, most: int, seconds: float) -> Sequence[TableTaken]:
        """As `Line`."""
        bell, end = self._bell(_items(self._queue)), asyncio.get_running_loop().time() + seconds
        while True:
            rows = await self._do(partial(_take, self, most))
            if rows:
                return [_taken(self, *row) for row in rows]
            left = end - asyncio.get_running_loop().time()
            if left <= 0:
                return []
            await bell.wait(min(left, _AGAIN))

    async def waiting(self) -> Mapping[str, int]:
        """As `Line`. It also forgets what has been kept long enough."""
        return await self._do(partial(_waiting, self._queue, self._sizes.keep))

    async def close(self) -> None:
        """As `Line`."""
        if self._looking is not None:
            self._looking.cancel()
        for bell in self._bells.values():
            await bell.close()
        await self._writer.close()

    # --- both -----------------------------------------------------------------------------------------------------------

    async def _do(self, work: Callable[[Connection], T]) -> T:
        """Do a piece of work in a transaction; doing it again where the connection broke is doing it once. Raises `Away`."""
        tried: list[bool] = []

        def tracked(db: Connection) -> T:
            tried.append(True)
            return work(db)

        try:
            return await self._writer.submit(tracked)
        except StoreError as error:
            raise Away(f"the queue cannot be reached: {error}", put=bool(tried)) from None

    def _bell(self, channel: str) -> _Bell:
        bell = self._bells.get(channel)
        if bell is None or bell.loop is not asyncio.get_running_loop():
            bell = self._bells[channel] = _Bell(self._address, channel)
        return bell


class _Bell:
    """Rings in the event loop for each word on a channel of the database."""

    def __init__(self, address: str, channel: str) -> None:
        self.loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self._listener = Listener(address, self._heard, channel)
        self._listener.start()

    async def wait(self, seconds: float) -> None:
        """Until a word came, or so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return
        self._event.clear()

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._listener.stop)

    def _heard(self) -> None:
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._event.set)


class TableTaken:
    """Implements `Taken`."""

    def __init__(self, line: TableLine, token: str, turn: int, item: Item | None, cancelled: bool) -> None:
        self._line = line
        self.token = token
        self.turn = turn
        self.item = item
        self.cancelled = cancelled
        self._begun = False

    async def begin(self, store: str) -> int | None:
        """As `Taken`."""
        begun = await self._line._do(partial(_begin, self._mine, store))
        if begun == 0:
            raise OtherStore
        self._begun = begun is not None
        return begun

    async def extend(self) -> bool:
        """As `Taken`."""
        mine = await self._line._do(partial(_extend, self._mine, self._line._sizes.lease))
        if mine is not None:
            self.cancelled = mine
        return mine is not None

    async def answer(self, text: bytes) -> None:
        """As `Taken`."""
        await self._line._do(partial(_answer, self._line._queue, self.token, self.turn, text))

    async def give_back(self, after: float) -> None:
        """As `Taken`."""
        await self._line._do(partial(_give_back, self._mine, after, int(self._begun)))

    @property
    def _mine(self) -> tuple[str, str, int, str]:
        return self._line._queue, self.token, self.turn, self._line._me


# --- transactions ---------------------------------------------------------------------------------------------------------

_MINE = " WHERE queue = ? AND token = ? AND turn = ? AND owner = ? AND stage = 'taken'"


def _answers(sender: str) -> str:
    return f"ael_answers_{sender}"


def _items(queue: str) -> str:
    return f"ael_items_{hashlib.sha256(queue.encode()).hexdigest()[:16]}"


def _tell(db: Connection, channel: str) -> None:
    db.rows("SELECT pg_notify(?, '')::text", channel)


def _enter(line: TableLine, item: Item, seen: int, db: Connection) -> Entered | Full:
    token, sizes = item.token, line._sizes
    # One after the other: a plain count lets two senders pass the limit together.
    db.alone(f"ael room {line._queue}")
    now = db.now()
    found = db.rows(
        "SELECT turn, stage, request, answer FROM ael_item WHERE queue = ? AND token = ? FOR UPDATE", line._queue, token
    )
    state = None
    if found:
        turn, stage, request, answer = found[0]
        state = State(int(turn), Stage(stage), str(request), answer=None if answer is None else bytes(answer))
    entered, put = entering(state, item, seen)
    if put:
        full = db.rows("SELECT COUNT(*) FROM ael_item WHERE queue = ? AND stage = 'waits' AND expires > ?", line._queue, now)
        if int(full[0][0]) >= sizes.room:
            return Full()
        values = (entered.turn, item.program, item.request, item.at(entered.turn).text(), now + item.left, line._me, now)
        db.change(
            "INSERT INTO ael_item (queue, token, number, turn, program, request, item, expires, sender, changed, stage, owner, lease,"
            " store, begun, cancel) VALUES (?, ?, nextval('ael_item_number'), ?, ?, ?, ?, ?, ?, ?, 'waits', '', 0, '', 0, 0)"
            " ON CONFLICT (queue, token) DO UPDATE SET number = EXCLUDED.number, turn = EXCLUDED.turn, program = EXCLUDED.program,"
            " request = EXCLUDED.request, item = EXCLUDED.item, expires = EXCLUDED.expires, sender = EXCLUDED.sender,"
            " changed = EXCLUDED.changed, stage = 'waits', owner = '', lease = 0, store = '', begun = 0, cancel = 0, answer = NULL",
            *(line._queue, token, *values),
        )
        _tell(db, _items(line._queue))
    elif entered.answer is None:
        # A sender that came back: the word of the answer goes to it from now on.
        db.change(
            "UPDATE ael_item SET sender = ?, expires = GREATEST(expires, ?) WHERE queue = ? AND token = ?",
            *(line._me, now + item.left, line._queue, token),
        )
    return entered


def _withdraw(line: TableLine, item: Item, db: Connection) -> bool:
    where = " WHERE queue = ? AND token = ? AND turn = ?"
    key = (line._queue, item.token, item.turn)
    if db.change(f"UPDATE ael_item SET stage = 'withdrawn', changed = ?{where} AND stage = 'waits'", db.now(), *key):
        return True
    if db.change(f"UPDATE ael_item SET cancel = 1{where} AND stage = 'taken'", *key):
        _tell(db, _items(line._queue))
        return False
    # Done again where the connection broke: what the first commit did counts.
    return bool(db.rows(f"SELECT 1 FROM ael_item{where} AND stage = 'withdrawn'", *key))


def _answered(queue: str, tokens: Sequence[str], db: Connection) -> dict[str, tuple[int, bytes]]:
    marks = ", ".join("?" * len(tokens))
    query = f"SELECT token, turn, answer FROM ael_item WHERE queue = ? AND stage = 'answered' AND token IN ({marks})"
    return {str(token): (int(turn), bytes(answer)) for token, turn, answer in db.rows(query, queue, *tokens)}


Row = tuple[str, int, bytes, float, int]


def _take(line: TableLine, most: int, db: Connection) -> list[Row]:
    sizes, now = line._sizes, db.now()
    db.alone(f"ael take {line._queue}")
    busy = db.rows("SELECT COUNT(*) FROM ael_item WHERE queue = ? AND stage = 'taken' AND lease >= ?", line._queue, now)
    room = min(most, sizes.in_flight - int(busy[0][0]))
    if room <= 0:
        return []
    free = "(stage = 'waits' AND expires > ?) OR (stage = 'taken' AND lease < ?)"
    found = db.rows(
        f"SELECT token, turn, item, expires, cancel FROM ael_item WHERE queue = ? AND program = ? AND ({free})"
        f" ORDER BY number LIMIT ?{db.skip}",
        *(line._queue, line._program, now, now, room),
    )
    for token, turn, *_ in found:
        db.change(
            "UPDATE ael_item SET stage = 'taken', owner = ?, lease = ?, changed = ? WHERE queue = ? AND token = ? AND turn = ?",
            *(line._me, now + sizes.lease, now, line._queue, token, turn),
        )
    return [
        (str(token), int(turn), bytes(item), float(expires) - now, int(cancel)) for token, turn, item, expires, cancel in found
    ]


def _taken(line: TableLine, token: str, turn: int, text: bytes, left: float, cancel: int) -> TableTaken:
    try:
        written = item_of(text)
    except Unreadable:
        return TableTaken(line, token, turn, None, bool(cancel))
    same = (written.token, written.turn) == (token, turn)
    return TableTaken(line, token, turn, written.within(left) if same else None, bool(cancel))


def _begin(mine: tuple[str, str, int, str], store: str, db: Connection) -> int | None:
    """How many began it; 0 where that was for another store, None where it is not this worker's any more."""
    found = db.rows(f"SELECT store FROM ael_item{_MINE} FOR UPDATE", *mine)
    if not found:
        return None
    if found[0][0] not in ("", store):
        return 0
    begun = db.rows(f"UPDATE ael_item SET store = ?, begun = begun + 1{_MINE} RETURNING begun", store, *mine)
    return int(begun[0][0])


def _extend(mine: tuple[str, str, int, str], lease: float, db: Connection) -> bool | None:
    found = db.rows(f"UPDATE ael_item SET lease = ?{_MINE} RETURNING cancel", db.now() + lease, *mine)
    return bool(found[0][0]) if found else None


def _answer(queue: str, token: str, turn: int, text: bytes, db: Connection) -> None:
    # Whoever has it by now: an answer is that of the one run that a turn is.
    found = db.rows(
        "UPDATE ael_item SET stage = 'answered', answer = ?, changed = ? WHERE queue = ? AND token = ? AND turn = ?"
        " AND stage = 'taken' RETURNING sender",
        *(text, db.now(), queue, token, turn),
    )
    if found:
        _tell(db, _answers(str(found[0][0])))


def _give_back(mine: tuple[str, str, int, str], after: float, begun: int, db: Connection) -> None:
    # What was begun is not to be taken back any more: it stays taken, by nobody.
    db.change(
        "UPDATE ael_item SET stage = CASE WHEN store = '' THEN 'waits' ELSE 'taken' END, owner = '', lease = ?,"
        f" begun = GREATEST(begun - ?, 0){_MINE}",
        *(db.now() + after, begun, *mine),
    )
    _tell(db, _items(mine[0]))


def _waiting(queue: str, keep: float, db: Connection) -> dict[str, int]:
    now = db.now()
    db.change(
        "DELETE FROM ael_item WHERE queue = ? AND ((stage IN ('withdrawn', 'answered') AND changed < ?)"
        " OR (stage IN ('waits', 'taken') AND expires < ? AND lease < ?))",
        *(queue, now - keep, now - keep, now - keep),
    )
    found = db.rows(
        "SELECT program, COUNT(*) FROM ael_item WHERE queue = ? AND stage = 'waits' AND expires > ? GROUP BY program", queue, now
    )
    return {str(program): int(count) for program, count in found}
