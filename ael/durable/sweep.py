"""Several forks at once: one for each value of what is varied, or for each combination of values (feature A12.16)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ael.durable.change import ChangeError

MOST = 100
"""Forks of one sweep: a mistyped list should not be paid for."""
Variant = tuple[tuple[str, str], ...]
"""What is changed: pairs of what and to which value, as `--set` takes them."""


def variants(sweeps: Sequence[tuple[str, str]]) -> list[Variant]:
    """The combinations of `WHAT=V1,V2,…`. Raises `ChangeError` for none, and for more than `MOST`."""
    choices = [[(what, value) for value in values(what, text)] for what, text in sweeps]
    count = 1
    for one in choices:
        count *= len(one)
    if count > MOST:
        raise ChangeError(f"these are {count:,} forks, and a sweep makes at most {MOST}", "vary fewer things at once")
    return list(product(*choices))


def values(what: str, text: str) -> list[str]:
    """The values of a list: parts between commas that stand in no text, list or object of their own. Raises `ChangeError`."""
    found: list[str] = []
    start, depth, quoted, escaped = 0, 0, False, False
    for at, character in enumerate(text):
        if quoted:
            quoted = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            quoted = True
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        elif character == "," and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
    found.append(text[start:].strip())
    if "" in found:
        raise ChangeError(
            f"`--sweep {what}=…` has a value that is empty", "values stand between commas: `--sweep model.fast=a,b`"
        )
    return found
