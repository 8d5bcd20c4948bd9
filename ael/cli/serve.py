"""Serve a program's nodes to others, as tools of the Model Context Protocol.

    ael serve --mcp --stdio
    ael serve examples/served --mcp --port 8080 --node answer

Needs `uses server/mcp` in the pack's `pack.ael`, and `pip install 'ael-lang[serve]'`. What is served: the nodes that `--node` names, else
those of the deployment's `serve` lines, else the public ones. Without `caller` lines in the deployment, only this machine can call.
The first interrupt lets the calls in flight end, the second ends at once.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from ael.cli.opening import opened_or_told
from ael.cli.report import tell, told
from ael.project.program import Opened

PACKAGE = "server/mcp"
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael serve`."""
    parser.add_argument(
        "path", type=Path, nargs="?", default=Path(), metavar="FILE", help="a source file, or a folder with a `main.ael`"
    )
    parser.add_argument("--mcp", action="store_true", required=True, help="as a server of the Model Context Protocol")
    parser.add_argument("--stdio", action="store_true", help="one client, over standard input and output")
    parser.add_argument("--host", help=f"where to listen (default {DEFAULT_HOST})")
    parser.add_argument("--port", type=int, help=f"which port (default {DEFAULT_PORT}; 0 takes a free one)")
    parser.add_argument("--node", action="append", default=[], metavar="NAME", help="serve this node; may be said more than once")
    parser.add_argument("--deploy", metavar="NAME", help="use `deploy.NAME.ael`")


def run(args: argparse.Namespace) -> int:
    """Serve."""
    if args.stdio and (args.host is not None or args.port is not None):
        print("ael serve: `--stdio` has neither a host nor a port", file=sys.stderr)
        return 2
    if args.port is not None and not 0 <= args.port <= 65_535:
        print("ael serve: a port is a number up to 65535", file=sys.stderr)
        return 2
    opened = opened_or_told(args.path, args.deploy)
    if isinstance(opened, int):
        return opened
    refusal = _refusal(opened)
    if refusal is not None:
        print(refusal, file=sys.stderr)
        return 2
    # Loaded here: without the package there is no server code in the program.
    server = import_module("ael.server.serve")
    host_error = import_module("ael.host").HostError
    where = (
        server.Where()
        if args.stdio
        else server.Where(args.host or DEFAULT_HOST, DEFAULT_PORT if args.port is None else args.port)
    )
    try:
        return int(server.serve(opened, where, args.node))
    except host_error as error:
        tell(error.code, error.message, *error.notes)
        return 2


def _refusal(opened: Opened) -> str | None:
    pack = opened.project.pack
    if pack is None or PACKAGE not in pack.uses:
        where = "its `pack.ael`" if pack is not None else "a `pack.ael` beside it: `pack NAME { uses server/mcp }`"
        return told("AEL0870", f"this program does not use `{PACKAGE}`, so it is not served", f"add `uses {PACKAGE}` to {where}")
    missing = [name for name in ("mcp", "uvicorn") if find_spec(name) is None]
    if missing:
        needs = f"serving needs packages that are not installed: {', '.join(missing)}"
        return told("AEL0874", needs, "pip install 'ael-lang[serve]'")
    return None
