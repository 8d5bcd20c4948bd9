"""Decoding JSON text into a declared type, against pydantic's strict JSON validation: CPU microseconds a document."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

from benches.envs import PYDANTIC
from benches.harness import Goal, Row, interleave, row
from benches.programs.order import SIZES
from benches.sides import ael_side, peer_side

GOAL: Goal = ("<=", 2.5)


def rows(quick: bool) -> Iterator[Row]:
    """Each size of document."""
    with ExitStack() as stack:
        starting = (ael_side("decode"), peer_side(PYDANTIC))
        sides = [stack.enter_context(closing(side)) for side in starting if side]
        for size in SIZES:
            found = interleave(sides, 1 if quick else 9, "decode", "us", size=size)
            yield row(f"decode/{size}", "µs CPU a document", found.get("ael"), PYDANTIC.title, found.get(PYDANTIC.title), GOAL)
