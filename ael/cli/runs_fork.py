"""A new run over the beginning of another's journal: from a step on, with an answer or a model replaced (features B7, A12.16)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module

from ael.cli.report import told
from ael.cli.runs_open import Stopped, found, opened, program_at
from ael.data import replace
from ael.durable.execute import Execution, new_owner
from ael.durable.forking import forked
from ael.durable.pinned import bound_of
from ael.host import open_preview
from ael.journal.durable import DurableStore, RunRow
from ael.journal.entry import Ending, Entry, Kind, State
from ael.models.registry import PROVIDERS
from ael.project.deployment import ModelBinding
from ael.project.program import Opened
from ael.run.entry import EntryProblem
from ael.types.decode import decoder
from ael.types.json import JsonError, read
from ael.types.problem import DecodeError


async def act(args: argparse.Namespace) -> int:
    """`ael runs fork`."""
    program = program_at(args.path, args.deploy)
    models = dict(_pair("--model", text) for text in args.model)
    program = with_models(program, models)
    changes = [_pair("--set", text) for text in args.set]
    if args.at is None and not changes:
        raise Stopped(
            2, told("AEL0905", "say where: `--at STEP`, or `--set STEP=JSON`", f"`ael runs show {args.run}` lists the steps")
        )
    async with opened(args.path, args.deploy) as store:
        row = await found(store, args.run)
        run = await _forked(store, row, program, args, changes, models)
    if args.detach:
        print(run)
        return 0
    print(f"the run {run}, forked from {row.header.run}", file=sys.stderr)
    resuming = import_module("ael.cli.runs_resume")
    return int(await resuming.resume(program, run, whole=args.json, quiet=args.quiet))


async def _forked(
    store: DurableStore,
    row: RunRow,
    program: Opened,
    args: argparse.Namespace,
    changes: Sequence[tuple[str, str]],
    models: Mapping[str, str],
) -> str:
    """Make the fork; its id."""
    of = row.header.run
    entries = await store.entries(of)
    values = dict(_change(program, entries, of, step, text) for step, text in changes)
    at = _place(entries, args.at, of) if args.at is not None else _last(entries, list(values))
    engine = open_preview(program, frozenset()).engine
    execution = Execution(engine, store, new_owner(), program.deployment.runs.lease, bound_of(program))
    try:
        return await forked(execution, row, at, changes=values, allow=args.allow, models=models)
    except EntryProblem as error:
        raise Stopped(2, told("AEL0905", str(error))) from None


def with_models(program: Opened, models: Mapping[str, str]) -> Opened:
    """The program with models bound to others: `NAME` to `PROVIDER:MODEL`, or to `MODEL` of the same provider. Raises `Stopped`."""
    bound = dict(program.deployment.models)
    for name, text in models.items():
        full = [one for one in program.program.models if name in (one, one.rpartition(".")[2])]
        if not full:
            known = ", ".join(sorted(one.rpartition(".")[2] for one in program.program.models))
            raise Stopped(2, told("AEL0905", f"the program has no model `{name}`", f"it has {known or 'none'}"))
        spec = program.program.models[full[0]]
        before = bound.get(full[0]) or ModelBinding(spec.provider or "", spec.model)
        provider, colon, model = text.partition(":")
        if not colon or provider not in PROVIDERS:
            bound[full[0]] = replace(before, model=text)
        else:
            key = before.key if provider == before.provider else None
            bound[full[0]] = ModelBinding(provider, model, key)
    return replace(program, deployment=replace(program.deployment, models=bound))


def _pair(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        what = "STEP=JSON" if option == "--set" else "NAME=MODEL"
        raise Stopped(2, told("AEL0905", f"`{option}` is written `{option} {what}`, not `{text}`"))
    return name, value


def _place(entries: Sequence[Entry], text: str, run: str) -> str:
    """The step that a person means: its path, the beginning of one, the number of an effect, `end`, or what is called (`pay`, `pay:2`).

    Raises `Stopped`.
    """
    paths = list(dict.fromkeys(entry.path for entry in entries if entry.kind is not Kind.CANCEL))
    if text == "end":
        return ""
    if text in paths:
        return text
    if text.isdecimal() and 1 <= int(text) <= len(paths):
        return paths[int(text) - 1]
    below = [path for path in paths if path.startswith(f"{text}/")]
    if below:
        return below[0]
    name, _, number = text.partition(":")
    called = [path for path in paths if _named(entries, path, name)]
    if called and (not number or (number.isdecimal() and 1 <= int(number) <= len(called))):
        return called[int(number) - 1 if number else 0]
    close = get_close_matches(text, paths, 3)
    hint = f"near it are {', '.join(close)}" if close else f"`ael runs show {run}` lists them"
    raise Stopped(2, told("AEL0905", f"the run {run} has no step `{text}`", hint))


def _named(entries: Sequence[Entry], path: str, name: str) -> bool:
    entry = next(entry for entry in entries if entry.path == path)
    return entry.kind is not Kind.APPROVAL and name in (entry.target, entry.target.rpartition(".")[2])


def _last(entries: Sequence[Entry], paths: Sequence[str]) -> str:
    """The last of these steps."""
    order = list(dict.fromkeys(entry.path for entry in entries))
    return max(paths, key=order.index)


def _change(program: Opened, entries: Sequence[Entry], run: str, step: str, text: str) -> tuple[str, object]:
    """A step and the answer that it is given in place of the recorded one, by the type of what was called. Raises `Stopped`."""
    path = _place(entries, step, run)
    answer = next((entry for entry in entries if entry.path == path and entry.state is State.ANSWERED), None)
    if answer is None:
        raise Stopped(
            2, told("AEL0905", f"the step {path or step} of the run {run} was not answered, so there is nothing to replace")
        )
    try:
        value = read(text)
    except JsonError as error:
        raise Stopped(2, told("AEL0905", f"`--set {step}`: {error.message}")) from None
    if answer.kind is Kind.MODEL:
        return path, _turn(answer, value)
    signature = program.program.signatures.get(answer.target)
    if signature is None or answer.kind not in (Kind.TOOL, Kind.OPERATION):
        note = "what a tool, an operation or a model answered can be replaced"
        raise Stopped(2, told("AEL0905", f"the answer of `{answer.target}` cannot be replaced", note))
    try:
        return path, decoder(signature.result, program.program.definitions)(value)
    except DecodeError as error:
        raise Stopped(2, told("AEL0905", f"this is no result of `{answer.target}`: {error.text}")) from None


def _turn(answer: Entry, value: object) -> dict[str, object]:
    """A recorded turn that gives this final result instead of what it said."""
    record = answer.value
    if not isinstance(record, Mapping) or answer.ending is not Ending.VALUE:
        raise Stopped(2, told("AEL0905", f"the model at {answer.path} gave no turn, so there is none to replace"))
    text = import_module("ael.cli.progress").json_text(value, indent=None)
    return {**record, "text": "", "calls": [], "final": text, "opaque": None, "stop": "done", "cut": False}
