"""OpenAI Agents: an agent over a model in memory (`turns`), and one over chat completions with an output type (`http`)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal

from agents import Agent, Model, ModelResponse, OpenAIChatCompletionsModel, RunConfig, Runner, Usage, function_tool
from openai import AsyncOpenAI
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from pydantic import BaseModel

from benches.peers import scenario

QUIET = RunConfig(tracing_disabled=True)


class Sorted(BaseModel):
    topic: Literal["Refund", "Shipping", "Other"]
    confidence: float


class Scripted(Model):
    """The model in memory: tool calls from a script, then the final text."""

    def __init__(self, script: list[str]) -> None:
        self.script = script
        self.step = 0

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        step, self.step = self.step, self.step + 1
        output: Any
        if step < len(self.script):
            output = ResponseFunctionToolCall(
                name="look_up", arguments=self.script[step], call_id=f"call_{step}", type="function_call"
            )
        else:
            text = ResponseOutputText(text=scenario.FINAL, type="output_text", annotations=[])
            output = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    async def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise AssertionError("the benchmark does not stream")
        yield


def turns(request: Mapping[str, Any]) -> Mapping[str, Any]:
    steps = int(request["steps"])
    script = [scenario.proposed(step) for step in range(steps)]
    tools = [function_tool(scenario.look_up)]

    async def run() -> None:
        agent = Agent(name="bench", instructions=scenario.INSTRUCTIONS, tools=tools, model=Scripted(script))
        ended = await Runner.run(agent, scenario.QUESTION, max_turns=steps + 5, run_config=QUIET)
        assert ended.final_output == scenario.FINAL
        assert len(ended.new_items) == 2 * steps + 1

    return scenario.per_step(run, steps)


def classify() -> Any:
    client = AsyncOpenAI(base_url=os.environ["BENCH_MODEL_URL"], api_key="none", max_retries=0, timeout=600)
    model = OpenAIChatCompletionsModel("json", openai_client=client)
    agent = Agent(name="bench", instructions=scenario.SORT, output_type=Sorted, model=model)

    async def call() -> None:
        ended = await Runner.run(agent, scenario.TICKET, run_config=QUIET)
        assert ended.final_output.topic == "Refund"

    return call


OPS: dict[str, Any] = {"turns": turns}
if "BENCH_MODEL_URL" in os.environ:
    OPS["http"] = scenario.http_op(classify())
    OPS["memory"] = scenario.memory_op(os.environ["BENCH_MODEL_URL"], classify())
