"""Serve a program's services and nodes to others: over the Connect protocol and gRPC, and as tools of the Model Context Protocol.

    ael serve
    ael serve --mcp --stdio
    ael serve examples/served --connect --port 8080 --only Orders
    ael serve examples/served --connect --grpc --grpc-port 50051

Needs `uses server/connect`, `uses server/grpc` or `uses server/mcp` in the pack's `pack.ael`, and `pip install 'ael-lang[serve]'`, for
gRPC `'ael-lang[serve,grpc]'`; without a protocol on the command line it is every one that the pack uses. What is served: the services and
nodes that `--only` names, else those of the deployment's `serve` lines, else the public ones. Without `caller` lines in the deployment,
only this machine can call. The first interrupt lets the calls in flight end, the second ends at once.

With `--watch` a change of the program is served as soon as it checks: new calls see it, calls under way end on the program that they
began with, and while it does not check the one before is served on.

Over HTTP it also answers `/healthz` and `/readyz`; `/metrics` for Prometheus, with the token of `listen = http(metrics: secret("NAME"))`
where callers have to say who they are; `/contract`, which `ael.connect` reads; and a caller's own kept runs at `/runs/RUN`, live at
`/runs/RUN/events`. A call that accepts `text/event-stream` is told what happens in it; over gRPC the method is called `…Stream`.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from ael.cli.opening import opened_or_told
from ael.cli.report import tell, told
from ael.project.program import Opened

PACKAGES = {"connect": "server/connect", "grpc": "server/grpc", "mcp": "server/mcp"}
NEEDS = {"connect": ("uvicorn",), "grpc": ("uvicorn", "grpc", "grpc_health", "grpc_reflection"), "mcp": ("mcp", "uvicorn")}
INHERITED = "AEL_SERVE_INHERITED"
"""The variable by which `--watch` hands the socket to the process that serves: its descriptor, and that of a pipe to say that it does."""
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8000
DEFAULT_GRPC_PORT = 50_051


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael serve`."""
    parser.add_argument(
        "path", type=Path, nargs="?", default=Path(), metavar="FILE", help="a source file, or a folder with a `main.ael`"
    )
    parser.add_argument("--connect", action="store_true", help="over the Connect protocol")
    parser.add_argument("--grpc", action="store_true", help="over gRPC, on a port of its own")
    parser.add_argument(
        "--grpc-port", type=int, metavar="PORT", help=f"which port for `--grpc` (default {DEFAULT_GRPC_PORT}; 0 takes a free one)"
    )
    parser.add_argument("--mcp", action="store_true", help="as a server of the Model Context Protocol")
    parser.add_argument("--stdio", action="store_true", help="one client of `--mcp`, over standard input and output")
    parser.add_argument("--host", help=f"where to listen (default {DEFAULT_HOST})")
    parser.add_argument("--port", type=int, help=f"which port (default {DEFAULT_PORT}; 0 takes a free one)")
    parser.add_argument(
        "--only",
        "--node",
        action="append",
        default=[],
        metavar="NAME",
        help="serve this service or node; may be said more than once",
    )
    parser.add_argument("--deploy", metavar="NAME", help="use `deploy.NAME.ael`")
    parser.add_argument(
        "--watch",
        action="store_true",
        help="serve the program as it is after each change: new calls see it, others end as they began",
    )


def run(args: argparse.Namespace) -> int:
    """Serve."""
    problem = _usage(args)
    if problem is not None:
        print(f"ael serve: {problem}", file=sys.stderr)
        return 2
    opened = opened_or_told(args.path, args.deploy)
    if isinstance(opened, int):
        return opened
    protocols = {name for name in PACKAGES if getattr(args, name)} or ({"mcp"} if args.stdio else served_over(opened))
    if args.grpc_port is not None:
        protocols |= {"grpc"}
    refusal = _refusal(opened, protocols)
    if refusal is not None:
        print(refusal, file=sys.stderr)
        return 2
    # Loaded here: without the package there is no server code in the program.
    host_error = import_module("ael.host").HostError
    host, port = args.host or DEFAULT_HOST, DEFAULT_PORT if args.port is None else args.port
    grpc_port = None
    if "grpc" in protocols:
        grpc_port = DEFAULT_GRPC_PORT if args.grpc_port is None else args.grpc_port
    listens = None if protocols == {"grpc"} else port
    # From the process that watches; what this one starts is given nothing.
    handed = os.environ.pop(INHERITED, None)
    given = None if handed is None else import_module("ael.cli.serve_watch").inherited(handed)
    try:
        if args.watch:
            return int(import_module("ael.cli.serve_watch").serve_watched(args, opened, host, listens, grpc_port))
        if "mcp" not in protocols:
            alone = import_module("ael.server.served").serve_alone
            return int(alone(opened, host, listens, args.only, grpc_port=grpc_port, given=given))
        server = import_module("ael.server.serve")
        where = server.Where() if args.stdio else server.Where(host, port)
        return int(server.serve(opened, where, args.only, connect="connect" in protocols, grpc_port=grpc_port, given=given))
    except host_error as error:
        tell(error.code, error.message, *error.notes)
        return 2


def _usage(args: argparse.Namespace) -> str | None:
    if args.stdio and (args.host is not None or args.port is not None):
        return "`--stdio` has neither a host nor a port"
    if args.stdio and (args.connect or args.grpc or args.grpc_port is not None):
        return "`--stdio` is for the Model Context Protocol alone"
    if args.watch and args.stdio:
        return (
            "`--watch` keeps a socket while processes change; the one client of `--stdio` has its server started anew by itself"
        )
    if args.watch and not hasattr(os, "fork"):
        return "`--watch` hands a socket from one process to the next, which this system has no way to do"
    if any(port is not None and not 0 <= port <= 65_535 for port in (args.port, args.grpc_port)):
        return "a port is a number up to 65535"
    return None


def served_over(opened: Opened) -> set[str]:
    """The protocols (`connect`, `grpc`, `mcp`) that the pack uses."""
    uses = opened.project.pack.uses if opened.project.pack is not None else frozenset[str]()
    return {name for name, package in PACKAGES.items() if package in uses}


def _refusal(opened: Opened, protocols: set[str]) -> str | None:
    pack = opened.project.pack
    wanted = [PACKAGES[name] for name in sorted(protocols)]
    unused = [name for name in wanted if pack is None or name not in pack.uses] or ([] if protocols else ["server/connect"])
    if unused:
        package = unused[0]
        where = "its `pack.ael`" if pack is not None else f"a `pack.ael` beside it: `pack NAME {{ uses {package} }}`"
        return told("AEL0870", f"this program does not use `{package}`, so it is not served", f"add `uses {package}` to {where}")
    missing = sorted({name for protocol in protocols for name in NEEDS[protocol] if find_spec(name) is None})
    if missing:
        needs = f"serving needs packages that are not installed: {', '.join(missing)}"
        extras = "serve,grpc" if any(name.startswith("grpc") for name in missing) else "serve"
        return told("AEL0874", needs, f"pip install 'ael-lang[{extras}]'")
    return None
