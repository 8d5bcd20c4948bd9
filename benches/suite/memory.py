"""Memory of a run that waits on a slow model: 1,000 runs in one process, KiB of private memory a run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing

from benches.envs import BAML, LANGGRAPH, OPENAI_AGENTS, PYDANTIC_AI
from benches.harness import Row, Side, SideFailed, model_server, row
from benches.sides import ael_side, peer_side

RUNS = 1000
PEERS = (BAML, LANGGRAPH, PYDANTIC_AI, OPENAI_AGENTS)


def held_memory(side: Side | None, runs: int) -> float | None:
    """One measurement in a process of its own, which ends afterwards: memory that was used once would hide the next growth."""
    if side is None:
        return None
    with closing(side):
        try:
            return float(side.ask("memory", runs=runs)["kib"])
        except SideFailed as failure:
            print(f"benches: {failure}", file=sys.stderr)
            return None


def rows(quick: bool) -> Iterator[Row]:
    """One measurement a side: how much is allocated does not depend on the moment."""
    runs = 200 if quick else RUNS
    with model_server() as server:
        environment = {"BENCH_MODEL_URL": f"{server}/hold/v1"}
        ours = held_memory(ael_side("memory", environment), runs)
        found = {peer.title: held_memory(peer_side(peer, environment), runs) for peer in PEERS}
    for peer, theirs in found.items():
        yield row("memory", "KiB a waiting run", ours, peer, theirs)
    best = min((theirs for theirs in found.values() if theirs is not None), default=None)
    yield row("memory/best", "KiB a waiting run", ours, "the best peer", best, ("<=", 1 / 2))
