"""Look at runs in a browser, and work with them: one local page, for nobody but you.

    ael studio                        the program here, and the runs of its store
    ael studio main.ael --deploy eu   another program, under another deployment
    ael studio --store old.db         the runs of a SQLite file
    ael studio --read-only            only look

It shows runs with their timelines, the agent's graph with the run on it, what models were asked and said, tokens and cost; approvals and
questions are decided there, runs started, cancelled, gone on with, forked from a step, and compared. It listens on this machine alone. The
address that it prints carries a token that opens it once.

Needs `pip install 'ael-lang[serve]'`. The first interrupt ends it: runs that it executes come to their next effect, and can be gone on
with. Exit code 0; 1 when the store cannot be used; 2 for bad usage, or a deployment with mistakes.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from ael.cli.report import report, tell
from ael.diagnostics.diagnostic import Bag


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael studio`."""
    parser.add_argument("path", type=Path, nargs="?", default=Path(), metavar="FILE", help="the program (default: the one here)")
    parser.add_argument("--deploy", metavar="NAME", help="use `deploy.NAME.ael`")
    parser.add_argument("--store", type=Path, metavar="FILE", help="a SQLite file of runs, in place of the deployment's")
    parser.add_argument("--port", type=int, default=0, metavar="PORT", help="which port (default: a free one)")
    parser.add_argument("--as", dest="by", metavar="NAME", help="who looks and decides (default: the user of this machine)")
    parser.add_argument("--read-only", action="store_true", help="only look: nothing can be decided, started or ended")
    parser.add_argument("--no-open", action="store_true", help="print the address, and open no browser")


def run(args: argparse.Namespace) -> int:
    """Serve the page."""
    problem = _usage(args)
    if problem is not None:
        print(f"ael studio: {problem}", file=sys.stderr)
        return 2
    if find_spec("uvicorn") is None:
        tell("AEL0874", "the studio needs a package that is not installed: uvicorn", "pip install 'ael-lang[serve]'")
        return 2
    # Loaded here: it brings the run time and a server along.
    studio = import_module("ael.studio.serve")
    store_error = import_module("ael.journal.durable").StoreError
    asked = studio.Asked(args.path, args.deploy, args.store, args.port, args.by, args.read_only, not args.no_open)
    bag = Bag()
    program = studio.prepared(asked, bag)
    code = report(bag)
    if program is None or code:
        return code or 2
    for one in program.problems:
        print(f"ael studio: the program has errors, so its runs are shown without it: {one}", file=sys.stderr)
        break
    try:
        asyncio.run(studio.serve(asked, program))
    except (studio.HostError, studio.Unusable) as error:
        tell(error.code, error.message, *error.notes)
        return 2
    except store_error as error:
        tell("AEL0904", str(error))
        return 1
    return 0


def _usage(args: argparse.Namespace) -> str | None:
    if not 0 <= args.port <= 65_535:
        return "a port is a number up to 65535"
    if args.by == "":
        return "`--as` names who decides"
    if not args.path.exists():
        return f"`{args.path}` is not there"
    if args.store is not None and not args.store.is_file():
        return f"`{args.store}` is no file of runs"
    return None
