"""The grader `schema(…)`: JSON Schema by a kept validator, offline. Loaded where an evaluation has one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ael.types.decode_support import Collector, Enough
from ael.types.json import JsonError, read
from ael.types.predicate import predicate

MOST_TOLD = 3


def problem_of_schema(text: str) -> str | None:
    """Why a text is no JSON Schema that can be used; None where it is one. A `$ref` to another document cannot."""
    try:
        found = read(text)
    except JsonError as error:
        return str(error)
    if not isinstance(found, dict | bool):
        return "it is an object"
    try:
        predicate(text)
    except ValueError as error:
        return str(error).splitlines()[0][:300]
    return None


def problems(text: str, value: object) -> Iterator[str]:
    """What is wrong with a JSON value, the first few of it."""
    check = predicate(text)
    if check.fits(value):
        return
    found = Collector(MOST_TOLD)
    with suppress(Enough):
        check.tell(value, (), found)
    yield from map(str, found.problems)
