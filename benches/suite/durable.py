"""Cost of a durable step: milliseconds on the clock, most of them the disk's, beside a bare commit and what else keeps runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

from benches.envs import DBOS, LANGGRAPH_SQLITE
from benches.harness import Goal, Row, interleave, row
from benches.sides import ael_side, peer_side, plain_side

BARE = "a bare commit"
GOALS: dict[str, Goal] = {BARE: ("<=", 1.5), DBOS.title: ("<=", 1 / 3), LANGGRAPH_SQLITE.title: ("<=", 1 / 3)}
STEPS, RUNS = 200, 200
"""The steps of a run that is alone: what its own beginning and end cost is spread over them."""


def rows(quick: bool) -> Iterator[Row]:
    """One run alone, 200 runs at once, and the store's size a step."""
    rounds = 1 if quick else 15
    with ExitStack() as stack:
        made = [ael_side("durable"), plain_side(BARE, "sqlite_commit"), peer_side(DBOS), peer_side(LANGGRAPH_SQLITE)]
        sides = [stack.enter_context(closing(side)) for side in made if side]
        interleave(sides, 1, "durable", "ms", steps=STEPS, runs=1)
        alone = interleave(sides, rounds, "durable", "ms", slow=5, steps=STEPS, runs=1)
        for against, goal in GOALS.items():
            yield row("durable/1", "ms a step", alone.get("ael"), against, alone.get(against), goal)
        together = interleave(sides[:3], 1 if quick else 3, "durable", "ms", slow=1, steps=10, runs=RUNS)
        for against in list(GOALS)[:2]:
            yield row(f"durable/{RUNS}", "ms a step", together.get("ael"), against, together.get(against))
        sizes = {steps: interleave(sides[:1], 1, "durable", "kib", steps=steps, runs=1).get("ael") for steps in (500, 1_000)}
        yield row("durable/size", "KiB a step", sizes[1_000], "ael at 500 steps", sizes[500], ("<=", 1.1))
