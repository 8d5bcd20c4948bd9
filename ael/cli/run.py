"""Run a program's entry and print its result as JSON.

    ael run hello.ael --name Ada
    ael run examples/support --ticket.customer c-1 --ticket.message "hello" --trace
    ael run main.ael classify --input ticket.json

The flags come from the entry's parameters: text is taken as it is, everything else is JSON. `ael run FILE --help-entry` lists
them; what follows a `--` is always the entry's.
Exit code 0 for a value, 1 for an error or fault, 2 for bad usage or a program that does not check, 130 when interrupted.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ael.cli.flags import InputError, collect, usage
from ael.cli.report import report
from ael.diagnostics.diagnostic import Bag
from ael.project.entry import EntryError, choose
from ael.project.program import open_program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael run`."""
    parser.add_argument("path", type=Path, metavar="FILE", help="a source file, or a folder with a `main.ael`")
    parser.add_argument("entry", nargs="?", help="the node to run (default: the only agent, else `main`)")
    parser.add_argument("--input", metavar="FILE", help="the input as a JSON object, `-` for standard input")
    parser.add_argument("--deploy", metavar="NAME", help="use `deploy.NAME.ael`")
    parser.add_argument("--json", action="store_true", help="print the whole outcome as JSON, with what was spent")
    parser.add_argument("--trace", action="store_true", help="print the trace when the run has ended")
    parser.add_argument(
        "--content", action="store_true", help="let the trace carry content (arguments, results), not only metadata"
    )
    parser.add_argument("--quiet", "-q", action="store_true", help="print nothing but the result and problems")
    answer = parser.add_mutually_exclusive_group()
    answer.add_argument("--approve", action="store_true", help="approve every call that needs it")
    answer.add_argument("--deny", action="store_true", help="deny every call that needs an approval")
    parser.add_argument("--help-entry", action="store_true", help="list the entry's flags")
    parser.set_defaults(rest=[])


def run(args: argparse.Namespace) -> int:
    """Run."""
    bag = Bag()
    opened = open_program(args.path, bag, deploy=args.deploy)
    code = report(bag)
    if opened is None or code:
        return code or 2
    try:
        entry = choose(opened.program, args.entry)
        signature = opened.program.signatures[entry]
        if args.help_entry:
            print(f"{entry.partition('.')[2]}:\n{usage(signature, opened.program.definitions)}")
            return 0
        values = collect(args.rest, args.input, signature, opened.program.definitions)
    except EntryError as error:
        print(f"error[AEL0840]: {error}", file=sys.stderr)
        return 2
    except InputError as error:
        print(f"error[AEL0841]: {error}", file=sys.stderr)
        return 2
    # Everything below loads the run time; a program that does not check never gets here.
    from ael.cli.execute import execute

    return execute(opened, entry, values, args)
