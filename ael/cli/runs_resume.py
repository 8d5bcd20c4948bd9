"""Going on with a run in this process, over its journal."""

from __future__ import annotations

import argparse
import asyncio
import signal

from ael.cli.approve import TerminalApprover
from ael.cli.execute import print_outcome
from ael.cli.progress import Progress
from ael.cli.report import report, use_colour
from ael.cli.runs_open import Stopped, found, opened, told
from ael.data import replace
from ael.diagnostics.diagnostic import Bag
from ael.durable.execute import Execution, Taken, new_owner, options_of
from ael.host import HostError, open_host
from ael.journal.durable import RunRow, RunState, StoreError
from ael.project.program import Opened, open_program
from ael.run.bindings import system_user


async def act(args: argparse.Namespace) -> int:
    """`ael runs resume`."""
    async with opened(args.path, args.deploy) as store:
        row = await found(store, args.run)
    bag = Bag()
    program = open_program(args.path, bag, deploy=args.deploy)
    code = report(bag)
    if program is None or code:
        raise Stopped(code or 2)
    return await resume(program, row.header.run, whole=args.json, quiet=args.quiet)


async def resume(program: Opened, run_id: str, *, whole: bool, quiet: bool) -> int:
    """Go on with a run until it ends or parks. Gives the exit code; raises `Stopped`."""
    try:
        host = open_host(program, approver=TerminalApprover(system_user(), program.deployment.roles, parks=True), durable=True)
    except HostError as error:
        raise Stopped(2, told(error.code, error.message, *error.notes)) from None
    async with host:
        assert host.store is not None
        execution = Execution(host.engine, host.store, new_owner(), program.deployment.runs.lease)
        try:
            row = await host.store.find(run_id)
            _claimable(row, run_id, host.unit.digest)
            held = await host.store.hold(run_id, execution.owner, execution.lease)
            if held is None:
                raise Stopped(1, told("AEL0905", _why_not(await host.store.find(run_id), run_id)))
            progress = None if quiet else Progress(colour=use_colour())
            run = execution.start(held, replace(options_of(held.pinned), on_event=progress))
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGINT, run.cancel, "interrupted")
            outcome = await execution.conclude(held, run)
        except (StoreError, Taken) as error:
            raise Stopped(1, told("AEL0904", str(error))) from None
    return print_outcome(outcome, whole=whole)


def _claimable(row: RunRow | None, run: str, digest: str) -> None:
    """Raise `Stopped` for a run that this program cannot go on with."""
    if row is None:
        raise Stopped(2, told("AEL0905", f"there is no run {run}"))
    if row.state in (RunState.ENDED, RunState.DEAD):
        raise Stopped(2, told("AEL0905", f"the run {run} has ended", f"`ael runs show {run}` says how"))
    if row.header.program != digest:
        note = "go back to the program that it was started with, or fork it: `ael runs fork`"
        raise Stopped(2, told("AEL0906", f"the program has changed since the run {run} began", note))


def _why_not(row: RunRow | None, run: str) -> str:
    if row is not None and row.state is RunState.PARKED:
        return f"the run {run} still waits: {row.waits}"
    return f"another worker has the run {run} now"
