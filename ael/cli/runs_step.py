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
from ael.diagnostics.diagnostic import Bag
from ael.durable.inspected import step_of
from ael.durable.place import PlaceError, Places
from ael.durable.seen import read
from ael.journal.entry import Kind
from ael.observe.prompt import prompt
from ael.observe.prompt import told as told_of
from ael.project.program import open_program
from ael.run.bindings import system_user

Step = Mapping[str, object]


async def act(args: argparse.Namespace) -> int:
    """`ael runs show RUN --step STEP`."""
    async with opened_with(args.path, args.deploy) as (store, deployment):
        row = await found(store, args.run)
        seen = await read(store, deployment, row, system_user(), f"ael runs show --step {args.step}")
    try:
        path = (places := Places(row.header.run, row.header.started, seen.raw)).find(args.step)
    except PlaceError as error:
        raise Stopped(2, told("AEL0905", error.message, error.note)) from None
    if not path:
        raise Stopped(2, told("AEL0905", "`end` is behind the last step, so there is nothing to show", "`last` is the last step"))
    notes = list(seen.notes)
    step = {"run": row.header.run, "number": places.paths.index(path) + 1, "of": len(places.paths), **_told(step_of(seen, path))}
    if step["kind"] == Kind.MODEL.value and seen.show is not None:
        asked = import_module("ael.durable.retold").asked
        program = open_program(args.path, Bag(), deploy=args.deploy)
        requests, why = await asked(program, row, seen.input, seen.pinned, seen.raw)
        step["prompt"] = prompt(requests[path], seen.show) if path in requests else None
        notes += [why] if path not in requests and why not in notes else []
    shown = cast("Step", seen.masker.value(step))
    print(json_text(shown) if args.format == "json" else clean("\n".join(_lines(shown))))
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    return 0


def _told(step: Step) -> Step:
    """A step with who approved what, in words."""
    found = dict(step)
    approval = found.get("approval")
    if isinstance(approval, Mapping):
        found["approval"] = {**approval, "told": approval_text(approval["value"])}
    if "calls" in found:
        found["calls"] = [_called(one) for one in cast("Sequence[Step]", found["calls"])]
    return found


def _called(call: Step) -> Step:
    approval = call.get("approval")
    if not isinstance(approval, Mapping):
        return call
    told = {word: value for word, value in call.items() if word != "approval"}
    return {**told, "approved": approval_text(approval["value"])}


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
