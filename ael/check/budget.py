"""Budgets and policies: what a node may spend. Steps and tool calls are always bounded: by the node or by the deployment's defaults."""

from __future__ import annotations

from decimal import Decimal

from ael.check import clause as c
from ael.check.basis import Context, suggestion
from ael.check.collect import ModuleScope
from ael.data import dataclass, field
from ael.diagnostics.diagnostic import Edit, Fix
from ael.syntax import nodes as n
from ael.types.spec import BudgetSpec

AMOUNTS = ("tokens", "cost", "time", "steps", "tool_calls")
LIMITS = ("steps", "tool_calls")
"""What a policy `loop` takes; the same as in the budget."""


@dataclass(eq=False)
class Draft:
    """Amounts as they are read, each with where it stands."""

    tokens: int | None = None
    cost: Decimal | None = None
    time: int | None = None
    counts: dict[str, int] = field(default_factory=dict)
    places: dict[str, n.Node] = field(default_factory=dict)

    def spec(self) -> BudgetSpec:
        """The finished budget."""
        return BudgetSpec(self.tokens, self.cost, self.time, self.counts.get("steps"), self.counts.get("tool_calls"))


def read(context: Context, scope: ModuleScope, clause: n.Budget | None, draft: Draft) -> None:
    """Read a `budget` clause into a draft."""
    for amount in clause.amounts if clause is not None else ():
        name = amount.name.text
        if name not in AMOUNTS:
            hint, fix = suggestion(scope.source, amount.name.span, name, list(AMOUNTS))
            context.report("AEL0612", f"a budget has no `{name}`{hint}", scope.name, amount.name, fix=fix)
            continue
        if amount.per is not None:
            message = f"`per {amount.per.text}` stands only in a tenant's budget: a node's budget is for one run of it"
            context.report("AEL0612", message, scope.name, amount.per)
        if once(context, scope, draft, name, amount):
            _amount(context, scope, draft, name, amount.value)


def once(context: Context, scope: ModuleScope, draft: Draft, name: str, node: n.Node) -> bool:
    """Whether an amount is said for the first time; a second time is reported."""
    first = draft.places.setdefault(name, node)
    if first is node:
        return True
    labels = (context.label(scope.name, first, "it is said here already"),)
    context.report("AEL0612", f"`{name}` is said twice", scope.name, node, labels=labels)
    return False


def count(context: Context, scope: ModuleScope, draft: Draft, name: str, value: n.Expr) -> None:
    """Read `steps` or `tool_calls`."""
    found = c.whole_number(context, scope, value, f"`{name}`", 0)
    if found is not None:
        draft.counts[name] = found
        if found == 0:
            what = "every model call" if name == "steps" else "every tool call"
            c.zero(context, scope, value, f"`{name}` of zero refuses {what}")


def _amount(context: Context, scope: ModuleScope, draft: Draft, name: str, value: n.Expr) -> None:
    match name:
        case "tokens":
            draft.tokens = c.whole_number(context, scope, value, "`tokens`", 0)
            if draft.tokens == 0:
                c.zero(context, scope, value, "`tokens` of zero refuses every model call")
        case "cost":
            draft.cost = _money(context, scope, value)
            if draft.cost == 0:
                c.zero(context, scope, value, "a cost of zero refuses every model that is not free")
        case "time":
            draft.time = c.duration(context, scope, value, "`time`")
            if draft.time == 0:
                c.zero(context, scope, value, "a time of zero refuses every call")
        case _:
            count(context, scope, draft, name, value)


def _money(context: Context, scope: ModuleScope, node: n.Expr) -> Decimal | None:
    value = c.constant(context, scope, node)
    if isinstance(value, Decimal) and value >= 0 and not isinstance(node, n.FloatLit):
        return value
    text = c.source_text(scope, node)
    plain = isinstance(node, n.IntLit | n.FloatLit)
    fix = Fix(f"write `${text}`", (Edit(context.place(scope.name, node), f"${text}"),), safe=False) if plain else None
    context.report("AEL0612", "`cost` is an amount of money, such as `$0.25`", scope.name, node, fix=fix)
    return None
