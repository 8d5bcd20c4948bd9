"""The terms of a run that its journal holds it to: what it may call, and what it may spend (runtime.md, section 5; feature A12.7).

The run time refuses all of this before, in words for a program. Here it is refused as a defect of the run time: nothing begins that the run
was not pinned to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from ael.journal.entry import Entry, Kind, State

_NAMED = frozenset({Kind.TOOL, Kind.OPERATION, Kind.STORE})


class NotBound(RuntimeError):
    """A call of something that the run cannot reach from its entry."""


class OverBudget(RuntimeError):
    """A call or a turn beyond the budget that the run is pinned to."""


class Terms:
    """What a run is pinned to under `calls` (the names that it can reach) and `budget`, and what its records spent of that.

    A run of an older release has no `calls`: then any may be called. Tokens and money are those of turns that are answered, so a turn is
    refused after the one that went beyond the limit, as the run time refuses it before.
    """

    __slots__ = ("_calls", "_cost", "_left", "_limits", "_tokens")

    def __init__(self, pinned: Mapping[str, object], records: Iterable[Entry] = ()) -> None:
        calls, budget = pinned.get("calls"), pinned.get("budget")
        self._calls = frozenset(map(str, calls)) if isinstance(calls, list | tuple) else None
        limits = budget if isinstance(budget, Mapping) else {}
        self._limits: Mapping[str, object] = limits
        self._left = {kind: limit for word, kind in _COUNTED if isinstance(limit := limits.get(word), int)}
        self._tokens = 0
        self._cost = Decimal(0)
        for entry in records:
            self.add(entry)

    def check(self, entry: Entry) -> None:
        """Refuse a call that begins outside of the terms. Raises `NotBound`, `OverBudget`."""
        if entry.state is not State.STARTED:
            return
        kind = entry.kind
        if self._calls is not None and kind in _NAMED and entry.target not in self._calls:
            raise NotBound(f"{entry.path}: `{entry.target}` is nothing that this run can call")
        if self._left.get(kind, 1) <= 0:
            raise OverBudget(f"{entry.path}: `{entry.target}` is beyond the budget of the run")
        if kind is Kind.MODEL and self._spent():
            raise OverBudget(f"{entry.path}: the run has spent its budget")

    def add(self, entry: Entry) -> None:
        """Count a record that is kept."""
        kind = entry.kind
        if entry.state is State.STARTED:
            if kind in self._left:
                self._left[kind] -= 1
        elif kind is Kind.MODEL and entry.state is State.ANSWERED and isinstance(entry.value, Mapping):
            usage, paid = entry.value.get("usage"), entry.value.get("paid")
            if isinstance(usage, list | tuple):
                self._tokens += sum(int(number) for number in usage[:_CLASSES])
            if isinstance(paid, str):
                self._cost += Decimal(paid)

    def _spent(self) -> bool:
        tokens, cost = self._limits.get("tokens"), self._limits.get("cost")
        return (isinstance(tokens, int) and self._tokens > tokens) or (isinstance(cost, Decimal) and self._cost > cost)


_COUNTED = (("steps", Kind.MODEL), ("tool_calls", Kind.TOOL))
_CLASSES = 5
"""Numbers of a usage that are tokens, each class by itself."""
