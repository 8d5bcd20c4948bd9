"""A new run over the beginning of another's journal: from a step on, with whatever is to be otherwise (features B7, A12.16)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from ael.cli.progress import clean, json_text
from ael.cli.report import told
from ael.cli.runs_open import Stopped, found, opened, program_at
from ael.durable.change import ChangeError
from ael.durable.forking import forked
from ael.durable.place import PlaceError
from ael.durable.planned import Plan, plans
from ael.durable.sweep import variants
from ael.journal.durable import RunRow
from ael.run.entry import EntryProblem


async def act(args: argparse.Namespace) -> int:
    """`ael runs fork`."""
    program = program_at(args.path, args.deploy)
    asked = [("model." + name, value) for name, value in _pairs("--model", args.model)] + _pairs("--set", args.set)
    try:
        sweep = variants(_pairs("--sweep", args.sweep))
        async with opened(args.path, args.deploy) as store:
            row = await found(store, args.run)
            planned = await plans(store, row, program, args.at, asked, sweep, allow=args.allow, detached=args.detach)
            if args.estimate:
                print(_estimates(row, planned, whole=args.json))
                return 0
            if not args.quiet and not args.detach:
                print(clean("\n".join(_lines(plan, f"the fork of {row.header.run}") for plan in planned)), file=sys.stderr)
            if args.sweep and not args.detach:
                return int(await import_module("ael.cli.runs_sweep").act(store, row, planned, args))
            runs = [await made(row, plan, args.allow, keep=not args.detach) for plan in planned]
    except ChangeError as error:
        raise Stopped(2, told("AEL0905", error.message, *error.notes)) from None
    except PlaceError as error:
        raise Stopped(2, told("AEL0905", error.message, error.note)) from None
    if args.detach:
        print("\n".join(runs))
        return 0
    print(f"the run {runs[0]}, forked from {row.header.run}", file=sys.stderr)
    resuming = import_module("ael.cli.runs_resume")
    owner = planned[0].execution.owner
    return int(await resuming.resume(program, runs[0], whole=args.json, quiet=args.quiet, owner=owner))


async def made(row: RunRow, plan: Plan, allow: Sequence[str], *, keep: bool) -> str:
    """Make the fork; its id. `keep`: for the owner of the plan's execution, else for any worker. Raises `Stopped`."""
    try:
        return await forked(plan.execution, row, plan.at, changes=plan.changes, allow=allow, keep=keep)
    except EntryProblem as error:
        raise Stopped(2, told("AEL0905", str(error))) from None


def _pairs(option: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    return [_pair(option, text) for text in texts]


def _pair(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        what = {"--set": "WHAT=JSON", "--sweep": "WHAT=V1,V2"}.get(option, "NAME=MODEL")
        raise Stopped(2, told("AEL0905", f"`{option}` is written `{option} {what}`, not `{text}`"))
    return name, value


# --- what it would take -----------------------------------------------------------------------------------------------


def _estimates(row: RunRow, plans: Sequence[Plan], *, whole: bool) -> str:
    run = row.header.run
    if whole:
        return json_text(
            [{"of": run, "at": plan.at or "end", "with": list(plan.changes.said), **plan.estimate.plain()} for plan in plans]
        )
    lines = [_lines(plan, f"a fork of {run}") for plan in plans]
    costs = [plan.estimate.cost for plan in plans]
    if len(plans) > 1:
        known = [cost for cost in costs if cost is not None]
        lines.append(
            f"estimate: {len(plans)} forks in all, {'some ' if len(known) == len(costs) else 'at least '}${sum(known):f}"
        )
    return clean("\n".join(lines))


def _lines(plan: Plan, what: str) -> str:
    """The estimate of one fork."""
    one = plan.estimate
    if not one.turns:
        asked = "no model turn again"
    else:
        asked = f"{one.turns} model turn{'' if one.turns == 1 else 's'} again, some {one.input:,} + {one.output:,} tokens"
    cost = f"${one.cost:f}" if one.cost is not None else f"at a price that is not known ({', '.join(one.unpriced)})"
    calls = [
        f"{count} {word}"
        for count, word in ((one.served, "served from the record"), (one.real, "made for real"), (one.anew, "made anew"))
        if count
    ]
    at = f"at {plan.at}" if plan.at else "at its end"
    label = f" with {plan.label}" if plan.label else ""
    acting = f"; calls: {', '.join(calls)}" if calls else ""
    return f"estimate: {what} {at}{label}: {asked}, {cost}{acting}"
