"""Forgetting runs that ended long ago, or only their content."""

from __future__ import annotations

import argparse
import re
import sys
import time

from ael.cli.report import told
from ael.cli.runs_open import Stopped, opened_with

_UNITS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}
_LENGTH = re.compile(r"(\d{1,9})(s|min|h|d)")
_DEFAULT = 30.0 * 86_400


async def act(args: argparse.Namespace) -> int:
    """`ael runs prune`."""
    if args.content and args.keep:
        raise Stopped(2, told("AEL0905", "`--keep` counts runs, and `--content` keeps them all", "leave out one of the two"))
    given = None if args.before is None else seconds_of("--before", args.before)
    async with opened_with(args.path, args.deploy) as (store, deployment):
        if args.content:
            declared = deployment.runs.evidence_keep
            long = float(given) if given is not None else _DEFAULT if declared is None else declared
            count = await store.forget_content(time.time() - long)
        else:
            count = await store.prune(time.time() - (_DEFAULT if given is None else given), keep=max(0, args.keep))
    what = f"the content of {count} run{'' if count == 1 else 's'}" if args.content else f"{count} run{'' if count == 1 else 's'}"
    print(f"{what} forgotten", file=sys.stderr)
    return 0


def seconds_of(option: str, text: str) -> int:
    """A length of time as it is written in options, in seconds. Raises `Stopped`."""
    written = _LENGTH.fullmatch(text)
    if written is None:
        raise Stopped(2, told("AEL0905", f"`{option}` is a length of time, such as `30d` or `12h`, not `{text}`"))
    return int(written[1]) * _UNITS[written[2]]
