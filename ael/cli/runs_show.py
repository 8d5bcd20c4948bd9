"""One run: how it stands, each effect of it, what it waits for."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from ael.cli.progress import clean, json_text
from ael.cli.runs_list import open_json, question, row_json, when
from ael.cli.runs_open import found, opened
from ael.durable.decide import open_in
from ael.journal.durable import RunRow, RunState
from ael.journal.entry import Ending, Entry, Kind, State

_VALUE = 200
"""Characters of a value that are shown."""


async def act(args: argparse.Namespace) -> int:
    """`ael runs show`."""
    async with opened(args.path, args.deploy) as store:
        row = await found(store, args.run)
        entries = await store.entries(row.header.run)
    if args.format == "json":
        waits = [open_json(one) for one in open_in(row, entries)] if row.state is RunState.PARKED else []
        print(json_text({**row_json(row), "waiting": waits, "effects": [effect_json(one) for one in effects(entries)]}))
        return 0
    print("\n".join(_lines(row, entries)))
    return 0


def _lines(row: RunRow, entries: Sequence[Entry]) -> Iterator[str]:
    header = row.header
    yield f"run      {header.run}"
    yield f"entry    {clean(header.entry)}   program {header.program[:12]}"
    yield f"caller   {clean(header.caller)} of {clean(header.tenant)}"
    yield f"started  {when(header.started)}" + (f", ended {when(row.ended)}" if row.ended is not None else "")
    state = f"{row.state.value}{f' with {row.ending}' if row.ending else ''}{f', waits: {row.waits}' if row.waits else ''}"
    yield f"state    {clean(state)}"
    if row.outcome is not None:
        yield f"outcome  {clean(_cut(json_text(row.outcome, indent=None)))}"
    told = list(effects(entries))
    if told:
        yield ""
    width = max((len(one[-1].path) for one in told), default=0)
    for one in told:
        last = one[-1]
        yield f"{clean(last.path).ljust(width)}  {last.kind.value:<9} {_ended(one)}"
    if row.state is RunState.PARKED:
        asked = open_in(row, entries)
        for wait in asked:
            yield ""
            yield from question(wait)
            verb = "approve" if wait.kind == "approval" else "settle"
            yield f"  answer     ael runs {verb} {header.run}" + (f" --step {wait.step}" if len(asked) > 1 else "")


def effects(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """The records of each effect together, in the order in which they began."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.path, []).append(entry)
    return iter(found.values())


def _ended(records: Sequence[Entry]) -> str:
    """How an effect ended, or how far it came."""
    last = records[-1]
    if last.state is not State.ANSWERED:
        return f"{last.target}  {last.state.value}, not answered"
    took = f"{(last.at - records[0].at) * 1000:.0f} ms"
    if last.kind is Kind.MODEL:
        return f"{last.target}  {took}  {last.ending.value if last.ending is not Ending.VALUE and last.ending else 'turn'}"
    told = "" if last.value is None else f"  {_cut(json_text(last.value, indent=None))}"
    ending = "" if last.ending in (Ending.VALUE, None) else f"  {last.ending.value.upper()}"
    return clean(f"{last.target}  {took}{ending}{told}")


def effect_json(records: Sequence[Entry]) -> dict[str, object]:
    """An effect as JSON."""
    first, last = records[0], records[-1]
    return {
        "path": last.path,
        "kind": last.kind.value,
        "target": last.target,
        "state": last.state.value,
        "key": last.key or None,
        "arguments": first.value if first.state is State.PROPOSED else None,
        "ending": last.ending.value if last.ending is not None else None,
        "value": last.value if last.state is State.ANSWERED else None,
        "began": first.at,
        "ended": last.at if last.state is State.ANSWERED else None,
        "taint": list(last.taint),
        "derived": list(last.derived),
    }


def _cut(text: str) -> str:
    return text if len(text) <= _VALUE else f"{text[:_VALUE]}… ({len(text):,} characters)"
