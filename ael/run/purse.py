"""What a run draws from the accounts that it shares with others, of its caller and its tenant (runtime.md, section 3).

A run's own accounts are in its memory and are made anew when it is continued; these are not, so what the journal replays draws nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Literal

from ael.journal.book import ZERO, Amount, Book, Drawn, Shared
from ael.journal.durable import StoreError
from ael.run.budget import MARKS, Account, exhausted
from ael.run.events import BudgetReached
from ael.run.run import Run
from ael.types.fault import Fault, FaultKind

Counted = Literal["steps", "tool_calls"]
Fit = Callable[[int | None, Decimal | None], tuple[int, Decimal]]
"""The tokens and the money of a model call, given the fewest tokens and the least money that are left (None: not limited).

It makes them fit where it can, and raises the fault of a call that cannot be made.
"""


class Purse:
    """The shared accounts of one run."""

    __slots__ = ("_accounts", "_book", "_run", "_told", "spends", "used_up")

    def __init__(self, run: Run, book: Book, accounts: Sequence[Shared]) -> None:
        self._run = run
        self._book = book
        self._accounts = tuple(accounts)
        self._told: dict[tuple[str, str], int] = {}
        self.spends = any(one.limit.tokens is not None or one.limit.cost is not None for one in self._accounts)
        """Whether a model call has to be drawn."""
        self.used_up: Fault | None = None
        """The fault of the account whose last step or call was this run's, for one that ends with it."""

    def counts(self, what: Counted) -> bool:
        """Whether an account limits this."""
        return any(getattr(one.limit, what) is not None for one in self._accounts)

    async def take(self, what: Counted) -> int | None:
        """One step or tool call, used at once. Gives the fewest that are left after it, None when nothing limits them.

        Raises the fault `BudgetExhausted`.
        """
        if not self.counts(what):
            return None
        index = Amount._fields.index(what)

        def wanted(used: Sequence[Amount]) -> Amount | Fault:
            for one, amount in zip(self._accounts, used, strict=True):
                limit = getattr(one.limit, what)
                if limit is not None and amount[index] >= limit:
                    return exhausted(_account(one), what, amount[index], limit)
            return Amount(steps=1) if what == "steps" else Amount(tool_calls=1)

        drawn = await self._draw(wanted)
        least: int | None = None
        for one, amount in zip(self._accounts, drawn.before, strict=True):
            limit = getattr(one.limit, what)
            if limit is None:
                continue
            left = limit - amount[index] - 1
            least = left if least is None else min(least, left)
            if not left:
                self.used_up = exhausted(_account(one), what, limit, limit)
        return least

    def note_call(self) -> None:
        """A refused call counts as a tool call: it is counted without being asked about, and without waiting."""
        if self.counts("tool_calls"):
            self._run.hold(asyncio.ensure_future(self._count_call()))

    async def _count_call(self) -> None:
        with suppress(StoreError):  # a store that is gone ends the run with its next record
            await self._book.draw(self._run.id, self._accounts, lambda used: Amount(tool_calls=1))

    async def draw(self, fit: Fit) -> Drawn:
        """Room for one model call in every account. Raises the fault `BudgetExhausted`, and what `fit` raises."""

        def wanted(used: Sequence[Amount]) -> Amount | Fault:
            tokens = [
                one.limit.tokens - a.tokens for one, a in zip(self._accounts, used, strict=True) if one.limit.tokens is not None
            ]
            money = [one.limit.cost - a.cost for one, a in zip(self._accounts, used, strict=True) if one.limit.cost is not None]
            try:
                drawn = Amount(*fit(max(0, min(tokens)) if tokens else None, max(ZERO, min(money)) if money else None))
            except Fault as fault:
                return fault
            for one, amount in zip(self._accounts, used, strict=True):
                limit = one.limit
                if limit.tokens is not None and amount.tokens + drawn.tokens > limit.tokens:
                    return exhausted(_account(one), "tokens", amount.tokens, limit.tokens, drawn.tokens)
                # As for a run's own account: no money at all is no call, be it free.
                if limit.cost is not None and (not limit.cost or amount.cost + drawn.cost > limit.cost):
                    return exhausted(_account(one), "cost", amount.cost, limit.cost, drawn.cost)
            return drawn

        return await self._draw(wanted)

    def settle(self, drawn: Drawn, tokens: int, cost: Decimal | None) -> None:
        """Book what a model call has spent. What has no known price is booked as it was drawn."""
        self._book.settle(drawn, tokens, drawn.amount.cost if cost is None else cost)

    async def _draw(self, wanted: Callable[[Sequence[Amount]], Amount | Fault]) -> Drawn:
        try:
            drawn = await self._book.draw(self._run.id, self._accounts, wanted)
        except StoreError as error:
            raise Fault(
                FaultKind.UNAVAILABLE, f"the account of {self._accounts[-1].name} cannot be drawn from: {error}"
            ) from None
        if isinstance(drawn, Fault):
            raise drawn
        if self._run.listening:
            self._mark(drawn)
        return drawn

    def _mark(self, drawn: Drawn) -> None:
        """Tell which marks of a limit are reached, each once for this run."""
        for one, before in zip(self._accounts, drawn.before, strict=True):
            used = before.plus(drawn.amount)
            for dimension in Amount._fields:
                limit = getattr(one.limit, dimension)
                place = (one.key, dimension)
                while limit and (told := self._told.get(place, 0)) < len(MARKS):
                    if getattr(used, dimension) * 100 < MARKS[told] * limit:
                        break
                    self._told[place] = told + 1
                    self._run.emit(BudgetReached(self._run.id, "", one.name, dimension, MARKS[told]))


def _account(one: Shared) -> Account:
    """An account of that name, for the words of its fault."""
    return Account(one.name, one.limit)
