"""Runs that are kept: what they did, what they wait for, and what people say of it.

    ael runs                                the newest runs
    ael runs show r1f2e                     one run: how it ended, each effect, what it waits for
    ael runs show r1f2e --step turn2        one step: what a model was asked and said, what it took
    ael runs approvals                      what waits for a person
    ael runs approve r1f2e                  let the call run, exactly as it was proposed
    ael runs deny r1f2e --reason "…"        do not; the model reads the reason
    ael runs answer r1f2e --text "…"        answer a question that the program asks
    ael runs settle r1f2e --result '{…}'    say what became of a call whose outcome nobody knows (or `--failed`)
    ael runs resume r1f2e                   go on with a run here, over its journal
    ael runs wait r1f2e                     wait for its end, and print its result
    ael runs fork r1f2e --at pay            a new run from a step on; nothing takes effect again
    ael runs diff r1f2e r77aa               what two runs did otherwise
    ael runs cancel r1f2e                   end a run, wherever it runs
    ael runs prune --before 30d             forget what ended long ago (`--content`: only what it was about)

A run is named by its id, or by the beginning of it. Exit code 0; 1 when the run ended without a value, two runs differ, or the store
cannot be used; 2 for bad usage or a decision that cannot be made; 3 for a run that waits; 130 when interrupted.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import cast

ACTIONS = {
    "list": "the newest runs",
    "show": "one run: its effects, its end, what it waits for",
    "approvals": "what waits for a person",
    "approve": "let a proposed call run",
    "deny": "refuse a proposed call, with a reason",
    "answer": "answer a question that a program asks",
    "settle": "say what became of a call whose outcome nobody knows",
    "resume": "go on with a run here",
    "wait": "wait for a run to end, and print its result",
    "fork": "a new run from a step of another on, in which nothing takes effect again",
    "diff": "what two runs did otherwise",
    "cancel": "end a run",
    "prune": "forget runs that ended long ago",
}
STATES = ("ready", "running", "parked", "ended", "dead")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael runs`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    for action, described in ACTIONS.items():
        own = actions.add_parser(
            action, help=described, description=f"{described[0].upper()}{described[1:]}.", allow_abbrev=False
        )
        if action not in ("list", "approvals", "prune"):
            own.add_argument("run", metavar="RUN", help="the id of a run, or its beginning")
        if action == "diff":
            own.add_argument("other", metavar="OTHER", help="the other one")
        own.add_argument("path", nargs="?", type=Path, default=Path(), metavar="FILE", help="the program (default: the one here)")
        own.add_argument("--deploy", metavar="NAME", help="use `deploy.NAME.ael`")
        if action in ("list", "show", "approvals", "diff"):
            own.add_argument("--format", choices=("text", "json"), default="text", help="how to print it")
        if action == "list":
            own.add_argument("--state", choices=STATES, action="append", default=[], help="only runs in this state")
        if action in ("list", "approvals"):
            own.add_argument("--tenant", metavar="NAME", help="only those of this tenant")
            own.add_argument(
                "--limit", type=_count, default=20 if action == "list" else 1_000, metavar="N", help="at most so many"
            )
        if action == "show":
            own.add_argument(
                "--step", metavar="STEP", help="one step, whole: of a model what it was asked (`3`, `pay:2`, `turn2`, …)"
            )
        if action in ("approve", "deny", "answer", "settle"):
            own.add_argument("--step", metavar="STEP", help="which call, where the run waits for several")
            own.add_argument("--as", dest="by", metavar="NAME", help="who decides (default: the user of this machine)")
            own.add_argument("--resume", action="store_true", help="go on with the run here and now")
        if action in ("approve", "deny", "cancel"):
            own.add_argument("--reason", default="", metavar="TEXT", help="why; the model reads it")
        if action == "approve":
            own.add_argument("--arguments", metavar="JSON", help="other arguments to run it with; checked like a new call")
        if action == "answer":
            own.add_argument("--text", required=True, metavar="TEXT", help="the answer; of yes or no: `yes` or `no`")
        if action == "settle":
            how = own.add_mutually_exclusive_group(required=True)
            how.add_argument("--result", metavar="JSON", help="it took effect, and this is its result")
            how.add_argument("--failed", action="store_true", help="it did not take effect")
        if action in ("resume", "wait", "fork"):
            own.add_argument("--json", action="store_true", help="print the whole outcome as JSON")
            own.add_argument("--quiet", "-q", action="store_true", help="print no progress")
        if action == "resume":
            own.add_argument(
                "--accept-bindings", action="store_true", help="go on though models, prices or tools are bound otherwise now"
            )
        if action == "wait":
            own.add_argument("--timeout", metavar="TIME", help="for so long at most, such as `30s`; then exit code 3")
            own.add_argument("--or-parked", action="store_true", help="do not wait for people: exit code 3 when it waits for one")
        if action == "fork":
            own.add_argument("--at", metavar="STEP", help="the first step that is made anew (`pay:2`, `7`, `failed`, `end`, …)")
            own.add_argument(
                "--set",
                action="append",
                default=[],
                metavar="WHAT=JSON",
                help="another answer of a step, or another `input.NAME`, `model.NAME`, `budget.LIMIT`",
            )
            own.add_argument(
                "--model", action="append", default=[], metavar="NAME=MODEL", help="another model (`fast=openai:gpt-5-mini`)"
            )
            own.add_argument(
                "--sweep", action="append", default=[], metavar="WHAT=V1,V2", help="a fork for each value, and a table of them"
            )
            own.add_argument("--estimate", action="store_true", help="say what it would take, and make nothing")
            own.add_argument(
                "--allow", action="append", default=[], metavar="NAME", help="make calls of this tool or operation for real"
            )
            own.add_argument("--detach", action="store_true", help="leave it to the workers, and print its id")
        if action == "prune":
            own.add_argument("--before", metavar="TIME", help="those that ended longer ago than this (default 30d)")
            own.add_argument("--keep", type=int, default=0, metavar="N", help="but not the newest N")
            own.add_argument("--content", action="store_true", help="only their content: what is left is the outline")
    parser.set_defaults(action="list", path=Path(), deploy=None, format="text", state=[], tenant=None, limit=20)


def _count(text: str) -> int:
    """A number of at least one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number of at least 1 belongs here, not `{text}`")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Do it."""
    action = "decide" if args.action in ("approve", "deny", "answer", "settle") else args.action
    module = import_module(f"ael.cli.runs_{'list' if action == 'approvals' else action}")
    act = cast(Callable[[argparse.Namespace], Awaitable[int]], getattr(module, "approvals" if action == "approvals" else "act"))
    opening = import_module("ael.cli.runs_open")
    try:
        return asyncio.run(_awaited(act(args)))
    except opening.Stopped as stopped:
        if stopped.nothing and args.format == "json" and args.action in ("list", "approvals"):
            print("[]")
        elif stopped.nothing and getattr(args, "run", None) is not None:
            # A run that is asked for by name is not there.
            print(opening.told("AEL0905", f"there is no run `{args.run}`", stopped.text), file=sys.stderr)
            return 2
        if stopped.text:
            print(stopped.text, file=sys.stderr)
        return cast(int, stopped.exit_code)


async def _awaited(acting: Awaitable[int]) -> int:
    return await acting
