"""The words of `ael eval`: money, times, shares, and what to say of those that are none."""

from __future__ import annotations

import argparse
import re
import sys
from decimal import Decimal

_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}


class Misused(Exception):
    """Bad usage; the message is one sentence."""


def misused(error: Misused) -> int:
    """Say it, and give the exit code."""
    print(f"ael eval: {error}", file=sys.stderr)
    return 2


def money(text: str) -> Decimal:
    """`$2`, `2.50`."""
    found = text.strip().removeprefix("$")
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", found):
        raise argparse.ArgumentTypeError(f"`{text}` is no money, such as `$0.50`")
    return Decimal(found)


def duration(text: str) -> float:
    """`30s`, `1.5min`, `800ms`: seconds."""
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|s|min|h)", text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"`{text}` is no time, such as `30s`")
    return float(found[1]) * _UNITS[found[2]]


def share(text: str) -> float:
    """`0.9`, `90%`."""
    found = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,9})?)(%?)", text.strip())
    value = -1.0 if found is None else float(found[1]) / (100 if found[2] else 1)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"`{text}` is no share from 0 to 1, such as `0.9` or `90%`")
    return value


def shares(text: str) -> tuple[str, float]:
    """`0.8`, or `GRADER=0.8`: the grader (empty: all) and the share."""
    name, equals, value = text.rpartition("=")
    if equals and not name.isidentifier():
        raise argparse.ArgumentTypeError(f"`{name}` is no name of a grader")
    return name, share(value)
