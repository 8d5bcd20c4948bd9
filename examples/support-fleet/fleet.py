"""Moves the orders service through its four places, and shows that nothing else changes.

python fleet.py AEL        AEL is the command
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from places import PLACES, Place, clear, run, served

AEL = sys.argv[1]
HERE = Path(__file__).resolve().parent
OUT = HERE / "out"
TICKET = {"customer": "c-1", "message": "Please refund my order A-42.", "order_id": "A-42"}


def sources() -> str:
    """A digest of all that is not the deployment's."""
    found = hashlib.sha256()
    for file in sorted([*HERE.glob("*.ael"), HERE / "warehouse.py"]):
        if not file.name.startswith("deploy."):
            found.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def played(place: Place) -> tuple[str, str]:
    """The answer to the ticket and the trace with the service at `place`; both are written to `out`, too."""
    clear(HERE)
    with served(AEL, place, HERE):
        words = ["run", ".", *place.words, "--ticket", json.dumps(TICKET), "--approve", "--outline", "--quiet"]
        done = run([AEL, *words], HERE)
    if done.returncode:
        raise SystemExit(f"{place.name} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    folder = OUT / place.name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "answer.json").write_text(done.stdout, encoding="utf-8")
    trace = done.stderr[done.stderr.index("run support") :]
    (folder / "trace.txt").write_text(trace, encoding="utf-8")
    return done.stdout, trace


def booked() -> list[tuple[str, str]]:
    """The refunds in the books of the warehouse."""
    with closing(sqlite3.connect(HERE / "warehouse.db")) as books:
        return books.execute("SELECT id, amount FROM refund").fetchall()


def main() -> None:
    before = sources()
    found = []
    for place in PLACES:
        answer, trace = played(place)
        refunds = booked()
        print(f"{place.file}: {place.line(HERE)}\n    {answer.strip()}", flush=True)
        print(f"    booked: {', '.join(f'{amount} for {order}' for order, amount in refunds)}\n", flush=True)
        found.append((answer, trace, refunds, sources()))
    print(f"The trace of each:\n\n{found[0][1]}")
    for what, same in zip(("answers", "traces", "books", "sources"), zip(*found, strict=True), strict=True):
        print(f"{what + ':':<9}{'identical in all four' if all(one == same[0] for one in same) else 'NOT THE SAME'}")
    if any(one != (*found[0][:3], before) for one in found):
        raise SystemExit(1)


main()
