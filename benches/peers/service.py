"""The function of ``programs/service.ael`` in Python, called from an ``async`` function as from a handler. A record is a dict."""

from __future__ import annotations

from typing import Any

from benches.peers import scenario

COUNT = 1_000


def priced(sku: str, number: int) -> dict[str, Any]:
    """What the service gives."""
    return {"sku": sku, "cents": number + 1}


async def run() -> None:
    """As many calls as AEL's side makes."""
    number = 0
    while number < COUNT:
        number = priced("SKU-1", number)["cents"]
    assert number == COUNT


OPS = {"call": lambda request: scenario.per_step(run, COUNT)}
