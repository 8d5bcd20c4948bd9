"""The floor of `turns`: a loop by hand that does the JSON work of a model turn with one tool call, and nothing else."""

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
    """One run: decode the arguments, call the tool, encode the result, and keep both messages encoded."""
    history = [
        json.dumps({"role": "system", "content": INSTRUCTIONS}),
        json.dumps({"role": "user", "content": QUESTION}),
    ]
    step = 0
    while True:
        turn = model(turns, step)
        if "text" in turn:
            return str(turn["text"])
        result = TOOLS[turn["name"]](**json.loads(turn["arguments"]))
        call = {"name": turn["name"], "arguments": turn["arguments"]}
        history.append(json.dumps({"role": "assistant", "tool_calls": [{"id": turn["id"], "function": call}]}))
        history.append(json.dumps({"role": "tool", "tool_call_id": turn["id"], "content": json.dumps(result)}))
        step += 1


def turns(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """CPU microseconds a step."""
    steps = int(request["steps"])
    script = [proposed(step) for step in range(steps)]
    return {"us": cpu_per_run(lambda: run(script)) * 1e6 / steps}


OPS = {"turns": turns}
