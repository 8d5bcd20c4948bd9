"""Agents: nodes joined by edges, under a ceiling of permissions and a budget that all of them draw from (language.md, section 6).

What the edges mean is looked at with the bodies (`ael.check.edge`); here are an agent's clauses, and the facts of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from ael.check import budget, policy, skill
from ael.check import clause as c
from ael.check.basis import Context
from ael.check.collect import ModuleScope, Symbol
from ael.check.effect import Graph
from ael.check.flow import Flow
from ael.check.grant import granted
from ael.check.permission import doc
from ael.check.program import Local
from ael.check.summary import CHOICE, ROUTE, TAINTED, Choice, Shared, Sink, Summary
from ael.data import dataclass, field
from ael.syntax import nodes as n
from ael.types.agent import FINISH, START, AgentSpec
from ael.types.signature import Effects, Signature
from ael.types.spec import NodeSpec, SkillSpec


@dataclass(eq=False)
class Draft:
    """An agent as declared. `visited`: its nodes by qualified name, each with where an edge names it first. `strict`: no outside data may
    decide which of its edges is taken."""

    symbol: Symbol
    scope: ModuleScope
    node: n.AgentDecl
    clauses: c.Clauses
    grants: frozenset[str]
    visited: tuple[tuple[n.Name, str], ...]
    skills: skill.Bundle
    strict: bool = False
    budget: budget.Draft = field(default_factory=budget.Draft)


def drafts(context: Context, skills: Mapping[str, skill.Draft]) -> dict[str, Draft]:
    """All agents with their clauses read."""
    found: dict[str, Draft] = {}
    for symbol in context.collected.of_kind("agent"):
        if isinstance(symbol.node, n.AgentDecl):
            scope, node = context.collected.scope_of(symbol), symbol.node
            clauses = c.read(context, scope, "an agent", node.clauses, c.AGENT)
            grants = granted(context, scope, clauses.get(n.Grants))
            made = skill.bundle(context, scope, clauses.get(n.Skills), skills)
            draft = Draft(symbol, scope, node, clauses, grants, _visited(scope, node), made)
            draft.strict = policy.strict(context, scope, clauses.get(n.Policy))
            budget.read(context, scope, clauses.get(n.Budget), draft.budget)
            found[symbol.name] = draft
    return found


def _visited(scope: ModuleScope, node: n.AgentDecl) -> tuple[tuple[n.Name, str], ...]:
    named = scope.tables.visited.get(node, {})
    found: dict[str, n.Name] = {}
    for edge in node.edges:
        for name in (edge.target.name, *edge.sources):
            if name.text in named:
                found.setdefault(named[name.text], name)
    return tuple((at, name) for name, at in found.items())


def spec(context: Context, draft: Draft, signature: Signature, skills: Mapping[str, SkillSpec]) -> NodeSpec:
    """The finished facts of an agent, which is visited as a node is."""
    tables = draft.scope.tables
    agent = AgentSpec(dict(tables.visited.get(draft.node, {})), tuple(tables.edges[edge].spec for edge in draft.node.edges))
    grants = context.closure(draft.grants)
    used = skill.chosen(draft.skills, skills)
    return NodeSpec(
        draft.symbol.name, signature, doc(draft.node.doc), grants, budget=draft.budget.spec(), agent=agent, skills=used
    )


def effects(graph: Graph, draft: Draft, fails: frozenset[str], tainted: bool) -> Effects:
    """What calling an agent can do: its grants, and what its nodes do."""
    inner = graph.effects(draft.symbol.name, False)
    return Effects(draft.grants, inner.repeat, True, "Uncertain" in fails, tainted)


# --- outside data ------------------------------------------------------------------------------------------------------------

_PASSES = 24
"""How often the edges are gone through until nothing changes; after that what changes is tainted."""


def follow(shared: Shared, draft: Draft, summary: Summary, given: dict[Local, int]) -> None:
    """Follow the data along the edges: into each node, and out of it into what its name means afterwards.

    What decides which edge is taken has a hand in what comes to the finish.
    """
    tables = draft.scope.tables
    flow = Flow(shared, draft.scope, summary)
    flow.env.update(given)
    start = next(iter(given.values()), 0)
    outputs = {name: local for name, at in tables.outputs.get(draft.node, {}).items() if (local := tables.locals.get(at))}
    failing: dict[str, int] = {}
    for count in range(_PASSES):
        flow.widen = count == _PASSES - 1
        before = (dict(flow.env), summary.state())
        decided = 0
        for edge in draft.node.edges:
            if edge.condition is not None:
                mask = flow.eval(edge.condition)
                decided |= mask
                if draft.strict:
                    flow.sink(mask, Sink(draft.scope.name, edge.condition, draft.symbol.name, ROUTE))
                elif shared.acts is not None and mask:
                    flow.pick(mask, Sink(draft.scope.name, edge.condition, tables.edges[edge].target, CHOICE), edge.condition)
        for edge in draft.node.edges:
            info = tables.edges[edge]
            masks = [flow.eval(argument) if argument is not None else 0 for argument in info.arguments]
            if info.passes:
                masks = [0]
                for source in edge.sources:
                    masks[0] |= (
                        start if source.text == START else flow.local(outputs[source.text]) if source.text in outputs else 0
                    )
            if edge.target.name.text == FINISH:
                summary.result |= decided
                for mask in masks:
                    summary.result |= mask
                continue
            target, local = shared.targets(info.target), outputs.get(edge.target.name.text)
            if target is None or local is None:
                continue
            errors, flow.errors = flow.errors, 0
            result = flow.apply(target, masks, list(info.arguments) or [None] * len(masks), edge.target)
            failing[edge.target.name.text] = failing.get(edge.target.name.text, 0) | flow.errors
            flow.errors |= errors
            if result & TAINTED and not any(mask & TAINTED for mask in masks):
                flow.sources[edge.target] = info.target
            flow.join(local, result)
            flow.definitions.setdefault(local, edge.target)
        summary.errors |= flow.errors
        if draft.strict:
            _strict(shared, flow, draft, summary, failing)
        if (dict(flow.env), summary.state()) == before:
            return


def _strict(shared: Shared, flow: Flow, draft: Draft, summary: Summary, failing: Mapping[str, int]) -> None:
    """Neither does a declared error that outside data had a hand in decide an edge, nor outside data a call in one of the nodes.

    A fault is the run time's own word, and `Uncertain` has to be met whatever it comes from.
    """
    scope, name = draft.scope, draft.symbol.name
    for edge in draft.node.edges:
        if any("." in error for error in scope.tables.edges[edge].spec.errors):
            for source in edge.sources:
                flow.sink(failing.get(source.text, 0), Sink(scope.name, edge.errors[0], name, ROUTE))
    for at, sink in summary.picks.items():
        summary.sinks.setdefault(at, Sink(sink.module, sink.node, name, ROUTE))
    for one in summary.picked.values():
        choice = Choice(one.sink.module, one.sink.node, name, CHOICE, one.sink.onward, one.sink.end.target)
        shared.violations[one.sink.node, CHOICE] = (one.mask, choice, one.sink.module, one.source, one.name)
