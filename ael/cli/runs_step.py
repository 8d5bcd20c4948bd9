"""One step of a run, whole: of a model's turn what it was asked, offered and said, what each attempt took; of a call its arguments, who
approved it, and what it gave (feature A16.7)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import cast

from ael.cli.progress import clean, json_text
from ael.cli.report import told
from ael.cli.runs_list import when
from ael.cli.runs_open import Stopped, found, opened_with
from ael.cli.runs_show import approval_text, attempt_text
from ael.cli.seen import Seen, read
from ael.durable.pinned import price_of
from ael.durable.place import PlaceError, Places
from ael.journal.entry import Entry, Kind
from ael.observe.effect import effect_json, effects
from ael.observe.prompt import prompt
from ael.observe.prompt import told as told_of

Step = Mapping[str, object]


async def act(args: argparse.Namespace) -> int:
    """`ael runs show RUN --step STEP`."""
    async with opened_with(args.path, args.deploy) as (store, deployment):
        row = await found(store, args.run)
        seen = await read(store, deployment, row, f"ael runs show --step {args.step}")
    try:
        path = (places := Places(row.header.run, row.header.started, seen.raw)).find(args.step)
    except PlaceError as error:
        raise Stopped(2, told("AEL0905", error.message, error.note)) from None
    if not path:
        raise Stopped(2, told("AEL0905", "`end` is behind the last step, so there is nothing to show", "`last` is the last step"))
    notes = list(seen.notes)
    step = {"run": row.header.run, "number": places.paths.index(path) + 1, "of": len(places.paths), **_step(seen, path)}
    if step["kind"] == Kind.MODEL.value and seen.show is not None:
        asked = import_module("ael.cli.rehearsed").asked
        requests, why = await asked(args.path, args.deploy, row, seen.input, seen.pinned, seen.raw)
        step["prompt"] = prompt(requests[path], seen.show) if path in requests else None
        notes += [why] if path not in requests and why not in notes else []
    shown = cast("Step", seen.masker.value(step))
    print(json_text(shown) if args.format == "json" else clean("\n".join(_lines(shown))))
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    return 0


def _step(seen: Seen, path: str) -> dict[str, object]:
    """A step with what belongs to it: its approval, its failed attempts, the calls that a turn proposed."""
    by = {one[-1].path: one for one in effects(seen.entries)}

    def shown(records: Sequence[Entry]) -> dict[str, object]:
        return effect_json(records, price_of(seen.pinned, records[-1].target))

    step = shown(by[path])
    approval = by.get(f"{path}/approval")
    if approval is not None:
        step["approval"] = {**shown(approval), "told": approval_text(approval[-1])}
    step["failed"] = [shown(one) for at, one in by.items() if at.startswith(f"{path}~") and "/" not in at[len(path) :]]
    if step["kind"] == Kind.MODEL.value:
        step["calls"] = [_call(by, at, shown(one)) for at, one in by.items() if _is_call(at, path)]
    return step


def _is_call(path: str, turn: str) -> bool:
    """Whether a path is that of a call of this turn, and not of what happened in it."""
    rest = path.removeprefix(f"{turn}/")
    return rest != path and "/" not in rest and "~" not in rest and rest != "summary"


def _call(by: Mapping[str, Sequence[Entry]], path: str, call: dict[str, object]) -> dict[str, object]:
    approval = by.get(f"{path}/approval")
    return call if approval is None else {**call, "approved": approval_text(approval[-1])}


def _lines(step: Step) -> Iterator[str]:
    yield f"step      {step['path']}   ({step['number']} of {step['of']} of the run {step['run']})"
    yield f"what      {step['kind']} {step['target']}"
    ended = step["ended"]
    took = f", took {(cast(float, ended) - cast(float, step['began'])) * 1000:.0f} ms" if ended is not None else ""
    yield f"ended     {step['ending'] or 'not yet: it is ' + str(step['state'])}"
    yield f"began     {when(cast(float, step['began']))}{took}"
    if step["key"]:
        yield f"key       {step['key']}"
    for word, label in (("taint", "from"), ("derived", "out of")):
        names = cast("Sequence[str]", step[word])
        if names:
            yield f"{label:<9} {', '.join(names)}"
    yield from _attempts(cast("Sequence[Step]", step["attempts"]))
    approval = step.get("approval")
    if isinstance(approval, Mapping):
        yield f"approval  {approval['told'] or 'asked, and not answered'}"
    for one in cast("Sequence[Step]", step["failed"]):
        yield f"failed    {json_text(one['value'], indent=None)}"
    if step["arguments"] is not None:
        yield f"given     {json_text(step['arguments'])}"
    if step["kind"] == Kind.MODEL.value:
        yield from _turn(step)
    elif step["value"] is not None:
        yield f"gave      {json_text(step['value'])}"


def _attempts(attempts: Sequence[Step]) -> Iterator[str]:
    for number, one in enumerate(attempts, 1):
        classes = cast("Mapping[str, int]", one["classes"])
        split = ", ".join(f"{word} {count}" for word, count in classes.items() if count)
        reason = f", failed: {one['reason']}" if one["reason"] else ""
        yield f"attempt   {number}  {one['model']}  {attempt_text(one)}{f' ({split})' if split else ''}{reason}"


def _turn(step: Step) -> Iterator[str]:
    asked = step.get("prompt")
    if isinstance(asked, Mapping):
        yield from ("", "--- system", _text(asked["system"]))
        if asked["tools"]:
            yield from ("", f"--- tools   {', '.join(one['name'] for one in asked['tools'])}")
        for message in asked["messages"]:
            who, text = told_of(message)
            yield from ("", f"--- {who}", text)
    said = step["value"]
    if isinstance(said, Mapping) and "usage" in said:
        yield from ("", f"=== it said   ({said['stop']})")
        yield from (_text(said[word]) for word in ("text", "final") if said[word])
        yield from (f"call {name} {_text(given)}" for _, name, given in said["calls"])
    elif said is not None:
        yield from ("", json_text(said))
    for call in cast("Sequence[Step]", step["calls"]):
        who = f"  {call['approved']}" if call.get("approved") else ""
        yield f"  {call['path']}  {call['target']}  {call['ending'] or call['state']}{who}"
        yield f"    {json_text(call['value'], indent=None)}"


def _text(value: object) -> str:
    """Text as it is, lines and all; what has a form of its own, as JSON."""
    return value if isinstance(value, str) else json_text(value, indent=None)
