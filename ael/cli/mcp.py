"""MCP servers of a program: what they offer, what is pinned of it, what changed, one call by hand.

    ael mcp list                       what every server of the program here offers, with the types that it becomes
    ael mcp list files --format json   one server, for another program to read
    ael mcp pin                        write what the program uses into `ael.lock`, which the check reads
    ael mcp diff                       what changed since then; exit code 1 when the program uses it
    ael mcp call files.read_text_file '{"path": "notes/today.md"}'
    ael mcp reconnect                  connect anew: how long it takes, which protocol it is, what changed

A server is named as its `mcp` declaration is. A word with a `/`, one that ends in `.ael`, and `.` name the program (default: the one
here). What a server says of itself stands behind a `|`. Exit code 0; 1 when a server cannot be reached, something changed or a call
ended without a value; 2 for bad usage or a program that does not check; 130 when interrupted.
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
    "list": "show what servers offer, with the types that it becomes",
    "pin": "write what the program uses into `ael.lock`",
    "diff": "show what changed since it was pinned",
    "call": "call one tool by hand",
    "reconnect": "connect anew: time, protocol, what changed",
}


class _Mixed(argparse.ArgumentParser):
    """Takes its words wherever they stand, between options too."""

    _within = False

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        if self._within:
            return super().parse_known_args(args, namespace)
        self._within = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._within = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael mcp`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=_Mixed)
    for action, described in ACTIONS.items():
        own = actions.add_parser(
            action, help=described, description=f"{described[0].upper()}{described[1:]}.", allow_abbrev=False
        )
        if action == "call":
            own.add_argument("tool", metavar="SERVER.TOOL", help="the tool, by its name in the program or at the server")
            own.add_argument(
                "arguments", nargs="?", default="{}", metavar="JSON", help="its arguments as an object, `-` for stdin"
            )
            own.add_argument("path", nargs="?", type=Path, default=Path(), metavar="FILE", help="the program (default: here)")
            own.add_argument("--json", action="store_true", help="print the whole outcome as JSON")
        else:
            own.add_argument("words", nargs="*", metavar="SERVER", help="servers of the program (default: all), and its FILE")
        own.add_argument("--deploy", metavar="NAME", help="use `deploy.NAME.ael`")
        if action in ("list", "diff", "reconnect"):
            own.add_argument("--format", choices=("text", "json"), default="text", help="how to print it")
        if action == "list":
            own.add_argument("--full", action="store_true", help="print descriptions whole")
        if action == "pin":
            own.add_argument("--all", action="store_true", help="pin every tool and prompt, not only those that the program uses")
        if action in ("pin", "call"):
            own.add_argument("--yes", "-y", action="store_true", help="do it without asking")


def run(args: argparse.Namespace) -> int:
    """Do it. The modules that reach servers are loaded here, so that `ael check` never loads them."""
    act = cast(Callable[[argparse.Namespace], Awaitable[int]], import_module(f"ael.cli.mcp_{args.action}").act)
    errors = import_module("ael.cli.mcp_error")
    try:
        return asyncio.run(_awaited(act(args)))
    except errors.Stopped as stopped:
        return cast(int, stopped.exit_code)
    except errors.CommandError as error:
        print(error.text(), file=sys.stderr)
        return cast(int, error.exit_code)


async def _awaited(acting: Awaitable[int]) -> int:
    return await acting


def split_words(words: list[str]) -> tuple[list[str], Path]:
    """The servers and the program that words of the command line name; the last program counts."""
    servers: list[str] = []
    path = Path()
    for word in words:
        if "/" in word or "\\" in word or word in (".", "..") or word.endswith(".ael"):
            path = Path(word)
        else:
            servers.append(word)
    return servers, path
