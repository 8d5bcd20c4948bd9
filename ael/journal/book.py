"""Accounts that runs share, of tenants and of callers: drawn from before something is spent, settled when it is known what was.

Where runs are kept in a store its accounts are there too, so that every worker draws from the same; else they are those of the process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import count
from typing import NamedTuple, Protocol

from ael.data import dataclass
from ael.types.fault import Fault
from ael.types.spec import BudgetSpec

ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class Shared:
    """An account that runs share: `name` says whose, `key` names it in its book. `period` in seconds, None: one for all time."""

    name: str
    key: str
    limit: BudgetSpec
    period: int | None = None

    def since(self, now: float) -> int:
        """When its present period began, in seconds since the epoch."""
        return 0 if self.period is None else int(now // self.period) * self.period


class Amount(NamedTuple):
    """What is used of an account, or drawn from it; what is drawn and not settled yet counts as used."""

    tokens: int = 0
    cost: Decimal = ZERO
    steps: int = 0
    tool_calls: int = 0

    def plus(self, other: Amount) -> Amount:
        return Amount(
            self.tokens + other.tokens, self.cost + other.cost, self.steps + other.steps, self.tool_calls + other.tool_calls
        )


Wanted = Callable[[Sequence[Amount]], Amount | Fault]
"""What is to be drawn, given what is used of each account; or why nothing is. Called in the transaction, perhaps more than once."""


class Drawn(NamedTuple):
    """Something that was drawn: what, and what had been used of each account before."""

    id: str
    amount: Amount
    before: tuple[Amount, ...]


class Book(Protocol):
    async def draw(self, run: str, accounts: Sequence[Shared], wanted: Wanted) -> Drawn | Fault:
        """Draw the same amount from all `accounts`, or from none. No two who draw see the same room."""

    def settle(self, drawn: Drawn, tokens: int, cost: Decimal) -> None:
        """Put what was spent in the place of what was drawn. Done once; nobody waits for it.

        What is never settled, because its process died, stays used: the provider may have been paid.
        """


class MemoryBook:
    """The accounts of one process."""

    def __init__(self, now: Callable[[], float]) -> None:
        """`now` gives seconds since the epoch."""
        self._now = now
        self._used: dict[str, tuple[int, Amount]] = {}
        self._open: dict[str, list[tuple[str, int]]] = {}
        self._ids = count()

    async def draw(self, run: str, accounts: Sequence[Shared], wanted: Wanted) -> Drawn | Fault:
        # Nothing is awaited here, so nobody else draws in between.
        now = self._now()
        places = [(one.key, one.since(now)) for one in accounts]
        before = tuple(self._of(key, since) for key, since in places)
        amount = wanted(before)
        if isinstance(amount, Fault):
            return amount
        for (key, since), used in zip(places, before, strict=True):
            self._used[key] = (since, used.plus(amount))
        id = f"{run}/{next(self._ids)}"
        if amount.tokens or amount.cost:
            self._open[id] = places
        return Drawn(id, amount, before)

    def settle(self, drawn: Drawn, tokens: int, cost: Decimal) -> None:
        change = Amount(tokens - drawn.amount.tokens, cost - drawn.amount.cost)
        for key, since in self._open.pop(drawn.id, ()):
            known, used = self._used.get(key, (since, Amount()))
            if known == since:
                self._used[key] = (since, used.plus(change))

    def _of(self, key: str, since: int) -> Amount:
        known, used = self._used.get(key, (since, Amount()))
        return used if known == since else Amount()
