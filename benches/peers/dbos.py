"""DBOS: a workflow of steps, over its SQLite database (`durable`)."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dbos import DBOS, DBOSConfig, SetWorkflowID

_FOLDER = tempfile.TemporaryDirectory(prefix="ael-bench-")
_FILE = Path(_FOLDER.name, "dbos.sqlite")
_CONFIG: DBOSConfig = {"name": "bench", "system_database_url": f"sqlite:///{_FILE}", "log_level": "ERROR"}
DBOS(config=_CONFIG)
_COUNT = iter(range(1_000_000_000))
_LOCK = threading.Lock()


@DBOS.step()
def pay(n: int) -> int:
    return n


@DBOS.workflow()
def flow(n: int) -> int:
    total = 0
    for at in range(n):
        total += pay(at)
    return total


DBOS.launch()


def _run(steps: int) -> None:
    with _LOCK:
        number = next(_COUNT)
    with SetWorkflowID(f"run {number}"):
        assert flow(steps) == steps * (steps - 1) // 2


def durable(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Milliseconds a step."""
    steps, runs = int(request["steps"]), int(request["runs"])
    _run(1)
    started = time.perf_counter()
    if runs == 1:
        _run(steps)
    else:
        with ThreadPoolExecutor(runs) as threads:
            list(threads.map(_run, [steps] * runs))
    seconds = time.perf_counter() - started
    return {"ms": seconds * 1000 / steps / runs}


OPS = {"durable": durable}
