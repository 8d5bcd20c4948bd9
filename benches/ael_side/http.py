"""A node with `one_call` over the OpenAI adapter and AEL's own HTTP client (`http`)."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable

from ael.models.registry import Binding, open_provider
from ael.types.value import Secret
from benches.ael_side.program import host, value_of
from benches.peers import scenario

ADDRESS = os.environ["BENCH_MODEL_URL"]


def classify() -> Callable[[], Awaitable[None]]:
    """One run: a ticket becomes a record."""
    binding = Binding("openai", "json", endpoint=ADDRESS, key=Secret("bench", "none"), hosts=frozenset({"127.0.0.1"}))
    ready = host("classify", open_provider(binding))

    async def call() -> None:
        answer = await value_of(ready, "classify.main", {"ticket": scenario.TICKET})
        assert answer == {"topic": "Refund", "confidence": 0.9}

    return call


OPS = {"http": scenario.http_op(classify())}
