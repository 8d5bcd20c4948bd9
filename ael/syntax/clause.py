"""Nodes of clauses: what stands between a declaration's signature and its body."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ael.syntax.code import Argument, Expr, StringLit
from ael.syntax.tree import Name, Node, Path, node

# --- clauses ---------------------------------------------------------------------------------------------------------


@node
class Needs(Node):
    """`needs orders.read`."""

    permissions: tuple[Path, ...]


@node
class RepeatClause(Node):
    """`repeat reconcile key expr`."""

    kind: Literal["never", "idempotent", "reconcile"]
    key: Expr | None


@node
class Timeout(Node):
    """`timeout 5s`; None is `timeout none`."""

    value: Expr | None


@node
class Amount(Node):
    """`name value` in a list of limits or budgets: `input 8KiB`, `cost $0.25`, `concurrent 64`; `per` as in `per day`."""

    name: Name
    value: Expr
    per: Name | None


@node
class Limit(Node):
    """`limit input 8KiB, output 32KiB`."""

    amounts: tuple[Amount, ...]


@node
class Approval(Node):
    """`approval required by finance when total > $100`."""

    role: Path | None
    condition: Expr | None


@node
class Taints(Node):
    """`taints`."""


@node
class ParallelClause(Node):
    """`parallel` on a tool."""


@node
class Retry(Node):
    """`retry 3`, or `retry(attempts: 3, backoff: "exponential", base: 100ms, cap: 5s)`; one positional argument is `attempts`."""

    arguments: tuple[Argument, ...]


@node
class ModelClause(Node):
    """`model fast`."""

    path: Path


@node
class Policy(Node):
    """`policy one_call`, `policy loop(steps: 8, tool_calls: 12)`."""

    name: Name
    arguments: tuple[Argument, ...]


@node
class Grants(Node):
    """`grants orders.read, crm.read`; in a deployment's tenant also `deny …`."""

    permissions: tuple[Path, ...]
    deny: bool


@node
class Tools(Node):
    """`tools lookup_order, crm.get_customer`."""

    paths: tuple[Path, ...]


@node
class Skills(Node):
    """`skills refund_policy`."""

    paths: tuple[Path, ...]


@node
class Budget(Node):
    """`budget tokens 2_000, cost $0.01, time 10s`."""

    amounts: tuple[Amount, ...]


@node
class Attempts(Node):
    """`attempts 3`."""

    value: Expr


@node
class ToolChoice(Node):
    """`tool_choice auto | any | none | NAME`."""

    path: Path


@node
class History(Node):
    """`history keep 20` or `history summarize`."""

    keep: Expr | None


@node
class Version(Node):
    """`version "1.2"`."""

    value: StringLit


Clause: TypeAlias = (
    Needs | RepeatClause | Timeout | Limit | Approval | Taints | ParallelClause | Retry | ModelClause | Policy | Grants
    | Tools | Skills | Budget | Attempts | ToolChoice | History | Version
)  # fmt: skip
