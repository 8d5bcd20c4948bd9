"""How a run ends: exactly one of a value, a declared error, a fault, or `Uncertain`; or it is parked (runtime.md, section 1).

Data, never an exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TypeAlias, assert_never, cast

from ael.data import dataclass, field
from ael.run.park import Wait
from ael.run.place import place_of
from ael.run.ports import Usage
from ael.types.fault import Failure, Fault, FaultKind, Uncertain


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run used in all: model calls, tool calls, wire attempts, tokens by class, money in US dollars, seconds of work.

    `cost` is None where a price was unknown for at least one call: unpriced is never told as free.
    """

    steps: int = 0
    tool_calls: int = 0
    attempts: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: Decimal | None = Decimal(0)
    seconds: float = 0.0

    def plain(self) -> dict[str, object]:
        """As JSON."""
        usage = self.usage
        return {
            "steps": self.steps,
            "tool_calls": self.tool_calls,
            "attempts": self.attempts,
            "tokens": {
                "input": usage.input,
                "cache_read": usage.cache_read,
                "cache_write": usage.cache_write,
                "output": usage.output,
                "reasoning": usage.reasoning,
                "estimated": usage.estimated,
            },
            "cost": None if self.cost is None else str(self.cost),
            "seconds": round(self.seconds, 6),
        }


@dataclass(frozen=True, slots=True)
class Value:
    """The run gave a value. `value` as compiled code sees it, `plain` as JSON."""

    value: object
    plain: object
    spent: Spent = field(default_factory=Spent)


@dataclass(frozen=True, slots=True)
class DeclaredError:
    """The run failed with a declared error: its qualified name and its record, `plain` as JSON."""

    error: str
    value: Mapping[str, object]
    plain: object
    spent: Spent = field(default_factory=Spent)


@dataclass(frozen=True, slots=True)
class Faulted:
    """The run ended with a fault. `details` are plain JSON: `transcript`, `usage`, `limit`, `spender`, `path` … as the kind has them.

    `place`: where in the source (`main.ael:3:5`), for whoever runs the program here; it is no part of the outcome.
    """

    kind: FaultKind
    message: str
    details: Mapping[str, object]
    spent: Spent = field(default_factory=Spent)
    place: str = field(default_factory=str, compare=False)


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A call of the run may or may not have taken effect, and the program passed that on."""

    key: str
    operation: str
    step: str
    details: Mapping[str, object]
    spent: Spent = field(default_factory=Spent)


@dataclass(frozen=True, slots=True)
class Suspended:
    """The run has not ended: it is parked until it is woken, by an answer to one of `waits` or at the time `wake`."""

    waits: tuple[Wait, ...]
    wake: float | None
    spent: Spent = field(default_factory=Spent)


Outcome: TypeAlias = Value | DeclaredError | Faulted | Unsettled | Suspended


def word_of(outcome: Outcome) -> str:
    """Which it is: `value`, `error`, `fault`, `uncertain`, or `parked`."""
    match outcome:
        case Value():
            return "value"
        case DeclaredError():
            return "error"
        case Faulted():
            return "fault"
        case Unsettled():
            return "uncertain"
        case Suspended():
            return "parked"
        case _:
            assert_never(outcome)


def to_json(outcome: Outcome) -> dict[str, object]:
    """The JSON form: `outcome` says which it is, `spent` what it cost."""
    told: dict[str, object] = {"outcome": word_of(outcome)}
    match outcome:
        case Value():
            told["value"] = outcome.plain
        case DeclaredError():
            told |= {"error": outcome.error, "value": outcome.plain}
        case Faulted():
            told |= {"kind": outcome.kind.value, "message": outcome.message, "details": dict(outcome.details)}
        case Unsettled():
            told |= {"key": outcome.key, "operation": outcome.operation, "step": outcome.step, "details": dict(outcome.details)}
        case Suspended():
            told |= {"waits": [{**wait._asdict(), "detail": dict(wait.detail)} for wait in outcome.waits], "wake": outcome.wake}
        case _:
            assert_never(outcome)
    told["spent"] = outcome.spent.plain()
    return told


def of_json(record: Mapping[str, object]) -> Outcome:
    """The outcome of a run that ended, as a store kept it: the JSON of `to_json`, without what it cost and with values as JSON."""
    details = cast("Mapping[str, object]", record.get("details") or {})
    match record["outcome"]:
        case "value":
            return Value(record["value"], record["value"])
        case "error":
            return DeclaredError(str(record["error"]), {}, record["value"])
        case "uncertain":
            return Unsettled(str(record["key"]), str(record["operation"]), str(record["step"]), details)
        case _:
            return Faulted(FaultKind(str(record["kind"])), str(record["message"]), details)


Ending: TypeAlias = Failure | Fault | Uncertain
"""What carries an ending inside the run time."""
ENDINGS = (Failure, Fault, Uncertain)


def outcome_of(ending: Ending, spent: Spent, plain: object = None) -> Outcome:
    """The outcome of a run that ended with `ending`; `plain` is the JSON form of a declared error's record."""
    match ending:
        case Failure():
            return DeclaredError(ending.error, ending.value, ending.value if plain is None else plain, spent)
        case Fault():
            return Faulted(ending.kind, ending.message, ending.details, spent, place_of(ending))
        case Uncertain():
            return Unsettled(ending.key, ending.operation, ending.step, ending.details, spent)
        case _:
            assert_never(ending)
