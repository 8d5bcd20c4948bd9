"""Overhead of a model turn with one tool call, model in memory: CPU microseconds a step of runs of 10, 100 and 300 steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

from benches.envs import LANGGRAPH, OPENAI_AGENTS, PYDANTIC_AI
from benches.harness import Goal, Row, interleave, row
from benches.sides import ael_side, peer_side, plain_side

STEPS = (10, 100, 300)
FLAT: Goal = ("<=", 1.5)
GOALS: dict[str, Goal] = {
    "hand": ("<=", 20),
    LANGGRAPH.title: ("<=", 1 / 10),
    PYDANTIC_AI.title: ("<=", 1 / 30),
    OPENAI_AGENTS.title: ("<=", 1 / 30),
}


def rows(quick: bool) -> Iterator[Row]:
    """Every length against every peer, and our longest against our shortest."""
    with ExitStack() as stack:
        peers = [peer_side(peer) for peer in (LANGGRAPH, PYDANTIC_AI, OPENAI_AGENTS)]
        sides = [stack.enter_context(closing(side)) for side in (ael_side("turns"), plain_side("hand", "hand"), *peers) if side]
        ours: dict[int, float | None] = {}
        for steps in STEPS:
            interleave([side for side in sides if not side.slow], 1, "turns", "us", steps=steps)
            found = interleave(sides, 1 if quick else 9, "turns", "us", slow=2, steps=steps)
            ours[steps] = found.get("ael")
            for against, goal in GOALS.items():
                yield row(f"turns/{steps}", "µs CPU a step", ours[steps], against, found.get(against), goal)
        yield row("turns/flat", "µs CPU a step", ours[max(STEPS)], "ael at 10 steps", ours[min(STEPS)], FLAT)
