"""`ael trace`: the trace of a kept run, printed or written to a file."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping
from importlib import import_module

from ael.cli.progress import clean, json_text
from ael.cli.report import told
from ael.cli.runs_list import table, when
from ael.cli.runs_open import Stopped, found, opened_with
from ael.cli.trace import lines, outline, plain
from ael.diagnostics.diagnostic import Bag
from ael.durable.seen import read
from ael.durable.told import row_json
from ael.hosting.masking import masker_of
from ael.journal.durable import DurableStore, RunRow
from ael.observe import prompt
from ael.observe.kept import Kept, trace_of
from ael.observe.page import page
from ael.project.deployment import Deployment
from ael.project.program import open_program
from ael.run.bindings import system_user
from ael.run.ports import Span


async def act(args: argparse.Namespace) -> int:
    """Show the trace, or who has read it."""
    async with opened_with(args.path, args.deploy) as (store, deployment):
        if args.readers:
            return await _readers(store, args.run)
        row = await found(store, args.run)
        kept, notes = await _kept(store, row, deployment, args)
        spans = trace_of(kept)
    text = _text(row, spans, args)
    if args.out is None:
        print(text, end="" if text.endswith("\n") else "\n")
    else:
        args.out.write_text(text, encoding="utf-8")
        print(f"wrote {args.out}", file=sys.stderr)
    for note in notes:
        print(clean(f"note: {note}"), file=sys.stderr)
    return 0


async def _kept(store: DurableStore, row: RunRow, deployment: Deployment, args: argparse.Namespace) -> tuple[Kept, list[str]]:
    """The run with its records, and its input and what its models were asked where content is shown; and what is missing of that.

    Raises `Stopped` where none may be shown.
    """
    name = row.header.run
    rehearsed = import_module("ael.durable.retold")
    if not args.content:
        entries, given = await store.entries(name), await store.given(name)
        input, pinned = given if given is not None else (None, {})
        spans, why = await rehearsed.gone(open_program(args.path, Bag(), deploy=args.deploy), row, input, pinned, entries)
        return Kept(row, entries, time.time(), masker_of(deployment), rehearsed=spans), [why] if why else []
    if deployment.runs.evidence == "none":
        note = "`evidence: none` on its `runs` line: leave `--content` out"
        raise Stopped(2, told("AEL0905", "the deployment lets nobody read the content of its runs", note))
    seen = await read(store, deployment, row, system_user(), f"ael trace --content --format {args.format}")
    known = (open_program(args.path, Bag(), deploy=args.deploy), row, seen.input, seen.pinned, seen.raw)
    spans, why = await rehearsed.gone(*known)
    requests, wanting = await rehearsed.asked(*known)
    notes = [note for note in dict.fromkeys((*seen.notes, wanting, why)) if note]
    return Kept(row, seen.raw, time.time(), seen.masker, seen.input, seen.show, requests, spans), notes


def _text(row: RunRow, spans: list[Span], args: argparse.Namespace) -> str:
    match args.format:
        case "json":
            told = {word: value for word, value in row_json(row).items() if word != "outcome"}
            return json_text({**told, "spans": [plain(span) for span in spans]})
        case "outline":
            return "\n".join(clean(line) for line in outline(spans))
        case "html":
            return page(row, spans, when(row.header.started))
        case _:
            return "\n".join(_lines(spans, content=args.content))


def _lines(spans: list[Span], *, content: bool) -> list[str]:
    told = [clean(line) for line in lines(spans, short=True)]
    if not content:
        return told
    for span in spans:
        if not span.content:
            continue
        told += ["", clean(f"{span.sequence}  {span.path or 'run'}  {span.name}")]
        for word, value in span.content.items():
            told += (
                _messages(value)
                if word == "messages" and isinstance(value, list)
                else [f"   {word}: {json_text(value, indent=None)}"]
            )
    return told


def _messages(messages: list[Mapping[str, object]]) -> Iterator[str]:
    """What a model was sent, each message below the one before."""
    for who, text in map(prompt.told, messages):
        yield f"   sent by {who}:"
        yield from (clean(f"     {line}") for line in text.splitlines())


async def _readers(store: DurableStore, text: str) -> int:
    """The run may be forgotten by now; who read it is not."""
    row = await store.find(text)
    name = row.header.run if row is not None else text
    readings = await store.readings(name)
    if not readings and row is None:
        name = (await found(store, text)).header.run
        readings = await store.readings(name)
    if readings:
        print(table(["READ", "BY", "WITH"], [(when(one.at), one.reader, one.what) for one in readings]))
    else:
        print(f"nobody has read the content of the run {name}", file=sys.stderr)
    return 0
