"""Run a program's entry and print its result as JSON.

    ael run hello.ael --name Ada
    ael run examples/support --ticket.customer c-1 --ticket.message "hello" --trace
    ael run main.ael classify --input ticket.json
    ael run examples/support --tenant acme --caller ann --ticket.customer c-1 --ticket.message "hello"
    ael run examples/support --approve --crash-at every --ticket.customer c-1 --ticket.message "refund A-42"

The flags come from the entry's parameters: text is taken as it is, everything else is JSON. `ael run FILE --help-entry` lists
them; what follows a `--` is always the entry's.
Exit code 0 for a value, 1 for an error or fault, 2 for bad usage or a program that does not check, 3 for a run that is parked, 130 when
interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from ael.cli.report import tell
from ael.cli.start import start
from ael.project.entry import choose
from ael.project.program import Opened


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael run`."""
    parser.add_argument("path", type=Path, metavar="FILE", help="a source file, or a folder with a `main.ael`")
    parser.add_argument("entry", nargs="?", help="the node to run (default: the only agent, else `main`)")
    parser.add_argument("--input", metavar="FILE", help="the input as a JSON object, `-` for standard input")
    parser.add_argument("--deploy", metavar="NAME", help="use `deploy.NAME.ael`")
    parser.add_argument("--json", action="store_true", help="print the whole outcome as JSON, with what was spent")
    parser.add_argument("--trace", action="store_true", help="print the trace when the run has ended")
    parser.add_argument(
        "--outline",
        action="store_true",
        help="print the trace without what differs from run to run and from place to place: times, keys, costs, attempts",
    )
    parser.add_argument(
        "--content", action="store_true", help="let the trace carry content (arguments, results), not only metadata"
    )
    parser.add_argument("--otel", action="store_true", help="send the trace to the collector of OTEL_EXPORTER_OTLP_ENDPOINT")
    parser.add_argument("--quiet", "-q", action="store_true", help="print nothing but the result and problems")
    parser.add_argument("--detach", action="store_true", help="leave the run to the workers (`ael worker`), and print its id")
    parser.add_argument(
        "--run-id", metavar="ID", help="with `--detach`: the id of the run; one that is there already stays as it is"
    )
    parser.add_argument("--tenant", metavar="NAME", help="whose run it is (default: that of the caller, else `local`)")
    parser.add_argument("--caller", metavar="NAME", help="on whose behalf: a caller of the deployment (default: you)")
    answer = parser.add_mutually_exclusive_group()
    answer.add_argument("--approve", action="store_true", help="approve every call that needs it")
    answer.add_argument("--deny", action="store_true", help="deny every call that needs an approval")
    parser.add_argument(
        "--crash-at", metavar="N", help="kill the run after record N of its journal (`every`: after each), resume it, and report"
    )
    parser.add_argument("--watch", action="store_true", help="run again whenever a file of the program changes")
    parser.add_argument("--help-entry", action="store_true", help="list the entry's flags")
    parser.set_defaults(rest=[])


def run(args: argparse.Namespace) -> int:
    """Run."""
    if args.run_id is not None and not args.detach:
        # Left out silently, an id that was to make a run once would let it act again.
        tell("AEL0905", "`--run-id` belongs to `--detach`", "add `--detach`, or leave `--run-id` out")
        return 2

    def go(opened: Opened, entry: str, values: Mapping[str, object]) -> int:
        # The run time is loaded here; a program that does not check never gets so far.
        if args.detach:
            from ael.cli.detach import detach

            return detach(opened, entry, values, args)
        if args.crash_at is not None:
            from ael.cli.crash import crash

            return crash(opened, entry, values, args)
        from ael.cli.execute import execute

        return execute(opened, entry, values, args)

    if args.watch:
        # What follows dependencies is loaded where somebody watches.
        from ael.cli.watching import watch

        def act(changed: frozenset[Path]) -> None:
            start(args, choose, go)

        if args.input == "-" or args.detach or args.crash_at is not None:
            print("ael run: `--watch` runs again and again: without `--input -`, `--detach` and `--crash-at`", file=sys.stderr)
            return 2
        watch([args.path], act, again="running again", also=() if args.input is None else (Path(args.input),), interrupts=True)
    return start(args, choose, go)
