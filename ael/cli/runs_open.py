"""Opening the store of a program's runs, and finding a run in it by what a person typed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ael.cli.opening import opened_or_told
from ael.cli.report import report, told
from ael.diagnostics.diagnostic import Bag
from ael.durable.decide import DecideError
from ael.hosting.failure import HostError
from ael.hosting.runs import open_runs
from ael.hosting.secrets import Secrets
from ael.journal.durable import DurableStore, RunRow, StoreError
from ael.mcp.outside import visible
from ael.project.deployment import Deployment
from ael.project.program import Opened, open_store

_LONGEST = 2_000
"""Characters of a sentence about a decision that are shown."""
SHORT = 8
"""Characters of a run's id that are shown in lists."""


class Stopped(Exception):
    """The command ends here, with `text` on standard error."""

    nothing = False
    """Whether there are no runs at all, because there is no store of them yet."""

    def __init__(self, exit_code: int, text: str = "") -> None:
        super().__init__(text)
        self.exit_code = exit_code
        self.text = text


@asynccontextmanager
async def opened(path: Path, deploy: str | None) -> AsyncIterator[DurableStore]:
    """The store of the program at `path`. Raises `Stopped` for everything that is wrong with it, here and while it is used."""
    async with opened_with(path, deploy) as (store, _):
        yield store


@asynccontextmanager
async def opened_with(path: Path, deploy: str | None) -> AsyncIterator[tuple[DurableStore, Deployment]]:
    """The same, with its deployment."""
    bag = Bag()
    deployment = open_store(path, bag, deploy=deploy)
    code = report(bag)
    if deployment is None or code:
        raise Stopped(code or 2)
    try:
        store = open_runs(deployment, Secrets(deployment), [])
    except HostError as error:
        raise Stopped(2, told(error.code, error.message, *error.notes)) from None
    if store is None or _missing(deployment):
        note = (
            "a run is kept from its first effect on"
            if store is not None
            else "the deployment keeps runs in memory: `runs = memory`"
        )
        empty = Stopped(0, f"there are no runs here ({note})")
        empty.nothing = True
        raise empty
    try:
        yield store, deployment
    except StoreError as error:
        raise Stopped(1, told("AEL0904", str(error))) from None
    except DecideError as error:
        # It may quote what a model or a server asks: that steers no terminal, and no second line of it looks like one of ours.
        notes = [visible(error.note, _LONGEST)] if error.note else []
        raise Stopped(2, told("AEL0905", visible(error.message, _LONGEST), *notes)) from None
    finally:
        await store.close()


def program_at(path: Path, deploy: str | None) -> Opened:
    """The program at `path`, checked and bound. Raises `Stopped`."""
    program = opened_or_told(path, deploy)
    if isinstance(program, int):
        raise Stopped(program)
    return program


def _missing(deployment: Deployment) -> bool:
    """Whether there is no file yet: looking at runs makes none."""
    return deployment.runs.kind == "sqlite" and not Path(deployment.folder, deployment.runs.path).exists()


async def found(store: DurableStore, text: str) -> RunRow:
    """The run with this id, or the one whose id begins so. Raises `Stopped`."""
    row = await store.find(text)
    if row is not None:
        return row
    rows = [one for one in await store.rows(limit=10_000) if one.header.run.startswith(text)]
    if len(rows) == 1:
        return rows[0]
    if rows:
        names = ", ".join(one.header.run for one in rows[:5])
        raise Stopped(2, told("AEL0905", f"more than one run begins with `{text}`", f"say which: {names}"))
    raise Stopped(2, told("AEL0905", f"there is no run `{text}`", "`ael runs` lists them"))
