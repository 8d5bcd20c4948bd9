"""Handing an item over to a receiver that runs elsewhere: at least once, for as long as there is time (runtime.md, section 6).

The receiver acts once for a key, and gives one that it knows its recorded answer. So an item whose answer was lost is handed over again
where the receiver may be asked twice, by what it does or because it surely keeps what it is asked; one that was never handed over always
is. What a receiver itself ends with is its word, as it would be in the process.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ael.run.call import tell_retry
from ael.run.placed import Told
from ael.run.repeat import TEMPORARY, wait_before
from ael.run.scope import Scope
from ael.run.step import Step
from ael.types.fault import Fault
from ael.types.spec import RetrySpec

DELIVERIES = RetrySpec(attempts=5, base=200, cap=5_000)
"""How often one item is handed over while that fails, and the milliseconds between; a receiver that has no room does not count."""
_HELD = 3
"""From so many tries on a receiver without room is asked at the same distance, since it gets room at any time."""


async def deliver(hand_over: Callable[[], Awaitable[object]], scope: Scope, step: Step, *, twice: bool) -> object:
    """What the receiver gives. Raises what it ends with, and the fault of the last delivery where there is none after it.

    `twice`: the receiver may be asked again although it may have acted.
    """
    world = step.run.world
    tried, failed = 0, 0
    while True:
        try:
            return await hand_over()
        except Fault as fault:
            tried += 1
            if fault.details.get("began") is False:
                # Full, or about to end: it holds its sender back, and has not looked at the item.
                step.sent, tries = False, min(tried, _HELD)
            else:
                failed += 1
                if failed >= DELIVERIES.attempts or not _again(fault, step, twice):
                    raise
                step.failed_attempt(failed, fault)
                tries = failed
            after = fault.details.get("retry_after")
            wait = wait_before(tries, DELIVERIES, world.bindings.random, after if isinstance(after, int | float) else None)
            left = scope.deadline.left()
            if left is not None and wait >= left:
                raise
            tell_retry(step, tried, wait, fault, scope.span)
            await world.clock.sleep(wait)


def _again(fault: Fault, step: Step, twice: bool) -> bool:
    """Whether a delivery failed in a way that lets the item be handed over again."""
    if isinstance(fault, Told) or fault.kind not in TEMPORARY or fault.details.get("final", False):
        return False
    return twice or step.sent is False
