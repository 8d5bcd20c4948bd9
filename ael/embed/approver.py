"""Approvals decided by a function of the host."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TypeAlias, cast

from ael.embed.error import RequestError
from ael.run.bindings import system_user
from ael.run.extern import in_thread
from ael.run.ports import ApprovalRequest, Decision
from ael.run.role import not_a_member

Answer: TypeAlias = bool | Decision | None
Approve: TypeAlias = Callable[[ApprovalRequest], Answer | Awaitable[Answer]]
"""Gets what would run, with its exact arguments. True and False are the word of whoever runs this process; None leaves it to others:
a kept run waits parked, another one goes on without an approval. A plain function is called in a thread, and may wait for a person."""


class CallbackApprover:
    """Asks a function. `members`: role -> who may decide for it; what somebody else says is a no."""

    def __init__(self, approve: Approve, members: Mapping[str, tuple[str, ...]]) -> None:
        if not callable(approve):
            raise RequestError("AEL0893", f"`approve` is {approve!r}, and no function")
        self._approve = approve
        self._members = members
        self._asynchronous = inspect.iscoroutinefunction(approve) or inspect.iscoroutinefunction(type(approve).__call__)

    async def decide(self, request: ApprovalRequest) -> Decision | None:
        """The function's word. What it raises is a no, which says what kind of error it was."""
        try:
            said = await self._ask(request)
        except Exception as error:  # the function is the user's: whatever it raises approves nothing
            return Decision(False, "nobody", f"the question failed: {type(error).__name__}")
        if said is None:
            return None
        if not isinstance(said, bool | Decision):
            return Decision(False, "nobody", f"the question was answered with a {type(said).__name__}")
        decision = said if isinstance(said, Decision) else Decision(said, system_user(), "" if said else "not approved")
        return not_a_member(request, decision.by, self._members) or decision

    async def _ask(self, request: ApprovalRequest) -> Answer:
        if self._asynchronous:
            return await cast("Awaitable[Answer]", self._approve(request))
        stopped = threading.Event()
        return cast("Answer", await in_thread(_forget, partial(self._approve, request), stopped))


def _forget(future: asyncio.Future[object]) -> None:
    """A question that is no longer asked is waited for by nobody."""
