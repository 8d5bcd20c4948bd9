"""LangGraph: a model node and its `ToolNode` (`turns`), a node with an edge back to it (`edges`), one that asks ChatOpenAI (`http`)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel

from benches.peers import scenario


class Sorted(BaseModel):
    topic: Literal["Refund", "Shipping", "Other"]
    confidence: float


def turns(request: Mapping[str, Any]) -> Mapping[str, Any]:
    steps = int(request["steps"])
    script = [json.loads(scenario.proposed(step)) for step in range(steps)]

    async def model(state: MessagesState) -> dict[str, Any]:
        step = (len(state["messages"]) - 2) // 2
        if step < steps:
            call = {"name": "look_up", "args": script[step], "id": f"call_{step}", "type": "tool_call"}
            return {"messages": [AIMessage(content="", tool_calls=[call])]}
        return {"messages": [AIMessage(content=scenario.FINAL)]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode([tool(scenario.look_up)]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    compiled = graph.compile()

    async def run() -> None:
        start = {"messages": [SystemMessage(scenario.INSTRUCTIONS), HumanMessage(scenario.QUESTION)]}
        ended = await compiled.ainvoke(start, {"recursion_limit": 2 * steps + 10})
        assert ended["messages"][-1].content == scenario.FINAL
        assert len(ended["messages"]) == 2 * steps + 3

    return scenario.per_step(run, steps)


class Count(TypedDict):
    n: int


def edges(request: Mapping[str, Any]) -> Mapping[str, Any]:
    count = int(request["count"])

    async def step(state: Count) -> dict[str, int]:
        return {"n": state["n"] + 1}

    def onwards(state: Count) -> str:
        return "step" if state["n"] < count else END

    graph = StateGraph(Count)
    graph.add_node("step", step)
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", onwards)
    compiled = graph.compile()

    async def run() -> None:
        ended = await compiled.ainvoke({"n": 0}, {"recursion_limit": count + 10})
        assert ended["n"] == count

    return scenario.per_step(run, count)


class State(TypedDict):
    ticket: str
    sorted: Sorted | None


def classify() -> Any:
    chat = ChatOpenAI(model="json", base_url=os.environ["BENCH_MODEL_URL"], max_retries=0, timeout=600)
    structured = chat.with_structured_output(Sorted, method="json_schema")

    async def node(state: State) -> dict[str, Any]:
        return {"sorted": await structured.ainvoke([SystemMessage(scenario.SORT), HumanMessage(state["ticket"])])}

    graph = StateGraph(State)
    graph.add_node("classify", node)
    graph.add_edge(START, "classify")
    graph.add_edge("classify", END)
    compiled = graph.compile()

    async def call() -> None:
        ended = await compiled.ainvoke({"ticket": scenario.TICKET, "sorted": None})
        assert ended["sorted"].topic == "Refund"

    return call


OPS: dict[str, Any] = {"turns": turns, "edges": edges}
if "BENCH_MODEL_URL" in os.environ:
    OPS["http"] = scenario.http_op(classify())
    OPS["memory"] = scenario.memory_op(os.environ["BENCH_MODEL_URL"], classify())
