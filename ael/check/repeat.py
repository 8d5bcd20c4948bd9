"""Repeat safety: what is declared, and what a body that calls weaker things may claim (language.md, section 5).

The form of the exception, `key: call.key`, is in docs/decisions/repeat.md.
"""

from __future__ import annotations

from ael.check import clause as c
from ael.check.basis import Context, short
from ael.check.collect import ModuleScope
from ael.check.effect import NEVER, RECONCILE, WRITES, Graph, Use
from ael.diagnostics.diagnostic import Edit, Fix, Label, Place
from ael.source import Span
from ael.syntax import nodes as n
from ael.types.signature import Repeat

_KINDS = {"never": Repeat.NEVER, "idempotent": Repeat.IDEMPOTENT, "reconcile": Repeat.RECONCILE}
CHOICES = (
    "`repeat idempotent`: doing it again with the same key changes nothing more, so a lost reply is tried again",
    "`repeat reconcile`: it can be looked up whether it happened; a lost reply ends `Uncertain`",
    "`repeat never`: it must not be done twice, and cannot be looked up; a lost reply ends `Uncertain`",
)


def declared(context: Context, scope: ModuleScope, clauses: c.Clauses, what: str, name: n.Name) -> Repeat:
    """The repeat safety that a tool or operation declares; a missing one is reported and taken for `idempotent`."""
    clause = clauses.get(n.RepeatClause)
    if clause is not None:
        return _KINDS[clause.kind]
    message = f"the {what} `{name.text}` does not say what repeating it does"
    context.report("AEL0512", message, scope.name, name, notes=("add one of", *CHOICES))
    return Repeat.IDEMPOTENT


def retries(context: Context, scope: ModuleScope, clauses: c.Clauses, repeat: Repeat, what: str) -> None:
    """`retry` stands only on what is idempotent."""
    retry, clause = clauses.get(n.Retry), clauses.get(n.RepeatClause)
    if retry is None or not repeat.can_be_uncertain:
        return
    message = f"{what} that is `repeat {repeat.word}` is never tried again by itself, so `retry` has no meaning here"
    labels = (context.label(scope.name, clause, "after a lost reply it may have happened"),) if clause is not None else ()
    fix = Fix("remove the `retry`", (c.removal(scope, retry),), safe=False)
    context.report("AEL0514", message, scope.name, retry, labels=labels, fix=fix)


def body(context: Context, scope: ModuleScope, graph: Graph, key: str, shown: str, clause: n.RepeatClause | None) -> None:
    """An idempotent tool or operation calls nothing weaker, unless it passes its own key on."""
    unit = graph.units.get(key)
    if clause is None or clause.kind != "idempotent" or unit is None:
        return
    for bit, word in ((NEVER, "never"), (RECONCILE, "reconcile")):
        if not unit.total & bit:
            continue
        chain = graph.why(key, bit)
        last = chain[-1][1]
        message = f"`{shown}` says `repeat idempotent`, but it calls `{short(last.name)}`, which is `repeat {word}`"
        labels = (context.label(scope.name, clause, "said here"), *through(context, chain[1:]), *_declared_repeat(context, last))
        notes = (f"say `repeat {word}`, or pass the key on (`key: call.key`) to an operation that acts once for each key",)
        context.report("AEL0513", message, chain[0][0], chain[0][1].node, labels=labels, notes=notes)
        return


def through(context: Context, chain: list[tuple[str, Use]]) -> tuple[Label, ...]:
    """Labels on the calls through which something is reached."""
    return tuple(context.label(module, use.node, f"which calls `{short(use.name)}` here") for module, use in chain)


def _declared_repeat(context: Context, use: Use) -> tuple[Label, ...]:
    symbol = context.collected.symbols.get(use.name)
    if symbol is not None and isinstance(symbol.node, n.ToolDecl | n.Operation | n.McpTool):
        for clause in symbol.node.clauses:
            if isinstance(clause, n.RepeatClause):
                return (context.label(symbol.module, clause, f"`{short(use.name)}` says so here"),)
    return ()


def parallel(
    context: Context,
    scope: ModuleScope,
    graph: Graph,
    key: str,
    node: n.ToolDecl | n.McpMember,
    clauses: c.Clauses,
    repeat: Repeat,
) -> None:
    """`parallel` is for a tool that is idempotent and only reads (feature A1.15)."""
    clause = clauses.get(n.ParallelClause)
    if clause is None:
        return
    fix = Fix("remove `parallel`", (c.removal(scope, clause),), safe=False)
    said = clauses.get(n.RepeatClause)
    if repeat is not Repeat.IDEMPOTENT:
        message = f"`{node.name.text}` is `repeat {repeat.word}`, so it cannot run beside other calls of a turn"
        labels: tuple[Label, ...] = (context.label(scope.name, said, "said here"),) if said is not None else ()
        notes = ("`parallel` is for a tool that is `idempotent` and only reads",)
        context.report("AEL0515", message, scope.name, clause, labels=labels, notes=notes, fix=fix)
        return
    unit = graph.units.get(key)
    if unit is not None and unit.total & WRITES:
        chain = graph.why(key, WRITES)
        message = f"`{node.name.text}` writes a store, so it cannot run beside other calls of a turn"
        labels = tuple(context.label(module, use.node, f"through `{short(use.name)}`") for module, use in chain)
        notes = ("`parallel` is for a tool that is `idempotent` and only reads",)
        context.report("AEL0515", message, scope.name, clause, labels=labels, notes=notes, fix=fix)


def insertion(scope: ModuleScope, clause: n.Node, text: str) -> Edit:
    """Put `text` right behind a clause."""
    return Edit(Place(scope.source, Span(clause.span.end, clause.span.end)), text)
