"""Parking: a run that waits for a person or a long time gives up its task, and goes on over its journal when it is woken (feature A4.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

WAIT_IN_TASK = 30.0
"""Seconds that a run which can be parked waits for something in its task; for longer it is parked."""


DEFERRALS = 10
"""How often, beyond its attempts, a call may be put off for so long: the other side that always says "later" ends it (feature A7.11)."""


class Wait(NamedTuple):
    """What a parked run waits for.

    `path` is the place of the answer in the journal: that of an approval, or of a call whose outcome nobody knows. `until`: the time
    (seconds since the epoch) after which the run goes on without an answer, None for as long as it takes. `detail` is data to show.
    """

    kind: Literal["approval", "uncertain", "time"]
    path: str
    target: str
    until: float | None
    detail: Mapping[str, object]


class Parked(BaseException):
    """On its way out of a run that parks. No failure: nothing catches it, nothing is journaled for it, and no branch is cancelled by it."""

    def __init__(self, *waits: Wait) -> None:
        super().__init__(", ".join(f"{wait.kind} at {wait.path}" for wait in waits))
        self.waits = waits

    @property
    def wake(self) -> float | None:
        """When the run goes on by itself: the first of its times."""
        return min((wait.until for wait in self.waits if wait.until is not None), default=None)


def joined(parked: Sequence[Parked]) -> Parked:
    """What several branches wait for."""
    return parked[0] if len(parked) == 1 else Parked(*(wait for one in parked for wait in one.waits))
