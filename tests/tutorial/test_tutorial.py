"""The newcomer's path: `docs/tutorial.md`, typed as it is written, from the installation in an environment of its own to the end.

Nothing needs a key. The installation brings packages from Python's registry, nothing after it needs a network.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ael.run.bindings import system_user
from tests.ports import free_port
from tests.programs import blocks
from tests.tutorial.typist import Typist

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"
PORTS = ("8765", "8766")


def usual(printed: str) -> str:
    """What is printed, whenever and by whomever it is typed."""
    printed = printed.replace(f"by {system_user()}\n", "by ann\n")
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "2026-11-30 09:12:07", printed)


@pytest.mark.timeout(1800)
@pytest.mark.feature("A9.2", "C9", "D4")
def test_the_tutorial_is_right_as_it_is_written(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for port in PORTS:
        text = text.replace(port, str(free_port()))
    typist, compared = Typist(tmp_path), 0
    for block in blocks(text):
        where = f"tutorial.md, line {block.line}"
        if block.language == "text":
            assert usual(typist.printed) == usual(block.text), where
            compared += 1
        else:
            typist.take(block, where)
    assert compared >= 10
    assert typist.typed >= 30
    booked = (typist.folder / "refunds.txt").read_text(encoding="utf-8").splitlines()
    assert len({line.split()[0] for line in booked}) == len(booked) == 2, "one line for each key"
