"""Pydantic AI: an agent over a `FunctionModel` (`turns`), and one over its OpenAI model with native output (`http`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, ModelResponse, NativeOutput, TextPart, ToolCallPart, UsageLimits
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from benches.peers import scenario


class Sorted(BaseModel):
    topic: Literal["Refund", "Shipping", "Other"]
    confidence: float


def turns(request: Mapping[str, Any]) -> Mapping[str, Any]:
    steps = int(request["steps"])
    script = [scenario.proposed(step) for step in range(steps)]

    async def model(messages: list[Any], info: Any) -> ModelResponse:
        step = (len(messages) - 1) // 2
        if step < steps:
            return ModelResponse(parts=[ToolCallPart("look_up", script[step], tool_call_id=f"call_{step}")])
        return ModelResponse(parts=[TextPart(scenario.FINAL)])

    agent = Agent(FunctionModel(model), instructions=scenario.INSTRUCTIONS)
    agent.tool_plain(scenario.look_up)

    async def run() -> None:
        limits = UsageLimits(request_limit=None)
        ended = await agent.run(scenario.QUESTION, usage_limits=limits)
        assert ended.output == scenario.FINAL
        assert len(ended.all_messages()) == 2 * steps + 2

    return scenario.per_step(run, steps)


def classify() -> Any:
    client = AsyncOpenAI(base_url=os.environ["BENCH_MODEL_URL"], api_key="none", max_retries=0, timeout=600)
    provider = OpenAIProvider(openai_client=client)
    agent = Agent(OpenAIChatModel("json", provider=provider), instructions=scenario.SORT, output_type=NativeOutput(Sorted))

    async def call() -> None:
        ended = await agent.run(scenario.TICKET)
        assert ended.output.topic == "Refund"

    return call


OPS: dict[str, Any] = {"turns": turns}
if "BENCH_MODEL_URL" in os.environ:
    OPS["http"] = scenario.http_op(classify())
    OPS["memory"] = scenario.memory_op(os.environ["BENCH_MODEL_URL"], classify())
