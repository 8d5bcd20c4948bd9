"""Lists of runs, and of what they wait for."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from ael.cli.approve import PREVIEW_LINE, PREVIEW_LINES
from ael.cli.progress import clean, json_text
from ael.cli.question import expected
from ael.cli.runs_open import opened, opened_with
from ael.durable.decide import Open, waiting
from ael.durable.told import late, open_json, row_json
from ael.hosting.masking import masker_of
from ael.journal.durable import RunRow, RunState
from ael.mcp.outside import visible_lines
from ael.run.bindings import system_user


async def act(args: argparse.Namespace) -> int:
    """`ael runs list`."""
    async with opened(args.path, args.deploy) as store:
        states = [RunState(state) for state in args.state]
        rows = await store.rows(states=states, tenant=args.tenant, limit=args.limit)
    if args.format == "json":
        print(json_text([row_json(row) for row in rows]))
    elif rows:
        print(table(["RUN", "STATE", "ENTRY", "STARTED", "CALLER", ""], [_told(row) for row in rows]))
    return 0


async def approvals(args: argparse.Namespace) -> int:
    """`ael runs approvals`."""
    async with opened_with(args.path, args.deploy) as (store, deployment):
        asked = await waiting(store, tenant=args.tenant, most=args.limit, limit=deployment.runs.approval)
        for run in dict.fromkeys(one.run for one in asked):
            await store.read_by(run, system_user(), "ael runs approvals")
    now, masker = time.time(), masker_of(deployment)
    if args.format == "json":
        print(json_text(masker.value([open_json(one, now) for one in asked])))
        return 0
    for one in asked:
        print(masker.text("\n".join(question(one, now))))
    return 0


def question(one: Open, now: float) -> list[str]:
    """What a run waits for, with everything that a person needs to decide."""
    what = f"an approval{f' by {one.role}' if one.role else ''}" if one.kind == "approval" else "a person to settle it"
    what = what if one.question is None else "an answer"
    mark = "LATE  " if late(one, now) else ""
    lines = [f"{mark}{one.run}  {clean(one.target)} waits for {what} since {when(one.asked)}", f"  step       {clean(one.step)}"]
    if one.question is None:
        lines += [f"  arguments  {clean(json_text(one.arguments, indent=None))}", f"  why        {clean(one.reason)}"]
    else:
        lines += ["  asks", *(f"             | {line}" for line in visible_lines(one.question.message))]
        lines += [f"  answer     {expected(one.question)}"]
    if one.preview:
        shown = visible_lines(one.preview, PREVIEW_LINES, PREVIEW_LINE)
        lines += ["  it would", *(f"             | {line}" for line in shown)]
    if one.due is not None:
        gone = "  (over: the run goes on without an answer)" if now >= one.due else ""
        lines.append(f"  until      {when(one.due)}{gone}")
    if one.kind == "uncertain":
        lines.append(f"  key        {one.key}")
    return lines


def _told(row: RunRow) -> Sequence[str]:
    rest = row.ending if row.state is RunState.ENDED else row.waiting
    header = row.header
    name = header.entry.partition(".")[2] or header.entry
    return header.run, row.state.value, name, when(header.started), header.caller, rest


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns, each as wide as what it holds."""
    cells = [list(head), *([clean(cell) for cell in row] for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells)


def when(at: float) -> str:
    """A time, in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
