"""The fleet of the example: a worker killed in the middle, approvals, and every refund once, over both stores."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import clean_environment
from tests.journal.places import Place, place, server

__all__ = ["place", "server"]

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


@pytest.mark.feature("A12.2", "A12.10", "A8.9", "A4.11")
def test_every_refund_is_paid_once(tmp_path: Path, place: Place) -> None:
    folder = tmp_path / "examples" / "refunds"
    left = shutil.ignore_patterns("*.db", "*.db-*", "__pycache__", "go")
    shutil.copytree(EXAMPLES / "refunds", folder, ignore=left)
    shutil.copy(EXAMPLES / "setup.sh", folder.parent)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name, words in (("ael", "-m ael "), ("python", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n')
        (programs / name).chmod(0o755)
    environment = clean_environment(tmp_path)
    environment.pop("RUNS_DB", None)
    if place.address:
        environment["RUNS_DB"] = place.address
    done = subprocess.run(
        ["sh", "examples/refunds/run.sh"], cwd=tmp_path, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.stderr.startswith("(The service was asked "), done.stderr
    assert done.stdout == (folder / "expected.txt").read_text(encoding="utf-8")
    with closing(sqlite3.connect(folder / "ledger.db")) as ledger:
        asked = ledger.execute("SELECT COUNT(*), COUNT(DISTINCT key) FROM request").fetchone()
    assert asked[0] >= 2 * asked[1], "every first reply was lost, so everything was asked for again, under its key"
