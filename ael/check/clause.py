"""Clauses of a declaration: each at most once, only where it has a meaning; and the constants that stand in them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from typing import TypeVar

from ael.check.basis import Context, listed, suggestion
from ael.check.collect import ModuleScope
from ael.check.module import find
from ael.check.program import Meaning
from ael.diagnostics.diagnostic import Edit, Fix, Place
from ael.source import Span
from ael.syntax import nodes as n
from ael.types.spec import LimitSpec, RetrySpec

C = TypeVar("C", bound=n.Clause)

WORDS: dict[type[n.Clause], str] = {
    n.Needs: "needs",
    n.RepeatClause: "repeat",
    n.Timeout: "timeout",
    n.Limit: "limit",
    n.Approval: "approval",
    n.Taints: "taints",
    n.ParallelClause: "parallel",
    n.Retry: "retry",
    n.ModelClause: "model",
    n.Policy: "policy",
    n.Grants: "grants",
    n.Tools: "tools",
    n.Skills: "skills",
    n.Budget: "budget",
    n.Attempts: "attempts",
    n.ToolChoice: "tool_choice",
    n.History: "history",
    n.Version: "version",
}

TOOL = (n.Needs, n.RepeatClause, n.Timeout, n.Limit, n.Approval, n.Taints, n.ParallelClause, n.Retry)
SERVER_TOOL = (n.Needs, n.RepeatClause, n.Timeout, n.Limit, n.Approval, n.ParallelClause, n.Retry)
SERVER_READ = (n.Needs, n.Timeout, n.Limit, n.Approval, n.ParallelClause, n.Retry)
OPERATION = (n.Needs, n.RepeatClause, n.Timeout, n.Limit, n.Retry)
PROVIDE = (n.Grants, n.Limit)
STORE = (n.Needs,)
PLAIN_NODE = (n.Grants, n.Budget)
AGENT = (n.Policy, n.Grants, n.Skills, n.Budget)
SKILL = (n.Version, n.Tools, n.Skills)
MODEL_NODE = (
    n.ModelClause, n.Policy, n.Grants, n.Tools, n.Skills, n.Budget, n.Attempts, n.ToolChoice, n.History,
)  # fmt: skip


class Clauses:
    """The clauses of one declaration."""

    def __init__(self, clauses: Iterable[n.Clause]) -> None:
        self._of: dict[type, n.Clause] = {}
        for clause in clauses:
            self._of.setdefault(type(clause), clause)

    def get(self, kind: type[C]) -> C | None:
        """The clause of this kind (the first, when it stands twice)."""
        found = self._of.get(kind)
        return found if isinstance(found, kind) else None


def read(
    context: Context, scope: ModuleScope, what: str, clauses: tuple[n.Clause, ...], allowed: tuple[type[n.Clause], ...]
) -> Clauses:
    """The clauses of a declaration (`what`: "a tool"), those that stand twice or have no meaning there reported."""
    seen: dict[type[n.Clause], n.Clause] = {}
    for clause in clauses:
        kind = type(clause)
        word = WORDS[kind]
        if kind not in allowed or (isinstance(clause, n.Grants) and clause.deny):
            if isinstance(clause, n.Grants) and clause.deny:
                word = "deny"
            message = f"`{word}` has no meaning on {what}"
            choices = listed([WORDS[k] for k in allowed])
            context.report("AEL0517", message, scope.name, clause, notes=(f"on {what} there can stand {choices}",))
            continue
        first = seen.setdefault(kind, clause)
        if first is not clause:
            labels = (context.label(scope.name, first, "it stands here already"),)
            fix = Fix(f"remove the second `{word}`", (removal(scope, clause),), safe=False)
            context.report("AEL0516", f"`{word}` stands twice on {what}", scope.name, clause, labels=labels, fix=fix)
    return Clauses(seen.values())


def removal(scope: ModuleScope, node: n.Node) -> Edit:
    """Take a clause out, with the blanks before it."""
    text, start = scope.source.text, node.span.start
    while start > 0 and text[start - 1] in " \t":
        start -= 1
    if start > 0 and text[start - 1] == "\n":
        start -= 1
    return Edit(Place(scope.source, Span(start, node.span.end)), "")


# --- constants in clauses ------------------------------------------------------------------------------------------------


class _Nothing:
    """No constant."""


NOTHING = _Nothing()


def constant(context: Context, scope: ModuleScope, node: n.Expr) -> object:
    """The value of a literal or of a named constant: int, Decimal, str, bool, None, a list or map of them; sizes in bytes,
    durations as an int of milliseconds (see `unit` for what was written). `NOTHING` when it is neither."""
    match node:
        case n.IntLit(value=value) | n.MoneyLit(value=value) | n.BoolLit(value=value):
            return value
        case n.FloatLit(text=text):
            return Decimal(text.replace("_", ""))
        case n.SizeLit(bytes=size):
            return size
        case n.DurationLit(milliseconds=length):
            return length
        case n.NullLit():
            return None
        case n.StringLit(parts=parts):
            if all(isinstance(part, n.TextPart) for part in parts):
                return "".join(part.text for part in parts if isinstance(part, n.TextPart))
            return NOTHING
        case n.Unary(op="-", operand=operand):
            inner = constant(context, scope, operand)
            return -inner if isinstance(inner, int | Decimal) and not isinstance(inner, bool) else NOTHING
        case n.ListLit(items=items):
            values = [constant(context, scope, item) for item in items]
            return NOTHING if NOTHING in values else values
        case n.MapLit(entries=entries):
            pairs = {constant_text(context, scope, e.key): constant(context, scope, e.value) for e in entries}
            return NOTHING if None in pairs or NOTHING in pairs.values() else pairs
        case n.Reference() | n.FieldAccess():
            return _named(context, scope, node)
        case _:
            return NOTHING


def constant_text(context: Context, scope: ModuleScope, node: n.Expr) -> str | None:
    """The text of a constant string, or None."""
    value = constant(context, scope, node)
    return value if isinstance(value, str) else None


def _named(context: Context, scope: ModuleScope, node: n.Expr) -> object:
    meaning = scope.tables.resolved.get(node)
    if isinstance(meaning, Meaning) and meaning.kind == "const":
        return context.collected.constants.get(meaning.name, NOTHING)
    path = as_path(node)
    if meaning is None and path is not None:
        symbol = find(context.collected, scope, path)
        if symbol is not None and symbol.kind == "const":
            return context.collected.constants.get(symbol.name, NOTHING)
    return NOTHING


def as_path(node: n.Expr) -> n.Path | None:
    """A chain of names as a path."""
    names: list[n.Name] = []
    while isinstance(node, n.FieldAccess):
        names.append(node.name)
        node = node.target
    if not isinstance(node, n.Reference):
        return None
    names.append(node.name)
    return n.Path(Span(node.span.start, names[0].span.end), tuple(reversed(names)))


def whole_number(context: Context, scope: ModuleScope, node: n.Expr, what: str, least: int, code: str = "AEL0612") -> int | None:
    """A whole number of at least `least`; anything else is reported as `what` and gives None."""
    value = constant(context, scope, node)
    if type(value) is int and not isinstance(node, n.SizeLit | n.DurationLit) and value >= least:
        return value
    context.report(code, f"{what} is a whole number of at least {least}", scope.name, node)
    return None


def duration(context: Context, scope: ModuleScope, node: n.Expr, what: str, code: str = "AEL0612") -> int | None:
    """A duration in milliseconds; anything else is reported."""
    if isinstance(node, n.DurationLit):
        return node.milliseconds
    value = constant(context, scope, node)
    if value is not NOTHING and not isinstance(node, n.Reference | n.FieldAccess):
        text = source_text(scope, node)
        fix = (
            Fix(f"write `{text}s`", (Edit(context.place(scope.name, node), f"{text}s"),), safe=False)
            if isinstance(node, n.IntLit)
            else None
        )
        context.report(code, f"{what} is a duration, such as `5s`, `250ms` or `2min`", scope.name, node, fix=fix)
        return None
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    context.report(code, f"{what} is a duration, such as `5s`, `250ms` or `2min`", scope.name, node)
    return None


def size(context: Context, scope: ModuleScope, node: n.Expr, what: str, code: str = "AEL0612") -> int | None:
    """A size in bytes; anything else is reported."""
    value = constant(context, scope, node)
    if type(value) is int and value >= 0 and not isinstance(node, n.DurationLit):
        return value
    context.report(code, f"{what} is a size, such as `64KiB` or `2MB`", scope.name, node)
    return None


def source_text(scope: ModuleScope, node: n.Node) -> str:
    """What stands at a node in the source."""
    return scope.source.text[node.span.start : node.span.end]


# --- clauses that tools, operations and provides share --------------------------------------------------------------------


def timeout(context: Context, scope: ModuleScope, clause: n.Timeout | None) -> int | None:
    """Milliseconds; None is "not said", -1 is `timeout none`."""
    if clause is None:
        return None
    if clause.value is None:
        return -1
    value = duration(context, scope, clause.value, "a timeout")
    if value == 0:
        zero(context, scope, clause.value, "a timeout of zero refuses every call; `timeout none` lifts it")
    return value


def limit(context: Context, scope: ModuleScope, clause: n.Limit | None, what: str) -> LimitSpec:
    """Sizes and concurrency of `limit input 8KiB, output 32KiB, concurrent 4`."""
    found: dict[str, int] = {}
    for amount in clause.amounts if clause is not None else ():
        name = amount.name.text
        if name not in ("input", "output", "concurrent"):
            hint, fix = suggestion(scope.source, amount.name.span, name, ["input", "output", "concurrent"])
            context.report("AEL0612", f"{what} has no limit `{name}`{hint}", scope.name, amount.name, fix=fix)
            continue
        if name in found:
            context.report("AEL0612", f"the limit `{name}` stands twice", scope.name, amount)
            continue
        if name == "concurrent":
            value = whole_number(context, scope, amount.value, "`concurrent`", 1)
        else:
            value = size(context, scope, amount.value, f"the limit `{name}`")
        if value == 0:
            zero(context, scope, amount, f"a limit of zero refuses every {name}")
        if value is not None:
            found[name] = value
    return LimitSpec(found.get("input"), found.get("output"), found.get("concurrent"))


def retry(context: Context, scope: ModuleScope, clause: n.Retry | None) -> RetrySpec | None:
    """`retry 3` or `retry(attempts: 3, backoff: "exponential", base: 100ms, cap: 5s)`."""
    if clause is None:
        return None
    spec = RetrySpec()
    attempts, backoff, base, cap = spec.attempts, spec.backoff, spec.base, spec.cap
    seen: set[str] = set()
    for position, argument in enumerate(clause.arguments):
        name = argument.name.text if argument.name else "attempts" if position == 0 else ""
        where: n.Node = argument.name or argument.value
        if name not in ("attempts", "backoff", "base", "cap") or name in seen:
            known = ["attempts", "backoff", "base", "cap"]
            hint, fix = suggestion(scope.source, where.span, name, known) if name and name not in seen else ("", None)
            message = f"`retry` takes `attempts`, `backoff`, `base` and `cap`, each once{hint if 'mean' in hint else ''}"
            context.report("AEL0521", message, scope.name, where, fix=fix)
            continue
        seen.add(name)
        match name:
            case "attempts":
                attempts = whole_number(context, scope, argument.value, "`attempts`", 1, "AEL0521") or attempts
            case "base":
                base = duration(context, scope, argument.value, "`base`", "AEL0521") or base
            case "cap":
                cap = duration(context, scope, argument.value, "`cap`", "AEL0521") or cap
            case _:
                match constant(context, scope, argument.value):
                    case "fixed" | "linear" | "exponential" as word:
                        backoff = word
                    case _:
                        message = '`backoff` is `"fixed"`, `"linear"` or `"exponential"`'
                        context.report("AEL0521", message, scope.name, argument.value)
    return RetrySpec(attempts, backoff, base, cap)


def zero(context: Context, scope: ModuleScope, node: n.Node, message: str) -> None:
    """Advice: zero means zero (K03), which is seldom meant."""
    context.warn("AEL1124", message, scope.name, node, notes=('zero means zero, never "no limit"',))


def spot_name(node: n.Path) -> n.Name:
    """The last name of a path, where a wrong one is shown."""
    return node.parts[-1]
