"""The records of a run as they come, without their content: for whoever follows it from outside (feature A12.15)."""

from __future__ import annotations

from ael.journal.entry import Ending, Kind, Line, State
from ael.journal.schema import BITS, MOST
from ael.journal.writer import Connection


def lines(db: Connection, run: str, after: int, most: int) -> list[Line]:
    """Up to `most` records of a run after number `after` (-1: from the first one on), in their order."""
    found = db.rows("SELECT number FROM ael_run WHERE run = ?", run)
    if not found:
        return []
    first = int(found[0][0]) << BITS
    return [
        Line(
            int(place) - first,
            str(path),
            Kind(kind),
            State(state),
            str(target),
            None if ending is None else Ending(ending),
            float(at),
        )
        for place, path, kind, state, target, ending, at in db.rows(_LINES, first + after + 1, first | (MOST - 1), most)
    ]


_LINES = "SELECT place, path, kind, state, target, ending, at FROM ael_record WHERE place BETWEEN ? AND ? ORDER BY place LIMIT ?"
