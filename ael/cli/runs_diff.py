"""Two runs beside each other: where they first differ, what only one did or did otherwise, what they cost, how they ended (A12.16)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from ael.cli.progress import clean, json_text
from ael.cli.runs_open import found, opened_with
from ael.cli.runs_show import cut, spent_text
from ael.cli.seen import Seen, read
from ael.durable.compare import cost_in, differences, first_difference, form, paid_for, tokens_in
from ael.durable.fork import fork_of
from ael.journal.durable import RunRow
from ael.observe.effect import effects


async def act(args: argparse.Namespace) -> int:
    """`ael runs diff`. Exit code 1 when the runs differ."""
    async with opened_with(args.path, args.deploy) as (store, deployment):
        rows = (await found(store, args.run), await found(store, args.other))
        first, second = [await read(store, deployment, row, "ael runs diff") for row in rows]
    told = list(_differences(first, second))
    # Compared is what is there, not what of it is shown: two texts of one length are not the same.
    ended = None if _ending(rows[0]) == _ending(rows[1]) else (_ending(first.row), _ending(second.row))
    where = first_difference(first.raw, second.raw)
    if args.format == "json":
        sides = {"a": first.row.header.run, "b": second.row.header.run, "first": where}
        spent = {side: _spent(seen) for side, seen in (("a", first), ("b", second))}
        print(json_text(first.masker.value({**sides, "spent": spent, "effects": told, "outcome": ended})))
    else:
        print(first.masker.text("\n".join(_lines(first, second, where, told, ended))))
    for seen in (first, second):
        for note in seen.notes:
            print(f"note: the run {seen.row.header.run}: {note}", file=sys.stderr)
    return 1 if told or ended is not None else 0


def _differences(first: Seen, second: Seen) -> Iterator[dict[str, object]]:
    """Each effect that differs, as it is shown."""
    one, two = ({records[-1].path: records for records in effects(seen.entries)} for seen in (first, second))
    for path, target, how in differences(first.raw, second.raw):
        before, after = one.get(path), two.get(path)
        forms = {"a": None if before is None else form(before), "b": None if after is None else form(after)}
        yield {"path": path, "target": target, "how": how, **forms}


def _spent(seen: Seen) -> dict[str, object]:
    """What a run took; of a fork also what it paid itself, without what it took over."""
    cost, own = cost_in(seen.row), _own(seen)
    told: dict[str, object] = {
        "tokens": tokens_in(seen.row),
        "cost": None if cost is None else f"{cost:f}",
        "active": seen.row.active,
    }
    return told if fork_of(seen.pinned) is None else {**told, "paid": None if own is None else f"{own:f}"}


def _own(seen: Seen) -> Decimal | None:
    return paid_for(seen.raw, seen.row.header.started)


def _ending(row: RunRow) -> object:
    if not isinstance(row.outcome, Mapping):
        return row.state.value
    return {word: value for word, value in row.outcome.items() if word not in ("spent", "details", "key")}


def _lines(
    first: Seen, second: Seen, where: str | None, told: Sequence[Mapping[str, object]], ended: tuple[object, object] | None
) -> Iterator[str]:
    for side, seen in (("a", first), ("b", second)):
        own = _own(seen) if fork_of(seen.pinned) is not None else None
        paid = f", of which this fork paid ${own:f}" if own is not None else ""
        yield f"{side}  {seen.row.header.run}  {spent_text(seen.row)}{paid}"
    if not told and ended is None:
        yield "they did the same, and ended the same way"
        return
    if where is not None:
        yield clean(f"they first differ at {where}")
    yield from _more(first.row, second.row)
    for one in told:
        yield ""
        yield clean(f"{one['path']}  {one['target']}")
        for side in ("a", "b"):
            shown = one[side]
            if isinstance(shown, Mapping):
                said = {word: value for word, value in shown.items() if word != "target" and value is not None}
                yield f"  {side}  {clean(cut(json_text(said, indent=None)))}"
            else:
                yield f"  {side}  not there"
    if ended is not None:
        yield ""
        yield "outcome"
        for side, ending in zip("ab", ended, strict=True):
            yield f"  {side}  {clean(cut(json_text(ending, indent=None)))}"


def _more(first: RunRow, second: RunRow) -> Iterator[str]:
    """What the second took more, or less, than the first."""
    told = []
    tokens = tokens_in(first), tokens_in(second)
    if tokens[0] is not None and tokens[1] is not None and tokens[0] != tokens[1]:
        told.append(f"{abs(tokens[1] - tokens[0]):,} tokens {'more' if tokens[1] > tokens[0] else 'less'}")
    costs = cost_in(first), cost_in(second)
    if costs[0] is not None and costs[1] is not None and costs[0] != costs[1]:
        told.append(f"${abs(costs[1] - costs[0]):f} {'more' if costs[1] > costs[0] else 'less'}")
    if told:
        yield f"b took {', '.join(told)}"
