"""The example that calls a served program from Python: what it prints, that it lends once, and that a type checker has nothing to say."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import clean_environment
from tests.examples.test_embed import installed

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "client"


@pytest.mark.feature("B22", "A16.5", "A8.4", "A11.1")
def test_a_reader_asks_follows_and_borrows_once(tmp_path: Path) -> None:
    folder = installed(EXAMPLE, tmp_path)
    done = subprocess.run(
        ["sh", "run.sh"], cwd=folder, env=clean_environment(tmp_path), capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (EXAMPLE / "expected.txt").read_text(encoding="utf-8")
    assert not (folder / "said").exists()
    with closing(sqlite3.connect(folder / "shelf.db")) as shelf:
        assert "Moby Dick" in "\n".join(shelf.iterdump())


@pytest.mark.timeout(400)
@pytest.mark.feature("B22")
def test_the_client_is_typed(tmp_path: Path) -> None:
    folder = tmp_path / "typed"
    shutil.copytree(EXAMPLE, folder)
    words = ["--strict", "--config-file", "", "--follow-imports", "silent", "--cache-dir", str(tmp_path / "types")]
    root = EXAMPLE.parent.parent
    command = [sys.executable, "-m", "mypy", *words, str(folder / "client.py")]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=380)
    assert done.returncode == 0, done.stdout
