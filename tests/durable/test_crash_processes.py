"""Processes that are really killed (SIGKILL) after every record, after everything that the outside did, and inside of transactions."""

from __future__ import annotations

from uuid import uuid4

import pytest

from ael.run.outcome import Value
from tests.durable.process import Forge, Killed, Plan
from tests.durable.world import Outside, to_the_end, uncertain, verify
from tests.journal.places import Place

PLANS: tuple[tuple[Plan, bool], ...] = (
    ((("call", "deep"), ("think", [["send", "pay"], ["ask"]]), ("keep", None)), False),
    ((("beside", ["book", "ask", "nest"]), ("id", None)), True),
)
STATEMENTS = 16
"""Places in the middle of transactions, for each program."""


def ended(forge: Forge, plan: Plan, doubt: bool, point: tuple[str, int] | None) -> tuple[Killed, Outside, bool]:
    """A run whose first process is killed at `point`, and keeps its promises: its processes, what was outside, and if it met a doubt."""
    run = f"r{uuid4().hex}"
    killed = Killed(forge, plan, doubt, point)
    outside = killed.outside(run)
    outcome, entries = to_the_end(forge.place, outside, run, killed)
    assert isinstance(outcome, Value), outcome
    verify(outside, entries)
    return killed, outside, uncertain(entries) or outside.settled_as_failed > 0


@pytest.mark.timeout(600)
@pytest.mark.feature("A8.9", "A8.10", "A8.11", "A12.6", "A12.7", "A12.8", "K26", "K27", "D1")
@pytest.mark.parametrize("number", range(len(PLANS)))
def test_killed_at_every_boundary(place: Place, number: int) -> None:
    plan, doubt = PLANS[number]
    with Forge(place) as forge:
        whole, seen, _ = ended(forge, plan, doubt, None)
        told = forge.process("counted", plan, doubt, None)
        records, acts, statements = (int(told[word]) for word in ("records", "acts", "statements"))
        points = [("records", at) for at in range(1, records + 1)] + [("acts", at) for at in range(1, acts + 1)]
        points += [("statements", at) for at in range(1, statements + 1, max(1, statements // STATEMENTS))]
        doubtful = 0
        for point in points:
            before = forge.killed
            killed, outside, doubted = ended(forge, plan, doubt, point)
            # How many records share a transaction depends on the time, and so does the number of its statements.
            assert forge.killed == before + 1 or point[0] == "statements", f"it was not killed at {point}"
            doubtful += doubted
            assert doubted or outside.effects == seen.effects, f"effects are lost, or were made twice: {point}"
            if not doubted and killed.told.get("outcome") == "value" and whole.told["outcome"] == "value":
                assert killed.told["value"] == whole.told["value"]
        assert forge.killed > records + acts + STATEMENTS / 4
        assert 0 < doubtful < len(points) / 2
