"""`ael run --detach`: a run that is made and left to the workers. Loaded only for that."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from collections.abc import Mapping

from ael.cli.report import tell
from ael.cli.whom import whom
from ael.data import replace
from ael.durable.execute import Execution, new_owner
from ael.durable.pinned import bound_of
from ael.host import HostError, open_preview
from ael.hosting.runs import open_runs
from ael.hosting.secrets import Secrets
from ael.journal.durable import StoreError
from ael.project.program import Opened
from ael.run.entry import decoded
from ael.types.problem import DecodeError

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


def detach(opened: Opened, entry: str, values: Mapping[str, object], args: argparse.Namespace) -> int:
    """Make the run, and print its id. No model, tool or key is needed here. Gives the exit code."""
    if args.run_id is not None and not _ID.fullmatch(args.run_id):
        rule = "an id has up to 100 letters, digits, `-`, `_` and `.`, and begins with a letter or digit"
        tell("AEL0905", f"`{args.run_id}` is no id of a run", rule)
        return 2
    warnings: list[str] = []
    try:
        options = replace(whom(opened.deployment, args), run=args.run_id)
        store = open_runs(opened.deployment, Secrets(opened.deployment), warnings)
    except HostError as error:
        tell(error.code, error.message, *error.notes)
        return 2
    if store is None:
        kept = 'write where runs are kept: `runs = sqlite("runs.db")` or `postgres(secret("RUNS_DB"))`'
        tell("AEL0904", "there is no store to leave the run in: it would end with this command", *(warnings or [kept]))
        return 2
    # What is kept for another process holds no secret, whichever of them that process will need.
    engine = open_preview(opened, frozenset(), keyring=True).engine
    try:
        decoded(engine.input(entry), values)
    except DecodeError as error:
        tell("AEL0841", f"the input does not fit: {error.text}")
        return 2
    execution = Execution(engine, store, new_owner(), opened.deployment.runs.lease, bound_of(opened))

    async def made() -> tuple[str, bool]:
        try:
            return await execution.create(entry, values, options)
        finally:
            await store.close()

    try:
        run, new = asyncio.run(made())
    except StoreError as error:
        tell("AEL0904", str(error))
        return 1
    print(run)
    if not new:
        print(f"the run {run} is there already, and stays as it is", file=sys.stderr)
    return 0
