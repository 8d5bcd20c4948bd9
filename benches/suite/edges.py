"""The cost of an edge: CPU microseconds a visit of a node that adds one, in runs of 10, 100 and 1,000 visits.

Beside it the same node called from code, and a graph of one node and a conditional edge back to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

from benches.envs import LANGGRAPH
from benches.harness import Goal, Row, interleave, row
from benches.sides import ael_side, peer_side

COUNTS = (10, 100, 1_000)
CALLED: Goal = ("<=", 2.5)
PEER: Goal = ("<=", 1 / 10)
FLAT: Goal = ("<=", 1.5)


def rows(quick: bool) -> Iterator[Row]:
    """Every length against a plain call and the peer, and our longest against our shortest."""
    with ExitStack() as stack:
        ours = [stack.enter_context(closing(side)) for side in (ael_side("edges"),) if side]
        peers = [stack.enter_context(closing(side)) for side in (peer_side(LANGGRAPH),) if side]
        rounds = 1 if quick else 9
        taken: dict[int, float | None] = {}
        for count in COUNTS:
            taken[count] = interleave(ours, rounds, "edges", "us", count=count, entry="edges").get("ael")
            called = interleave(ours, rounds, "edges", "us", count=count, entry="calls").get("ael")
            theirs = interleave(peers, rounds, "edges", "us", slow=2, count=count).get(LANGGRAPH.title)
            yield row(f"edges/{count}", "µs CPU a visit", taken[count], "the node called", called, CALLED)
            yield row(f"edges/{count}", "µs CPU a visit", taken[count], LANGGRAPH.title, theirs, PEER)
        yield row("edges/flat", "µs CPU a visit", taken[max(COUNTS)], "ael at 10 visits", taken[min(COUNTS)], FLAT)
