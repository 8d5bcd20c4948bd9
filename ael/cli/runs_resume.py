"""Going on with a run in this process, over its journal."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import time

from ael.cli.approve import TerminalApprover
from ael.cli.interrupt import Interrupt, caught, released
from ael.cli.outcome import INTERRUPTED, print_outcome
from ael.cli.progress import Progress, clean
from ael.cli.report import told, use_colour
from ael.cli.runs_open import Stopped, found, opened, program_at
from ael.data import replace
from ael.durable.change import ChangeError, rebound
from ael.durable.execute import Execution, Taken, execution_of, options_of
from ael.durable.fork import ForkJournal, fork_of
from ael.durable.pinned import accept
from ael.host import Host, HostError, open_host
from ael.journal.durable import Held, RunRow, RunState, StoreError
from ael.project.program import Opened
from ael.run.bindings import system_user
from ael.run.outcome import Suspended


async def act(args: argparse.Namespace) -> int:
    """`ael runs resume`."""
    async with opened(args.path, args.deploy) as store:
        row = await found(store, args.run)
    program = program_at(args.path, args.deploy)
    return await resume(program, row.header.run, whole=args.json, quiet=args.quiet, accepting=args.accept_bindings)


async def resume(
    program: Opened, run_id: str, *, whole: bool, quiet: bool, accepting: bool = False, owner: str | None = None
) -> int:
    """Go on with a run until it ends or parks; `owner` may have it already. Gives the exit code; raises `Stopped`."""
    approver = TerminalApprover(system_user(), program.deployment.roles, parks=True)
    try:
        host = open_host(program, approver=approver, durable=True)
        async with host:
            assert host.store is not None
            kept = await host.store.given(run_id)
            fork = None if kept is None else fork_of(kept[1])
            if fork is None or not (fork.models or fork.settings):
                return await _resume(_owned(host, owner), run_id, host.unit.digest, whole, quiet, accepting)
        other = open_host(rebound(program, fork.models, fork.settings), approver=approver, durable=True)
        async with other:
            return await _resume(_owned(other, owner), run_id, other.unit.digest, whole, quiet, accepting)
    except HostError as error:
        raise Stopped(2, told(error.code, error.message, *error.notes)) from None
    except ChangeError as error:
        raise Stopped(2, told("AEL0905", error.message, *error.notes)) from None
    except (StoreError, Taken) as error:
        raise Stopped(1, told("AEL0904", str(error))) from None


def _owned(host: Host, owner: str | None) -> Execution:
    execution = execution_of(host)
    return execution if owner is None else replace(execution, owner=owner)


async def _resume(execution: Execution, run_id: str, digest: str, whole: bool, quiet: bool, accepting: bool) -> int:
    store = execution.store
    row = await store.find(run_id)
    _claimable(row, run_id, digest)
    if row is not None and row.state is RunState.DEAD:
        await store.revive(run_id)
    held = await store.hold(run_id, execution.owner, execution.lease)
    if held is None:
        raise Stopped(1, told("AEL0905", _why_not(await store.find(run_id), run_id)))
    await _under_its_bindings(execution, held, accepting)
    run = execution.start(held, replace(options_of(held.pinned), on_event=Progress(colour=use_colour(), verbose=not quiet)))
    interrupt = Interrupt(run, asyncio.get_running_loop())
    before = {number: caught(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        outcome = await execution.conclude(held, run)
    finally:
        released(before)
    if isinstance(run.journal, ForkJournal):
        _told_of_fork(run.journal)
    code = print_outcome(outcome, whole=whole)
    if isinstance(outcome, Suspended):
        print(f"  = `ael runs show {run_id}` says what the run {run_id} waits for", file=sys.stderr)
    return 128 + interrupt.told if code == INTERRUPTED and interrupt.told is not None else code


async def _under_its_bindings(execution: Execution, held: Held, accepting: bool) -> None:
    """Give the run back, and raise `Stopped`, where other bindings hold than it began under, unless they are accepted."""
    differs = execution.differs(held)
    if not differs:
        return
    if accepting:
        accept(held, execution.bound, system_user(), differs, time.time())
        return
    run = held.row.header.run
    await execution.store.release(run, held.row.epoch)
    note = "bind it as it was, or go on all the same: `--accept-bindings`, which its journal says from then on"
    raise Stopped(2, told("AEL0906", f"the run {run} began under other bindings", *differs, note))


def _told_of_fork(journal: ForkJournal) -> None:
    """What a fork did not make, and what of its beginning was not asked for."""
    for count, what in ((len(journal.served), "served from the record"), (len(journal.blocked), "blocked")):
        if count:
            print(f"{count} call{'' if count == 1 else 's'} {what}", file=sys.stderr)
    unseen = sorted(journal.unseen)
    if unseen:
        print(clean(f"warning: the program did not come to {', '.join(unseen[:5])}, which the original did"), file=sys.stderr)


def _claimable(row: RunRow | None, run: str, digest: str) -> None:
    """Raise `Stopped` for a run that this program cannot go on with."""
    if row is None:
        raise Stopped(2, told("AEL0905", f"there is no run `{run}`", "`ael runs` lists them"))
    if row.state is RunState.ENDED:
        raise Stopped(2, told("AEL0905", f"the run {run} has ended", f"`ael runs show {run}` says how"))
    if row.header.program != digest:
        began = f"it began with {row.header.program[:12]}, and this is {digest[:12]}"
        note = f"go back to the program that it began with, or fork it: `ael runs fork {run} --at end`"
        raise Stopped(2, told("AEL0906", f"the program has changed since the run {run} began", began, note))


def _why_not(row: RunRow | None, run: str) -> str:
    if row is not None and row.state is RunState.PARKED:
        return f"the run {run} still waits: {row.waits}"
    return f"another worker has the run {run} now"
