"""A worker as a process: what it prints, and its signals. Loaded only when there is something to work on."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from contextlib import AsyncExitStack, ExitStack, suppress
from importlib import import_module
from types import FrameType
from typing import Any

from ael.cli.interrupt import caught, released
from ael.cli.progress import clean
from ael.cli.report import tell
from ael.durable.execute import Taken, execution_of
from ael.durable.worker import STORE, STUCK, Refused, Worker
from ael.host import Host, HostError, open_host
from ael.hosting.masking import masker_of
from ael.hosting.runs import watch_runs
from ael.journal.durable import RunRow, StoreError
from ael.project.program import Opened
from ael.project.queues import QueueBinding
from ael.project.tenants import at_once
from ael.run.outcome import DeclaredError, Faulted, Outcome, Suspended, word_of


def work(opened: Opened, args: argparse.Namespace) -> int:
    """Work until a signal, or `--once` until nothing is there. Gives the exit code."""
    try:
        also = opened.deployment.serving.tokens if args.decide is not None else ()
        host = open_host(opened, also=also, durable=True)
    except HostError as error:
        tell(error.code, error.message, *error.notes)
        return 2
    for warning in host.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if host.store is None:
        kept = 'write where they are kept: `runs = sqlite("runs.db")` or `postgres(secret("RUNS_DB"))`'
        tell("AEL0904", "the deployment keeps runs in memory, where no worker finds them", kept)
        return 2
    try:
        return asyncio.run(_work(host, args))
    except HostError as error:
        tell(error.code, error.message, *error.notes)
        return 2


async def _work(host: Host, args: argparse.Namespace) -> int:
    binding = host.opened.deployment.runs
    async with host, AsyncExitStack() as stack:
        execution = execution_of(host)
        tenants = at_once(host.opened.deployment.tenants, binding.per_tenant)
        say = _Said(quiet=args.quiet)
        slots, programs = args.slots or binding.slots, {host.unit.digest: execution}
        crew = await _crew(host, stack, say)
        worker = Worker(
            programs,
            slots,
            tenants,
            say.left,
            say.trouble,
            binding.keep,
            binding.drain,
            binding.evidence_keep,
            others=frozenset() if crew is None else crew.programs,
        )
        stop = _Stop(worker, crew)
        before = {number: caught(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            # A store that cannot be used is told at once; one that goes away later is waited for.
            await execution.store.rows(limit=1)
            with ExitStack() as watching:
                if args.once:
                    await _once(worker, crew)
                else:
                    desk = _desk(host, worker, args.decide) if args.decide is not None else None
                    if desk is not None:
                        watching.callback(desk.cancel)
                    watching.enter_context(watch_runs(host.opened.deployment, host.bindings.secrets, _waker(worker)))
                    say.line(
                        f"working on {host.unit.main} ({host.unit.digest[:12]}) with {worker.slots} slots, as {execution.owner}"
                    )
                    if crew is not None:
                        for line in crew.described():
                            say.line(line)
                    await asyncio.gather(worker.work(), *([] if crew is None else [crew.work()]))
        except StoreError as error:
            tell("AEL0904", str(error))
            return 1
        finally:
            released(before)
        counts = worker.counts
        cut = f", {counts.cut} cut off" if counts.cut else ""
        say.line(f"{counts.ended} ended, {counts.parked} parked, {counts.released} given back{cut}")
        for line in [] if crew is None else crew.ended():
            say.line(line)
    return 0


def _desk(host: Host, worker: Worker, port: int) -> asyncio.Future[None]:
    """Let callers decide on this machine; more is for a proxy in front. Raises `HostError`."""
    parts = ("caller", "desk", "listener", "metrics", "sides", "stream")
    caller, desk, listener, metrics, sides, stream = (import_module(f"ael.server.{name}") for name in parts)
    deployment = host.opened.deployment
    callers = caller.Callers(deployment.serving.callers.values(), host.bindings.secrets)
    if not callers:
        note = 'name them in the deployment: `caller ann = bearer(secret("ANN_TOKEN"))`'
        raise HostError("AEL0872", "deciding over HTTP needs callers that say who they are, and none is named", note)
    bound = listener.bind("127.0.0.1", port, known=True)
    limit, now = deployment.runs.approval, host.bindings.clock.now
    streams = stream.Streams(host.store, frozenset(host.unit.tools))
    scrapers = sides.scrapers_of(deployment.serving, host.bindings.secrets)
    made = desk.Desk(
        host.store, callers, deployment.roles, limit, now, worker.wake, streams, masker_of(deployment),
        metrics=metrics.Metrics(host, None, on=True) if scrapers else None, scrapers=scrapers,
    )  # fmt: skip
    print(f"deciding on http://127.0.0.1:{bound.getsockname()[1]}/approvals", file=sys.stderr, flush=True)
    serving: asyncio.Future[None] = asyncio.ensure_future(desk.serve(made, bound))
    return serving


async def _crew(host: Host, stack: AsyncExitStack, say: _Said) -> Any:
    """The queues that this deployment takes items from; None where there are none, and then no code for them is loaded."""
    if not any(isinstance(one, QueueBinding) and one.slots for one in host.opened.deployment.placements.values()):
        return None
    return await import_module("ael.server.crew").crew(host.opened, stack, say.left, say.trouble)


async def _once(worker: Worker, crew: Any) -> None:
    """What there is now. Runs of the store may wait for items, so that both are done beside each other."""
    if crew is None:
        await worker.until_idle()
    else:
        beside = asyncio.ensure_future(crew.work())
        await worker.until_idle()
        await crew.idle()
        crew.stop()
        await beside
    await worker.look(at_once=True)


def _waker(worker: Worker) -> Any:
    loop = asyncio.get_running_loop()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody is to be woken any more
            loop.call_soon_threadsafe(worker.wake)

    return wake


class _Stop:
    """The first signal drains, the second ends the process (features A12.12, A12.13)."""

    def __init__(self, worker: Worker, crew: Any) -> None:
        self.worker = worker
        self.crew = crew
        self.told = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.told:
            os._exit(128 + number)
        self.told = True
        # Not `print`: the signal may have come in the middle of one, and its buffer takes no second writer.
        os.write(2, b"draining: each run ends before its next effect; once more ends at once\n")
        self.worker.stop()
        if self.crew is not None:
            self.crew.stop()


class _Said:
    """What a worker prints: one line for each run that left it, and every trouble."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet

    def line(self, text: str) -> None:
        if not self.quiet:
            print(clean(text), file=sys.stderr, flush=True)

    def trouble(self, code: str, text: str) -> None:
        print(f"warning[{code}]: {clean(text)}", file=sys.stderr, flush=True)

    def left(self, row: RunRow, outcome: Outcome | Exception) -> None:
        """A run ended, parked, was given back, or was lost."""
        run = row.header.run
        if isinstance(outcome, Refused):
            self.trouble("AEL0906", f"{outcome}; `ael runs resume {run} --accept-bindings` goes on all the same")
        elif isinstance(outcome, Exception):
            self.trouble(STORE if isinstance(outcome, StoreError | Taken) else STUCK, str(outcome))
        else:
            self.line(f"{run} {told(outcome)}")


def told(outcome: Outcome) -> str:
    """How a run left, in a few words."""
    match outcome:
        case Suspended(waits=waits):
            return f"waits: {'; '.join(f'{wait.kind} at {wait.path}' for wait in waits)}"
        case DeclaredError(error=error):
            return f"ended: failed with {error.partition('.')[2]}"
        case Faulted(kind=kind, message=message):
            return f"ended: {kind.value}: {message}"
        case _:
            return f"ended: {word_of(outcome)}"
