"""Take runs of a program from its store and execute them, beside as many other workers as you like.

    ael worker                     runs of the program here, until it is stopped
    ael worker app.ael --slots 20  twenty runs at once
    ael worker --once              what there is now, and no more
    ael worker --decide 8001       and let people decide over HTTP

Where the deployment has queues (`nats(…)`, `postgres(…)`), it also takes their items, as many as each has `slots` for.

`ael run --detach` gives the workers something to do. The first interrupt or SIGTERM drains: no further run is taken, and each one is
given up where its next effect would begin, for another worker to go on. What has not come so far after the `drain` of the deployment (20 s)
is cut off and given back as well. The second signal ends at once, and the runs are taken over when their leases end.
Exit code 0 when it drained or, with `--once`, did what was there; 2 for bad usage or a program that does not check.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from ael.cli.opening import opened_or_told
from ael.cli.report import tell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael worker`."""
    parser.add_argument(
        "path", type=Path, nargs="?", default=Path(), metavar="FILE", help="a source file, or a folder with a `main.ael`"
    )
    parser.add_argument("--deploy", metavar="NAME", help="use `deploy.NAME.ael`")
    parser.add_argument("--slots", type=int, metavar="N", help="runs at once (default: the deployment's `slots`, else 8)")
    parser.add_argument("--once", action="store_true", help="do what is there, and end")
    parser.add_argument(
        "--decide",
        type=int,
        metavar="PORT",
        help="also let callers of the deployment decide over HTTP, on this machine (0: a free port)",
    )
    parser.add_argument("--quiet", "-q", action="store_true", help="print problems only")


def run(args: argparse.Namespace) -> int:
    """Work."""
    if args.slots is not None and args.slots < 1:
        print("ael worker: `--slots` is a number of at least 1", file=sys.stderr)
        return 2
    if args.decide is not None:
        if not 0 <= args.decide <= 65_535 or args.once:
            print("ael worker: `--decide` takes a port up to 65535, and does not go with `--once`", file=sys.stderr)
            return 2
        missing = [name for name in ("mcp", "uvicorn") if find_spec(name) is None]
        if missing:
            tell("AEL0874", f"deciding over HTTP needs packages: {', '.join(missing)}", "pip install 'ael-lang[serve]'")
            return 2
    opened = opened_or_told(args.path, args.deploy)
    if isinstance(opened, int):
        return opened
    # The run time is loaded here; a program that does not check never gets so far.
    return int(import_module("ael.cli.worker_run").work(opened, args))
