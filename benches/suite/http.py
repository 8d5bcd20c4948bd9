"""Model calls over real HTTP on loopback: CPU milliseconds of the client process a call, at 1, 100 and 1,000 runs at once.

Every side asks the same server for the same small record, by its own structured output, and decodes and checks it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass

from benches.envs import BAML, LANGGRAPH, OPENAI_AGENTS, PYDANTIC_AI
from benches.harness import Goal, Row, interleave, model_server, row
from benches.sides import ael_side, peer_side


@dataclass(frozen=True)
class Load:
    """Runs at once, model calls that each makes, rounds of the slow peers, and how long the server takes to answer."""

    at_once: int
    calls: int
    slow: int
    wait_ms: int


LOADS = (Load(1, 20, 5, 0), Load(100, 2, 3, 20), Load(1000, 1, 1, 100))
FRAMEWORKS = (LANGGRAPH, PYDANTIC_AI, OPENAI_AGENTS)


def goal(peer: str, load: Load) -> Goal | None:
    """From 100 runs at once on: less than BAML's compiled client, and a tenth of the Python frameworks."""
    if load.at_once < 100:
        return None
    return ("<=", 1) if peer == BAML.title else ("<=", 1 / 10)


def rows(quick: bool) -> Iterator[Row]:
    """Every load against every peer. The first round of each process is not counted: it imports and opens connections."""
    with model_server() as server:
        for load in LOADS:
            environment = {"BENCH_MODEL_URL": f"{server}/wait/{load.wait_ms}/v1" if load.wait_ms else f"{server}/now/v1"}
            with ExitStack() as stack:
                peers = [peer_side(peer, environment) for peer in (BAML, *FRAMEWORKS)]
                sides = [stack.enter_context(closing(side)) for side in (ael_side("http", environment), *peers) if side]
                arguments = {"at_once": load.at_once, "calls": load.calls}
                interleave(sides, 1, "http", "ms", **arguments)
                found = interleave(sides, 1 if quick else 7, "http", "ms", slow=load.slow, **arguments)
            for peer in (BAML, *FRAMEWORKS):
                theirs = found.get(peer.title)
                yield row(
                    f"http/{load.at_once}",
                    "ms CPU a call",
                    found.get("ael"),
                    peer.title,
                    theirs,
                    goal(peer.title, load),
                )
