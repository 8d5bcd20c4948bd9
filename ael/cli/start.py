"""What `ael run` and `ael preview` begin with: the program checked, the entry chosen, its input read from flags and files."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

from ael.check.program import CheckedProgram
from ael.cli.flags import InputError, collect, usage
from ael.cli.opening import opened_or_told
from ael.cli.report import tell
from ael.project.entry import EntryError
from ael.project.program import Opened


def start(
    args: argparse.Namespace,
    choose: Callable[[CheckedProgram, str | None], str],
    go: Callable[[Opened, str, Mapping[str, object]], int],
) -> int:
    """Open `args.path`, and hand the entry that `choose` names and its input to `go`. Gives the exit code, 2 for what is the user's."""
    opened = opened_or_told(args.path, args.deploy)
    if isinstance(opened, int):
        return opened
    try:
        entry = choose(opened.program, args.entry)
        signature = opened.program.signatures[entry]
        if args.help_entry:
            print(f"{entry.partition('.')[2]}:\n{usage(signature, opened.program.definitions)}")
            return 0
        return go(opened, entry, collect(args.rest, args.input, signature, opened.program.definitions))
    except EntryError as error:
        tell("AEL0840", str(error))
    except InputError as error:
        tell("AEL0841", str(error))
    return 2
