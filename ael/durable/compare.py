"""Two runs beside each other: effects that only one has, or that went otherwise (feature A12.16)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from ael.journal.durable import RunRow
from ael.journal.entry import Entry, Kind, State
from ael.observe.effect import effects
from ael.run.turn import failed_in, paid_in

Effect = Sequence[Entry]


def differences(one: Sequence[Entry], two: Sequence[Entry]) -> Iterator[tuple[str, str, str]]:
    """The path of each effect that is not the same in both, its target, and how; in the order of the first run, then what only the second
    has."""
    first, second = _compared(one), _compared(two)
    for path in [*first, *(path for path in second if path not in first)]:
        a, b = first.get(path), second.get(path)
        if (None if a is None else form(a)) != (None if b is None else form(b)):
            which = "only in a" if b is None else "only in b" if a is None else "differs"
            yield path, (a or b or [])[-1].target, which


def first_difference(one: Sequence[Entry], two: Sequence[Entry]) -> str | None:
    """The path of the earliest effect, in the order of the second run, that went otherwise or is new; else of what only the first has."""
    told = [path for path, _, _ in differences(one, two)]
    if not told:
        return None
    order = list(_compared(two))
    here = [path for path in told if path in order]
    return min(here, key=order.index) if here else told[0]


def _compared(entries: Sequence[Entry]) -> dict[str, Effect]:
    return {one[-1].path: one for one in effects(entries) if one[-1].kind is not Kind.CANCEL}


def form(effect: Effect) -> dict[str, object]:
    """What counts of an effect: what was asked, and how it was answered. Not when, and not under which key or id."""
    first, last = effect[0], effect[-1]
    value = last.value
    if last.kind is Kind.MODEL and isinstance(value, Mapping):
        value = {word: value[word] for word in ("text", "calls", "final", "stop", "model") if word in value}
        if "calls" in value:
            # The ids of calls are new with each turn.
            value["calls"] = [list(call[1:]) for call in value["calls"]]
    return {
        "target": last.target,
        "arguments": first.value if first.state is State.PROPOSED else None,
        "ending": last.ending.value if last.ending is not None else last.state.value,
        "value": value if last.state is State.ANSWERED else None,
    }


def spent_in(row: RunRow) -> Mapping[str, object] | None:
    """What a run used in all, by its outcome; None before it has one."""
    spent = row.outcome.get("spent") if isinstance(row.outcome, Mapping) else None
    return spent if isinstance(spent, Mapping) else None


def tokens_in(row: RunRow) -> int | None:
    """The tokens of all classes that a run used; None before it ended."""
    spent = spent_in(row)
    tokens = None if spent is None else spent["tokens"]
    return sum(count for word, count in tokens.items() if word != "estimated") if isinstance(tokens, Mapping) else None


def cost_in(row: RunRow) -> Decimal | None:
    """What a run cost in dollars, what it replayed included; None where that is not known."""
    spent = spent_in(row)
    cost = None if spent is None else spent["cost"]
    return None if cost is None else Decimal(str(cost))


def paid_for(entries: Sequence[Entry], since: float) -> Decimal | None:
    """The dollars that the turns of a journal took that were answered at `since` (seconds since the epoch) or later: of a fork, what it
    paid itself. None where the price of one was not known.
    """
    paid = Decimal(0)
    for entry in entries:
        if (
            entry.kind is not Kind.MODEL
            or entry.state is not State.ANSWERED
            or entry.at < since
            or not isinstance(entry.value, Mapping)
        ):
            continue
        if "usage" in entry.value:
            told = paid_in(entry.value)
            if told is None:
                return None
            paid += Decimal(told)
        for failed in failed_in(entry.value):
            if failed.cost is None:
                return None
            paid += failed.cost
    return paid
