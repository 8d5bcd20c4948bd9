"""LangGraph with its SQLite saver: a node that is run again and again, checkpointed before it goes on (`durable`)."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    at: int
    most: int
    total: int


def _pay(state: State) -> dict[str, int]:
    return {"at": state["at"] + 1, "total": state["total"] + state["at"]}


def durable(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Milliseconds a step, and KiB of the store a step. Runs are one after the other: its saver holds one at a time."""
    steps, runs = int(request["steps"]), int(request["runs"])
    with tempfile.TemporaryDirectory(prefix="ael-bench-") as folder:
        file = Path(folder) / "runs.db"
        connection = sqlite3.connect(file, check_same_thread=False)
        graph = StateGraph(State)
        graph.add_node("pay", _pay)
        graph.add_edge(START, "pay")
        graph.add_conditional_edges("pay", lambda state: "pay" if state["at"] < state["most"] else END)
        compiled = graph.compile(checkpointer=SqliteSaver(connection))

        def run(number: int, most: int) -> None:
            config: Any = {"configurable": {"thread_id": f"run {number}"}, "recursion_limit": most + 10}
            ended = compiled.invoke({"at": 0, "most": most, "total": 0}, config, durability="sync")
            assert ended["total"] == most * (most - 1) // 2

        run(-1, 1)
        started = time.perf_counter()
        for number in range(runs):
            run(number, steps)
        seconds = time.perf_counter() - started
        connection.close()
        kib = file.stat().st_size / 1024 / steps / runs
    return {"ms": seconds * 1000 / steps / runs, "kib": kib}


OPS = {"durable": durable}
