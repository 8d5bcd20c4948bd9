"""Visits of a node of code, along the edges of an agent and from code (`edges`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ael.host import open_host
from benches.ael_side.program import opened, value_of
from benches.peers import scenario


def edges(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """CPU microseconds a visit. `entry` is `edges` or `calls`."""
    count, entry = int(request["count"]), f"edges.{request['entry']}"
    ready = open_host(opened("edges"), entry)

    async def run() -> None:
        assert await value_of(ready, entry, {"count": count}) == count

    return scenario.per_step(run, count)


OPS = {"edges": edges}
