"""On whose behalf code runs: its rights, budget, deadline, attempts, trace span, and what outside data it has seen."""

from __future__ import annotations

from collections.abc import Sequence

from ael.run.budget import Account
from ael.run.deadline import Deadline
from ael.run.permission import Rights
from ael.run.run import Run
from ael.run.trace import OpenSpan


class Attempts:
    """How often something may still be tried again: travels with a call, so that nested retries do not multiply (runtime.md, section 4)."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self) -> bool:
        """Take one retry; False when there is none left."""
        if self.left <= 0:
            return False
        self.left -= 1
        return True


class Scope:
    """Shared by the frames of one body. `level` counts delegations; `seen` the outside sources of what came back to this body so far;
    `touched` says whether something `never` or `reconcile` was started in it.

    Everything is passed on explicitly, never by context variables, so it holds in threads too (K40).
    """

    __slots__ = ("account", "attempts", "deadline", "last", "level", "name", "rights", "run", "seen", "span", "touched")

    def __init__(
        self,
        run: Run,
        name: str,
        rights: Rights,
        account: Account,
        deadline: Deadline,
        attempts: Attempts | None = None,
        span: OpenSpan | None = None,
        level: int = 0,
        seen: frozenset[str] = frozenset(),
    ) -> None:
        self.run = run
        self.name = name
        self.rights = rights
        self.account = account
        self.deadline = deadline
        self.attempts = attempts
        self.span = span
        self.level = level
        self.seen = seen
        self.last: tuple[str, ...] = ()
        self.touched = False

    def inside(self, rights: Rights, deadline: Deadline, attempts: Attempts | None, span: OpenSpan | None) -> Scope:
        """The scope of the body of something called from here, in the same budget."""
        return Scope(self.run, self.name, rights, self.account, deadline, attempts, span or self.span, self.level, self.seen)

    def beside(self) -> Scope:
        """The scope of one of several branches, in the same span: what one of them sees has no hand in what the others do."""
        made = self.inside(self.rights, self.deadline, self.attempts, self.span)
        made.last = self.last
        return made

    def took(self, inner: Scope) -> None:
        """What went on inside, which may have ended in any way: its outside data has a hand in what follows."""
        if not inner.seen <= self.seen:
            self.seen |= inner.seen
        self.touched = self.touched or inner.touched

    def joined(self, branches: Sequence[Scope]) -> None:
        """All branches have ended, however: what follows derives from each."""
        for branch in branches:
            self.took(branch)
        self.last = tuple(dict.fromkeys(path for branch in branches for path in branch.last)) or self.last

    def note(self, path: str, taint: frozenset[str]) -> None:
        """A value came back from the call at `path`: what follows derives from it, and through it from all before."""
        if taint and not taint <= self.seen:
            self.seen |= taint
        self.last = (path,)
