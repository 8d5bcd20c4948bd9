"""Waiting for a run to end, wherever it runs, and printing how it did, as `ael run` would."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Mapping

from ael.cli.outcome import INTERRUPTED, PARKED, print_outcome
from ael.cli.progress import json_text
from ael.cli.report import told
from ael.cli.runs_open import Stopped, found, opened
from ael.cli.runs_prune import seconds_of
from ael.journal.durable import RunRow, RunState
from ael.run.outcome import of_json
from ael.types.fault import FaultKind

_LOOK = 0.2
"""Seconds between the first looks; later ones come up to ten times slower."""


async def act(args: argparse.Namespace) -> int:
    """`ael runs wait`."""
    limit = None if args.timeout is None else time.monotonic() + seconds_of("--timeout", args.timeout)
    pause = _LOOK
    async with opened(args.path, args.deploy) as store:
        run = (await found(store, args.run)).header.run
        while True:
            row = await store.find(run)
            if row is None:
                raise Stopped(2, told("AEL0905", f"the run {run} was forgotten meanwhile"))
            if row.state is RunState.DEAD:
                raise Stopped(
                    1, told("AEL0905", f"the run {run} is dead: {row.waits}", f"`ael runs resume {run}` tries it again")
                )
            if row.state is RunState.ENDED:
                return ending(row, whole=args.json)
            if args.or_parked and row.state is RunState.PARKED and row.wake is None:
                raise Stopped(PARKED, f"parked: the run {run} waits for {row.waits}")
            if limit is not None and time.monotonic() >= limit:
                state = f"waits for {row.waits}" if row.state is RunState.PARKED else f"is {row.state.value}"
                raise Stopped(PARKED, f"the run {run} has not ended within {args.timeout}: it {state}")
            await asyncio.sleep(pause if limit is None else max(0.0, min(pause, limit - time.monotonic())))
            pause = min(pause * 1.2, 10 * _LOOK)


def ending(row: RunRow, *, whole: bool) -> int:
    """Print how a run ended. Gives the exit code."""
    record = row.outcome
    assert isinstance(record, Mapping)
    if whole:
        print(json_text(record))
        cancelled = record["outcome"] == "fault" and record["kind"] == FaultKind.CANCELLED.value
        return 0 if record["outcome"] == "value" else INTERRUPTED if cancelled else 1
    return print_outcome(of_json(record), whole=False)
