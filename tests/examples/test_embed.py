"""The Python program with a desk in it: what it prints, what it books, and that a type checker has nothing to say."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import clean_environment

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "embed"


def installed(example: Path, tmp_path: Path) -> Path:
    """A copy of an example, and an installation as its script expects it."""
    folder = tmp_path / "examples" / example.name
    shutil.copytree(example, folder, ignore=shutil.ignore_patterns("*.db", "*.db-*", "__pycache__"))
    shutil.copy(example.parent / "setup.sh", folder.parent)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name, words in (("ael", "-m ael "), ("python", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n')
        (programs / name).chmod(0o755)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the example."""
    return installed(EXAMPLE, tmp_path)


@pytest.mark.feature("B22", "A4.5", "A8.7")
def test_the_desk_prints_what_it_says_and_books_once(folder: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "run.sh"], cwd=folder, env=clean_environment(tmp_path), capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (EXAMPLE / "expected.txt").read_text(encoding="utf-8")
    with closing(sqlite3.connect(folder / "hotel.db")) as hotel:
        bookings = hotel.execute("SELECT guest, COUNT(*) FROM booking GROUP BY guest ORDER BY guest").fetchall()
    assert bookings == [("Ada Lind", 1), ("Cy Dahl", 1)]


@pytest.mark.timeout(400)
@pytest.mark.feature("B22")
def test_the_desk_is_typed(folder: Path, tmp_path: Path) -> None:
    words = [
        "--strict",
        "--config-file",
        "",
        "--follow-imports",
        "silent",
        "--cache-dir",
        str(tmp_path / "types"),
        str(folder / "app.py"),
    ]
    root = EXAMPLE.parent.parent
    done = subprocess.run([sys.executable, "-m", "mypy", *words], cwd=root, capture_output=True, text=True, timeout=380)
    assert done.returncode == 0, done.stdout
