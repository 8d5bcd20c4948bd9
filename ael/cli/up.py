"""Keep a whole program up with one command: its server, its workers, and the studio to look at it.

    ael up                                the program here
    ael up examples/client --workers 4    with four workers beside the server
    ael up . --deploy eu --no-studio      under another deployment, without the studio
    ael up . --plan                       say what would be started, and start nothing

What is started follows from the program: `ael serve` where its pack uses `server/connect`, `server/grpc` or `server/mcp`, `ael worker`
where its runs are kept in a store that several processes share, and `ael studio` on this machine alone. Each is a process of its own,
whose lines are printed with its name in front. One that ends is started again, sooner or later as it holds; one that cannot begin (exit
code 2) ends them all, since it would not begin the second time either.

The first interrupt or SIGTERM ends all of them as each ends: calls and runs come to where they can be gone on with. A second ends them at
once. Exit code 0 when they were told to end; 2 for bad usage, a program that does not check, or a process that cannot begin.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from importlib import import_module
from pathlib import Path

from ael.cli.opening import opened_or_told
from ael.cli.serve import DEFAULT_GRPC_PORT, DEFAULT_HOST, DEFAULT_PORT, served_over
from ael.data import dataclass
from ael.project.program import Opened

MOST_WORKERS = 64


@dataclass(frozen=True, slots=True)
class Part:
    """A process that is kept up: the name that its lines have, and its words after `ael`."""

    name: str
    words: tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael up`."""
    parser.add_argument(
        "path", type=Path, nargs="?", default=Path(), metavar="FILE", help="a source file, or a folder with a `main.ael`"
    )
    parser.add_argument("--deploy", metavar="NAME", help="use `deploy.NAME.ael`")
    parser.add_argument("--host", default=DEFAULT_HOST, help=f"where the server listens (default {DEFAULT_HOST})")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help=f"which port (default {DEFAULT_PORT}; 0 takes a free one)")
    parser.add_argument(
        "--grpc-port",
        type=int,
        default=DEFAULT_GRPC_PORT,
        metavar="PORT",
        help=f"which port for gRPC (default {DEFAULT_GRPC_PORT})",
    )
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="how many workers, where runs are kept (default 1)")
    parser.add_argument(
        "--studio-port", type=int, default=0, metavar="PORT", help="which port for the studio (default: a free one)"
    )
    parser.add_argument("--no-studio", action="store_true", help="without the studio")
    parser.add_argument("--plan", action="store_true", help="say what would be started, and start nothing")


def run(args: argparse.Namespace) -> int:
    """Start everything, and keep it up."""
    problem = _usage(args)
    if problem is not None:
        print(f"ael up: {problem}", file=sys.stderr)
        return 2
    opened = opened_or_told(args.path, args.deploy)
    if isinstance(opened, int):
        return opened
    found = parts(opened, args)
    if not found:
        print(
            "ael up: nothing of this program is kept up: it is not served (`uses server/connect` in `pack.ael`), its runs are kept nowhere "
            'that workers find them (`runs = sqlite("runs.db")` in the deployment), and `--no-studio` leaves the studio out',
            file=sys.stderr,
        )
        return 2
    if args.plan:
        for part in found:
            print(f"{part.name:<10} ael {shlex.join(part.words)}")
        return 0
    # The supervisor is loaded only by who needs it.
    return int(import_module("ael.cli.up_run").keep_up(found))


def parts(opened: Opened, args: argparse.Namespace) -> list[Part]:
    """What is kept up of a program."""
    where = (str(args.path), *(() if args.deploy is None else ("--deploy", args.deploy)))
    found: list[Part] = []
    protocols = served_over(opened)
    if protocols:
        listens = ("--host", args.host, "--port", str(args.port)) if protocols != {"grpc"} else ("--host", args.host)
        grpc = ("--grpc-port", str(args.grpc_port)) if "grpc" in protocols else ()
        found.append(Part("serve", ("serve", *where, *(f"--{name}" for name in sorted(protocols)), *listens, *grpc)))
    runs = opened.deployment.runs
    if runs.said and runs.kind != "memory":
        names = ["worker"] if args.workers == 1 else [f"worker {number}" for number in range(1, args.workers + 1)]
        found += [Part(name, ("worker", *where)) for name in names]
    if not args.no_studio:
        found.append(Part("studio", ("studio", *where, "--no-open", "--port", str(args.studio_port))))
    return found


def _usage(args: argparse.Namespace) -> str | None:
    if not 0 <= args.workers <= MOST_WORKERS:
        return f"`--workers` is a number from 0 to {MOST_WORKERS}"
    if any(not 0 <= port <= 65_535 for port in (args.port, args.grpc_port, args.studio_port)):
        return "a port is a number up to 65535"
    return None
