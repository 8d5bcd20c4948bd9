"""When a kept run did not run: parked for a person or a time, or without a worker. Told from its seconds of work and the clock."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ael.data import dataclass
from ael.journal.durable import RunRow, RunState
from ael.journal.entry import Entry, State

LEAST = 0.05
"""Seconds below which clock and work differ by how they are read, not by a pause."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A time without work, in seconds since the epoch."""

    start: float
    end: float


def gaps_of(row: RunRow, entries: Sequence[Entry], end: float) -> list[Gap]:
    """The times in which the run was nobody's.

    Between two answers the clock and the run's own seconds of work (`active`) went on by the same time, or it stood still in between:
    then by the difference, and in the longest silence between records. A person's answer comes from outside and says nothing of work.
    """
    found: list[Gap] = []
    known_at, known = row.header.started, 0.0
    times = [known_at]
    for entry in entries:
        times.append(entry.at)
        if entry.state is State.ANSWERED and entry.active > known:
            found += _between(times, entry.at - known_at - (entry.active - known))
            known_at, known, times = entry.at, entry.active, [entry.at]
    if row.state is RunState.PARKED:
        found += _between([*times, end], end - max(times))
    elif row.ended is not None and row.active > 0:
        found += _between([*times, end], end - known_at - (row.active - known))
    return found


def _between(times: Sequence[float], idle: float) -> list[Gap]:
    """The longest silences, until they make up the idle time."""
    found: list[Gap] = []
    silences = sorted(pairwise(times), key=lambda pair: pair[0] - pair[1])
    for start, end in silences:
        length = min(idle, end - start)
        if length < LEAST:
            break
        # What ends a silence is the record of who goes on: the work before it is at its beginning.
        found.append(Gap(end - length, end))
        idle -= length
    return found


def overlap(gaps: Sequence[Gap], start: float, end: float) -> float:
    """Seconds of a span in which the run stood still."""
    return sum([max(0.0, min(gap.end, end) - max(gap.start, start)) for gap in gaps])
