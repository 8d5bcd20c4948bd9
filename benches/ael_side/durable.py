"""AEL's durable steps: runs whose tool calls are each committed before they are made (`durable`)."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ael.durable.execute import Execution, new_owner
from ael.journal.database import DatabaseStore
from ael.journal.sqlite import SqliteDatabase
from ael.models.script import Script
from ael.models.scripted import ScriptedProvider
from ael.run.bindings import Options
from ael.run.outcome import Value
from benches.ael_side.program import host

_HOST = host("durable", ScriptedProvider(Script(())))


def durable(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Milliseconds a step, and KiB of the store a step."""
    steps, runs = int(request["steps"]), int(request["runs"])
    folder = Path(tempfile.mkdtemp(prefix="ael-bench-"))
    try:
        ms = asyncio.run(_measured(folder, steps, runs))
        return {"ms": ms, "kib": (folder / "runs.db").stat().st_size / 1024 / steps / runs}
    finally:
        shutil.rmtree(folder)


async def _measured(folder: Path, steps: int, runs: int) -> float:
    store = DatabaseStore(lambda: SqliteDatabase(folder / "runs.db"))
    execution = Execution(_HOST.engine, store, new_owner(), 60.0)

    async def run(number: int, most: int) -> None:
        held = execution.fresh("durable.main", {"n": most}, Options(run=f"run {number}"))
        outcome = await execution.conclude(held, execution.start(held))
        assert isinstance(outcome, Value), outcome
        assert outcome.value == most * (most - 1) // 2

    await run(-1, 1)
    started = time.perf_counter()
    await asyncio.gather(*(run(number, steps) for number in range(runs)))
    seconds = time.perf_counter() - started
    await store.close()
    return seconds * 1000 / steps / runs


OPS = {"durable": durable}
