"""Executing a run for the command line: events as they come, signals, the result. Loaded only when there is something to run."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from ael.cli.approve import FixedApprover, TerminalApprover
from ael.cli.progress import Progress, clean, json_text
from ael.cli.report import use_colour
from ael.cli.trace import lines, plain
from ael.durable.execute import Taken, execution_of
from ael.host import Host, HostError, open_host
from ael.journal.durable import StoreError
from ael.project.program import Opened
from ael.run.bindings import Options, system_user
from ael.run.outcome import DeclaredError, Faulted, Outcome, Suspended, Unsettled, Value, to_json
from ael.run.ports import Approver
from ael.run.run import Run
from ael.run.trace import SpanList
from ael.types.fault import FaultKind

INTERRUPTED = 130
"""The exit code of a run that was cancelled: that of Ctrl-C, whoever cancelled it."""

PARKED = 3
"""The exit code of a run that waits for a person or a time, and goes on later."""
WAITS = {"approval": "an approval", "uncertain": "a person to say what became of it", "time": "its time"}

_PIPES = sys.platform != "win32"
"""Whether a signal can wake an event loop."""


def execute(opened: Opened, entry: str, values: Mapping[str, object], args: argparse.Namespace) -> int:
    """Run `entry` and print how it ended. Gives the exit code."""
    spans = SpanList()
    try:
        sinks = [spans] if args.trace else []
        host = open_host(opened, entry, approver=_approver(opened, args), sinks=sinks, durable=True, otel=args.otel)
    except HostError as error:
        tell(error)
        return 2
    for warning in host.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    try:
        outcome, signalled, run_id = asyncio.run(_run(host, entry, values, args))
    except (StoreError, Taken) as error:
        print(f"error[AEL0904]: {error}", file=sys.stderr)
        return 1
    if args.trace:
        _print_trace(spans, args)
    code = print_outcome(outcome, whole=args.json)
    if isinstance(outcome, Suspended) and run_id is not None:
        print(f"  = `ael runs show {run_id}` says what the run {run_id} waits for", file=sys.stderr)
    return 128 + signalled if code == INTERRUPTED and signalled is not None else code


def tell(error: HostError) -> None:
    """Print why a program cannot be started, and what to do."""
    print(f"error[{error.code}]: {error.message}", file=sys.stderr)
    for note in error.notes:
        print(f"  = {note}", file=sys.stderr)


def _approver(opened: Opened, args: argparse.Namespace) -> Approver:
    members = opened.deployment.roles
    if args.approve or args.deny:
        return FixedApprover(args.approve, system_user(), members)
    return TerminalApprover(system_user(), members, parks=opened.deployment.runs.kind != "memory")


async def _run(
    host: Host, entry: str, values: Mapping[str, object], args: argparse.Namespace
) -> tuple[Outcome, signal.Signals | None, str | None]:
    """The outcome, the signal that came while it ran, and the id of a run that is kept."""
    progress = Progress(colour=use_colour(), verbose=not args.quiet)
    options = Options(content=args.content, on_event=progress)
    async with host:
        execution = held = None
        if host.store is None:
            run = host.engine.start(entry, values, options)
        else:
            execution = execution_of(host)
            held = execution.fresh(entry, values, options)
            run = execution.start(held, options, values)
        interrupt = Interrupt(run, asyncio.get_running_loop())
        before = {number: caught(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            if execution is None or held is None:
                return await run.outcome(), interrupt.told, None
            return await execution.conclude(held, run), interrupt.told, run.id
        finally:
            released(before)


def caught(number: signal.Signals, interrupt: Callable[[int, FrameType | None], None]) -> Any:
    """Have `interrupt` called for a signal; gives what was called before.

    The loop's own handler would wait for pure code, and a plain one for whatever wakes an idle loop when another thread took the
    signal. So the loop's is set, which wakes it by a pipe, and the plain one takes its place.
    """
    before = signal.getsignal(number)
    if _PIPES:
        asyncio.get_running_loop().add_signal_handler(number, lambda: None)
    signal.signal(number, interrupt)
    return before


def released(before: Mapping[signal.Signals, Any]) -> None:
    """Have signals call what they called before `caught`."""
    for number, handler in before.items():
        if _PIPES:
            asyncio.get_running_loop().remove_signal_handler(number)
        signal.signal(number, handler)


class Interrupt:
    """The first signal cancels the run, in pure code too; the second ends the process (feature A12.13)."""

    def __init__(self, run: Run, loop: asyncio.AbstractEventLoop) -> None:
        self.run = run
        self.loop = loop
        self.told: signal.Signals | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.told is not None:
            os._exit(128 + number)
        self.told = signal.Signals(number)
        # Not `print`: the signal may have come in the middle of one, and its buffer takes no second writer.
        os.write(2, b"\ncancelling; once more ends at once\n")
        self.run.interrupt()
        self.loop.call_soon_threadsafe(self.run.cancel, "interrupted")


def _print_trace(spans: SpanList, args: argparse.Namespace) -> None:
    if args.json:
        for span in sorted(spans.spans, key=lambda s: s.sequence):
            print(json.dumps(plain(span), ensure_ascii=False), file=sys.stderr)
        return
    apart = [] if args.quiet else [""]
    for line in [*apart, *lines(spans.spans, short=True), *apart]:
        print(clean(line), file=sys.stderr)


def print_outcome(outcome: Outcome, *, whole: bool) -> int:
    """The result on standard output, an ending that is no value on standard error. Gives the exit code."""
    if whole:
        print(json_text(to_json(outcome)))
    match outcome:
        case Value(plain=value):
            if not whole:
                print(json_text(value))
            return 0
        case DeclaredError(error=error, plain=value):
            said = (
                f"error[AEL0901]: the run failed with {error.partition('.')[2] or error} {json.dumps(value, ensure_ascii=False)}"
            )
            code = 1
        case Faulted(kind=kind, message=message):
            said = f"error[AEL0902]: {kind.value}: {message}"
            code = INTERRUPTED if kind is FaultKind.CANCELLED else 1
        case Unsettled(operation=operation, key=key):
            said = (
                f"error[AEL0903]: {operation} may or may not have taken effect (key {key})\n"
                "  = look there before doing it again; nothing was repeated"
            )
            code = 1
        case Suspended(waits=waits):
            said = "\n".join(f"parked: {wait.target.partition('.')[2]} waits for {WAITS[wait.kind]}" for wait in waits)
            code = PARKED
    print(clean(said), file=sys.stderr)
    return code
