"""What runs that are kept spend of their callers' accounts in this process.

An execution over a journal books once more what earlier ones spent. So when a run goes on in the process that had it before, what it
spent here is taken back from the account first: it counts while the run is parked, and once when the run goes on.
"""

from __future__ import annotations

from collections.abc import Mapping

from ael.journal.entry import Header
from ael.run.budget import ZERO, Account
from ael.run.outcome import Outcome, Spent, Suspended
from ael.server.caller import Callers

KEPT = 10_000
"""Parked runs of which it is remembered what they spent; the account of an older one is charged again for its beginning."""


class Drawn:
    """The accounts that runs draw from here, and what those that are parked had spent."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers
        self._running: dict[str, Account] = {}
        self._parked: dict[str, tuple[Account, Spent]] = {}

    def began(self, run: str, account: Account | None) -> None:
        """A run is executed here, on this account."""
        if account is not None:
            self._running[run] = account

    def again(self, header: Header, pinned: Mapping[str, object]) -> Account | None:
        """A run goes on here: the account of its caller as it is now, None where the run or its caller has none."""
        before = self._parked.pop(header.run, None)
        caller = self._callers.named(header.tenant, header.caller) if "accounts" in pinned else None
        account = None if caller is None else caller.account
        if account is not None and before is not None and before[0] is account:
            spent = before[1]
            account.take_back(spent.steps, spent.tool_calls, spent.usage.total, spent.cost or ZERO)
        self.began(header.run, account)
        return account

    def left(self, run: str, outcome: Outcome | Exception) -> None:
        """The execution of a run here is over."""
        account = self._running.pop(run, None)
        if account is not None and isinstance(outcome, Suspended):
            self._parked[run] = (account, outcome.spent)
            if len(self._parked) > KEPT:
                del self._parked[next(iter(self._parked))]
