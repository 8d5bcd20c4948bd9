"""Ending a run, wherever it runs."""

from __future__ import annotations

import argparse
import sys

from ael.cli.report import told
from ael.cli.runs_open import Stopped, found, opened
from ael.journal.durable import RunState


async def act(args: argparse.Namespace) -> int:
    """`ael runs cancel`."""
    async with opened(args.path, args.deploy) as store:
        row = await found(store, args.run)
        run = row.header.run
        if not await store.cancel(run, args.reason or "cancelled from outside"):
            raise Stopped(2, told("AEL0905", f"the run {run} has ended", f"`ael runs show {run}` says how"))
        when = "its worker hears it with its next heartbeat"
        if row.state is not RunState.RUNNING:
            when = f"whoever takes it next ends it: a worker, or `ael runs resume {run}`"
        print(f"the run {run} is told to end; {when}", file=sys.stderr)
    return 0
