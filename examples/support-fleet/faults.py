"""Lets everything go wrong that can, with the orders service in each of its four places, and shows that it ends alike.

python faults.py AEL [PLACE…]        AEL is the command; without a PLACE all four, side by side
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from places import PLACES, KeptUp, Place, run, served

AEL = sys.argv[1]
HERE = Path(__file__).resolve().parent
OUT = HERE / "out"
TICKET = {"customer": "c-1", "message": "Please refund my order A-42.", "order_id": "A-42"}


@dataclass(frozen=True)
class Trouble:
    """What goes wrong in a run of this id, and how it is begun. `apart`: the places where it ends otherwise, and `why`."""

    name: str
    what: str
    entry: str
    input: dict[str, Any]
    tenant: str = "local"
    apart: tuple[str, ...] = ()
    why: str = ""


def order(name: str, what: str, entry: str, id: str, **more: Any) -> Trouble:
    """One about an order."""
    return Trouble(name, what, entry, {"id": id}, **more)


SILENT = "why something broke on another machine is told there, and here the number under which it is found"
KNOWN = "the run of the desk is that of the service too, and its journal knows that nothing was booked: it goes on from there"

TROUBLES = (
    order("unknown", "there is no such order", "look", "A-404"),
    order("refunded", "the order was refunded before", "refund", "A-410"),
    order("away", "the warehouse is away for a moment", "look", "A-503"),
    order("breaks", "the provider breaks", "look", "A-500", apart=("https", "grpc"), why=SILENT),
    order("hangs", "an answer does not come in time", "glance", "A-504"),
    order("hangs-never", "a courier is asked for, and nothing is heard", "fetch", "C-504"),
    order("lost-never", "a courier is sent, and the answer is lost", "fetch", "C-505"),
    order("dies", "kill -9 while an order is read", "look", "A-900"),
    order("dies-never", "kill -9 when a courier was sent", "fetch", "C-901"),
    order("dies-after", "kill -9 when a refund was booked", "refund", "B-901"),
    order("dies-before", "kill -9 before a refund is booked", "refund", "B-900", apart=("in-process",), why=KNOWN),
    order("denied", "a tenant may not have a refund", "refund", "A-42", tenant="trial"),
    Trouble("budget", "a tenant has nothing left to spend", "support", {"ticket": TICKET}, "trial"),
)


def endured(place: Place) -> tuple[dict[str, str], dict[str, int]]:
    """How each run ends with the service at `place` (its outcome as JSON, without what it cost), and how often the warehouse booked or
    sent something for each order. A copy of the folder is played in."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "fleet")
        shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns("out", "*.db", "*.db-*", "__pycache__", ".ael"))
        worker = [AEL, "worker", ".", *place.words]
        with served(AEL, place, folder), KeptUp(worker, folder, "working on"):
            for trouble in TROUBLES:
                _begin(place, folder, trouble)
            outcomes = {trouble.name: _ended(place, folder, trouble) for trouble in TROUBLES}
        return outcomes, acted(folder)


def _begin(place: Place, folder: Path, trouble: Trouble) -> None:
    """Leave a run to the worker."""
    (folder / "input.json").write_text(json.dumps(trouble.input), encoding="utf-8")
    words = ["run", ".", trouble.entry, *place.words, "--tenant", trouble.tenant, "--input", "input.json"]
    done = run([AEL, *words, "--detach", "--run-id", trouble.name], folder)
    if done.returncode:
        raise SystemExit(f"{place.name}: {' '.join(words)} ended with {done.returncode}:\n{done.stderr}")


def _ended(place: Place, folder: Path, trouble: Trouble) -> str:
    """Wait for its end."""
    done = run([AEL, "runs", "wait", trouble.name, ".", *place.words, "--json"], folder)
    outcome = json.loads(done.stdout)
    # What is spent on another machine is on its account, and details are for people: neither is seen by the program.
    for word in ("spent", "details"):
        outcome.pop(word, None)
    return json.dumps(outcome, indent=2) + "\n"


def acted(folder: Path) -> dict[str, int]:
    """How many refunds and couriers there were for each order."""
    with closing(sqlite3.connect(folder / "warehouse.db")) as books:
        both = "SELECT id FROM refund UNION ALL SELECT id FROM trip"
        return dict(books.execute(f"SELECT id, COUNT(*) FROM ({both}) GROUP BY id ORDER BY id").fetchall())


def told(outcome: str) -> str:
    """An outcome in a word."""
    found = json.loads(outcome)
    match found["outcome"]:
        case "error":
            return str(found["error"].rpartition(".")[2])
        case "fault":
            return str(found["kind"])
        case "uncertain":
            return "Uncertain"
        case _:
            return "a value"


def alike(trouble: Trouble, outcomes: dict[str, str]) -> bool:
    """Whether it ended in the same way, to the byte, but for the places that are said to be apart."""
    here = {outcome for place, outcome in outcomes.items() if place not in trouble.apart}
    there = {outcome for place, outcome in outcomes.items() if place in trouble.apart}
    return len(here) <= 1 and len(there) <= 1


def main() -> None:
    places = [place for place in PLACES if place.name in sys.argv[2:] or not sys.argv[2:]]
    with ThreadPoolExecutor(len(places)) as pool:
        played = list(pool.map(endured, places))
    found = {place.name: outcomes for place, (outcomes, _) in zip(places, played, strict=True)}
    for place, (outcomes, books) in zip(places, played, strict=True):
        for name, outcome in {**outcomes, "books": json.dumps(books, indent=2) + "\n"}.items():
            file = OUT / place.name / f"{name}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(outcome, encoding="utf-8")
    print(f"{'':<46}{''.join(f'{place.name:<18}' for place in places)}".rstrip())
    wrong: list[str] = []
    notes: list[str] = []
    for trouble in TROUBLES:
        outcomes = {place: ended[trouble.name] for place, ended in found.items()}
        mark = ""
        if trouble.apart and len(set(outcomes.values())) > 1:
            notes.append(f"{'*' * (len(notes) + 1)} {trouble.why}")
            mark = f" {'*' * len(notes)}"
        cells = (told(outcomes[place.name]) + (mark if place.name in trouble.apart else "") for place in places)
        print(f"{trouble.what:<46}{''.join(f'{cell:<18}' for cell in cells)}".rstrip())
        if not alike(trouble, outcomes):
            wrong.append(trouble.name)
    print("\n" + "\n".join(notes))
    twice = [
        f"{id} in {place.name}" for place, (_, books) in zip(places, played, strict=True) for id, n in books.items() if n > 1
    ]
    print(f"\nBooked or sent more than once: {', '.join(twice) or 'nothing'}.")
    if wrong or twice:
        raise SystemExit(f"NOT THE SAME: {', '.join(wrong)}; compare the files in {OUT}")
    print(f"All else is the same to the byte in {', '.join(found)}.")


main()
