"""Two runs beside each other as they are shown: where they first differ, what each did otherwise, what it took, how it ended (A12.16)."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from ael.durable.compare import cost_in, differences, first_difference, form, paid_for, tokens_in
from ael.durable.fork import fork_of
from ael.durable.seen import Seen
from ael.journal.durable import RunRow
from ael.observe.effect import effects


def beside(first: Seen, second: Seen) -> dict[str, object]:
    """Both as JSON. `first` is the path of the earliest difference, None where there is none; `outcome` None where they ended the same way.

    Compared is what is there, not what of it is shown: two texts of one length are not the same.
    """
    ended = None if ending(first.raw_row) == ending(second.raw_row) else [ending(first.row), ending(second.row)]
    return {
        "a": first.row.header.run,
        "b": second.row.header.run,
        "first": first_difference(first.raw, second.raw),
        "spent": {side: _spent(seen) for side, seen in (("a", first), ("b", second))},
        "effects": list(_differences(first, second)),
        "outcome": ended,
    }


def own_cost(seen: Seen) -> Decimal | None:
    """The dollars that a run paid itself, without what it took over from another; None where that is not known."""
    return paid_for(seen.raw, seen.row.header.started)


def ending(row: RunRow) -> object:
    """How a run ended, as far as two are compared by it."""
    if not isinstance(row.outcome, dict):
        return row.state.value
    return {word: value for word, value in row.outcome.items() if word not in ("spent", "details", "key")}


def _differences(first: Seen, second: Seen) -> Iterator[dict[str, object]]:
    """Each effect that differs, as it is shown."""
    one, two = ({records[-1].path: records for records in effects(seen.entries)} for seen in (first, second))
    for path, target, how in differences(first.raw, second.raw):
        before, after = one.get(path), two.get(path)
        forms = {"a": None if before is None else form(before), "b": None if after is None else form(after)}
        yield {"path": path, "target": target, "how": how, **forms}


def _spent(seen: Seen) -> dict[str, object]:
    """What a run took; of a fork also what it paid itself."""
    cost, own = cost_in(seen.row), own_cost(seen)
    told: dict[str, object] = {
        "tokens": tokens_in(seen.row),
        "cost": None if cost is None else f"{cost:f}",
        "active": seen.row.active,
    }
    return told if fork_of(seen.pinned) is None else {**told, "paid": None if own is None else f"{own:f}"}
