"""A measured process: reads one JSON request a line, answers one JSON object a line. Standard library only.

It runs as ``python -m benches.worker MODULE`` in the environment of the side that is measured. ``MODULE`` has a mapping
``OPS`` from the name of an operation to a function of a mapping to a mapping; an operation measures itself, because only
the process knows when its own work begins.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

Op = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def cpu_of(work: Callable[[], object]) -> float:
    """Seconds of CPU (all threads of the process) that ``work`` took; garbage of earlier work is collected before, not during."""
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def cpu_per_run(run: Callable[[], object], least: float = 0.2) -> float:
    """Seconds of CPU of one ``run``, repeated until ``least`` seconds are spent, so that a short one is measured well."""
    spent, runs = 0.0, 0
    while spent < least:
        burst = max(1, min(1000, int(runs * least / spent / 4))) if spent else 1

        def repeat(times: int = burst) -> None:
            for _ in range(times):
                run()

        spent += cpu_of(repeat)
        runs += burst
    return spent / runs


def private_bytes() -> int:
    """Resident memory of this process in bytes, not shared with others (Linux ``smaps_rollup``), after a collection."""
    gc.collect()
    with open("/proc/self/smaps_rollup", encoding="ascii") as rollup:
        return sum(int(line.split()[1]) * 1024 for line in rollup if line.startswith("Private_"))


def serve(module: str) -> None:
    """Answer requests until standard input ends. What the measured code prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        ops: Mapping[str, Op] = importlib.import_module(module).OPS
        answers.write('{"ready": true}\n')
    except Exception:
        answers.write(json.dumps({"error": traceback.format_exc()}) + "\n")
        return
    finally:
        answers.flush()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer: Mapping[str, Any] = ops[request["op"]](request)
        except Exception:
            answer = {"error": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
