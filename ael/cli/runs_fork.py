"""A new run over the beginning of another's journal: from a step on, with whatever is to be otherwise (features B7, A12.16)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module

from ael.cli.progress import clean, json_text
from ael.cli.report import told
from ael.cli.runs_open import Stopped, found, opened, program_at
from ael.durable.change import ChangeError, Original, changed, rebound
from ael.durable.estimate import Estimate, estimate
from ael.durable.execute import Execution, new_owner
from ael.durable.fork import Changes
from ael.durable.forking import forked
from ael.durable.pinned import bound_of
from ael.durable.place import END, PlaceError, Places
from ael.durable.sweep import Variant, variants
from ael.host import Host, open_preview
from ael.journal.durable import DurableStore, RunRow
from ael.journal.entry import Entry, Kind
from ael.project.program import Opened
from ael.run.entry import EntryProblem
from ael.run.ports import Price


@dataclass(frozen=True)
class Plan:
    """A fork that is not made yet. `label`: what a sweep varies in it; `program`: bound as the fork wants it."""

    label: str
    program: Opened
    execution: Execution
    changes: Changes
    at: str
    estimate: Estimate


async def act(args: argparse.Namespace) -> int:
    """`ael runs fork`."""
    program = program_at(args.path, args.deploy)
    asked = [("model." + name, value) for name, value in _pairs("--model", args.model)] + _pairs("--set", args.set)
    try:
        sweep = variants(_pairs("--sweep", args.sweep))
        async with opened(args.path, args.deploy) as store:
            row = await found(store, args.run)
            plans = await _plans(store, row, program, args, asked, sweep)
            if args.estimate:
                print(_estimates(row, plans, whole=args.json))
                return 0
            if not args.quiet and not args.detach:
                print(clean("\n".join(_lines(plan, f"the fork of {row.header.run}") for plan in plans)), file=sys.stderr)
            if args.sweep and not args.detach:
                return int(await import_module("ael.cli.runs_sweep").act(store, row, plans, args))
            runs = [await made(row, plan, args.allow, keep=not args.detach) for plan in plans]
    except ChangeError as error:
        raise Stopped(2, told("AEL0905", error.message, *error.notes)) from None
    except PlaceError as error:
        raise Stopped(2, told("AEL0905", error.message, error.note)) from None
    if args.detach:
        print("\n".join(runs))
        return 0
    print(f"the run {runs[0]}, forked from {row.header.run}", file=sys.stderr)
    resuming = import_module("ael.cli.runs_resume")
    owner = plans[0].execution.owner
    return int(await resuming.resume(program, runs[0], whole=args.json, quiet=args.quiet, owner=owner))


async def _plans(
    store: DurableStore,
    row: RunRow,
    program: Opened,
    args: argparse.Namespace,
    asked: Sequence[tuple[str, str]],
    sweep: Sequence[Variant],
) -> list[Plan]:
    """Every fork that is wanted, checked before the first is made."""
    run = row.header.run
    entries, given = await store.entries(run), await store.given(run)
    assert given is not None
    input, pinned = given
    if not isinstance(input, dict):
        raise ChangeError(
            f"the content of the run {run} was forgotten, so it cannot be forked", "`ael trace` shows what is left of it"
        )
    original = Original(program, Places(run, row.header.started, entries), entries, input)
    plans = []
    for variant in sweep:
        changes = Changes()
        for what, text in (*asked, *variant):
            changes = changed(original, changes, what, text)
        if args.detach and (changes.models or changes.settings):
            raise ChangeError(
                "workers have the models of the deployment, so a fork with others runs here", "leave out `--detach`"
            )
        at = original.places.find(args.at) if args.at is not None else _where(original, changes, run)
        bound = rebound(program, changes.models, changes.settings)
        host = open_preview(bound, frozenset(bound.program.nodes))
        execution = Execution(host.engine, store, new_owner(), bound.deployment.runs.lease, bound_of(bound))
        price, doers = partial(_price, host), execution.doers
        guess = estimate(entries, at, changes, pinned=pinned, bound=price, doers=doers, allow=args.allow)
        plans.append(Plan(", ".join(f"{what}={text}" for what, text in variant), bound, execution, changes, at, guess))
    return plans


def _price(host: Host, name: str) -> Price | None:
    """Of a model by its qualified name, as it is bound."""
    model, prices = host.bindings.models.get(name), host.bindings.prices
    return None if model is None or prices is None else prices.price(model.provider.name, model.model)


def _where(original: Original, changes: Changes, run: str) -> str:
    """The step at which a fork begins that says none: the first that a change can have an effect on."""
    places = original.places
    asked = [entry for entry in original.entries if entry.kind is Kind.MODEL and _replaced(entry, changes)]
    if changes.input is not None:
        return places.paths[0] if places.paths else END
    if asked:
        return asked[0].path
    if changes.answers:
        return places.after(list(changes.answers))
    if changes.models or changes.settings:
        raise ChangeError(f"the run {run} did not ask this model", "say where the fork begins: `--at STEP`")
    if changes.budget is not None:
        return END
    raise ChangeError("say where: `--at STEP`, or what is otherwise: `--set WHAT=JSON`", f"`ael runs show {run}` lists the steps")


def _replaced(entry: Entry, changes: Changes) -> bool:
    """Whether a turn is of a model that is bound otherwise."""
    return entry.target in changes.models or entry.target in changes.settings


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
