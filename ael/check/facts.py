"""The second half of the check: from typed modules to the facts of what is declared, with everything that must hold between them.

`establish` runs over the side tables that the first half filled in. It reports into the bag and gives `Facts` whatever it finds, so
that all problems of a program are told at once; a program with errors is never run.
"""

from __future__ import annotations

from collections.abc import Mapping

from ael.check import acting, agent, model, node, permission, service, skill, skill_use, store, taint, test_block, tool
from ael.check.basis import Context
from ael.check.collect import Collected
from ael.check.effect import Declared, Graph, build
from ael.check.grant import node as check_grants
from ael.check.grant import unused
from ael.data import dataclass, replace
from ael.diagnostics.diagnostic import Bag
from ael.syntax import nodes as n
from ael.types.signature import Effects, Signature
from ael.types.spec import (
    ModelSpec,
    NodeSpec,
    OperationSpec,
    PermissionSpec,
    ProvideSpec,
    RoleSpec,
    ServiceSpec,
    SkillSpec,
    StoreSpec,
    TestSpec,
    ToolSpec,
)


@dataclass(frozen=True)
class Facts:
    """What of a `CheckedProgram` this half gives; `signatures` are the collected ones with their effects."""

    signatures: Mapping[str, Signature]
    effects: Mapping[str, Effects]
    permissions: Mapping[str, PermissionSpec]
    roles: Mapping[str, RoleSpec]
    tools: Mapping[str, ToolSpec]
    nodes: Mapping[str, NodeSpec]
    skills: Mapping[str, SkillSpec]
    services: Mapping[str, ServiceSpec]
    operations: Mapping[str, OperationSpec]
    provides: Mapping[str, ProvideSpec]
    stores: Mapping[str, StoreSpec]
    models: Mapping[str, ModelSpec]
    tests: tuple[TestSpec, ...]


@dataclass(frozen=True, eq=False)
class _Drafts:
    stores: dict[str, StoreSpec]
    models: dict[str, ModelSpec]
    tools: dict[str, tool.Draft]
    operations: dict[str, service.OperationDraft]
    provides: list[service.ProvideDraft]
    skills: dict[str, skill.Draft]
    nodes: dict[str, node.Draft]
    agents: dict[str, agent.Draft]

    @property
    def visited(self) -> dict[str, node.Draft | agent.Draft]:
        """Nodes and agents: what has grants and a budget of its own."""
        return {**self.nodes, **self.agents}


def establish(collected: Collected, bag: Bag, *, remote: frozenset[str] = frozenset()) -> Facts:
    """The facts of a program whose bodies have been checked.

    `remote` are services (qualified) that a deployment binds outside of the program: their results then come over the network.
    """
    context = Context(collected, bag)
    permission.declare(context)
    skills = skill.drafts(context)
    drafts = _Drafts(
        store.stores(context),
        model.models(context),
        tool.drafts(context),
        service.operations(context),
        service.provides(context),
        skills,
        node.drafts(context, skills),
        agent.drafts(context, skills),
    )
    graph = _graph(context, drafts)
    acting.mark(graph)
    _check(context, graph, drafts)
    program = taint.Program(
        context,
        graph,
        drafts.tools,
        drafts.nodes,
        drafts.agents,
        drafts.operations,
        drafts.provides,
        list(drafts.stores),
        remote,
    )
    found = taint.analyse(program)
    effects = _effects(context, graph, drafts, found.tainted)
    for name, spec in drafts.stores.items():
        drafts.stores[name] = replace(spec, outside=name in found.outside, relied=name in found.relied)
    return _facts(context, drafts, effects)


def _graph(context: Context, drafts: _Drafts) -> Graph:
    providers: dict[str, list[str]] = {}
    for provide in drafts.provides:
        for name, key in provide.functions.items():
            if provide.service is not None:
                providers.setdefault(f"{provide.service.name}.{name}", []).append(key)
    declared = Declared(
        {name: (draft.permission, draft.repeat) for name, draft in drafts.tools.items()},
        {name: (draft.permission, draft.repeat) for name, draft in drafts.operations.items()},
        {name: draft.grants for name, draft in drafts.visited.items()},
        _offered(drafts),
        {name: spec.permission for name, spec in drafts.stores.items()},
    )
    return build(context, declared, providers)


def _offered(drafts: _Drafts) -> dict[str, tuple[tuple[n.Node, str], ...]]:
    offered: dict[str, tuple[tuple[n.Node, str], ...]] = {
        name: tuple((path, s.name) for path, s in draft.offered) for name, draft in drafts.nodes.items() if draft.driven
    }
    return offered | {name: draft.visited for name, draft in drafts.agents.items()}


def _check(context: Context, graph: Graph, drafts: _Drafts) -> None:
    for draft in drafts.tools.values():
        tool.check(context, graph, draft)
    needed = {name: frozenset({one.permission} if one.permission else ()) for name, one in drafts.tools.items()}
    needed |= {name: one.grants for name, one in drafts.visited.items()}
    for inner in drafts.visited.values():
        grants = inner.clauses.get(n.Grants)
        told = skill_use.granted(context, graph, inner, needed) if inner.skills.parts else ()
        check_grants(context, inner.scope, graph, inner.symbol, inner.node, grants, inner.grants, told)
    for one in drafts.agents.values():
        skill_use.ceiling(context, one, drafts.visited)
    node.plain(context, graph)
    for inner in drafts.visited.values():
        grants = inner.clauses.get(n.Grants)
        if not context.bag.errors:
            unused(context, inner.scope, graph, inner.symbol.name, grants)
    if any(isinstance(symbol.node, n.McpMember) for one in drafts.nodes.values() for _, symbol in one.offered):
        # Dialects of schemas are loaded by programs that offer tools of servers, and by no other.
        from ael.check import mcp_dialect

        for driven in drafts.nodes.values():
            mcp_dialect.check(context, driven, drafts.models)
    for provide in drafts.provides:
        service.check(context, graph, provide, drafts.operations)
    node.delegation(context, graph, drafts.nodes, drafts.agents)


def _effects(context: Context, graph: Graph, drafts: _Drafts, tainted: frozenset[str]) -> dict[str, Effects]:
    signatures = context.collected.signatures
    fails = {name: signature.fails for name, signature in signatures.items()}
    nothing: frozenset[str] = frozenset()
    found: dict[str, Effects] = {}
    for key in context.collected.symbols:
        own, outside = fails.get(key, nothing), key in tainted
        if key in drafts.tools:
            found[key] = tool.effects(drafts.tools[key], own, outside)
        elif key in drafts.operations:
            found[key] = service.effects(drafts.operations[key], own, outside)
        elif key in drafts.nodes:
            found[key] = node.effects(graph, drafts.nodes[key], own, outside)
        elif key in drafts.agents:
            found[key] = agent.effects(graph, drafts.agents[key], own, outside)
        elif key in graph.units:
            found[key] = graph.effects(key, "Uncertain" in own, outside)
    return found


def _facts(context: Context, drafts: _Drafts, effects: dict[str, Effects]) -> Facts:
    signatures = tool.with_effects(context.collected.signatures, effects)
    tools = {name: tool.spec(context, draft, signatures[name]) for name, draft in drafts.tools.items() if name in signatures}
    skills = skill.specs(context, drafts.skills)
    nodes = {
        name: node.spec(context, draft, signatures[name], skills) for name, draft in drafts.nodes.items() if name in signatures
    }
    nodes |= {
        name: agent.spec(context, draft, signatures[name], skills) for name, draft in drafts.agents.items() if name in signatures
    }
    operations = {
        name: service.operation_spec(context, draft, signatures[name])
        for name, draft in drafts.operations.items()
        if name in signatures
    }
    provides = {}
    for draft in drafts.provides:
        spec = service.provide_spec(context, draft)
        if spec is not None:
            provides[spec.name] = spec
    return Facts(
        signatures, effects, context.permissions, context.roles, tools, nodes, skills,
        service.service_specs(context, operations), operations, provides, drafts.stores, drafts.models, test_block.tests(context),
    )  # fmt: skip
