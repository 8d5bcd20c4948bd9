"""A person's answer to what a run waits for: `approve`, `deny`, `answer`, `settle`."""

from __future__ import annotations

import argparse
import sys
import time

from ael.cli.progress import json_text
from ael.cli.question import typed, unfit
from ael.cli.report import told
from ael.cli.runs_open import Stopped, found, opened, program_at
from ael.durable.decide import Open, decide, find, settle
from ael.mcp.outside import visible
from ael.project.program import Opened
from ael.run.bindings import system_user
from ael.run.human import ANSWER
from ael.types.decode import decoder
from ael.types.json import JsonError, read
from ael.types.problem import DecodeError
from ael.types.type import Named


async def act(args: argparse.Namespace) -> int:
    """`ael runs approve`, `deny`, `answer` and `settle`."""
    program = program_at(args.path, args.deploy)
    limit = program.deployment.runs.approval
    by = args.by or system_user()
    async with opened(args.path, args.deploy) as store:
        row = await found(store, args.run)
        asked = await find(store, row.header.run, args.step, "uncertain" if args.action == "settle" else "approval", limit)
        if args.action == "settle":
            result = None if args.failed else _result(program, asked, args.result)
            await settle(store, asked, result=result, failed=args.failed, by=by, now=time.time())
        else:
            edited = _json("--arguments", args.arguments) if args.action == "approve" and args.arguments is not None else None
            if args.action == "answer":
                edited = _answer(asked, args.text)
            if edited is not None and not isinstance(edited, dict):
                raise Stopped(2, told("AEL0905", "`--arguments` holds an object"))
            if edited is not None and asked.question is None:
                _fits(program, asked, edited)
            await decide(
                store, asked, approved=args.action != "deny", by=by, reason=getattr(args, "reason", ""), arguments=edited,
                members=program.deployment.roles, now=time.time(),
            )  # fmt: skip
        word = {"approve": "approved", "deny": "denied", "answer": "answered", "settle": "settled"}[args.action]
        print(f"{word} {asked.target} in the run {asked.run}", file=sys.stderr)
        if not args.resume:
            print(f"it goes on with a worker, or with `ael runs resume {asked.run}`", file=sys.stderr)
            return 0
    from ael.cli.runs_resume import resume

    return await resume(program, asked.run, whole=False, quiet=False)


def _answer(asked: Open, text: str) -> dict[str, object]:
    """What was typed, as the question takes it. Raises `Stopped` where it is an approval that the run waits for."""
    if asked.question is None:
        note = f"`ael runs approve {asked.run}` lets it run, `ael runs deny {asked.run}` does not"
        raise Stopped(2, told("AEL0905", f"`{asked.target}` asks nothing: it waits for an approval", note))
    answer = typed(asked.question, text)
    problem = unfit(asked.question, answer)
    if problem is not None:
        raise Stopped(2, told("AEL0905", problem, f"it is asked: {visible(asked.question.message)}"))
    return {ANSWER: answer}


def _fits(program: Opened, call: Open, edited: dict[str, object]) -> None:
    """Refuse arguments that the call would be refused for, before the approval is used up for them. Raises `Stopped`."""
    signature = program.program.signatures.get(call.target)
    if signature is None:
        raise Stopped(2, told("AEL0905", f"the program has no `{call.target}` any more, so its arguments cannot be checked"))
    record = signature.input_record()
    name = f"input {record.name}"
    try:
        decoder(Named(name), {**program.program.definitions, name: record})(edited)
    except DecodeError as error:
        now = f"it was proposed with {json_text(call.arguments, indent=None)}"
        raise Stopped(2, told("AEL0905", f"these are no arguments of `{call.target}`: {error.text}", now)) from None


def _result(program: Opened, call: Open, text: str) -> object:
    """The result of a call that took effect, by the type of what was called."""
    value = _json("--result", text)
    signature = program.program.signatures.get(call.target)
    if signature is None:
        raise Stopped(2, told("AEL0905", f"the program has no `{call.target}` any more, so its result cannot be checked"))
    try:
        return decoder(signature.result, program.program.definitions)(value)
    except DecodeError as error:
        raise Stopped(2, told("AEL0905", f"this is no result of `{call.target}`: {error.text}")) from None


def _json(option: str, text: str) -> object:
    try:
        return read(text)
    except JsonError as error:
        raise Stopped(2, told("AEL0905", f"`{option}`: {error.message}")) from None
