"""Calls of a service that runs in the process, and of the function that it consists of (`serve`, in process)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ael.host import open_host
from benches.ael_side.program import opened, value_of
from benches.peers import scenario

COUNT = 1_000


def call(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """CPU microseconds a call. `entry` is `main` (the service) or `functions`."""
    entry = f"service.{request['entry']}"
    ready = open_host(opened("service"), entry)

    async def run() -> None:
        assert await value_of(ready, entry, {"count": COUNT}) == COUNT

    return scenario.per_step(run, COUNT)


OPS = {"call": call}
