"""Facts in words: budgets, times, sizes, repeat safety."""

from __future__ import annotations

from collections.abc import Iterator

from ael.types.signature import Repeat
from ael.types.spec import ApprovalSpec, BudgetSpec, LimitSpec, RetrySpec

REPEAT = {
    Repeat.NEVER: "never: a call whose reply is lost may have taken effect, and is not repeated",
    Repeat.RECONCILE: "reconcile: after a lost reply the program looks before it does anything again",
    Repeat.IDEMPOTENT: "idempotent: doing it again changes nothing more",
    Repeat.PURE: "pure: it reaches nothing outside",
}
_TIMES = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))
_UNITS = ((1 << 20, "MiB"), (1 << 10, "KiB"))


def duration(milliseconds: int) -> str:
    """As source writes it: `5s`."""
    return next(f"{milliseconds // unit}{name}" for unit, name in _TIMES if milliseconds % unit == 0)


def size(count: int) -> str:
    """As source writes it: `64KiB`."""
    return next((f"{count // unit}{name}" for unit, name in _UNITS if count and count % unit == 0), f"{count}B")


def budget(spec: BudgetSpec) -> Iterator[str]:
    """What may be spent at most, one thing each."""
    if spec.tokens is not None:
        yield f"tokens {spec.tokens:,}"
    if spec.cost is not None:
        yield f"cost ${spec.cost:f}"
    if spec.time is not None:
        yield f"time {duration(spec.time)}"
    if spec.steps is not None:
        yield f"steps {spec.steps:,}"
    if spec.tool_calls is not None:
        yield f"tool calls {spec.tool_calls:,}"


def limit(spec: LimitSpec) -> Iterator[str]:
    """Sizes, and how many at once."""
    if spec.input is not None:
        yield f"input {size(spec.input)}"
    if spec.output is not None:
        yield f"output {size(spec.output)}"
    if spec.concurrent is not None:
        yield f"{spec.concurrent} at once"


def timeout(milliseconds: int | None) -> str:
    """Of a tool or an operation."""
    if milliseconds is None:
        return "the deployment's (30s without one)"
    return "none" if milliseconds < 0 else duration(milliseconds)


def approval(spec: ApprovalSpec) -> str:
    """Who has to agree."""
    by = f"by {spec.role}" if spec.role is not None else "by a person"
    return f"required {by}{' where its condition holds' if spec.conditional else ''}"


def retry(spec: RetrySpec) -> str:
    """How often, and how far apart."""
    return f"{spec.attempts} attempts, {duration(spec.base)} to {duration(spec.cap)} apart ({spec.backoff})"
