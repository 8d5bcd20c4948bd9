"""Workers as processes that are told to stop and cannot at once, and that stand still: their runs go on elsewhere, none twice."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Ael
from tests.cli.test_worker import FILES, WORK, acts, ended, until, working
from tests.journal.places import Place, place, server
from tests.journal.test_crash import locked

__all__ = ["place", "server"]

GIVES_UP = WORK.replace('while not Path("go").exists():', 'while not Path("go").exists() and not call.cancelled():')
COMPUTES = """\
node main() -> Int {
  log("started")
  var n = 0
  while true up to 4_000_000_000 {
    n = n + 1
  }
  n
}
"""


@pytest.mark.feature("A12.12", "A12.13", "A8.9")
def test_a_drain_that_takes_too_long_cuts_off_what_another_worker_then_does(ael: Ael) -> None:
    assert GIVES_UP != WORK
    ael.write({**FILES, "work_of_worker_tests.py": GIVES_UP, "deploy.ael": 'runs = sqlite("runs.db", lease: 600s, drain: 1s)\n'})
    ael("run", ".", "--detach", "--run-id", "r1")
    with working() as process:
        until(lambda: len(acts()) == 1)
        process.send_signal(signal.SIGTERM)
        code, said = ended(process)
    assert code == 0
    assert "warning[AEL0909]: the run r1 was cut off and given back: it did not come to its next effect within 1 s" in said
    assert "0 ended, 0 parked, 0 given back, 1 cut off" in said
    [row] = json.loads(ael("runs", "list", "--format", "json").out)
    assert (row["state"], row["owner"], row["waits"]) == ("ready", None, None)
    Path("go").touch()
    assert ael("worker", "--once", "--quiet").err == "", "it need not wait for a lease"
    assert json.loads(ael("runs", "wait", "r1").out) == 12
    keys = [line.split()[0] for line in acts()]
    assert (len(keys), len(set(keys))) == (4, 3), "the call that was cut off is sent again, under its key"


@pytest.mark.feature("A12.13", "D6")
def test_code_that_computes_does_not_keep_a_worker_from_its_end(ael: Ael) -> None:
    ael.write({"main.ael": COMPUTES, "deploy.ael": 'runs = sqlite("runs.db", lease: 600s, drain: 1s)\n'})
    ael("run", ".", "--detach", "--run-id", "r1")
    with working() as process:
        until(lambda: json.loads(ael("runs", "list", "--format", "json").out)[0]["state"] == "running")
        process.send_signal(signal.SIGTERM)
        code, said = ended(process)
    assert code == 0
    assert "1 cut off" in said
    [row] = json.loads(ael("runs", "list", "--format", "json").out)
    assert row["state"] == "ready"


@pytest.fixture
def stored(ael: Ael, place: Place) -> Iterator[Place]:
    """The program of these tests, with its runs in either store."""
    ael.write(FILES)
    if place.address:
        ael.write({"deploy.ael": 'secret DB = env("RUNS_DB")\nruns = postgres(secret("DB"), lease: 2s)\n'})
        os.environ["RUNS_DB"] = place.address
    try:
        yield place if place.address else Place("sqlite", Path("runs.db"), "")
    finally:
        os.environ.pop("RUNS_DB", None)


@pytest.mark.timeout(300)
@pytest.mark.feature("A12.10", "K29", "K27")
def test_a_worker_that_stood_still_is_fenced_when_it_goes_on(ael: Ael, stored: Place) -> None:
    environment = {"RUNS_DB": stored.address} if stored.address else {}
    ael("run", ".", "--detach", "--run-id", "r1")
    with working(**environment) as first:
        until(lambda: len(acts()) == 1)
        with working(**environment) as second:
            while len(acts()) == 1:
                # One that stands still in the middle of a transaction holds what it has locked: it is stopped again elsewhere.
                first.send_signal(signal.SIGCONT)
                time.sleep(0.1)
                first.send_signal(signal.SIGSTOP)
                end = time.monotonic() + 15
                while len(acts()) == 1 and time.monotonic() < end and not locked(stored):
                    time.sleep(0.05)
            Path("go").touch()
            assert json.loads(ael("runs", "wait", "r1", "--timeout", "60s").out) == 12
            before = ael("runs", "show", "r1", "--format", "json").out
            first.send_signal(signal.SIGCONT)
            first.send_signal(signal.SIGTERM)
            code, said = ended(first)
            assert code == 0
            assert "the run r1 was taken over by another worker" in said
            second.send_signal(signal.SIGTERM)
            assert ended(second)[0] == 0
    assert ael("runs", "show", "r1", "--format", "json").out == before, "what it still did is not kept"
    keys = [line.split()[0] for line in acts()]
    assert (len(keys), len(set(keys))) == (4, 3), "the call that was open is sent again, under its key; nothing else"
