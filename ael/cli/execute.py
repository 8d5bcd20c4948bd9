"""Executing a run for the command line: events as they come, signals, the result. Loaded only when there is something to run."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Iterable, Mapping

from ael.cli.approve import FixedApprover, TerminalApprover
from ael.cli.interrupt import Interrupt, caught, released
from ael.cli.outcome import INTERRUPTED, print_outcome
from ael.cli.progress import Progress, clean
from ael.cli.report import tell, use_colour
from ael.cli.trace import lines, outline, plain
from ael.cli.whom import whom
from ael.data import replace
from ael.durable.execute import Taken, execution_of
from ael.host import Host, HostError, open_host
from ael.journal.durable import StoreError
from ael.project.program import Opened
from ael.run.bindings import Options, system_user
from ael.run.outcome import Outcome, Suspended
from ael.run.ports import Approver
from ael.run.trace import SpanList


def execute(opened: Opened, entry: str, values: Mapping[str, object], args: argparse.Namespace) -> int:
    """Run `entry` and print how it ended. Gives the exit code."""
    spans = SpanList()
    try:
        options = replace(whom(opened.deployment, args), content=args.content)
        sinks = [spans] if args.trace or args.outline else []
        host = open_host(opened, entry, approver=_approver(opened, args), sinks=sinks, durable=True, otel=args.otel)
    except HostError as error:
        tell(error.code, error.message, *error.notes)
        return 2
    for warning in host.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    try:
        outcome, signalled, run_id = asyncio.run(_run(host, entry, values, options, args))
    except (StoreError, Taken) as error:
        tell("AEL0904", str(error))
        return 1
    if args.trace:
        _print_trace(spans, args)
    if args.outline:
        _print_tree(outline(spans.spans), args)
    code = print_outcome(outcome, whole=args.json)
    if isinstance(outcome, Suspended) and run_id is not None:
        print(f"  = `ael runs show {run_id}` says what the run {run_id} waits for", file=sys.stderr)
    return 128 + signalled if code == INTERRUPTED and signalled is not None else code


def _approver(opened: Opened, args: argparse.Namespace) -> Approver:
    members = opened.deployment.roles
    if args.approve or args.deny:
        return FixedApprover(args.approve, system_user(), members)
    return TerminalApprover(system_user(), members, parks=opened.deployment.runs.kind != "memory")


async def _run(
    host: Host, entry: str, values: Mapping[str, object], options: Options, args: argparse.Namespace
) -> tuple[Outcome, signal.Signals | None, str | None]:
    """The outcome, the signal that came while it ran, and the id of a run that is kept."""
    progress = Progress(colour=use_colour(), verbose=not args.quiet)
    options = replace(options, on_event=progress)
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


def _print_trace(spans: SpanList, args: argparse.Namespace) -> None:
    if args.json:
        for span in sorted(spans.spans, key=lambda s: s.sequence):
            print(json.dumps(plain(span), ensure_ascii=False), file=sys.stderr)
        return
    _print_tree(lines(spans.spans, short=True), args)


def _print_tree(tree: Iterable[str], args: argparse.Namespace) -> None:
    apart = [] if args.quiet else [""]
    for line in [*apart, *tree, *apart]:
        print(clean(line), file=sys.stderr)
