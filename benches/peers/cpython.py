"""The functions of ``programs/plain.ael`` in Python (`plain`). A record is a dict, the cheapest that Python has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benches.programs.plain import CASES
from benches.worker import cpu_per_run


def loops(n: int) -> int:
    total = 0
    i = 0
    while i < n:
        if i % 3 == 0:  # noqa: SIM108 (statement by statement as in AEL)
            total = total + i
        else:
            total = total - 1
        i = i + 1
    return total


def records(n: int) -> int:
    at: dict[str, Any] = {"x": 0, "y": 0, "label": "start"}
    for i in range(1, n + 1):
        at = {**at, "x": at["x"] + i, "y": at["y"] + at["x"] % 7}
    return int(at["x"] + at["y"])


def calls(n: int) -> int:
    if n < 2:
        return n
    return calls(n - 1) + calls(n - 2)


def strings(n: int) -> int:
    found = 0
    last = ""
    for i in range(1, n + 1):
        text = f"order {i} of {n}"
        if "7" in text and text != last:
            found = found + 1
        last = text
    return found


FUNCTIONS: Mapping[str, Callable[[int], int]] = {"loops": loops, "records": records, "calls": calls, "strings": strings}


def plain(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """CPU milliseconds of one call of a function, whose result has to be the known one."""
    case = CASES[request["case"]]
    function = FUNCTIONS[request["case"]]
    assert function(case.argument) == case.result
    return {"ms": cpu_per_run(lambda: function(case.argument)) * 1000}


OPS = {"plain": plain}
