"""What was given up in the middle: a time limit, a failure in a branch beside it or a cancel cut it off.

The code around such a call never saw how it ended, because nothing catches a cancellation. A run over its journal comes to the same place
without what cut it off there. So the record of the call says that it was given up, and by which limit, and `GivenUp` goes the way that the
cancellation went: to that limit, to the `parallel` whose failure it was, or out of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ael.journal.entry import Ending, Entry, State

OTHER = 0
"""Stands for whatever is no time limit: a failure in another branch, a cancel."""
_MARK = "given_up"


class GivenUp(BaseException):
    """On its way out of code that an earlier execution gave up here. Nothing catches it but what gave it up.

    `limit` is the depth of the time limit that was up (`Deadline.depth`), or `OTHER`.
    """

    def __init__(self, limit: int) -> None:
        super().__init__(f"given up by {limit}")
        self.limit = limit


def marked(record: dict[str, object], limit: int) -> dict[str, object]:
    """The record of an ending, which says that its call was given up."""
    return {**record, _MARK: limit}


def given_up(entry: Entry) -> GivenUp | None:
    """What goes on from the answer of a call that was given up; None for every other answer."""
    if entry.ending is Ending.VALUE or not isinstance(entry.value, Mapping):
        return None
    limit = entry.value.get(_MARK)
    return GivenUp(limit) if isinstance(limit, int) else None


def limit_of(error: BaseException, fired: int | None) -> int:
    """By which limit a call is given up: in this execution (`fired`), or in the one whose giving up is replayed."""
    return error.limit if isinstance(error, GivenUp) else fired or OTHER


def cancelled_for(entries: Iterable[Entry]) -> str | None:
    """Why the run was told to end, by its journal."""
    reasons = [entry.value for entry in entries if entry.path.startswith("end@") and entry.state is State.PROPOSED]
    return str(reasons[-1]) if reasons else None
