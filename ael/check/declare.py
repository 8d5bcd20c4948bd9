"""The declarations of each module by name: none twice, none in the language's place, each written as its kind is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import TypeVar

from ael.check.collect import Collected, Kind, ModuleScope, Server, Symbol
from ael.check.mcp_setting import server_spec
from ael.check.packs import STANDARD, pack_of, shared_name
from ael.diagnostics.diagnostic import Bag, Label, Place
from ael.source import Source
from ael.syntax import nodes as n
from ael.types.builtin import EFFECTS, TYPE_NAMES
from ael.types.fault import FAULT_NAMES

N = TypeVar("N", n.Operation, n.McpMember, n.FunctionDecl, n.Field, n.Parameter, n.Variant, n.TypeParameter, n.FieldValue)

KINDS: dict[type, Kind] = {
    n.RecordDecl: "record",
    n.EnumDecl: "enum",
    n.ErrorDecl: "error",
    n.TypeDecl: "alias",
    n.ConstDecl: "const",
    n.FunctionDecl: "function",
    n.ToolDecl: "tool",
    n.NodeDecl: "node",
    n.AgentDecl: "agent",
    n.SkillDecl: "skill",
    n.McpDecl: "mcp",
    n.ServiceDecl: "service",
    n.ModelDecl: "model",
    n.StoreDecl: "store",
}
"""What kind of symbol a declaration makes."""

WORDS: dict[Kind, str] = {
    "record": "record", "enum": "enum", "error": "error", "alias": "type", "const": "constant", "function": "function", "tool": "tool",
    "node": "node", "agent": "agent", "skill": "skill", "mcp": "MCP server", "service": "service", "operation": "operation",
    "provide": "provider", "model": "model", "store": "store", "permission": "permission", "role": "role", "module": "module",
    "type": "built-in type", "fault": "fault", "unknown": "name",
}  # fmt: skip
"""How messages call a kind."""

TYPES: frozenset[Kind] = frozenset({"record", "enum", "error", "alias", "type"})
"""Kinds that are types, written in upper camel case, as services are."""

RESERVED = frozenset(EFFECTS) | {"release", "setting", "secret", "json", "parse_json", "min", "max", "abs", "range"}
"""Built-in functions whose names no declaration may take."""

LANGUAGE: MappingProxyType[str, Symbol] = MappingProxyType(
    {name: Symbol("type", name) for name in sorted(TYPE_NAMES)} | {name: Symbol("fault", name) for name in sorted(FAULT_NAMES)}
)
"""What is seen in every module without a `use`."""


def declare(collected: Collected, bag: Bag) -> None:
    """Fill `symbols`, `permissions`, `roles` and the own names of every module scope."""
    for scope in collected.modules.values():
        for node in scope.tree.declarations:
            if isinstance(node, n.PermissionDecl):
                _in_namespace(collected.permissions, "permission", node, scope, collected, bag)
            elif isinstance(node, n.RoleDecl):
                _in_namespace(collected.roles, "role", node, scope, collected, bag)
            elif isinstance(node, n.ProvideDecl):
                _provide(node, scope, collected, bag)
            elif (kind := KINDS.get(type(node))) is not None:
                _declaration(kind, node, scope, collected, bag)


def _declaration(kind: Kind, node: n.Declaration, scope: ModuleScope, collected: Collected, bag: Bag) -> None:
    name: n.Name = node.name  # type: ignore[union-attr]
    public: bool = node.public  # type: ignore[union-attr]
    symbol = Symbol(kind, f"{scope.name}.{name.text}", scope.name, node, public)
    if not _accept(symbol, name, scope, bag):
        return
    scope.names[name.text] = symbol
    collected.symbols[symbol.name] = symbol
    if isinstance(node, n.ServiceDecl):
        for operation in unique(node.operations, scope.source, bag, "operation"):
            inner = f"{symbol.name}.{operation.name.text}"
            collected.symbols[inner] = Symbol("operation", inner, scope.name, operation, public)
    elif isinstance(node, n.SkillDecl):
        _skill(symbol, node, scope, collected, bag)
    elif isinstance(node, n.McpDecl):
        _server(symbol, node, scope, collected, bag)


def _skill(symbol: Symbol, node: n.SkillDecl, scope: ModuleScope, collected: Collected, bag: Bag) -> None:
    """A skill's functions are called as members of it: `refund_policy.in_time(order)`."""
    for function in unique(node.functions, scope.source, bag, "function"):
        text = function.name.text
        if (form := style("function", text)) is not None:
            bag.report("AEL0208", f"the name of a function is written `{form}`, not `{text}`", scope.source, function.name.span)
        inner = f"{symbol.name}.{text}"
        collected.symbols[inner] = Symbol("function", inner, scope.name, function, symbol.public)


def _server(symbol: Symbol, node: n.McpDecl, scope: ModuleScope, collected: Collected, bag: Bag) -> None:
    """What a server has is called like a tool: `crm.get_customer(…)`, `tools crm.get_customer`."""
    used: list[str] = []
    for member in unique(node.members, scope.source, bag, "name"):
        text = member.name.text
        if (form := style("tool", text)) is not None:
            bag.report("AEL0208", f"the name of a tool is written `{form}`, not `{text}`", scope.source, member.name.span)
        inner = f"{symbol.name}.{text}"
        collected.symbols[inner] = Symbol("tool", inner, scope.name, member, symbol.public)
        used.append(inner)
    doc = node.doc.text if node.doc is not None else ""
    collected.servers[symbol.name] = Server(symbol, server_spec(node, symbol.name, doc, tuple(used)))


def _provide(node: n.ProvideDecl, scope: ModuleScope, collected: Collected, bag: Bag) -> None:
    # An implementation may have the name of its service in the same module, so both have keys of their own.
    name = node.alias or node.service.parts[-1]
    symbol = Symbol("provide", f"{scope.name}.{name.text}", scope.name, node)
    key = f"provide {symbol.name}"
    if (other := collected.symbols.get(key)) is not None:
        _twice(name, "provider", other, scope.source, bag)
        return
    if node.alias is not None:
        if not _accept(symbol, name, scope, bag):
            return
        scope.names[name.text] = symbol
    collected.symbols[key] = symbol
    for function in unique(node.functions, scope.source, bag, "function"):
        inner = f"{symbol.name}.{function.name.text}"
        collected.symbols[f"provide {inner}"] = Symbol("function", inner, scope.name, function, False)


def _accept(symbol: Symbol, name: n.Name, scope: ModuleScope, bag: Bag) -> bool:
    """Whether a declaration may have its name; reports when not."""
    text, source = name.text, scope.source
    what = WORDS[symbol.kind]
    if text in LANGUAGE or text in RESERVED:
        message = f"`{text}` belongs to the language: give this {what} another name"
        bag.report("AEL0204", message, source, name.span)
        return False
    if (first := scope.names.get(text)) is not None:
        _twice(name, what, first, scope.source, bag)
        return False
    if (form := style(symbol.kind, text)) is not None:
        bag.report("AEL0208", f"the name of a {what} is written `{form}`, not `{text}`", source, name.span)
    return True


def _twice(name: n.Name, what: str, first: Symbol, source: Source, bag: Bag) -> None:
    labels = (
        (Label(Place(source, name_of(first.node).span), f"first declared here, as a {WORDS[first.kind]}"),) if first.node else ()
    )
    bag.report("AEL0201", f"`{name.text}` is declared twice in this module", source, name.span, labels=labels)


def _in_namespace(
    into: dict[str, Symbol], kind: Kind, node: n.PermissionDecl | n.RoleDecl, scope: ModuleScope, collected: Collected, bag: Bag
) -> None:
    packs = collected.packs
    head = node.path.parts[0].text
    own = pack_of(packs, scope.name)
    if len(node.path.parts) > 1 and (head == STANDARD or (head in packs if not own else head in packs[own].depends)):
        whose = "the standard library" if head == STANDARD else f"the pack `{head}`"
        message = f"the {kind} `{node.path.text}` has the name of {whose} in front, whose own {kind}s are called so"
        note = f"begin its name with another word: `own.{node.path.text}`"
        bag.report("AEL0825", message, scope.source, node.path.span, notes=(note,))
        return
    text = shared_name(packs, scope.name, node.path.text)
    if (first := into.get(text)) is not None and first.node is not None:
        other = collected.modules[first.module].source
        labels = (Label(Place(other, name_of(first.node).span), "first declared here"),)
        bag.report("AEL0201", f"the {kind} `{text}` is declared twice in this pack", scope.source, node.path.span, labels=labels)
        return
    into[text] = Symbol(kind, text, scope.name, node)


def name_of(node: n.Node) -> n.Node:
    """The node of the name that a declaration or import gives."""
    match node:
        case n.PermissionDecl(path=path) | n.RoleDecl(path=path):
            return path
        case n.ProvideDecl(alias=alias, service=service):
            return alias or service
        case n.UseName(alias=alias, name=name):
            return alias or name
        case n.Use(alias=alias):
            return alias or node
        case n.TestDecl(title=title):
            return title
        case _:
            own = getattr(node, "name", None)
            return own if isinstance(own, n.Node) else node


_CAMEL = re.compile(r"_?[A-Z][A-Za-z0-9]*\Z")
_SNAKE = re.compile(r"_*[a-z][A-Za-z0-9_]*\Z|_+\Z")
_CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*\Z")


def style(kind: Kind, text: str) -> str | None:
    """The name as its kind writes names, when it is written otherwise."""
    if kind in TYPES or kind == "service":
        return None if _CAMEL.match(text) else "".join(part[:1].upper() + part[1:] for part in text.split("_")) or "Name"
    if kind == "const":
        return None if _CONSTANT.match(text) else re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text).upper()
    return None if _SNAKE.match(text) else snake(text)


def snake(text: str) -> str:
    """A name in lower snake case."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text).lower()


def unique(nodes: Iterable[N], source: Source, bag: Bag, what: str) -> Iterator[N]:
    """Those of `nodes` whose names come for the first time; the others are reported."""
    seen: dict[str, n.Name] = {}
    for node in nodes:
        name = node.name
        if (first := seen.get(name.text)) is not None:
            labels = (Label(Place(source, first.span), "first here"),)
            bag.report("AEL0201", f"the {what} `{name.text}` stands here twice", source, name.span, labels=labels)
            continue
        seen[name.text] = name
        yield node
