"""Plays it: four refunds, two workers, one of them killed in the middle, approvals, and at the end the ledger.

python fleet.py AEL        AEL is the command; with RUNS_DB set the runs are in that PostgreSQL, else in a SQLite file
"""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

AEL = sys.argv[1]
DEPLOY = ["--deploy", "fleet"] if os.environ.get("RUNS_DB") else []
REFUNDS = {"A-1": "19.90", "A-2": "42.00", "A-3": "250.00", "A-4": "900.00"}
SLOW = "A-2"
WAIT = 60
LEDGER, GO = Path("ledger.db"), Path("go")
PREFIX = f"{time.time_ns()}-" if DEPLOY else ""
"""Goes before the ids of the runs: a database may have those of yesterday."""


def ael(*words: str) -> str:
    """Run a command; what it prints on standard output."""
    done = subprocess.run([AEL, *words, *DEPLOY], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"ael {' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def say(text: str) -> None:
    """Print at once."""
    print(text, flush=True)


def end(process: subprocess.Popen[Any]) -> None:
    """Let a process end, and wait for it."""
    if process.poll() is None:
        process.terminate()
    process.wait(timeout=WAIT)


def started(stack: ExitStack, *words: str) -> subprocess.Popen[str]:
    """Start a process; it is ended with the stack."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    stack.callback(end, process)
    return process


def worker(stack: ExitStack) -> tuple[str, subprocess.Popen[str]]:
    """Start a worker: its name, and its process."""
    process = started(stack, AEL, "worker", ".", *DEPLOY)
    assert process.stdout is not None
    line = process.stdout.readline()
    named = re.search(r"as (w\w+)$", line.strip())
    if named is None:
        raise SystemExit(f"a worker did not start: {line}")
    return named[1], process


def refund(order: str) -> None:
    """Ask for a refund; the workers make it."""
    ael("run", ".", "--detach", "--run-id", PREFIX + order, "--order", order, "--amount", REFUNDS[order])


def rows(query: str) -> list[tuple[str, ...]]:
    """Read the ledger."""
    with closing(sqlite3.connect(LEDGER)) as db:
        return db.execute(query).fetchall()


def until(what: str, holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    last = time.monotonic() + WAIT
    while not holds():
        if time.monotonic() > last:
            raise SystemExit(f"this never came: {what}")
        time.sleep(0.1)


def runs(*states: str) -> list[dict[str, Any]]:
    """The runs of this play that are in one of these states."""
    found: list[dict[str, Any]] = json.loads(ael("runs", "list", ".", "--limit", "50", "--format", "json"))
    return [one for one in found if one["run"].startswith(PREFIX) and one["state"] in states]


def main() -> None:
    for old in (LEDGER, GO, Path("runs.db"), Path("runs.db-wal"), Path("runs.db-shm")):
        old.unlink(missing_ok=True)
    with ExitStack() as stack:
        service = started(stack, sys.executable, "payments.py", str(LEDGER))
        assert service.stdout is not None
        os.environ["PAYMENTS"] = f"http://127.0.0.1:{int(service.stdout.readline())}"

        workers = dict([worker(stack), worker(stack)])
        say(f"Two workers are there. The refund of {SLOW} is asked for twice, under the same id.")
        refund(SLOW)
        refund(SLOW)
        until("the refund at the service", lambda: bool(rows("SELECT 1 FROM request")))
        [held] = runs("running")
        workers[held["owner"]].send_signal(signal.SIGKILL)
        GO.touch()
        say("The service pays it, but the worker that asked is killed (kill -9) before it hears of that.")

        for order in REFUNDS:
            if order != SLOW:
                refund(order)
        say("Three more come in, and the other worker takes over. The large ones wait for finance.")
        until("two approvals", lambda: len(runs("parked")) == 2)
        ael("runs", "approve", f"{PREFIX}A-3", ".")
        ael("runs", "deny", f"{PREFIX}A-4", ".", "--reason", "the goods never came back")
        say("A-3 is approved, A-4 is denied.")
        until("the end of all runs", lambda: len(runs("ended")) == len(REFUNDS))
        say(f"A-4 ended with {ael('runs', 'wait', f'{PREFIX}A-4', '.').strip()}.")

    say("\nThe ledger of the payment service:")
    say(f"{'order':<7}{'amount':>8}  paid")
    for order, amount in REFUNDS.items():
        paid = rows(f"SELECT key FROM booked WHERE path = '/refunds' AND what LIKE '%\"{order}\"%'")
        say(f"{order:<7}{amount:>8}  {len(paid)}")
    messages = rows("SELECT what FROM booked WHERE path = '/messages' ORDER BY what")
    say(f"\n{len(messages)} messages to customers, no two alike: {len(set(messages)) == len(messages)}")
    print(f"(The service was asked {len(rows('SELECT 1 FROM request'))} times.)", file=sys.stderr)


main()
