"""Several forks of one run, one after the other, and a table of how they went (feature A12.16)."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from ael.cli.interrupt import Interrupt, caught, released
from ael.cli.outcome import awaited
from ael.cli.progress import clean, json_text
from ael.cli.report import told
from ael.cli.runs_fork import made
from ael.cli.runs_list import table
from ael.cli.runs_open import Stopped
from ael.cli.runs_show import cut
from ael.data import replace
from ael.durable.compare import cost_in, first_difference, paid_for, tokens_in
from ael.durable.execute import Taken, execution_of
from ael.durable.fork import ForkJournal
from ael.durable.planned import Plan
from ael.host import HostError, open_host
from ael.journal.durable import DurableStore, RunRow, StoreError
from ael.journal.entry import Entry
from ael.run.outcome import DeclaredError, Faulted, Outcome, Suspended, Unsettled, Value, to_json

_OUTCOME = 60
"""Characters of an outcome in the table."""


@dataclass(frozen=True)
class Went:
    """How one fork went. `cost` in all, as if nothing had been replayed; `paid` by this fork alone; None: not known."""

    label: str
    run: str
    outcome: Outcome
    tokens: int | None
    cost: Decimal | None
    paid: Decimal | None
    seconds: float
    served: int
    blocked: int
    differs: str | None

    def plain(self) -> dict[str, object]:
        """As JSON; money as text, in dollars."""
        return {
            "with": self.label,
            "run": self.run,
            "outcome": {word: value for word, value in to_json(self.outcome).items() if word != "spent"},
            "tokens": self.tokens,
            "cost": None if self.cost is None else f"{self.cost:f}",
            "paid": None if self.paid is None else f"{self.paid:f}",
            "seconds": round(self.seconds, 3),
            "served": self.served,
            "blocked": self.blocked,
            "differs": self.differs,
        }


async def act(store: DurableStore, of: RunRow, plans: Sequence[Plan], args: argparse.Namespace) -> int:
    """Make and run the forks, each when the one before it has ended, and print what became of them.

    The exit code is 0 when each ended with a value. A signal ends the fork that runs, and no other is made.
    """
    went, told_by = [], 0
    original = await store.entries(of.header.run)
    for number, plan in enumerate(plans, 1):
        if not args.quiet:
            print(clean(f"{number} of {len(plans)}: {plan.label}"), file=sys.stderr)
        run = await made(of, plan, args.allow, keep=True)
        one, signalled = await _went(plan, run, original)
        went.append(one)
        if signalled is not None:
            told_by = 128 + signalled
            break
    print(json_text([one.plain() for one in went]) if args.json else _table(of, went))
    return told_by or (0 if all(isinstance(one.outcome, Value) for one in went) else 1)


async def _went(plan: Plan, run: str, original: Sequence[Entry]) -> tuple[Went, int | None]:
    """One fork, to its end or until it waits (nobody is asked here); and the signal that ended it."""
    try:
        async with open_host(plan.program, durable=True) as host:
            execution = replace(execution_of(host), owner=plan.execution.owner)
            held = await execution.store.hold(run, execution.owner, execution.lease)
            if held is None:
                raise Stopped(1, told("AEL0905", f"another worker has the run {run} now"))
            started = execution.start(held)
            interrupt = Interrupt(started, asyncio.get_running_loop())
            before = {number: caught(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
            try:
                outcome = await execution.conclude(held, started)
            finally:
                released(before)
            journal = started.journal
            assert isinstance(journal, ForkJournal)
            row, entries = await execution.store.find(run), await execution.store.entries(run)
            assert row is not None
            counts = (len(journal.served), len(journal.blocked))
            paid, differs = paid_for(entries, row.header.started), first_difference(original, entries)
            one = Went(plan.label, run, outcome, tokens_in(row), cost_in(row), paid, row.active, *counts, differs)
            return one, interrupt.told
    except HostError as error:
        raise Stopped(2, told(error.code, error.message, *error.notes)) from None
    except (StoreError, Taken) as error:
        raise Stopped(1, told("AEL0904", str(error))) from None


def _table(of: RunRow, went: Sequence[Went]) -> str:
    head = ["WITH", "RUN", "OUTCOME", "TOKENS", "COST", "PAID", "TIME", "CALLS", "FIRST DIFFERENCE"]
    rows = [_row(one) for one in went]
    before = (f"(the original, {of.ending or of.state.value})", of.header.run, "", _count(tokens_in(of)), _money(cost_in(of)))
    return table(head, [(*before, "", f"{of.active:.1f} s", "", ""), *rows])


def _row(one: Went) -> Sequence[str]:
    calls = [f"{count} {word}" for count, word in ((one.served, "served"), (one.blocked, "blocked")) if count]
    return (
        one.label,
        one.run,
        cut(_ended(one.outcome), _OUTCOME),
        _count(one.tokens),
        _money(one.cost),
        _money(one.paid),
        f"{one.seconds:.1f} s",
        ", ".join(calls),
        one.differs or "none",
    )


def _ended(outcome: Outcome) -> str:
    match outcome:
        case Value(plain=value):
            return json_text(value, indent=None)
        case DeclaredError(error=error, plain=value):
            return f"{error.rpartition('.')[2]} {json_text(value, indent=None)}"
        case Faulted(kind=kind, message=message):
            return f"{kind.value}: {message}"
        case Unsettled(operation=operation):
            return f"uncertain: {operation}"
        case Suspended(waits=waits):
            return "; ".join(f"waits for {awaited(wait)}" for wait in waits)


def _count(tokens: int | None) -> str:
    return "" if tokens is None else f"{tokens:,}"


def _money(cost: Decimal | None) -> str:
    return "?" if cost is None else f"${cost:f}"
