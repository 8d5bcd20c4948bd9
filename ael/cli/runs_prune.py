"""Forgetting runs that ended long ago."""

from __future__ import annotations

import argparse
import re
import sys
import time

from ael.cli.report import told
from ael.cli.runs_open import Stopped, opened

_UNITS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}
_LENGTH = re.compile(r"(\d{1,9})(s|min|h|d)")


async def act(args: argparse.Namespace) -> int:
    """`ael runs prune`."""
    before = time.time() - seconds_of("--before", args.before)
    async with opened(args.path, args.deploy) as store:
        count = await store.prune(before, keep=max(0, args.keep))
    print(f"{count} run{'' if count == 1 else 's'} forgotten", file=sys.stderr)
    return 0


def seconds_of(option: str, text: str) -> int:
    """A length of time as it is written in options, in seconds. Raises `Stopped`."""
    written = _LENGTH.fullmatch(text)
    if written is None:
        raise Stopped(2, told("AEL0905", f"`{option}` is a length of time, such as `30d` or `12h`, not `{text}`"))
    return int(written[1]) * _UNITS[written[2]]
