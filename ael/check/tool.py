"""Tools: their clauses, and what must hold where one is offered to a model."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ael.check import clause as c
from ael.check import grant, repeat
from ael.check.basis import Context, names_of, short, suggestion
from ael.check.collect import Kind, ModuleScope, Remote, Symbol
from ael.check.doc import description
from ael.check.effect import Graph
from ael.check.mcp import repeat_of
from ael.check.mcp_member import unknown_member
from ael.check.module import find, kind_text, report_unknown
from ael.check.packs import STANDARD, pack_of
from ael.check.permission import doc, named, role
from ael.data import dataclass, replace
from ael.diagnostics.diagnostic import Edit, Fix, Place, Severity
from ael.source import Span
from ael.syntax import nodes as n
from ael.types.signature import Effects, Repeat, Signature
from ael.types.spec import ApprovalSpec, ToolSpec

NAME_LIMIT = 64
"""The longest tool name that every provider takes, in characters."""
LONG = 1_024
"""A description of a server's tool that is longer, in characters, is told; some providers cut or refuse it."""
RESERVED = {
    "final": "is the name of the tool that ends a node",
    "final_result": "is the name of the tool that ends a node",
    "find_tools": "is the name of the tool that finds others",
}
"""Names under which the run time offers tools of its own, and what they are."""

_TRIGGER = re.compile(
    r"\b(?:when|whenever|before|after|if|unless|until|once|only|first|instead|always|never|every time|ask"
    r"|call (?:this|it)|use (?:this|it))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, eq=False)
class Draft:
    """A tool as declared, before its body is looked at."""

    symbol: Symbol
    scope: ModuleScope
    node: n.ToolDecl | n.McpMember
    clauses: c.Clauses
    permission: str | None
    repeat: Repeat
    remote: Remote | None = None


def drafts(context: Context) -> dict[str, Draft]:
    """All tools, those of MCP servers among them, their permission and repeat safety read."""
    found: dict[str, Draft] = {}
    for symbol in context.collected.of_kind("tool"):
        if isinstance(symbol.node, n.ToolDecl):
            scope, node = context.collected.scope_of(symbol), symbol.node
            clauses = c.read(context, scope, "a tool", node.clauses, c.TOOL)
            permission = _permission(context, scope, node, clauses.get(n.Needs))
            found[symbol.name] = Draft(
                symbol, scope, node, clauses, permission, repeat.declared(context, scope, clauses, "tool", node.name)
            )
        elif isinstance(symbol.node, n.McpMember):
            found[symbol.name] = _of_server(context, symbol, symbol.node)
    return found


def _of_server(context: Context, symbol: Symbol, node: n.McpMember) -> Draft:
    scope = context.collected.scope_of(symbol)
    match node:
        case n.McpTool():
            clauses = c.read(context, scope, "a tool of an MCP server", node.clauses, c.SERVER_TOOL)
        case n.McpResource():
            clauses = c.read(context, scope, "a resource of an MCP server", node.clauses, c.SERVER_READ)
        case n.McpPrompt():
            clauses = c.read(context, scope, "a prompt of an MCP server", node.clauses, c.SERVER_READ)
    permission = _permission(context, scope, node, clauses.get(n.Needs))
    return Draft(symbol, scope, node, clauses, permission, repeat_of(node), context.collected.remote(symbol.name))


def _word(node: n.ToolDecl | n.McpMember) -> str:
    return "resource" if isinstance(node, n.McpResource) else "prompt" if isinstance(node, n.McpPrompt) else "tool"


def _permission(context: Context, scope: ModuleScope, node: n.ToolDecl | n.McpMember, needs: n.Needs | None) -> str | None:
    if needs is None:
        message = f"the {_word(node)} `{node.name.text}` does not say which permission it needs"
        notes = ("a tool names exactly one: `needs orders.read`, declared once in the pack by `permission orders.read`",)
        context.report("AEL0506", message, scope.name, node.name, notes=notes)
        return None
    if len(needs.permissions) > 1:
        message = f"a tool needs exactly one permission, and `{node.name.text}` names {len(needs.permissions)}"
        notes = ("one permission may include others: `permission a includes b`; or make two tools of it",)
        context.report("AEL0506", message, scope.name, needs, notes=notes)
        for path in needs.permissions:
            named(context, scope, path)
        return None
    return named(context, scope, needs.permissions[0])


def check(context: Context, graph: Graph, draft: Draft) -> None:
    """What must hold between a tool's clauses and its body."""
    scope, node, clauses = draft.scope, draft.node, draft.clauses
    said = clauses.get(n.RepeatClause)
    repeat.retries(context, scope, clauses, draft.repeat, "a tool")
    repeat.parallel(context, scope, graph, draft.symbol.name, node, clauses, draft.repeat)
    if not isinstance(node, n.ToolDecl):
        return
    if isinstance(node.body, n.Extern):
        _extern(context, scope, node.body)
    else:
        repeat.body(context, scope, graph, draft.symbol.name, node.name.text, said)
        grant.tool_body(context, scope, graph, draft.symbol, draft.permission, clauses.get(n.Needs))


def _allowed(context: Context, scope: ModuleScope) -> frozenset[str]:
    """The Python modules that the pack of a module lets `extern` name."""
    pack = pack_of(context.collected.packs, scope.name)
    return context.collected.packs[pack].externs if pack else context.collected.extern_allowed


def _extern(context: Context, scope: ModuleScope, node: n.Extern) -> None:
    target = c.constant_text(context, scope, node.target) or ""
    module, colon, function = target.partition(":")
    if module == STANDARD and scope.name.startswith(f"{STANDARD}/"):
        return  # a native of the standard library, which a test holds to what is there
    if not colon or not function.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        message = 'an `extern` names a Python function as "module:function"'
        context.report("AEL0519", message, scope.name, node.target)
    elif module not in _allowed(context, scope):
        message = f"the pack does not allow functions of the Python module `{module}`"
        notes = (f'allow it in `pack.ael`: `extern "{module}"`',)
        context.report("AEL0518", message, scope.name, node.target, notes=notes)


def spec(context: Context, draft: Draft, signature: Signature) -> ToolSpec:
    """The finished facts of a tool; `signature` has its effects."""
    scope, node, clauses = draft.scope, draft.node, draft.clauses
    approval = clauses.get(n.Approval)
    asked = None
    if approval is not None:
        by = role(context, scope, approval.role) if approval.role is not None else None
        asked = ApprovalSpec(by, approval.condition is not None)
    body = node.body if isinstance(node, n.ToolDecl) else None
    extern = c.constant_text(context, scope, body.target) if isinstance(body, n.Extern) else None
    remote = draft.remote
    return ToolSpec(
        name=draft.symbol.name,
        signature=signature,
        doc=description(node.doc, scope.name) if remote is None else remote.doc,
        permission=draft.permission or "",
        repeat=draft.repeat,
        timeout=c.timeout(context, scope, clauses.get(n.Timeout)),
        limit=c.limit(context, scope, clauses.get(n.Limit), "a tool"),
        approval=asked,
        retry=c.retry(context, scope, clauses.get(n.Retry)),
        taints=clauses.get(n.Taints) is not None,
        parallel=clauses.get(n.ParallelClause) is not None,
        extern=extern,
        remote=None if remote is None else remote.spec,
    )


def effects(draft: Draft, fails: frozenset[str], tainted: bool) -> Effects:
    """What calling a tool can do: its declared permission and repeat safety, whatever its body is."""
    permissions = frozenset({draft.permission}) if draft.permission is not None else frozenset[str]()
    return Effects(permissions, draft.repeat, True, draft.repeat.can_be_uncertain or "Uncertain" in fails, tainted)


# --- offered to a model ------------------------------------------------------------------------------------------------


def offered(context: Context, scope: ModuleScope, clause: n.Tools | None, what: str) -> list[tuple[n.Path, Symbol]]:
    """The tools and nodes that are offered to a model by `what` ("the node `answer`", or a skill): known, callable, each name once
    (features A1.5, A1.6, A2.1)."""
    from_names: dict[str, n.Path] = {}
    found: list[tuple[n.Path, Symbol]] = []
    for path in clause.paths if clause is not None else ():
        symbol = find_tool(context, scope, path)
        if symbol is None:
            continue
        name = offer_name(symbol)
        first = from_names.setdefault(name, path)
        if first is not path:
            labels = (context.label(scope.name, first, "offered here already"),)
            message = f"{what} offers two tools that the model would know as `{name}`"
            context.report("AEL0602", message, scope.name, path, labels=labels, fix=_without(scope, clause, path))
            continue
        found.append((path, symbol))
        _offerable(context, scope, path, symbol, name)
    return found


def find_tool(context: Context, scope: ModuleScope, path: n.Path) -> Symbol | None:
    """The tool or node of a path; None when there is none (reported), or when its meaning comes later."""
    symbol = find(context.collected, scope, path)
    if symbol is not None and symbol.kind == "unknown":
        return None
    if symbol is not None and symbol.kind in ("tool", "node", "agent"):
        return symbol
    if symbol is not None:
        notes: tuple[str, ...] = ()
        if symbol.kind == "mcp":
            used = [key.rpartition(".")[2] for key in context.collected.servers[symbol.name].spec.uses]
            shown = ", ".join(f"`{path.text}.{name}`" for name in used[:8])
            notes = (f"name its tools: {shown}",) if used else ("its block uses no tools",)
        if symbol.kind in ("function", "operation"):
            notes = ("a model is offered tools: `tool name(…) -> T  needs …  repeat … { … }` may call it",)
        if symbol.kind == "skill":
            notes = (f"say `skills {path.text}`",)
        message = f"`{path.text}` is {kind_text(symbol)}, and a model can be offered tools, nodes and agents only"
        context.report("AEL0601", message, scope.name, path, notes=notes)
        return None
    known = names_of(scope, "tool", "node", "agent")
    if len(path.parts) == 1:
        wanted: frozenset[Kind] = frozenset({"tool", "node", "agent"})
        report_unknown(context.collected, scope, path.parts[0], "tool or node", "AEL0601", context.bag, known, wanted)
        return None
    owner = find(context.collected, scope, n.Path(path.span, path.parts[:-1]))
    if owner is not None and owner.kind == "mcp":
        unknown_member(context.collected, owner, path.parts[-1], scope.source, context.bag)
        return None
    hint, fix = suggestion(scope.source, path.span, path.text, known)
    context.report("AEL0601", f"there is no tool or node `{path.text}`{hint if fix else ''}", scope.name, path, fix=fix)
    return None


def offer_name(symbol: Symbol) -> str:
    """The name under which a model sees a tool (its own), one of a server (`crm__get_customer`), or a node (`delegate__` and its own)."""
    own = symbol.name.rpartition(".")[2]
    if isinstance(symbol.node, n.McpMember):
        # Loaded by programs that offer tools of servers.
        from ael.types.naming import wire_name

        return wire_name(short(symbol.name))
    return f"delegate__{own}" if symbol.kind in ("node", "agent") else own


def _offerable(context: Context, scope: ModuleScope, path: n.Path, symbol: Symbol, name: str) -> None:
    node = symbol.node
    if isinstance(node, n.McpMember):
        _offerable_remote(context, scope, path, symbol, node)
        return
    if not isinstance(node, n.ToolDecl | n.NodeDecl | n.AgentDecl):
        return
    labels = (context.label(scope.name, path, "offered to a model here"),)
    own = node.name.text
    if len(name) > NAME_LIMIT:
        message = f"a model sees this as `{name}`, {len(name)} characters; providers take at most {NAME_LIMIT}"
        context.report("AEL0603", message, symbol.module, node.name, labels=labels)
    elif isinstance(node, n.ToolDecl) and (own in RESERVED or "__" in own):
        why = RESERVED.get(own, "has `__` in it, which marks delegates and the tools of servers")
        context.report("AEL0603", f"`{own}` {why}: give the tool another name", symbol.module, node.name, labels=labels)
    text = doc(node.doc)
    if not text.strip():
        word = symbol.kind
        message = f"the {word} `{own}` is offered to a model and has no description"
        notes = ("a `///` comment in front says what it does and when to call it; the model reads it",)
        fix = Fix("write a description", (_doc_above(context, symbol, node),), safe=False)
        context.report("AEL0604", message, symbol.module, node.name, labels=labels, notes=notes, fix=fix)
        return
    assert node.doc is not None
    if text != text.strip():
        message = f"the description of `{own}` begins or ends with blanks, and the model is sent it as it is"
        context.warn("AEL1122", message, symbol.module, node.doc)
    if isinstance(node, n.ToolDecl) and not _TRIGGER.search(text):
        message = f"the description of `{own}` says what it does, not when to call it"
        notes = ('such as: "Call this before promising anything about an order."',)
        context.warn("AEL1121", message, symbol.module, node.doc, notes=notes)


def _offerable_remote(context: Context, scope: ModuleScope, path: n.Path, symbol: Symbol, node: n.McpMember) -> None:
    remote = context.collected.remote(symbol.name)
    if remote is None:
        return
    labels = (context.label(scope.name, path, "offered to a model here"),)
    if not remote.doc.strip():
        message = f"the {_word(node)} `{short(symbol.name)}` is offered to a model and has no description"
        notes = ("a `///` comment in front says what it does and when to call it; the model reads it",)
        context.report("AEL0604", message, symbol.module, node.name, labels=labels, notes=notes)
    elif node.doc is None and len(remote.doc) > LONG:
        message = (
            f"the server describes `{short(symbol.name)}` in {len(remote.doc):,} characters, which the model reads at each step"
        )
        notes = ("a `///` comment in front is what the model reads instead",)
        context.report("AEL1222", message, symbol.module, node.name, labels=labels, notes=notes, severity=Severity.WARNING)


def _doc_above(context: Context, symbol: Symbol, node: n.ToolDecl | n.NodeDecl | n.AgentDecl) -> Edit:
    scope = context.collected.scope_of(symbol)
    start = node.span.start
    return Edit(Place(scope.source, Span(start, start)), f"/// What `{short(symbol.name)}` does. Call this when …\n")


def _without(scope: ModuleScope, clause: n.Tools | None, path: n.Path) -> Fix | None:
    paths = clause.paths if clause is not None else ()
    at = paths.index(path) if path in paths else 0
    if at == 0:
        return None
    return Fix("remove it", (Edit(Place(scope.source, Span(paths[at - 1].span.end, path.span.end)), ""),), safe=False)


def with_effects(signatures: Mapping[str, Signature], effects: Mapping[str, Effects]) -> dict[str, Signature]:
    """The signatures with their effects filled in."""
    return {name: replace(s, effects=effects[name]) if name in effects else s for name, s in signatures.items()}
