"""The checks before a call, in their order (runtime.md, section 2): the name, the arguments, the permission, the budget.

The first that fails is the one reported. After them come the approval, and the permission once more immediately before the tool acts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import IntEnum
from typing import Protocol

from ael.data import dataclass
from ael.run.permission import Denial, Guarded, denial
from ael.run.scope import Scope
from ael.types.fault import Fault, FaultKind
from ael.types.problem import DecodeError, quote

_LISTED = 20
_PROBLEMS = 2_000


class Check(IntEnum):
    """The checks, numbered in their order."""

    NAME = 1
    ARGUMENTS = 2
    PERMISSION = 3
    BUDGET = 4
    APPROVAL = 5
    PERMISSION_AGAIN = 6
    TURN = 7
    """Not a check of the call: its whole turn runs nothing (cut, finished, last step)."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that is not run: which check failed, the fault that code gets, and `text`, which says what to do."""

    check: Check
    kind: FaultKind
    text: str
    fault: Fault | None = None

    def as_fault(self, path: str) -> Fault:
        """The fault for a caller that is code."""
        if self.fault is not None:
            return self.fault
        return Fault(self.kind, self.text, check=self.check.name.lower(), path=path)


def refuses(error: Fault, path: str) -> bool:
    """Whether a fault is the refusal of the call at `path` itself: for code a fault, for a model an answer that says what to do."""
    return "check" in error.details and error.details.get("path") == path


class Gated(Guarded, Protocol):
    """What the checks need to know of something that can be called."""

    @property
    def name(self) -> str: ...


def unknown_name(name: str, offered: Mapping[str, object]) -> Refusal:
    """Check 1: names are compared exactly, never loosely (K14)."""
    shown = quote(name, 80)
    if not offered:
        text = f"no tool {shown}; there are no tools here: answer without one"
    else:
        near = get_close_matches(name.strip().lower()[:120], list(offered), 1, 0.75)
        hint = f"did you mean `{near[0]}`? " if near else ""
        listed = ", ".join(f"`{known}`" for known in list(offered)[:_LISTED])
        text = f"no tool {shown}; {hint}the tools are {listed}"
    return Refusal(Check.NAME, FaultKind.DENIED, text)


def bad_arguments(error: DecodeError) -> Refusal:
    """Check 2: what is wrong with the arguments, where, bounded."""
    text = error.text
    return Refusal(Check.ARGUMENTS, FaultKind.BAD_ARGUMENTS, text if len(text) <= _PROBLEMS else text[:_PROBLEMS] + "…")


def permission(scope: Scope, target: Gated, check: Check = Check.PERMISSION) -> Refusal | None:
    """Check 3, and again before acting: every layer must grant it, asked anew each time."""
    found = denial(scope.rights, target)
    if found is None:
        return None
    again = ": it was withdrawn while the call waited" if check is Check.PERMISSION_AGAIN else ""
    return Refusal(check, FaultKind.DENIED, f"{why(found, target.name, target.permission, target.only)}{again}; do without it")


def why(found: Denial, name: str, permission: str | None, only: frozenset[str] | None) -> str:
    """A denial in words."""
    match found.rule:
        case "denied":
            return f"`{name}` is denied to everybody by the deployment"
        case "only":
            return f"`{name}` is called only inside of {_names(only or ())}, says the deployment"
        case _:
            return f"`{name}` needs the permission `{permission}`, which {found.who} does not grant"


def _names(only: Iterable[str]) -> str:
    return " or ".join(f"`{name.partition('.')[2]}`" for name in sorted(only)) or "nothing"


def room(scope: Scope) -> Refusal | None:
    """Check 4: take one tool call from the budget."""
    try:
        scope.account.take_call(scope.run.tell)
    except Fault as fault:
        return Refusal(Check.BUDGET, fault.kind, fault.message, fault)
    return None


async def shared_room(scope: Scope, path: str) -> Refusal | None:
    """Check 4 beyond the run: one tool call from the accounts of its caller and tenant, unless the journal knows the call already."""
    run = scope.run
    if run.purse is None or (run.journal.continued and run.journal.last(path) is not None):
        return None
    try:
        await run.purse.take("tool_calls")
    except Fault as fault:
        return Refusal(Check.BUDGET, fault.kind, fault.message, fault)
    return None


def charge_refused(scope: Scope) -> Fault | None:
    """A refused call counts as a tool call. The fault of a budget that has no room even for that: the node ends with it."""
    try:
        scope.account.take_call(scope.run.tell)
    except Fault as fault:
        return fault
    return None
