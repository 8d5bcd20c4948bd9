"""The example of connectors: a model, a stock, a shelf and a log behind code in AEL, over loopback."""

from __future__ import annotations

import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import clean_environment
from tests.examples.test_embed import installed

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "connectors"


@pytest.mark.feature("A11.5", "A11.2", "A3.3")
def test_pears_are_sold_once_and_the_fallback_answers_when_nobody_is_there(tmp_path: Path) -> None:
    folder = installed(EXAMPLE, tmp_path)
    done = subprocess.run(
        ["sh", "run.sh"], cwd=folder, env=clean_environment(tmp_path), capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == (EXAMPLE / "expected.txt").read_text(encoding="utf-8")
    assert "clerk is unavailable" in done.stderr
    assert "token-of-this-example" not in done.stdout + done.stderr
    assert not (folder / "deploy.here.ael").exists()
    with closing(sqlite3.connect(folder / "trouble.db")) as trouble:
        [(note,)] = trouble.execute("SELECT value FROM entry").fetchall()
    assert b"a customer was not served" in bytes(note) or b"http_put" in bytes(note)
    with closing(sqlite3.connect(folder / "runs.db")) as runs:
        kept = "\n".join(runs.iterdump())
    assert "token-of-this-example" not in kept
    assert "talker.ask#2" in kept, "the turn came in parts"
