"""`ael check --against-runs`: the live runs that a change would break, since they keep the program that they began with (feature B8)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from ael.cli.progress import clean
from ael.cli.report import report, tell
from ael.cli.runs_list import table, when
from ael.diagnostics.diagnostic import Bag
from ael.durable.pinned import bound_of
from ael.host import HostError
from ael.hosting.runs import open_runs
from ael.hosting.secrets import Secrets
from ael.journal.durable import DurableStore, RunRow, RunState, StoreError
from ael.lower.lower import lower
from ael.project.program import Opened, programs

_LIVE = (RunState.READY, RunState.RUNNING, RunState.PARKED)
_MOST = 10_000


def against_runs(paths: Sequence[Path]) -> int:
    """Look at the runs of each program with its `deploy.ael`. Exit code 1 when some could not go on, 2 when a store cannot be used."""
    bag = Bag()
    found = list(programs(list(paths), bag))
    if report(bag):
        return 2
    code = 0
    for opened in found:
        try:
            broken = asyncio.run(_broken(opened))
        except HostError as error:
            tell(error.code, error.message, *error.notes)
            return 2
        except StoreError as error:
            tell("AEL0904", str(error))
            return 2
        if broken:
            code = 1
            print("\n".join(_told(broken)))
    if code == 0:
        print("no live run would be broken", file=sys.stderr)
    return code


def _told(broken: Sequence[RunRow]) -> Sequence[str]:
    count = len(broken)
    heads = [
        f"{count} live run{' keeps' if count == 1 else 's keep'} another program than this one, and cannot go on with it:",
        "",
    ]
    rows = [(one.header.run, one.state.value, one.header.entry, when(one.header.started), one.waiting) for one in broken]
    ways = ["", "  = let workers of the program that they keep end them, or fork them: `ael runs fork RUN --at end`"]
    return [*heads, clean(table(["RUN", "STATE", "ENTRY", "STARTED", ""], rows)), *ways]


async def _broken(opened: Opened) -> list[RunRow]:
    """The live runs of the program that `opened` is a changed one of."""
    binding = opened.deployment.runs
    if binding.kind == "sqlite" and not Path(opened.deployment.folder, binding.path).exists():
        return []
    store = open_runs(opened.deployment, Secrets(opened.deployment), [])
    if store is None:
        return []
    try:
        digest = lower(opened.program).digest
        rows = await store.rows(states=_LIVE, limit=_MOST)
        name = bound_of(opened).name
        return [row for row in rows if row.header.program != digest and await _ours(store, row, name)]
    finally:
        await store.close()


async def _ours(store: DurableStore, row: RunRow, name: str) -> bool:
    """Whether a run is one of this program: several may share a store."""
    given = await store.given(row.header.run)
    return given is not None and given[1].get("name", name) == name
