"""A Python program that is killed in the middle of a call of its own: another process goes on, and no effect happens twice."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ael
from tests.programs import write

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    "pack.ael": 'pack shop {\n  version "1.0"\n  extern "app"\n}\n',
    "deploy.ael": 'runs = sqlite("runs.db", lease: 1s)\n',
    "main.ael": """\
permission money.pay

/// Pay. Call it when money is due.
tool pay(n: Int) -> String
  needs money.pay
  repeat idempotent
  timeout 60s
  extern "app:pay"

/// Ring the bell. Call it when it was paid.
tool ring(n: Int) -> String
  needs money.pay
  repeat never
  timeout 60s
  extern "app:ring"

node twice() -> String
  grants money.pay
{ pay(1) + pay(2) }

node once() -> String fails Uncertain
  grants money.pay
{ pay(1) + try ring(2) }
""",
    "app.py": """\
import os
import signal
import sys
from pathlib import Path

import ael

BOOK = Path(__file__).parent / "book.txt"


def pay(n: int, *, ctx: ael.CallContext) -> str:
    with BOOK.open("a") as book:
        book.write(f"{n} {ctx.key}\\n")
    if n == 2 and "die" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"paid {n}, "


def program() -> ael.Program:
    made = ael.load(Path(__file__).parent)
    made.bind("pay", pay)
    made.bind("ring", pay)
    return made


if __name__ == "__main__":
    program().run_sync(sys.argv[1], run_id="r-1")
""",
}


def killed(folder: Path, node: str) -> None:
    """Run a node in a process that dies in its second call."""
    write(folder, FILES)
    done = subprocess.run(
        [sys.executable, str(folder / "app.py"), node, "die"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=100,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL


def gone_on(folder: Path) -> ael.Outcome[Any]:
    """What becomes of the run in this process, once the lease of the dead one is over."""
    program = ael.load(folder)
    space: dict[str, Any] = {"__file__": str(folder / "app.py"), "__name__": "app"}
    exec(compile((folder / "app.py").read_text(), "app.py", "exec"), space)
    program.bind("pay", space["pay"])
    program.bind("ring", space["pay"])

    async def go() -> ael.Outcome[Any]:
        async with program.open() as session:
            for _ in range(600):
                try:
                    return await session.resume("r-1")
                except ael.RequestError as error:
                    if "another worker has the run r-1 now" not in error.message:
                        raise
                    await asyncio.sleep(0.1)
            raise AssertionError("the lease of the dead process never ends")

    return asyncio.run(go())


def book(folder: Path) -> list[list[str]]:
    """What was paid, and under which key."""
    return [line.split() for line in (folder / "book.txt").read_text().splitlines()]


@pytest.mark.feature("B22", "A12.2", "K26")
def test_what_was_answered_is_not_called_again_and_the_rest_keeps_its_key(tmp_path: Path) -> None:
    killed(tmp_path, "twice")
    assert [n for n, _ in book(tmp_path)] == ["1", "2"]
    assert gone_on(tmp_path).unwrap() == "paid 1, paid 2, "
    paid = book(tmp_path)
    assert [n for n, _ in paid] == ["1", "2", "2"]
    assert paid[1] == paid[2], "the far side knows the call by its key"


@pytest.mark.feature("B22", "A8.5", "K26")
def test_a_call_that_must_not_be_repeated_is_uncertain(tmp_path: Path) -> None:
    killed(tmp_path, "once")
    outcome = gone_on(tmp_path)
    assert isinstance(outcome, ael.Uncertain)
    paid = book(tmp_path)
    assert [n for n, _ in paid] == ["1", "2"]
    assert outcome.key == paid[1][1]
