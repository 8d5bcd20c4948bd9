"""What one run did, as plain data: how it ended, what it gave, which nodes it visited, what it called, what it kept, what it spent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import cast

from ael.data import dataclass, field
from ael.run.outcome import DeclaredError, Faulted, Outcome, Spent, Suspended, Unsettled, Value, word_of
from ael.run.ports import Span
from ael.types.canonical import encode
from ael.types.fault import FaultKind

MAX_CALLS = 200
MAX_VISITS = 1_000
MAX_TEXT = 4_000
MAX_ARGUMENTS = 8_192
"""Of more, or of what is longer, only the beginning is kept; arguments that are longer are not."""


@dataclass(frozen=True)
class Call:
    """A call of a tool: its qualified name, its arguments as JSON (None: too long to keep), and how it ended."""

    tool: str
    arguments: Mapping[str, object] | None
    ending: str


@dataclass(frozen=True)
class Observation:
    """One run. `status` is `value`, `error`, `fault`, `uncertain` or `parked`; `name` which error, fault or tool. `output` is JSON, and
    only that of a value means anything. Money in US dollars, None where a price is unknown."""

    status: str
    name: str
    message: str
    output: object
    visited: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    stores: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    seconds: float = 0.0
    steps: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost: Decimal | None = Decimal(0)
    limited: bool = False
    """Whether the budget of the whole evaluation, or an interrupt, ended it: then it says nothing about the program."""

    @property
    def told(self) -> str:
        """How it ended, in words."""
        name = f" {self.name.rpartition('.')[2]}" if self.name else ""
        return f"{self.status}{name}" + (f": {self.message}" if self.message else "")

    def plain(self) -> dict[str, object]:
        """As JSON."""
        return {
            "status": self.status,
            "name": self.name,
            "message": self.message,
            "output": self.output,
            "visited": list(self.visited),
            "calls": [[one.tool, None if one.arguments is None else dict(one.arguments), one.ending] for one in self.calls],
            "stores": {name: dict(kept) for name, kept in self.stores.items()},
            "seconds": round(self.seconds, 6),
            "steps": self.steps,
            "tool_calls": self.tool_calls,
            "tokens": self.tokens,
            "cost": None if self.cost is None else str(self.cost),
        }


def of_plain(kept: Mapping[str, object]) -> Observation:
    """What `Observation.plain` wrote. Raises `KeyError`, `TypeError` and `ValueError` for anything else."""
    cost = kept["cost"]
    calls = cast("list[list[object]]", kept["calls"])
    return Observation(
        str(kept["status"]),
        str(kept["name"]),
        str(kept["message"]),
        kept["output"],
        tuple([str(one) for one in cast("list[object]", kept["visited"])]),
        tuple([Call(str(tool), cast("Mapping[str, object] | None", given), str(ending)) for tool, given, ending in calls]),
        cast("Mapping[str, Mapping[str, object]]", kept["stores"]),
        float(cast("float", kept["seconds"])),
        int(cast("int", kept["steps"])),
        int(cast("int", kept["tool_calls"])),
        int(cast("int", kept["tokens"])),
        None if cost is None else Decimal(str(cost)),
    )


SPENDER = "the evaluation"
"""The name of the account that all runs of an evaluation draw from."""


def observed(outcome: Outcome, spans: Iterable[Span], stores: Mapping[str, Mapping[str, object]], seconds: float) -> Observation:
    """What a run did. `stores`: what it kept, by store; `seconds` of wall time."""
    name = message = ""
    output: object = None
    limited = False
    match outcome:
        case Value(plain=plain):
            output = plain
        case DeclaredError(error=error, plain=plain):
            name, message = error, encode(plain).decode()
        case Faulted(kind=kind, message=text, details=details):
            name, message = kind.value, text
            spender = str(details.get("spender", ""))
            limited = kind is FaultKind.CANCELLED or (kind is FaultKind.BUDGET_EXHAUSTED and spender.startswith(SPENDER))
            limited = limited or (kind is FaultKind.DEADLINE_EXCEEDED and spender == "the run's deadline")
        case Unsettled(operation=operation):
            name = operation
        case Suspended(waits=waits):
            name = waits[0].target if waits else ""
            message = "; ".join(f"{wait.target} waits for {wait.kind}" for wait in waits)
    spent: Spent = outcome.spent
    usage = spent.usage
    tokens = usage.input + usage.cache_read + usage.cache_write + usage.output + usage.reasoning
    found = sorted(spans, key=lambda span: span.sequence)
    visited = [span.name for span in found if span.kind in ("node", "agent")]
    calls = [_call(span) for span in found if span.kind == "tool" and span.outcome != "refused"]
    return Observation(
        word_of(outcome), name, message[:MAX_TEXT], output, tuple(visited[:MAX_VISITS]), tuple(calls[:MAX_CALLS]), stores, seconds,
        spent.steps, spent.tool_calls, tokens, spent.cost, limited,
    )  # fmt: skip


def _call(span: Span) -> Call:
    given = (span.content or {}).get("arguments")
    if not isinstance(given, Mapping):
        return Call(span.name, None, span.outcome)
    text = encode(dict(given))
    return Call(span.name, dict(given) if len(text) <= MAX_ARGUMENTS else None, span.outcome)
