"""`ael trace`: the trace of a kept run, printed or written to a file."""

from __future__ import annotations

import argparse
import sys
import time

from ael.cli.progress import clean, json_text
from ael.cli.report import told
from ael.cli.runs_list import row_json, table, when
from ael.cli.runs_open import Stopped, found, opened
from ael.cli.trace import lines, plain
from ael.diagnostics.diagnostic import Bag
from ael.hosting.failure import HostError
from ael.hosting.secrets import Secrets
from ael.journal.durable import DurableStore, RunRow
from ael.models.registry import PROVIDERS
from ael.observe.kept import Kept, trace_of
from ael.observe.page import page
from ael.observe.shown import shown
from ael.project.deployment import Deployment
from ael.project.program import open_store
from ael.run.bindings import system_user
from ael.run.ports import Span
from ael.run.trace import Masker


async def act(args: argparse.Namespace) -> int:
    """Show the trace, or who has read it."""
    deployment = open_store(args.path, Bag(), deploy=args.deploy)
    async with opened(args.path, args.deploy) as store:
        assert deployment is not None
        if args.readers:
            return await _readers(store, args.run)
        row = await found(store, args.run)
        kept = await _kept(store, row, deployment, args)
        spans = trace_of(kept)
    text = _text(row, spans, args)
    if args.out is None:
        print(text, end="" if text.endswith("\n") else "\n")
    else:
        args.out.write_text(text, encoding="utf-8")
        print(f"wrote {args.out}", file=sys.stderr)
    return 0


async def _kept(store: DurableStore, row: RunRow, deployment: Deployment, args: argparse.Namespace) -> Kept:
    """The run with its records, and its input where content is shown. Raises `Stopped` where none may be."""
    name, masker = row.header.run, Masker(known_secrets(deployment).known.values())
    if not args.content:
        return Kept(row, await store.entries(name), time.time(), masker)
    show = shown(deployment.runs.evidence, masker)
    if show is None:
        note = "`evidence: none` on its `runs` line: leave `--content` out"
        raise Stopped(2, told("AEL0905", "the deployment lets nobody read the content of its runs", note))
    await store.read_by(name, system_user(), f"ael trace --content --format {args.format}")
    given = await store.given(name)
    return Kept(row, await store.entries(name), time.time(), masker, None if given is None else given[0], show)


def known_secrets(deployment: Deployment) -> Secrets:
    """The secrets of a deployment and the usual keys of providers, as far as they are here: what is looked for in order to mask it."""
    secrets = Secrets(deployment)
    for name in deployment.secrets:
        try:
            secrets.get(name)
        except HostError:
            continue  # it is not on this machine, so nothing here shows that it is one
    for provider in PROVIDERS.values():
        if provider.key_variable:
            secrets.of_variable(provider.key_variable)
    return secrets


def _text(row: RunRow, spans: list[Span], args: argparse.Namespace) -> str:
    match args.format:
        case "json":
            told = {word: value for word, value in row_json(row).items() if word != "outcome"}
            return json_text({**told, "spans": [plain(span) for span in spans]})
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
        told += [f"   {word}: {json_text(value, indent=None)}" for word, value in span.content.items()]
    return told


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
