"""A person's answer to what a run waits for: `approve`, `deny`, `answer`, `settle`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from ael.cli.progress import clean
from ael.cli.question import typed, unfit
from ael.cli.report import told
from ael.cli.runs_open import Stopped, found, opened, program_at
from ael.durable.decide import DecideError, Open, decide, find, settle
from ael.durable.fitting import fits, result_of
from ael.mcp.outside import visible
from ael.project.program import Opened
from ael.run.bindings import system_user
from ael.run.human import ANSWER
from ael.types.json import JsonError, read


async def act(args: argparse.Namespace) -> int:
    """`ael runs approve`, `deny`, `answer` and `settle`."""
    program = program_at(args.path, args.deploy)
    limit = program.deployment.runs.approval
    by = args.by or system_user()
    async with opened(args.path, args.deploy) as store:
        row = await found(store, args.run)
        asked = await find(store, row.header.run, args.step, "uncertain" if args.action == "settle" else "approval", limit)
        if args.action == "settle":
            result = None if args.failed else _fitting(result_of, program, asked, _json("--result", args.result))
            await settle(store, asked, result=result, failed=args.failed, by=by, now=time.time())
        else:
            edited = _json("--arguments", args.arguments) if args.action == "approve" and args.arguments is not None else None
            if args.action == "answer":
                edited = _answer(asked, args.text)
            if edited is not None and not isinstance(edited, dict):
                raise Stopped(2, told("AEL0905", "`--arguments` holds an object"))
            if edited is not None and asked.question is None:
                _fitting(fits, program, asked, edited)
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


_T = TypeVar("_T")


def _fitting(check: Callable[[Opened, Open, _T], object], program: Opened, call: Open, value: _T) -> object:
    """What `check` gives for a value. Raises `Stopped` for one that does not fit: it is the user's own, so all of its problems are told."""
    try:
        return check(program, call, value)
    except DecideError as error:
        raise Stopped(2, told("AEL0905", clean(error.message), *([clean(error.note)] if error.note else []))) from None


def _json(option: str, text: str) -> object:
    try:
        return read(text)
    except JsonError as error:
        raise Stopped(2, told("AEL0905", f"`{option}`: {error.message}")) from None
