"""Two runs beside each other: effects that only one has, or that went otherwise, and how they ended (feature A12.16)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence

from ael.cli.progress import clean, json_text
from ael.cli.runs_open import found, opened_with
from ael.cli.runs_show import cut, effects, spent_text
from ael.journal.durable import RunRow
from ael.journal.entry import Entry, Kind, State
from ael.observe.shown import as_shown
from ael.run.bindings import system_user

Effect = Sequence[Entry]


async def act(args: argparse.Namespace) -> int:
    """`ael runs diff`. Exit code 1 when the runs differ."""
    async with opened_with(args.path, args.deploy) as (store, binding):
        first, second = await found(store, args.run), await found(store, args.other)
        for row in (first, second):
            await store.read_by(row.header.run, system_user(), "ael runs diff")
        first, one = as_shown(first, await store.entries(first.header.run), binding.evidence)
        second, two = as_shown(second, await store.entries(second.header.run), binding.evidence)
    told = list(differences(one, two))
    ended = (_ending(first), _ending(second))
    if args.format == "json":
        print(
            json_text(
                {
                    "a": first.header.run,
                    "b": second.header.run,
                    "effects": told,
                    "outcome": None if ended[0] == ended[1] else ended,
                }
            )
        )
    else:
        print("\n".join(_lines(first, second, told, ended)))
    return 1 if told or ended[0] != ended[1] else 0


def differences(one: Sequence[Entry], two: Sequence[Entry]) -> Iterator[dict[str, object]]:
    """Each effect that is not the same in both, in the order of the first run, then what only the second has."""
    first, second = _by_path(one), _by_path(two)
    for path in [*first, *(path for path in second if path not in first)]:
        a, b = first.get(path), second.get(path)
        before, after = (None if a is None else _form(a)), (None if b is None else _form(b))
        if before != after:
            which = "only in a" if b is None else "only in b" if a is None else "differs"
            target = (a or b or [])[-1].target
            yield {"path": path, "target": target, "how": which, "a": before, "b": after}


def _by_path(entries: Sequence[Entry]) -> dict[str, Effect]:
    return {one[-1].path: one for one in effects(entries) if one[-1].kind is not Kind.CANCEL}


def _form(effect: Effect) -> dict[str, object]:
    """What counts of an effect: what was asked, and how it was answered. Not when, and not under which key."""
    first, last = effect[0], effect[-1]
    value = last.value
    if last.kind is Kind.MODEL and isinstance(value, Mapping):
        value = {word: value[word] for word in ("text", "calls", "final", "stop", "model") if word in value}
    return {
        "target": last.target,
        "arguments": first.value if first.state is State.PROPOSED else None,
        "ending": last.ending.value if last.ending is not None else last.state.value,
        "value": value if last.state is State.ANSWERED else None,
    }


def _ending(row: RunRow) -> object:
    if not isinstance(row.outcome, Mapping):
        return row.state.value
    return {word: value for word, value in row.outcome.items() if word not in ("spent", "details", "key")}


def _lines(first: RunRow, second: RunRow, told: Sequence[Mapping[str, object]], ended: tuple[object, object]) -> Iterator[str]:
    yield f"a  {first.header.run}  {spent_text(first)}"
    yield f"b  {second.header.run}  {spent_text(second)}"
    if not told and ended[0] == ended[1]:
        yield "they did the same, and ended the same way"
        return
    for one in told:
        yield ""
        yield clean(f"{one['path']}  {one['target']}")
        for side in ("a", "b"):
            form = one[side]
            if isinstance(form, Mapping):
                said = {word: value for word, value in form.items() if word != "target" and value is not None}
                yield f"  {side}  {clean(cut(json_text(said, indent=None)))}"
            else:
                yield f"  {side}  not there"
    if ended[0] != ended[1]:
        yield ""
        yield "outcome"
        for side, ending in zip("ab", ended, strict=True):
            yield f"  {side}  {clean(cut(json_text(ending, indent=None)))}"
