"""Which code awaits something: fills `Tables.acting` and `CallInfo.acts` from the inferred effects."""

from __future__ import annotations

from bisect import bisect_left

from ael.check.collect import ModuleScope
from ael.check.effect import ACTS, Graph
from ael.check.program import Meaning
from ael.data import replace
from ael.syntax import nodes as n


def mark(graph: Graph) -> None:
    """Mark the callables, lambdas, parallel loops and calls that act."""
    places: dict[str, set[n.Node]] = {}
    for unit in graph.units.values():
        for use in unit.uses:
            target = graph.units.get(use.target) if use.target is not None else None
            if use.own & ACTS or (target is not None and target.total & use.mask & ACTS):
                places.setdefault(unit.module, set()).add(use.node)
    _declarations(graph)
    for scope in graph.context.collected.modules.values():
        if scope.name in places:
            _inside(scope, places[scope.name])
            _calls(graph, scope, places[scope.name])


def _declarations(graph: Graph) -> None:
    collected = graph.context.collected
    for unit in graph.units.values():
        symbol = collected.symbols.get(unit.key)
        if symbol is not None and symbol.node is not None and unit.total & ACTS:
            collected.modules[unit.module].tables.acting.add(symbol.node)
    for scope in collected.modules.values():
        scope.tables.acting.update(
            d for d in scope.tree.declarations if isinstance(d, n.ToolDecl | n.NodeDecl | n.AgentDecl | n.TestDecl)
        )


def _inside(scope: ModuleScope, places: set[n.Node]) -> None:
    """Lambdas and parallel loops that something acting stands in."""
    starts = sorted(node.span.start for node in places)
    for node in scope.tables.types:
        if isinstance(node, n.Lambda | n.ParallelFor | n.ParallelRecord):
            at = bisect_left(starts, node.span.start)
            if at < len(starts) and starts[at] < node.span.end:
                scope.tables.acting.add(node)


def _calls(graph: Graph, scope: ModuleScope, places: set[n.Node]) -> None:
    acting = scope.tables.acting
    for call, info in scope.tables.calls.items():
        if call in places or any(a is not None and (a in acting or _acting_function(graph, scope, a)) for a in info.arguments):
            scope.tables.calls[call] = replace(info, acts=True)


def _acting_function(graph: Graph, scope: ModuleScope, node: n.Expr) -> bool:
    if not isinstance(node, n.Reference | n.FieldAccess):
        return False
    meaning = scope.tables.resolved.get(node)
    if not isinstance(meaning, Meaning) or meaning.kind not in ("function", "tool", "node", "agent"):
        return False
    unit = graph.units.get(meaning.name)
    return meaning.kind != "function" or (unit is not None and bool(unit.total & ACTS))
