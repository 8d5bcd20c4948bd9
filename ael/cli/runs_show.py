"""One run: how it stands, each effect of it, what it waits for."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module

from ael.cli.progress import clean, json_text
from ael.cli.runs_list import question, when
from ael.cli.runs_open import found, opened_with
from ael.durable.compare import spent_in, tokens_in
from ael.durable.decide import open_in
from ael.durable.fork import Fork, fork_of
from ael.durable.pinned import price_of
from ael.durable.seen import Seen, read
from ael.durable.told import open_json, row_json
from ael.journal.durable import RunRow, RunState
from ael.journal.entry import Ending, Entry, Kind, State
from ael.observe.effect import attempts, effect_json, effects
from ael.run.bindings import system_user

_VALUE = 200
"""Characters of a value that are shown."""


async def act(args: argparse.Namespace) -> int:
    """`ael runs show`."""
    if args.step is not None:
        return int(await import_module("ael.cli.runs_step").act(args))
    async with opened_with(args.path, args.deploy) as (store, deployment):
        seen = await read(store, deployment, await found(store, args.run), system_user(), "ael runs show")
    now, limit = time.time(), deployment.runs.approval
    print(_json(seen, limit, now) if args.format == "json" else seen.masker.text("\n".join(_lines(seen, limit, now))))
    for note in seen.notes:
        print(f"note: {note}", file=sys.stderr)
    return 0


def _json(seen: Seen, limit: float | None, now: float) -> str:
    row, entries, pinned = seen.row, seen.entries, seen.pinned
    waits = [open_json(one, now) for one in open_in(row, entries, limit)] if row.state is RunState.PARKED else []
    kept = {word: value for word, value in pinned.items() if word != "fork"}
    shown = [effect_json(one, price_of(pinned, one[-1].target)) for one in effects(entries)]
    told = {**row_json(row), "outcome": row.outcome, "pinned": kept, "fork": _origin(seen, fork_of(pinned)), "waiting": waits}
    return json_text(seen.masker.value({**told, "effects": shown}))


def _origin(seen: Seen, fork: Fork | None) -> dict[str, object] | None:
    """What a fork was made of. What it was given is content."""
    if fork is None:
        return None
    changes = [one if seen.whole else one.partition("=")[0] for one in fork.changes]
    models = {"models": dict(fork.models), "settings": {name: dict(given) for name, given in fork.settings.items()}}
    return {"of": fork.of, "at": fork.at, "allow": sorted(fork.allow), **models, "changes": changes}


def _lines(seen: Seen, limit: float | None, now: float) -> Iterator[str]:
    row, entries, pinned = seen.row, seen.entries, seen.pinned
    yield from _head(seen)
    if row.outcome is not None:
        told_ = (
            {word: value for word, value in row.outcome.items() if word != "spent"}
            if isinstance(row.outcome, Mapping)
            else row.outcome
        )
        yield f"outcome  {clean(cut(json_text(told_, indent=None)))}"
    told = list(effects(entries))
    if told:
        yield ""
    width, digits = max((len(one[-1].path) for one in told), default=0), len(str(len(told)))
    number = 0
    for one in told:
        last = one[-1]
        # A cancel is no step, so it has no number either.
        number += last.kind is not Kind.CANCEL
        shown = str(number) if last.kind is not Kind.CANCEL else ""
        yield f"{shown.rjust(digits)}  {clean(last.path).ljust(width)}  {last.kind.value:<9} {_ended(one, pinned)}"
    if row.state is RunState.PARKED:
        asked = open_in(row, entries, limit)
        for wait in asked:
            yield ""
            yield from question(wait, now)
            verb = ("approve" if wait.question is None else "answer") if wait.kind == "approval" else "settle"
            at = f" --step {wait.step}" if len(asked) > 1 else ""
            yield f"  answer     ael runs {verb} {row.header.run}{at}" + ("" if wait.question is None else ' --text "…"')


def _head(seen: Seen) -> Iterator[str]:
    row, header = seen.row, seen.row.header
    yield f"run      {header.run}"
    yield f"entry    {clean(header.entry)}   program {header.program[:12]}"
    yield f"caller   {clean(header.caller)} of {clean(header.tenant)}"
    yield f"started  {when(header.started)}" + (f", ended {when(row.ended)}" if row.ended is not None else "")
    origin = _origin(seen, fork_of(seen.pinned))
    if origin is not None:
        at = f"at {clean(str(origin['at']))}" if origin["at"] else "at its end"
        yield f"forked   from {origin['of']}, {at}"
        changes = origin["changes"]
        assert isinstance(changes, list)
        yield from (f"  with   {clean(cut(str(one)))}" for one in changes)
    if row.outcome is not None:
        yield f"spent    {spent_text(row)}"
    state = f"{row.state.value}{f' with {row.ending}' if row.ending else ''}{f', waits: {row.waiting}' if row.waiting else ''}"
    yield f"state    {clean(state)}"


def spent_text(row: RunRow) -> str:
    """What a run used, in one line: by its outcome, so nothing before it has one."""
    spent = spent_in(row)
    if spent is None:
        return f"{row.state.value}, {row.active:.1f} s"
    money = "" if spent["cost"] is None else f", ${spent['cost']}"
    calls = f"{spent['steps']} model calls, {spent['tool_calls']} tool calls"
    return f"{calls}, {tokens_in(row)} tokens{money}, {row.active:.1f} s"


def _turn(entry: Entry, pinned: Mapping[str, object]) -> str:
    record = entry.value
    if not isinstance(record, Mapping) or "usage" not in record:
        return f"  {cut(json_text(record, indent=None))}" if record is not None else ""
    told = [attempt_text(one) for one in attempts(entry, price_of(pinned, entry.target))]
    failed = f" after {len(told) - 1} that failed ({', '.join(told[:-1])})" if len(told) > 1 else ""
    said = [f"calls {', '.join(call[1] for call in record['calls'])}"] if record["calls"] else []
    said += [f"final {cut(_text(record['final']))}"] if record["final"] is not None else []
    if not said and record["text"]:
        said = [f"says {cut(_text(record['text']))}"]
    return f"  {told[-1]}{failed}  {'; '.join(said)}".rstrip()


def _text(value: object) -> str:
    return value if isinstance(value, str) else json_text(value, indent=None)


def attempt_text(one: Mapping[str, object]) -> str:
    """What an attempt took: `1200 + 80 tokens $0.0021`."""
    estimated = " (estimated)" if one["estimated"] else ""
    cost = "" if one["cost"] is None else f" ${one['cost']}"
    return f"{one['input']} + {one['output']} tokens{estimated}{cost}"


def approval_text(value: object) -> str:
    """Who decided, and why: by the value of the record of an approval."""
    if not isinstance(value, Mapping) or "approved" not in value:
        return "" if value is None else cut(json_text(value, indent=None))
    why = f": {value['reason']}" if value.get("reason") else ""
    edited = f", with {json_text(value['arguments'], indent=None)}" if value.get("arguments") is not None else ""
    return f"{'approved' if value['approved'] else 'denied'} by {value.get('by')}{why}{edited}"


def _ended(records: Sequence[Entry], pinned: Mapping[str, object]) -> str:
    """How an effect ended, or how far it came."""
    last = records[-1]
    if last.state is not State.ANSWERED:
        return f"{last.target}  {last.state.value}, not answered"
    took = f"{(last.at - records[0].at) * 1000:.0f} ms"
    if last.kind is Kind.MODEL:
        told = _turn(last, pinned)
    elif last.kind is Kind.APPROVAL:
        told = f"  {approval_text(last.value)}".rstrip()
    else:
        told = "" if last.value is None else f"  {cut(json_text(last.value, indent=None))}"
    ending = "" if last.ending in (Ending.VALUE, None) else f"  {last.ending.value.upper()}"
    return clean(f"{last.target}  {took}{ending}{told}")


def cut(text: str, most: int = _VALUE) -> str:
    """A text as far as it is shown."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"
