"""What a run tells while it goes: typed events with identifiers. Content is what the model or a tool said; secrets are masked before."""

from __future__ import annotations

from decimal import Decimal
from typing import TypeAlias

from ael.data import dataclass
from ael.run.ports import Usage


@dataclass(frozen=True, slots=True)
class RunStarted:
    run: str
    entry: str
    tenant: str
    caller: str


@dataclass(frozen=True, slots=True)
class RunFinished:
    """`ending` is `value`, `error`, `fault`, `uncertain` or `parked`; `seconds` of wall time."""

    run: str
    ending: str
    seconds: float


@dataclass(frozen=True, slots=True)
class NodeStarted:
    run: str
    path: str
    node: str


@dataclass(frozen=True, slots=True)
class NodeFinished:
    run: str
    path: str
    node: str
    ending: str
    seconds: float


@dataclass(frozen=True, slots=True)
class EdgeTaken:
    """An agent goes on: `edge` as source writes its ends (`answer -> summary`), `path` of the visit that it leads to."""

    run: str
    path: str
    agent: str
    edge: str


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A model is asked. `turn` counts from 1 in its node."""

    run: str
    path: str
    node: str
    model: str
    turn: int


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the text of the turn under way; `final` when it is a piece of the structured result."""

    run: str
    path: str
    text: str
    final: bool = False


@dataclass(frozen=True, slots=True)
class Partial:
    """What a structured result under way holds so far, as a partial value of the node's output type."""

    run: str
    path: str
    value: object


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """`cost` None when the price is unknown."""

    run: str
    path: str
    node: str
    model: str
    stop: str
    usage: Usage
    cost: Decimal | None
    seconds: float


@dataclass(frozen=True, slots=True)
class ToolStarted:
    run: str
    path: str
    tool: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """`ending` is `value`, `error`, `fault`, `uncertain` or `refused`; `detail` says the error or the reason in a few words."""

    run: str
    path: str
    tool: str
    ending: str
    seconds: float
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ToolProgressed:
    """The server of a tool says how far a call is: `done`, of `total` where that is known. `text` is its word of it: one bounded line."""

    run: str
    path: str
    tool: str
    done: float
    total: float | None
    text: str


@dataclass(frozen=True, slots=True)
class ServerLogged:
    """The server of a tool logs something during a call. `level` is one of MCP's, such as `warning`; `text` one bounded line of its."""

    run: str
    path: str
    tool: str
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class BudgetReached:
    """`spender` (a node, the run, the tenant) has used `percent` (50, 75, 90, 100) of its `limit` (`tokens`, `cost` …). Told once each."""

    run: str
    path: str
    spender: str
    limit: str
    percent: int


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    run: str
    path: str
    tool: str
    role: str | None


@dataclass(frozen=True, slots=True)
class ApprovalDecided:
    run: str
    path: str
    tool: str
    approved: bool
    by: str


@dataclass(frozen=True, slots=True)
class Retried:
    """Something is tried again after `wait` seconds; `attempt` is the one that failed, from 1."""

    run: str
    path: str
    target: str
    attempt: int
    wait: float
    reason: str


@dataclass(frozen=True, slots=True)
class FellBack:
    """`model` was unavailable and `to` is asked instead."""

    run: str
    path: str
    model: str
    to: str
    reason: str


@dataclass(frozen=True, slots=True)
class StoreChanged:
    """A store was written: `operation` is `put` or `remove`, `key` which entry; what stands there is told nobody."""

    run: str
    path: str
    store: str
    operation: str
    key: str


@dataclass(frozen=True, slots=True)
class Logged:
    """`log(x)` of the program."""

    run: str
    path: str
    text: str


Event: TypeAlias = (
    RunStarted
    | RunFinished
    | NodeStarted
    | NodeFinished
    | EdgeTaken
    | TurnStarted
    | Text
    | Partial
    | TurnFinished
    | ToolStarted
    | ToolFinished
    | ToolProgressed
    | ServerLogged
    | BudgetReached
    | ApprovalAsked
    | ApprovalDecided
    | Retried
    | FellBack
    | StoreChanged
    | Logged
)
