"""Calls with a key: the same key and the same call is one effect, whoever lost a reply and asks again (services.md).

Answers are kept in memory, a bounded number of them (`ael.server.keys`). A key also makes the run's id, from which the keys of all effects
inside come: a call that runs again, after a cancel, a temporary fault or a restart, sends the same keys again to what deduplicates by them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass

from ael.run.outcome import DeclaredError, Faulted, Outcome, Unsettled, Value
from ael.server.answer import answer
from ael.server.flight import Flight, Request
from ael.server.keys import Keys, Name
from ael.types.fault import FaultKind

LONGEST_KEY = 512
_BESIDE = 512
"""Bytes of an answer beside its text."""


@dataclass(frozen=True, slots=True)
class Kept:
    """How the call of a key ended. `text` is its answer as JSON, None where it may be made again."""

    digest: str
    text: str | None

    def answer(self) -> dict[str, object]:
        """The answer, of a call that is not made again."""
        assert self.text is not None
        return dict(json.loads(self.text))


class Once:
    """The keyed calls of all callers, each apart. `must`: whether what a node does must not be done twice."""

    def __init__(self, must: Callable[[str], bool]) -> None:
        self._must = must
        self._under_way: dict[Name, Flight] = {}
        self._answers: Keys[Kept] = Keys()

    def find(self, request: Request) -> Flight | Kept | None:
        """What is known of the request's key: the call under way, or how it ended."""
        if request.key is None:
            return None
        return self._under_way.get(_name(request)) or self._answers.find(_name(request))

    def spent(self, request: Request) -> bool:
        """Whether the call was made and must not be made again, and its answer was forgotten."""
        return request.key is not None and self._answers.spent(_name(request))

    def began(self, request: Request, flight: Flight) -> None:
        """A keyed call runs."""
        if request.key is not None:
            self._under_way[_name(request)] = flight

    def ended(self, flight: Flight) -> None:
        """A call has ended: of a keyed one the answer is kept from now on, and nothing of its run."""
        request = flight.request
        if request.key is None:
            return
        del self._under_way[_name(request)]
        if flight.ended.cancelled():
            return
        outcome, must = flight.ended.result(), self._must(request.tool.node)
        stands = final(outcome) or (must and not idle(outcome))
        text = json.dumps(answer(request.tool, flight.run.id, outcome), ensure_ascii=False) if stands else None
        self._answers.keep(_name(request), Kept(request.digest, text), len(text or "") + _BESIDE, once=stands and must)


def final(outcome: Outcome) -> bool:
    """Whether asking again gives this answer again. A fault may be gone next time: then the call is made again, with the same keys.

    Of what must not be done twice a fault stands too: a second run would do again what the first did before it.
    """
    return isinstance(outcome, Value | DeclaredError | Unsettled)


def idle(outcome: Outcome) -> bool:
    """Whether a run ended for want of room, and had called nothing."""
    spent = outcome.spent
    unused = not (spent.tool_calls or spent.steps or spent.attempts)
    return isinstance(outcome, Faulted) and outcome.kind is FaultKind.UNAVAILABLE and unused


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


def _name(request: Request) -> Name:
    return request.caller.tenant, request.caller.name, request.key or ""
