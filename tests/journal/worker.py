"""A process that holds a run and writes its records, to be killed, stopped and fenced by tests.

`python -m tests.journal.worker KIND WHERE RUN LEASE MOST`.

It prints a line for each record that its store acknowledged, and one for how it ended.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from ael.journal.database import DatabaseStore
from ael.journal.durable import Fenced, StoreError
from ael.journal.entry import Ending, Entry, Kind, State
from ael.journal.postgres import PostgresDatabase
from ael.journal.sqlite import SqliteDatabase

PADDING = "x" * 200


async def main(kind: str, where: str, run: str, lease: float, most: int) -> None:
    store = DatabaseStore(lambda: SqliteDatabase(Path(where)) if kind == "sqlite" else PostgresDatabase(where))
    held = await store.hold(run, f"worker of {run}", lease)
    if held is None:
        print("none", flush=True)
        return
    print("held", held.row.epoch, flush=True)
    done = len({entry.path for entry in held.journal.entries() if entry.state is State.ANSWERED})
    try:
        for at in range(done, most):
            path = f"main/t#{at}"
            last = held.journal.last(path)
            states = [State.PROPOSED, State.STARTED, State.ANSWERED]
            for state in states[0 if last is None else states.index(last.state) + 1 :]:
                value = {"at": at, "padding": PADDING} if state is not State.STARTED else None
                ending = Ending.VALUE if state is State.ANSWERED else None
                waiting = held.journal.append(Entry(path, state, Kind.TOOL, "main.act", "d", "k", value, ending, 1.0, 0.0))
                if state is State.STARTED and waiting is not None:
                    await waiting
                    print("started", at, flush=True)
        await store.finish(run, held.row.epoch, "value", done, 0.0)
        print("finished", flush=True)
    except Fenced:
        print("fenced", flush=True)
    except StoreError as error:
        print("failed", error, flush=True)
        row = await store.find(run)
        print("still there", row is not None, flush=True)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]), int(sys.argv[5])))
