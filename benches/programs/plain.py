"""What the functions of ``plain.ael`` are called with, and what has to come out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """An argument that makes the function run some milliseconds, and its result."""

    argument: int
    result: int


CASES: Mapping[str, Case] = {
    "loops": Case(50_000, 416_625_000),
    "records": Case(20_000, 200_049_998),
    "calls": Case(20, 6_765),
    "strings": Case(20_000, 6_878),
}
