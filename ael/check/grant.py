"""Grants: what a tool, node or provider may do covers what its code and its tools need. Grants only shrink on the way down."""

from __future__ import annotations

from collections.abc import Container

from ael.check.basis import Context, listed, short
from ael.check.collect import ModuleScope, Symbol
from ael.check.effect import Graph, Use
from ael.check.packs import holder, pack_of, written_name
from ael.check.permission import meant, named
from ael.check.repeat import insertion, through
from ael.diagnostics.diagnostic import Edit, Fix, Label, Place
from ael.source import Span
from ael.syntax import nodes as n


def granted(context: Context, scope: ModuleScope, clause: n.Grants | None) -> frozenset[str]:
    """The permissions that a `grants` clause names, not closed; unknown ones and doubles are reported."""
    found: dict[str, n.Path] = {}
    for path in clause.permissions if clause is not None else ():
        name = named(context, scope, path)
        if name is None:
            continue
        first = found.setdefault(name, path)
        if first is not path:
            labels = (context.label(scope.name, first, "it stands here already"),)
            context.report("AEL0516", f"`{name}` is granted twice", scope.name, path, labels=labels)
    return frozenset(found)


def tool_body(
    context: Context, scope: ModuleScope, graph: Graph, symbol: Symbol, permission: str | None, needs: n.Needs | None
) -> None:
    """What a tool's body calls needs only the tool's permission or what that includes (language.md, section 5)."""
    if permission is None or needs is None:
        return
    for name, chain in _beyond(context, graph, symbol.name, context.closure(frozenset({permission}))):
        shown, last = short(symbol.name), chain[-1][1]
        message = f"`{shown}` needs `{permission}`, but its body calls `{short(last.name)}`, which needs `{name}`"
        labels = (
            context.label(scope.name, needs, f"`{shown}` has this permission and what it includes"),
            *through(context, chain[1:]),
            *needed_at(context, last),
        )
        notes = (f"if whoever may `{permission}` may also `{name}`, say so: `permission {permission} includes {name}`",)
        context.report("AEL0507", message, chain[0][0], chain[0][1].node, labels=labels, notes=notes)


def node(
    context: Context,
    scope: ModuleScope,
    graph: Graph,
    symbol: Symbol,
    decl: n.NodeDecl | n.AgentDecl,
    clause: n.Grants | None,
    grants: frozenset[str],
    told: Container[n.Node] = (),
) -> None:
    """A node's grants cover its tools, its body, and the grants of the nodes that it calls; an agent's those of its nodes. `told`: the
    skills of it whose tools were reported."""
    for name, chain in _beyond(context, graph, symbol.name, context.closure(grants)):
        module, first = chain[0]
        if first.node in told:
            continue
        last = chain[-1][1]
        shown = short(symbol.name)
        target = context.collected.symbols.get(last.name)
        if target is not None and target.kind in ("node", "agent"):
            code, verb = "AEL0510", "is granted"
        else:
            code, verb = ("AEL0508" if isinstance(first.node, n.Path) else "AEL0509"), "needs"
        via = "" if len(chain) == 1 else f", through `{short(first.name)}`"
        message = f"the {symbol.kind} `{shown}` is not granted `{name}`, which `{short(last.name)}` {verb}{via}"
        labels = (*grant_place(context, scope, decl, clause), *through(context, chain[1:]), *needed_at(context, last, name))
        context.report(code, message, module, first.node, labels=labels, fix=addition(scope, decl.clauses, decl, clause, name))


def provider(
    context: Context,
    scope: ModuleScope,
    graph: Graph,
    keys: list[str],
    decl: n.ProvideDecl,
    clause: n.Grants | None,
    grants: frozenset[str],
) -> None:
    """A provider's grants cover its bodies; its callers need only the operation's permission."""
    allowed = context.closure(grants)
    told: set[str] = set()
    for key in keys:
        for name, chain in _beyond(context, graph, key, allowed):
            if name in told:
                continue
            told.add(name)
            module, first = chain[0]
            message = f"the provider of `{decl.service.text}` is not granted `{name}`, which `{short(chain[-1][1].name)}` needs"
            labels = (*through(context, chain[1:]), *needed_at(context, chain[-1][1], name))
            if clause is not None:
                labels = (context.label(scope.name, clause, "it is granted only this"), *labels)
            notes = (
                "a provider's code runs under the provider's grants; whoever calls it needs only the operation's permission",
            )
            fix = addition(scope, decl.clauses, decl, clause, name)
            context.report("AEL0511", message, module, first.node, labels=labels, notes=notes, fix=fix)


def held_for_others(
    context: Context, scope: ModuleScope, graph: Graph, needs: dict[str, str | None], decl: n.ProvideDecl
) -> None:
    """What a provider of a dependency does in other packs is included in the operation's permission, which its callers are granted.

    Its own permissions are its own matter; those of others are the program's to give, and the program grants the operation's alone.
    `needs`: function of the provider -> permission of its operation.
    """
    packs = context.collected.packs
    own = pack_of(packs, scope.name)
    if not own:
        return
    mine = frozenset(name for name in context.permissions if holder(packs, name) == own)
    for key, permission in needs.items():
        given = context.closure(frozenset({permission})) if permission is not None else frozenset[str]()
        for name, chain in _beyond(context, graph, key, mine | given):
            if name not in context.permissions:
                continue
            module, first = chain[0]
            operation = key.rpartition(".")[2]
            holds = f"`{written_name(packs, scope.name, permission)}`" if permission is not None else "nothing"
            message = (
                f"`{operation}` needs {holds} of its callers, and its provider calls `{short(chain[-1][1].name)}` of another pack, "
                f"which needs `{name}`"
            )
            labels = (*through(context, chain[1:]), *needed_at(context, chain[-1][1], name))
            note = f"say that whoever may call it may do that too: `permission … includes {name}`"
            context.report("AEL0827", message, module, first.node, labels=labels, notes=(note,))


def unused(context: Context, scope: ModuleScope, graph: Graph, key: str, clause: n.Grants | None) -> None:
    """Advice: a grant that nothing uses (least privilege)."""
    unit = graph.units.get(key)
    if clause is None or unit is None:
        return
    used = graph.names(unit.total)
    for path in clause.permissions:
        spec = context.permissions.get(meant(context, scope, path))
        if spec is not None and not spec.includes & used:
            message = f"`{path.text}` is granted, and nothing here needs it"
            context.warn("AEL1123", message, scope.name, path, notes=("what is not granted cannot be misused",))


def needed_at(context: Context, use: Use, permission: str | None = None) -> tuple[Label, ...]:
    """A label where what is used says which permission it needs or has."""
    symbol = context.collected.symbols.get(use.name)
    if symbol is None:
        symbol = context.collected.symbols.get(use.name.rpartition(".")[0])
    if symbol is None or not isinstance(
        symbol.node, n.ToolDecl | n.Operation | n.StoreDecl | n.NodeDecl | n.AgentDecl | n.McpMember
    ):
        return ()
    for clause in symbol.node.clauses:
        if isinstance(clause, n.Needs):
            return (context.label(symbol.module, clause, f"`{short(symbol.name)}` needs it"),)
        if isinstance(clause, n.Grants):
            scope = context.collected.scope_of(symbol)
            paths = [path for path in clause.permissions if meant(context, scope, path) == permission]
            return (context.label(symbol.module, paths[0] if paths else clause, f"`{short(symbol.name)}` is granted it"),)
    return ()


def _beyond(context: Context, graph: Graph, key: str, allowed: frozenset[str]) -> list[tuple[str, list[tuple[str, Use]]]]:
    """The permissions that a unit needs beyond `allowed`, each with the chain that leads to it; none twice at one place."""
    unit = graph.units.get(key)
    if unit is None:
        return []
    missing = sorted(graph.names(unit.total) - allowed)
    found: list[tuple[str, list[tuple[str, Use]]]] = []
    # What includes another missing permission is named instead of it: granting the first grants both.
    for name in missing:
        if any(other != name and name in context.permissions[other].includes for other in missing):
            continue
        chain = graph.why(key, graph.bits[name])
        if chain:
            found.append((name, chain))
    return found


def grant_place(
    context: Context, scope: ModuleScope, decl: n.NodeDecl | n.AgentDecl, clause: n.Grants | None
) -> tuple[Label, ...]:
    """A label where a node or an agent says what it is granted, or on its name where it says nothing."""
    if clause is None:
        return (context.label(scope.name, decl.name, "it is granted nothing"),)
    shown = listed([path.text for path in clause.permissions])
    return (context.label(scope.name, clause, f"it is granted {shown}"),)


def addition(
    scope: ModuleScope,
    clauses: tuple[n.Clause, ...],
    decl: n.NodeDecl | n.AgentDecl | n.ProvideDecl,
    clause: n.Grants | None,
    name: str,
) -> Fix | None:
    """Granting more is a decision: the fix is offered in an editor, never applied by itself."""
    if clause is not None:
        return Fix(f"grant `{name}`", (insertion(scope, clause, f", {name}"),), safe=False)
    if clauses:
        first = clauses[0].span.start
        return Fix(f"grant `{name}`", (Edit(Place(scope.source, Span(first, first)), f"grants {name}\n  "),), safe=False)
    body = decl.body if isinstance(decl, n.NodeDecl) else None
    if body is None:
        return None
    at = body.span.start
    return Fix(f"grant `{name}`", (Edit(Place(scope.source, Span(at, at)), f"\n  grants {name}\n"),), safe=False)
