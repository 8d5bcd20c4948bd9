"""Two runs beside each other: where they first differ, what only one did or did otherwise, what they cost, how they ended (A12.16)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from ael.cli.progress import clean, json_text
from ael.cli.runs_open import found, opened_with
from ael.cli.runs_show import cut, spent_text
from ael.durable.beside import beside, own_cost
from ael.durable.compare import cost_in, tokens_in
from ael.durable.fork import fork_of
from ael.durable.seen import Seen, read
from ael.journal.durable import RunRow
from ael.run.bindings import system_user


async def act(args: argparse.Namespace) -> int:
    """`ael runs diff`. Exit code 1 when the runs differ."""
    async with opened_with(args.path, args.deploy) as (store, deployment):
        rows = (await found(store, args.run), await found(store, args.other))
        first, second = [await read(store, deployment, row, system_user(), "ael runs diff") for row in rows]
    told = beside(first, second)
    if args.format == "json":
        print(json_text(first.masker.value(told)))
    else:
        print(first.masker.text("\n".join(_lines(first, second, told))))
    for seen in (first, second):
        for note in seen.notes:
            print(f"note: the run {seen.row.header.run}: {note}", file=sys.stderr)
    return 1 if told["effects"] or told["outcome"] is not None else 0


def _lines(first: Seen, second: Seen, both: Mapping[str, object]) -> Iterator[str]:
    told = cast("Sequence[Mapping[str, object]]", both["effects"])
    where, ended = cast("str | None", both["first"]), cast("Sequence[object] | None", both["outcome"])
    for side, seen in (("a", first), ("b", second)):
        own = own_cost(seen) if fork_of(seen.pinned) is not None else None
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
