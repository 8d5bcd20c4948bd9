"""Edges of any shape: the check says something about every text, and what it takes can be compiled."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ael.lower.lower import lower
from tests.fuzz.agents import checked
from tests.programs import blocks

SPEC = Path(__file__).resolve().parents[1] / "spec"
TEXTS = [
    block.text
    for name in ("agents", "edges")
    for block in blocks((SPEC / f"{name}.md").read_text("utf-8"))
    if block.language == "ael"
]
WORDS = sorted({word for text in TEXTS for word in re.findall(r"\w+|[^\s\w]+", text)})


@st.composite
def broken(draw: st.DrawFn) -> str:
    """A program with agents in which a few lines or words were dropped, doubled, swapped or replaced, mostly those of edges."""
    lines = draw(st.sampled_from(TEXTS)).split("\n")
    for _ in range(draw(st.integers(1, 4))):
        places = [at for at, line in enumerate(lines) if "edge" in line or "agent" in line] or [0]
        at = draw(st.sampled_from(places)) if draw(st.integers(0, 4)) else draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["drop", "double", "swap", "word", "word", "insert"])):
            case "drop" if len(lines) > 1:
                del lines[at]
            case "double":
                lines.insert(at, lines[at])
            case "swap":
                other = draw(st.integers(0, len(lines) - 1))
                lines[at], lines[other] = lines[other], lines[at]
            case how:
                words = lines[at].split(" ")
                place = draw(st.integers(0, len(words) - 1))
                words[place : place + (how != "insert")] = [draw(st.sampled_from(WORDS))]
                lines[at] = " ".join(words)
    return "\n".join(lines)


@pytest.mark.feature("K53")
def test_broken_agents_never_crash_the_check() -> None:
    taken = 0

    @settings(deadline=None, derandomize=True, database=None, max_examples=600, suppress_health_check=list(HealthCheck))
    @given(broken())
    def explore(text: str) -> None:
        nonlocal taken
        program, bag = checked(text)
        assert (program is None) == bool(bag.errors)
        if program is not None:
            taken += 1
            lower(program)

    explore()
    assert taken >= 1
