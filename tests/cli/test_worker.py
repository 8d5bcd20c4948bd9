"""`ael worker` as a process and `ael run --detach`: feeding a fleet, its signals, a killed worker, what cannot work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import Ael, clean_environment
from tests.journal.places import Place, place, server

__all__ = ["place", "server"]

MAIN = """\
permission work.do

/// Work, under the key of the call, until the file `go` is there.
tool act(n: Int) -> Int
  needs work.do
  repeat idempotent
  timeout 60s
  extern "work_of_worker_tests:act"

node main(n: Int = 2) -> Int
  grants work.do
{
  var total = 0
  for i in [1, 2, 3] {
    total = total + act(i * n)
  }
  total
}
"""
WORK = """\
import time
from pathlib import Path


def act(n, *, call):
    with open("acts.txt", "a") as file:
        file.write(f"{call.key} {n}\\n")
    while not Path("go").exists():
        time.sleep(0.01)
    return n
"""
FILES: Mapping[str, str] = {
    "main.ael": MAIN,
    "pack.ael": 'pack work {\n  version "1.0"\n  extern "work_of_worker_tests"\n}\n',
    "work_of_worker_tests.py": WORK,
    "deploy.ael": 'runs = sqlite("runs.db", lease: 2s)\n',
}
WAIT = 60.0


@contextmanager
def working(*words: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A worker as a process, once it says that it works."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ael", "worker", *words], env={**clean_environment(Path.cwd()), **environment},
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("working on main (")
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()  # type: ignore[union-attr]


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code, and what it said."""
    _, said = process.communicate(timeout=WAIT)
    return process.returncode, said


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def acts() -> list[str]:
    return Path("acts.txt").read_text().splitlines() if Path("acts.txt").exists() else []


@pytest.fixture
def shop(ael: Ael) -> Ael:
    ael.write(FILES)
    return ael


@pytest.mark.feature("A12.3")
def test_a_run_is_left_to_the_workers_once_whatever_is_asked_twice(shop: Ael) -> None:
    made = shop("run", ".", "--detach", "--run-id", "order-1", "--n", "1")
    assert (made.code, made.out) == (0, "order-1\n")
    again = shop("run", ".", "--detach", "--run-id", "order-1", "--n", "5")
    assert (again.code, again.out) == (0, "order-1\n")
    assert "the run order-1 is there already, and stays as it is" in again.err
    other = shop("run", ".", "--detach", "--tenant", "acme")
    assert other.code == 0
    assert other.out.startswith("r")
    Path("go").touch()
    done = shop("worker", "--once")
    assert (done.code, done.out) == (0, "")
    assert "order-1 ended: value" in done.err
    assert "2 ended, 0 parked, 0 given back" in done.err
    assert json.loads(shop("runs", "wait", "order-1").out) == 6
    [row] = json.loads(shop("runs", "list", "--tenant", "acme", "--format", "json").out)
    assert row["tenant"] == "acme"
    assert len(acts()) == 6


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("worker", "--slots", "0"), 2, "`--slots` is a number of at least 1"),
        (("worker", "nowhere.ael"), 2, "error[AEL0801]"),
        (("worker", "--deploy", "none"), 2, "there is no deployment `none`"),
        (("run", ".", "--detach", "--run-id", "a b"), 2, "an id has up to 100 letters"),
        (("run", ".", "--detach", "--n", "many"), 2, "error[AEL0841]"),
        (("run", ".", "nobody", "--detach"), 2, "error[AEL0840]"),
        (("worker", "--once"), 0, "0 ended, 0 parked, 0 given back"),
    ],
)
def test_what_cannot_work_is_told(shop: Ael, words: tuple[str, ...], code: int, said: str) -> None:
    found = shop(*words)
    assert (found.code, found.out) == (code, "")
    assert said in found.err


def test_runs_in_memory_have_no_workers(shop: Ael) -> None:
    shop.write({"deploy.ael": "runs = memory\n"})
    for words in (("worker",), ("run", ".", "--detach")):
        found = shop(*words)
        assert found.code == 2
        assert "error[AEL0904]: " in found.err
        assert "write where " in found.err


def test_an_input_beyond_its_type_is_refused_before_anything_is_kept(shop: Ael) -> None:
    shop.write({"main.ael": MAIN.replace("n: Int = 2", "n: Int(1..3) = 2")})
    found = shop("run", ".", "--detach", "--n", "9")
    assert (found.code, found.out) == (2, "")
    assert "error[AEL0841]: the input does not fit" in found.err
    assert not Path("runs.db").exists()


def test_help(ael: Ael) -> None:
    for words in (("worker", "--help"), ("run", "--help")):
        found = ael(*words)
        assert found.code == 0
    assert "--detach" in found.out
    assert "ael worker --once" in ael("worker", "--help").out


@pytest.mark.feature("A12.12", "A12.13")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_drains_and_another_worker_goes_on(shop: Ael, number: signal.Signals) -> None:
    shop("run", ".", "--detach", "--run-id", "r1")
    with working() as process:
        until(lambda: len(acts()) == 1)
        process.send_signal(number)
        Path("go").touch()
        code, said = ended(process)
    assert code == 0
    assert "draining: each run ends before its next effect; once more ends at once" in said
    assert "0 ended, 0 parked, 1 given back" in said
    [row] = json.loads(shop("runs", "list", "--format", "json").out)
    assert (row["state"], row["owner"]) == ("ready", None)
    assert shop("worker", "--once", "--quiet").err == ""
    assert json.loads(shop("runs", "wait", "r1").out) == 12
    assert len(acts()) == len(set(acts())) == 3, "nothing that was answered was sent again"


@pytest.mark.feature("A12.13", "A12.10")
def test_the_second_signal_ends_at_once_and_the_run_is_taken_over(shop: Ael) -> None:
    shop("run", ".", "--detach", "--run-id", "r1")
    with working() as process:
        until(lambda: len(acts()) == 1)
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        assert process.stderr.readline().startswith("draining")
        process.send_signal(signal.SIGTERM)
        assert ended(process)[0] == 128 + signal.SIGTERM
    Path("go").touch()
    until(lambda: shop("worker", "--once").code == 0 and "ended" in shop("runs").out)
    assert json.loads(shop("runs", "wait", "r1").out) == 12
    keys = [line.split()[0] for line in acts()]
    assert len(keys) == 4, "the call that was open is sent again"
    assert len(set(keys)) == 3, "under its key"


@pytest.mark.feature("A12.2", "A12.10")
def test_a_killed_worker_is_replaced_by_one_that_is_there_already(shop: Ael, place: Place) -> None:
    environment = {}
    if place.address:
        shop.write({"deploy.ael": 'secret DB = env("RUNS_DB")\nruns = postgres(secret("DB"), lease: 2s)\n'})
        environment["RUNS_DB"] = place.address
        os.environ["RUNS_DB"] = place.address
    try:
        with working("--slots", "1", **environment) as first:
            shop("run", ".", "--detach", "--run-id", "r1")
            until(lambda: len(acts()) == 1)
            with working("--slots", "1", **environment) as second:
                shop("run", ".", "--detach", "--run-id", "r2")
                until(lambda: len(acts()) == 2)
                first.kill()
                Path("go").touch()
                for run in ("r1", "r2"):
                    assert json.loads(shop("runs", "wait", run, "--timeout", "60s").out) == 12
                second.terminate()
                code, said = ended(second)
        assert code == 0
        assert "2 ended" in said
        assert len({line.split()[0] for line in acts()}) == 6
        assert len(acts()) == 7
    finally:
        os.environ.pop("RUNS_DB", None)
