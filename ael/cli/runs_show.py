"""One run: how it stands, each effect of it, what it waits for."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence

from ael.cli.progress import clean, json_text
from ael.cli.runs_list import open_json, question, row_json, when
from ael.cli.runs_open import found, opened_with
from ael.durable.decide import open_in
from ael.durable.fork import fork_of
from ael.durable.pinned import price_of
from ael.journal.durable import RunRow, RunState
from ael.journal.entry import Ending, Entry, Kind, State
from ael.observe.shown import as_shown
from ael.run.bindings import system_user
from ael.run.budget import cost_of
from ael.run.ports import Usage

_VALUE = 200
"""Characters of a value that are shown."""


async def act(args: argparse.Namespace) -> int:
    """`ael runs show`."""
    async with opened_with(args.path, args.deploy) as (store, binding):
        row = await found(store, args.run)
        await store.read_by(row.header.run, system_user(), "ael runs show")
        row, entries = as_shown(row, await store.entries(row.header.run), binding.evidence)
        given = await store.given(row.header.run)
    pinned = given[1] if given is not None else {}
    now = time.time()
    if args.format == "json":
        waits = [open_json(one, now) for one in open_in(row, entries, binding.approval)] if row.state is RunState.PARKED else []
        told = {word: value for word, value in pinned.items() if word != "fork"}
        fork = fork_of(pinned)
        origin = None if fork is None else {"of": fork.of, "at": fork.at, "allow": sorted(fork.allow), "models": fork.models}
        shown = [effect_json(one, pinned) for one in effects(entries)]
        print(json_text({**row_json(row), "pinned": told, "fork": origin, "waiting": waits, "effects": shown}))
        return 0
    print("\n".join(_lines(row, entries, pinned, binding.approval, now)))
    return 0


def _lines(row: RunRow, entries: Sequence[Entry], pinned: Mapping[str, object], limit: float | None, now: float) -> Iterator[str]:
    header = row.header
    yield f"run      {header.run}"
    yield f"entry    {clean(header.entry)}   program {header.program[:12]}"
    yield f"caller   {clean(header.caller)} of {clean(header.tenant)}"
    yield f"started  {when(header.started)}" + (f", ended {when(row.ended)}" if row.ended is not None else "")
    fork = fork_of(pinned)
    if fork is not None:
        yield f"forked   from {fork.of}, {f'at {clean(fork.at)}' if fork.at else 'at its end'}"
    if row.outcome is not None:
        yield f"spent    {spent_text(row)}"
    state = f"{row.state.value}{f' with {row.ending}' if row.ending else ''}{f', waits: {row.waiting}' if row.waiting else ''}"
    yield f"state    {clean(state)}"
    if row.outcome is not None:
        yield f"outcome  {clean(cut(json_text(row.outcome, indent=None)))}"
    told = list(effects(entries))
    if told:
        yield ""
    width = max((len(one[-1].path) for one in told), default=0)
    for one in told:
        last = one[-1]
        yield f"{clean(last.path).ljust(width)}  {last.kind.value:<9} {_ended(one, pinned)}"
    if row.state is RunState.PARKED:
        asked = open_in(row, entries, limit)
        for wait in asked:
            yield ""
            yield from question(wait, now)
            verb = "approve" if wait.kind == "approval" else "settle"
            yield f"  answer     ael runs {verb} {header.run}" + (f" --step {wait.step}" if len(asked) > 1 else "")


def effects(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """The records of each effect together, in the order in which they began."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.path, []).append(entry)
    return iter(found.values())


def spent_text(row: RunRow) -> str:
    """What a run used, in one line: by its outcome, so nothing before it has one."""
    spent = row.outcome.get("spent") if isinstance(row.outcome, Mapping) else None
    if not isinstance(spent, Mapping):
        return f"{row.state.value}, {row.active:.1f} s"
    tokens = sum(count for word, count in spent["tokens"].items() if word != "estimated")
    money = "" if spent["cost"] is None else f", ${spent['cost']}"
    return f"{spent['steps']} model calls, {spent['tool_calls']} tool calls, {tokens} tokens{money}, {row.active:.1f} s"


def attempts(entry: Entry, pinned: Mapping[str, object]) -> list[dict[str, object]]:
    """The wire attempts of a model's turn: the failed ones first, each with its tokens, and its cost by the prices that the run keeps."""
    record = entry.value
    if entry.kind is not Kind.MODEL or not isinstance(record, Mapping) or "usage" not in record:
        return []
    price = price_of(pinned, entry.target)
    found: list[dict[str, object]] = []
    for numbers in (*record["failed"], record["usage"]):
        usage = Usage(*numbers)
        cost = None if price is None else str(cost_of(usage, price).normalize())
        tokens = {"input": usage.input + usage.cache_read + usage.cache_write, "output": usage.output + usage.reasoning}
        found.append({**tokens, "estimated": usage.estimated, "cost": cost})
    return found


def _turn(entry: Entry, pinned: Mapping[str, object]) -> str:
    record = entry.value
    if not isinstance(record, Mapping) or "usage" not in record:
        return f"  {cut(json_text(record, indent=None))}" if record is not None else ""
    tried = attempts(entry, pinned)
    told = [_attempt(one) for one in tried]
    failed = f" after {len(told) - 1} that failed ({', '.join(told[:-1])})" if len(told) > 1 else ""
    said = [f"calls {', '.join(call[1] for call in record['calls'])}"] if record["calls"] else []
    said += [f"final {cut(str(record['final']))}"] if record["final"] is not None else []
    return f"  {told[-1]}{failed}  {'; '.join(said)}".rstrip()


def _attempt(one: Mapping[str, object]) -> str:
    estimated = " (estimated)" if one["estimated"] else ""
    cost = "" if one["cost"] is None else f" ${one['cost']}"
    return f"{one['input']} + {one['output']} tokens{estimated}{cost}"


def _approval(entry: Entry) -> str:
    """Who decided, and why."""
    value = entry.value
    if not isinstance(value, Mapping) or "approved" not in value:
        return "" if value is None else f"  {cut(json_text(value, indent=None))}"
    why = f": {value['reason']}" if value.get("reason") else ""
    edited = f", with {json_text(value['arguments'], indent=None)}" if value.get("arguments") is not None else ""
    return f"  {'approved' if value['approved'] else 'denied'} by {value.get('by')}{why}{edited}"


def _ended(records: Sequence[Entry], pinned: Mapping[str, object]) -> str:
    """How an effect ended, or how far it came."""
    last = records[-1]
    if last.state is not State.ANSWERED:
        return f"{last.target}  {last.state.value}, not answered"
    took = f"{(last.at - records[0].at) * 1000:.0f} ms"
    if last.kind is Kind.MODEL:
        told = _turn(last, pinned)
    elif last.kind is Kind.APPROVAL:
        told = _approval(last)
    else:
        told = "" if last.value is None else f"  {cut(json_text(last.value, indent=None))}"
    ending = "" if last.ending in (Ending.VALUE, None) else f"  {last.ending.value.upper()}"
    return clean(f"{last.target}  {took}{ending}{told}")


def effect_json(records: Sequence[Entry], pinned: Mapping[str, object]) -> dict[str, object]:
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
        "attempts": attempts(last, pinned),
    }


def cut(text: str) -> str:
    """A text as far as it is shown."""
    return text if len(text) <= _VALUE else f"{text[:_VALUE]}… ({len(text):,} characters)"
