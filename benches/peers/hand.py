"""The floor of `turns`: a loop by hand that does the JSON work of a model turn with one tool call, and nothing else.

That work is what every side does with a model in memory: arguments arrive as JSON text, and the model gets results as JSON
text. Encoding messages for a provider is no part of it; `http` has that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from benches.peers.scenario import FINAL, INSTRUCTIONS, QUESTION, look_up, proposed
from benches.worker import cpu_per_run

TOOLS: Mapping[str, Callable[..., object]] = {"look_up": look_up}


def model(turns: list[str], step: int) -> dict[str, Any]:
    """The turn in memory: arguments as JSON text, as a provider sends them."""
    return {"name": "look_up", "id": f"call_{step}", "arguments": turns[step]} if step < len(turns) else {"text": FINAL}


def run(turns: list[str]) -> str:
    """One run: decode the arguments, call the tool, encode the result, and keep both messages."""
    history: list[dict[str, object]] = [
        {"role": "system", "content": INSTRUCTIONS},
        {"role": "user", "content": QUESTION},
    ]
    step = 0
    while True:
        turn = model(turns, step)
        if "text" in turn:
            return str(turn["text"])
        result = TOOLS[turn["name"]](**json.loads(turn["arguments"]))
        history.append({"role": "assistant", "tool_calls": [turn]})
        history.append({"role": "tool", "tool_call_id": turn["id"], "content": json.dumps(result)})
        step += 1


def turns(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """CPU microseconds a step."""
    steps = int(request["steps"])
    script = [proposed(step) for step in range(steps)]
    return {"us": cpu_per_run(lambda: run(script)) * 1e6 / steps}


OPS = {"turns": turns}
