"""Ctrl-C: once it cancels gracefully, twice it ends at once; in ordinary code and while a model is awaited."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from tests.programs import write

SPINS = """
node main() -> Int {
  log("started")
  var n = 0
  while true up to 4_000_000_000 {
    n = n + 1
  }
  n
}
"""
WAITS = """
model clerk {
  provider openai
  name "gpt-5-mini"
}

node main() -> String(max: 80)
  model clerk
  policy one_call
  budget tokens 2_000, time 120s
{
  instructions "Answer."
}
"""
HANGS = """
permission a.wait

tool stuck() -> Unit
  needs a.wait
  repeat idempotent
  timeout 60s
  extern "stuck_module:stuck"

node main() -> Unit
  grants a.wait
{
  stuck()
}
"""
PROGRAMS = {
    "code": ({"main.ael": SPINS}, "started"),
    "model": (
        {
            "main.ael": WAITS,
            "deploy.ael": 'model clerk = scripted("s.json")\n',
            "s.json": '[{"delay": 100, "final": "late"}]',
        },
        "main",
    ),
}


@pytest.mark.feature("A12.13", "C11")
@pytest.mark.parametrize("what", PROGRAMS)
def test_once_is_graceful(tmp_path: Path, what: str) -> None:
    files, started = PROGRAMS[what]
    write(tmp_path, files)
    with Terminal(["run", ".", "--trace"], tmp_path) as terminal:
        terminal.until(f"{started}\n")
        terminal.signal(signal.SIGINT)
        # A run of a hundred seconds does not go on: the terminal waits for less.
        assert terminal.end() == (130, "")
        assert "cancelling; once more ends at once" in terminal.seen
        assert "error[AEL0902]: Cancelled: " in terminal.seen
        assert "run main" in terminal.seen, "the trace of what happened until then is printed"
        assert "Traceback" not in terminal.seen


@pytest.mark.feature("A12.13")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_second_one_ends_at_once(tmp_path: Path, number: signal.Signals, code: int) -> None:
    # A thread that does not listen: the graceful end waits for it, ten seconds at most.
    module = "import sys, time\n\n\ndef stuck():\n    print('stuck', file=sys.stderr, flush=True)\n    time.sleep(100)\n"
    write(
        tmp_path,
        {"main.ael": HANGS, "stuck_module.py": module, "pack.ael": 'pack a {\n  version "1"\n  extern "stuck_module"\n}\n'},
    )
    with Terminal(["run", "."], tmp_path) as terminal:
        terminal.until("stuck\n")
        terminal.signal(number)
        terminal.until("cancelling; once more ends at once")
        terminal.signal(number)
        assert terminal.end() == (code, "")
        assert "error[AEL0902]" not in terminal.seen, "it did not wait for a graceful end"


@pytest.mark.feature("A12.13")
def test_being_terminated_is_told_apart(tmp_path: Path) -> None:
    write(tmp_path, {"main.ael": SPINS})
    with Terminal(["run", "."], tmp_path) as terminal:
        terminal.until("started\n")
        terminal.signal(signal.SIGTERM)
        assert terminal.end() == (143, "")


def test_an_interrupt_before_there_is_a_run_is_no_traceback(tmp_path: Path) -> None:
    write(tmp_path, {"main.ael": "node main(name: String) -> String {\n  name\n}\n"})
    os.mkfifo(tmp_path / "input")
    with Terminal(["run", ".", "--input", "input"], tmp_path) as terminal, (tmp_path / "input").open("wb"):
        # Opening the pipe waits until the other side reads it, so the program is read already and the run has not begun.
        terminal.signal(signal.SIGINT)
        assert terminal.end() == (130, "")
        assert terminal.seen == ""
