"""Calls with a key: the same key and the same call is one effect, whoever lost a reply and asks again (services.md).

Answers are kept in memory, a bounded number of them. A key also makes the run's id, from which the keys of all effects inside come: a
call that runs again, after a cancel, a temporary fault or a restart, sends the same keys again to what deduplicates by them.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass

from ael.run.outcome import DeclaredError, Outcome, Unsettled, Value
from ael.server.flight import Flight, Request

KEPT = 2_000
"""Calls whose answers are kept."""
LONGEST_KEY = 512


@dataclass(eq=False)
class Keyed:
    """What is known of a key: which call it names, and its run, which may have ended."""

    digest: str
    flight: Flight


class Once:
    """The keyed calls of all callers, each apart."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str, str], Keyed] = OrderedDict()

    def find(self, request: Request) -> Keyed | None:
        """What is known of the request's key."""
        return self._known.get(_name(request)) if request.key is not None else None

    def began(self, request: Request, flight: Flight) -> None:
        """A keyed call runs. The longest known are forgotten, but none that still runs."""
        if request.key is None:
            return
        self._known[_name(request)] = Keyed(request.digest, flight)
        self._known.move_to_end(_name(request))
        while len(self._known) > KEPT and next(iter(self._known.values())).flight.ended.done():
            self._known.popitem(last=False)


def final(outcome: Outcome) -> bool:
    """Whether asking again gives this answer again. A fault may be gone next time: then the call is made again, with the same keys."""
    return isinstance(outcome, Value | DeclaredError | Unsettled)


def run_id(request: Request) -> str | None:
    """The id of the run of a keyed call."""
    if request.key is None:
        return None
    text = "\0".join((*_name(request), request.tool.node))
    return f"r{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def kept_id(request: Request, program: str) -> str | None:
    """The id of the run of a keyed call in a store, which programs may share: one key of a caller is one run, whatever is called."""
    if request.key is None:
        return None
    text = "\0".join((program, *_name(request)))
    return f"r{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _name(request: Request) -> tuple[str, str, str]:
    return request.caller.tenant, request.caller.name, request.key or ""
