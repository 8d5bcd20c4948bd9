"""What a fork would take, before anything is paid: by what the original used (feature A12.16). An estimate, and told as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal

from ael.data import dataclass, replace
from ael.durable.fork import Changes, Doers, above, allows, before
from ael.durable.pinned import price_of
from ael.journal.entry import Ending, Entry, Kind, State
from ael.run.budget import ZERO, cost_of
from ael.run.ports import Price, Usage
from ael.run.turn import from_record

_CALLS = (Kind.TOOL, Kind.OPERATION, Kind.STORE)


@dataclass(frozen=True)
class Estimate:
    """`turns` of models that would be asked again; tokens and dollars as the original needed them for those. `cost` None: unknown.

    `unpriced`: the models (short names) whose price nobody knows. `served`, `real` and `anew` count the original's calls after the step:
    from the record, for real because they are allowed, and anew because they change nothing.
    """

    turns: int
    input: int
    output: int
    cost: Decimal | None
    unpriced: tuple[str, ...]
    served: int
    real: int
    anew: int

    def plain(self) -> dict[str, object]:
        """As JSON; money as text, in dollars."""
        tokens = {"input": self.input, "output": self.output}
        calls = {"served": self.served, "real": self.real, "anew": self.anew}
        cost = None if self.cost is None else f"{self.cost:f}"
        return {
            "estimate": True,
            "turns": self.turns,
            "tokens": tokens,
            "cost": cost,
            "unpriced": list(self.unpriced),
            "calls": calls,
        }


def estimate(
    entries: Sequence[Entry],
    at: str,
    changes: Changes,
    *,
    pinned: Mapping[str, object],
    bound: Callable[[str], Price | None],
    doers: Doers,
    allow: Collection[str],
) -> Estimate:
    """What the rest of a run took that a fork at `at` does again.

    `bound` gives the price of a model (its qualified name) as the fork binds it; a model that is not replaced has the price that the run
    keeps. A model in place of another has nothing in its cache.
    """
    beginning = {entry.path for entry in before(entries, at) if entry.state is State.ANSWERED} | changes.answers.keys()
    rest = [entry for entry in entries if entry.state is State.ANSWERED and entry.path not in beginning]
    turns, total, cost, unpriced = 0, Usage(), ZERO, set[str]()
    for entry in rest:
        if entry.kind is not Kind.MODEL or entry.ending is not Ending.VALUE:
            continue
        turns += 1
        usage = from_record(entry.value)[1]
        total = total + usage
        other = entry.target in changes.models or entry.target.rpartition(".")[2] in changes.models
        price = bound(entry.target) if other else price_of(pinned, entry.target) or bound(entry.target)
        if price is None:
            unpriced.add(entry.target.rpartition(".")[2])
        else:
            cost += cost_of(_uncached(usage) if other else usage, price)
    calls: Counter[str] = Counter()
    held = {
        entry.path
        for entry in rest
        if entry.kind in _CALLS and not allows(allow, entry.target) and doers.act(entry.kind, entry.target)
    }
    for entry in rest:
        # A call that is served is not gone into.
        if entry.kind in _CALLS and held.isdisjoint(above(entry.path)):
            real = doers.act(entry.kind, entry.target)
            calls["served" if entry.path in held else "real" if real else "anew"] += 1
    known = None if unpriced else cost
    inputs = total.input + total.cache_read + total.cache_write
    return Estimate(
        turns,
        inputs,
        total.output + total.reasoning,
        known,
        tuple(sorted(unpriced)),
        calls["served"],
        calls["real"],
        calls["anew"],
    )


def _uncached(usage: Usage) -> Usage:
    return replace(usage, input=usage.input + usage.cache_read + usage.cache_write, cache_read=0, cache_write=0)
