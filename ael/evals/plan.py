"""What an evaluation is: its cases, its graders and what is enough. Data, read from an `eval.ael` by `ael.evals.read`.

Names of nodes, tools and stores are qualified. Times in seconds, money in US dollars, shares from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Literal, TypeAlias

from ael.data import dataclass, field
from ael.types.spec import BudgetSpec

Approvals = Literal["park", "approve", "deny"]
"""What becomes of a call that needs an approval: the run parks there, or it is decided like this."""


@dataclass(frozen=True)
class Exact:
    """The output is what is expected; `fields`: those of its fields alone."""

    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class Schema:
    """The output fits a JSON Schema, `text`; `file` is how it is called."""

    file: str
    text: str


@dataclass(frozen=True)
class Contains:
    """The output has `text` in it (None: the expected text); of a value that is no text, its JSON."""

    text: str | None
    ignore_case: bool = False


@dataclass(frozen=True)
class Matches:
    """A pattern occurs in the output, as in `String(pattern: …)`: `^` and `$` bind it to the ends."""

    pattern: str


@dataclass(frozen=True)
class Status:
    """The run ended like this: `value`, `error`, `fault`, `uncertain` or `parked`. `name`: which error or fault, or at which tool."""

    word: str
    name: str | None = None


@dataclass(frozen=True)
class Visited:
    """All of the nodes were visited; or none of them; or all of them, first in this order."""

    nodes: tuple[str, ...]
    how: Literal["all", "none", "order"] = "all"


@dataclass(frozen=True)
class Called:
    """A tool was called: with arguments that have these, so often. `times` 0 is "never"; None at least once."""

    tool: str
    arguments: Mapping[str, object] | None = None
    times: int | None = None


@dataclass(frozen=True)
class Kept:
    """What a store keeps under a key after the run: equal to `value`, with `contains` in its text, or matching. `absent`: nothing."""

    store: str
    key: str
    how: Literal["there", "absent", "equals", "contains", "matches"] = "there"
    value: object = None


@dataclass(frozen=True)
class Within:
    """What the run spent is at most this."""

    limit: BudgetSpec


@dataclass(frozen=True)
class Code:
    """An expression of AEL. `node` is the generated node that computes it, `names` what it takes; `scored`: it gives a number."""

    node: str
    names: tuple[str, ...]
    scored: bool = False


@dataclass(frozen=True)
class Judge:
    """A model-driven node of the program gives the grade. `names` are its parameters; `of` its best score; `limit` what it may spend on the
    whole evaluation."""

    node: str
    names: tuple[str, ...]
    of: float = 1.0
    limit: BudgetSpec = field(default_factory=BudgetSpec)


Check: TypeAlias = Exact | Schema | Contains | Matches | Status | Visited | Called | Kept | Within | Code | Judge


@dataclass(frozen=True)
class Grader:
    """A named check. It is passed by a score of `least` and more. `text`: as it is written, which is what a kept grade belongs to."""

    name: str
    check: Check
    least: float = 1.0
    text: str = ""


@dataclass(frozen=True)
class Thresholds:
    """What is enough; None is "not said". `graders`: the least mean score of each. `drift`, `flaky`: the largest share of the cases."""

    passed: float | None = None
    score: float | None = None
    graders: Mapping[str, float] = field(default_factory=dict)
    cost: Decimal | None = None
    p95: float | None = None
    drift: float = 0.0
    flaky: float | None = None


@dataclass(frozen=True)
class Evaluation:
    """What an `eval.ael` says. `entry` and `allowed` (tools that may act outside) are qualified names."""

    name: str
    cases: str
    format: Literal["jsonl", "csv"]
    entry: str
    graders: tuple[Grader, ...] = ()
    samples: int = 1
    jobs: int = 4
    golden: bool = False
    approvals: Approvals = "park"
    allowed: frozenset[str] = frozenset()
    budget: BudgetSpec = field(default_factory=BudgetSpec)
    thresholds: Thresholds = field(default_factory=Thresholds)


OUTPUT_CHECKS = (Exact, Schema, Contains, Matches, Judge)
"""The checks that look at the output, and have nothing to look at where there is none."""


def of_output(check: Check) -> bool:
    """Whether a check looks at the output, so that it has none of a run that gave none."""
    return isinstance(check, OUTPUT_CHECKS) or (isinstance(check, Code) and bool({"output", "expected"} & set(check.names)))


def needs_expected(check: Check) -> bool:
    """Whether a check compares with what a case expects."""
    match check:
        case Exact() | Contains(text=None):
            return True
        case Code(names=names) | Judge(names=names):
            return "expected" in names
        case _:
            return False
