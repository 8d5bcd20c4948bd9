"""The ending of a run as whoever called from outside is to understand it: a caller knows of no run, only of a call."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

from ael.journal.entry import Entry
from ael.run.world import short
from ael.services.wire import crossing
from ael.types.fault import FaultKind

RETRY_AFTER = 1.0
_OVER = ("the run", "the run's deadline")
"""Who spends the time of a whole run."""


def fault(kind: FaultKind, message: str, **details: object) -> dict[str, object]:
    """An ending that is a fault, in the form of `outcome.to_json`."""
    return {"outcome": "fault", "kind": kind.value, "message": message, "details": details}


def ending_for(
    outcome: Mapping[str, object], run: str, entry: str, key: str | None, *, who: str, trusting: bool
) -> Mapping[str, object]:
    """How a run (its outcome in the form of `outcome.to_json`) ended, for the caller that gave it `key`.

    `who` says on standard error what is the operator's alone; `trusting`: the caller is the program's own, and is told that too.
    """
    kind, details = outcome.get("kind"), outcome.get("details")
    given = details if isinstance(details, Mapping) else {}
    ending: Mapping[str, object] = outcome
    cut = kind == FaultKind.CANCELLED or (kind == FaultKind.DEADLINE_EXCEEDED and given.get("spender") in _OVER)
    lost = _loss(given, key, inside=cut)
    if outcome.get("outcome") == "parked":
        message = f"the run {run} waits for a person or a time, and goes on when it is there"
        ending = fault(FaultKind.UNAVAILABLE, message, retry_after=RETRY_AFTER)
    elif lost is not None:
        ending = {"outcome": "uncertain", **lost, "details": {"why": outcome.get("message")}}
    elif kind == FaultKind.CANCELLED:
        ending = fault(FaultKind.UNAVAILABLE, f"the call was given up: {outcome.get('message')}", retry_after=RETRY_AFTER)
    elif cut:
        ending = {**outcome, "kind": FaultKind.TIMEOUT.value}
    elif kind == FaultKind.CRASHED and not trusting:
        # What crashed and why is for whoever runs the server: it may quote the inside of the program.
        print(f"{who}: run {run} of {entry} crashed: {outcome.get('message')}", file=sys.stderr)
        ending = fault(FaultKind.CRASHED, f"something inside the program failed; its operator finds it as run {run}")
    return crossing(ending)


def taint_in(entries: Iterable[Entry], entry: str) -> frozenset[str]:
    """The outside data that had a hand in the result of a kept run of `entry`: by its own record, else by all of them."""
    every = list(entries)
    own = [one for one in every if one.path == short(entry)] or every
    return frozenset(source for one in own for source in one.taint)


def _loss(details: Mapping[str, object], key: str | None, *, inside: bool) -> dict[str, object] | None:
    """What a run gave up that may have taken effect: the call itself, or, where the run was cut off from here, the first `inside` of it."""
    lost = details.get("uncertain")
    found = [one for one in lost if isinstance(one, Mapping)] if isinstance(lost, list) else []
    own = [one for one in found if key is not None and one.get("key") == key]
    for one in own or (found if inside else ()):
        return {name: one.get(name) for name in ("key", "operation", "step")}
    return None
