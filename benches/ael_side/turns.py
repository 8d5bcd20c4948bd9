"""AEL's model loop over a scripted model in memory (`turns`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ael.models.script import Script, call, text
from ael.models.scripted import ScriptedProvider
from benches.ael_side.program import host, value_of
from benches.peers import scenario


def turns(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """CPU microseconds a step: one model turn and its tool call."""
    steps = int(request["steps"])
    proposed = [call("look_up", scenario.proposed(step)) for step in range(steps)]
    ready = host("turns", ScriptedProvider(Script((*proposed, text(scenario.FINAL)), mode="each")))

    async def run() -> None:
        answer = await value_of(ready, "turns.main", {"question": scenario.QUESTION})
        assert answer == scenario.FINAL

    return scenario.per_step(run, steps)


OPS = {"turns": turns}
