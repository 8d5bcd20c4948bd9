"""Forgetting runs that ended long ago."""

from __future__ import annotations

import argparse
import re
import sys
import time

from ael.cli.runs_open import Stopped, opened, told

_UNITS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}
_LENGTH = re.compile(r"(\d{1,9})(s|min|h|d)")


async def act(args: argparse.Namespace) -> int:
    """`ael runs prune`."""
    written = _LENGTH.fullmatch(args.before)
    if written is None:
        raise Stopped(2, told("AEL0905", f"`--before` is a length of time, such as `30d` or `12h`, not `{args.before}`"))
    async with opened(args.path, args.deploy) as store:
        count = await store.prune(time.time() - int(written[1]) * _UNITS[written[2]], keep=max(0, args.keep))
    print(f"{count} run{'' if count == 1 else 's'} forgotten", file=sys.stderr)
    return 0
