"""A hotel's own program, with an AEL desk in it: `python app.py`."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import assert_never

import ael

HERE = Path(__file__).resolve().parent
DATABASE = HERE / "hotel.db"
ROOMS = [("7", 1, "60.00"), ("12", 2, "95.00"), ("20", 4, "140.00")]


@dataclass
class Room:
    """As the record `Room` of main.ael."""

    number: str
    beds: int
    price: Decimal


@dataclass
class Reply:
    """As the record `Reply` of main.ael."""

    text: str
    booking: str | None = None


@contextmanager
def database() -> Iterator[sqlite3.Connection]:
    """The hotel's database, for one transaction."""
    connection = sqlite3.connect(DATABASE, isolation_level=None, timeout=30)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    finally:
        connection.close()


class House:
    """Provides the service `Rooms`."""

    def free(self, nights: int) -> list[Room]:
        """The rooms that nobody has booked."""
        with database() as db:
            rows = db.execute("SELECT number, beds, price FROM room WHERE number NOT IN (SELECT room FROM booking)").fetchall()
        return [Room(number, beds, Decimal(price)) for number, beds, price in rows]


def book(room: str, guest: str, nights: int, *, ctx: ael.CallContext) -> str:
    """The body of the tool `book`: `ctx.key` is the same whenever this one booking is asked for, so it is made once."""
    with database() as db:
        known = db.execute("SELECT id FROM booking WHERE key = ?", (ctx.key,)).fetchone()
        if known is None:
            if db.execute("SELECT 1 FROM booking WHERE room = ?", (room,)).fetchone():
                raise ael.Failure("Taken", room=room)
            db.execute("INSERT INTO booking (key, room, guest, nights) VALUES (?, ?, ?, ?)", (ctx.key, room, guest, nights))
            known = db.execute("SELECT id FROM booking WHERE key = ?", (ctx.key,)).fetchone()
    return f"B-{known[0]}"


def told(outcome: ael.Outcome[Reply]) -> str:
    """What the guest reads: one answer for each way in which a run can end."""
    match outcome:
        case ael.Value(value=reply):
            return f"{reply.text} ({reply.booking or 'no booking'})"
        case ael.DeclaredError(error=error):
            return f"That did not work: {error}."
        case ael.Faulted(kind=kind):
            return f"The desk is closed: {kind}."
        case ael.Uncertain(key=key):
            return f"We are looking into it, under {key}."
        case ael.Suspended():
            return "We ask the manager, and come back to you."
        case _:
            assert_never(outcome)


async def main() -> None:
    """Three guests come to the desk."""
    program = ael.load(HERE)
    program.bind("book", book)
    program.provide("Rooms", House())
    async with program.open() as session:
        run = session.start("answer", {"guest": "Ada Lind", "message": "A room for two nights?"}, result_type=Reply)
        async for event in run.events():
            match event:
                case ael.events.Text(text=text, final=False):
                    print(f"  … {text}")
                case ael.events.ToolFinished(tool=tool, ending=ending):
                    print(f"  {tool.rpartition('.')[2]}: {ending}")
        print(f"Ada Lind: {told(await run)}")

        cheapest = await session.nodes.cheapest.using(result_type=Room | None)(nights=1)
        print(f"The cheapest room that is left: {cheapest.unwrap()}")

        outcome = await session.run("answer", {"guest": "Bo Ek", "message": "Room 12, please."}, result_type=Reply)
        print(f"Bo Ek: {told(outcome)}")

        long = {"guest": "Cy Dahl", "message": "I stay for a month, in room 7."}
        outcome = await session.run("answer", long, result_type=Reply, run_id="stay-of-cy")
        print(f"Cy Dahl: {told(outcome)}")
        await session.decide("stay-of-cy", True)
        print(f"Cy Dahl: {told(await session.resume('stay-of-cy', result_type=Reply))}")
        again = await session.run("answer", long, result_type=Reply, run_id="stay-of-cy")
        print(f"Cy Dahl, asked again: {told(again)}")
    with database() as db:
        for row in db.execute("SELECT id, room, guest, nights FROM booking ORDER BY id"):
            print("booked:", *row)


def furnish() -> None:
    """An empty house."""
    for file in (*HERE.glob("hotel.db*"), *HERE.glob("runs.db*")):
        file.unlink()
    with database() as db:
        db.execute("CREATE TABLE room (number TEXT PRIMARY KEY, beds INTEGER, price TEXT)")
        db.execute("CREATE TABLE booking (id INTEGER PRIMARY KEY, key TEXT UNIQUE, room TEXT, guest TEXT, nights INTEGER)")
        db.executemany("INSERT INTO room VALUES (?, ?, ?)", ROOMS)


if __name__ == "__main__":
    furnish()
    asyncio.run(main())
