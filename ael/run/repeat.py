"""Repeat safety at run time: keys, which failures are temporary, how long to wait. The only owner of retries (runtime.md, section 4)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from ael.types.fault import Fault, FaultKind
from ael.types.signature import Repeat
from ael.types.spec import RetrySpec

TEMPORARY = frozenset({FaultKind.TIMEOUT, FaultKind.DISCONNECTED, FaultKind.UNAVAILABLE})
"""Faults after which something idempotent is tried again. Everything else is fatal: trying it again gives the same (A8.12)."""

LOST_REPLY = frozenset({FaultKind.TIMEOUT, FaultKind.DISCONNECTED, FaultKind.MALFORMED, FaultKind.CRASHED, FaultKind.TOO_DEEP})
"""Faults of something outside that leave open whether it took effect, where it is `never` or `reconcile`."""

LOST_ANSWER = LOST_REPLY | {FaultKind.TOO_LARGE, FaultKind.UNAVAILABLE}
"""The same of an MCP server, where an answer may also be too large to be read, or be a status of something that stands before it."""


def key_of(run: str, path: str, target: str) -> str:
    """The idempotency key of one logical effect: from run, structural path and tool, never from the attempt; the same after a restart."""
    return hashlib.sha256(f"{run}\n{path}\n{target}".encode()).hexdigest()[:32]


def key_from(tool: str, tenant: str, value: str) -> str:
    """The key of `repeat … key expr`: the same value names the same effect in every run of the tenant."""
    return hashlib.sha256(f"key\n{tenant}\n{tool}\n{value}".encode()).hexdigest()[:32]


def retryable(fault: Fault, repeat: Repeat) -> bool:
    """Whether the run time may try again on its own after `fault`."""
    return not repeat.can_be_uncertain and fault.kind in TEMPORARY and not fault.details.get("final", False)


def wait_before(attempt: int, retry: RetrySpec, random: Callable[[], float], retry_after: float | None = None) -> float:
    """Seconds to wait after attempt number `attempt` (from 1) failed. What the other side asked for is kept to, also above the cap.

    Jitter takes up to half off, so that many callers do not come back at once.
    """
    match retry.backoff:
        case "fixed":
            planned = retry.base
        case "linear":
            planned = retry.base * attempt
        case "exponential":
            planned = retry.base * 2 ** min(attempt - 1, 30)
    jittered = min(planned, retry.cap) / 1000 * (1 - random() / 2)
    return jittered if retry_after is None else max(retry_after, jittered)
