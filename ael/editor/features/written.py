"""What is declared, as AEL source in short: what a hover shows on top, and a completion beside a name.

Types are those that the source writes, where there is a source; what an MCP server brings is written from its pinned types.
"""

from __future__ import annotations

from collections.abc import Sequence

from ael.check.builtin import EFFECT_SIGNATURES, FUNCTIONS, IN_TESTS, METHODS, Builtin
from ael.check.collect import Collected
from ael.check.natives import find_native
from ael.editor.features.entity import Entity
from ael.source import Source
from ael.syntax import nodes as n
from ael.types.definition import AliasDef, EnumDef, FieldDef, NoDefault, RecordDef
from ael.types.signature import ParameterDef, Signature
from ael.types.text import show, text_of
from ael.types.type import Type, UnitType

MAX_WIDTH = 90
MAX_MEMBERS = 16
"""Fields and variants that are shown; more are counted."""
_MAX_CLAUSE = 300

WORDS = {
    n.FunctionDecl: "fn", n.ToolDecl: "tool", n.NodeDecl: "node", n.AgentDecl: "agent",
}  # fmt: skip


def head(collected: Collected, key: str) -> str:
    """The declaration of a symbol, without its body."""
    symbol = collected.symbols.get(key)
    if symbol is None:
        return ""
    node, scope = symbol.node, collected.modules.get(symbol.module)
    if node is None or scope is None:
        return ""
    text = scope.source
    match node:
        case n.FunctionDecl() | n.ToolDecl() | n.NodeDecl() | n.AgentDecl() | n.Operation():
            return _callable(collected, key, node, text)
        case n.McpTool() | n.McpPrompt() | n.McpResource():
            if symbol.kind != "tool":
                return defined(collected, key)
            return _remote(collected, key, node, text)
        case n.RecordDecl() | n.ErrorDecl() | n.EnumDecl():
            return defined(collected, key) or f"{symbol.kind} {node.name.text}"
        case n.TypeDecl(name=name, type=type):
            return f"type {name.text} = {_slice(text, type)}"
        case n.ConstDecl(name=name, type=written, value=value):
            shown = (
                f": {_slice(text, written)}" if written is not None else _constant_type(collected, scope.tables.types.get(value))
            )
            return f"const {name.text}{shown} = {_short(_slice(text, value))}"
        case n.ServiceDecl(name=name, operations=operations):
            return _block(f"service {name.text}", [_line(collected, f"{key}.{o.name.text}", o, text) for o in operations])
        case n.SkillDecl(name=name, clauses=clauses, functions=functions):
            lines = [f"  {_clause(text, one)}" for one in clauses]
            lines += [f"  {_line(collected, f'{key}.{f.name.text}', f, text)}" for f in functions]
            return f"skill {name.text} {{\n" + "\n".join(lines) + "\n}" if lines else f"skill {name.text}"
        case n.ProvideDecl(service=service, alias=alias, clauses=clauses):
            shown = f"provide {service.text}" + (f" as {alias.text}" if alias is not None else "")
            return "\n".join([shown, *(f"  {_clause(text, one)}" for one in clauses)])
        case n.McpDecl(name=name, members=members):
            return _block(f"mcp {name.text}", [_member(one) for one in members])
        case n.ModelDecl(name=name, settings=settings):
            return _block(f"model {name.text}", [f"{s.name.text} {_short(_slice(text, s.value))}" for s in settings])
        case n.StoreDecl(name=name, type=type, clauses=clauses):
            return " ".join([f"store {name.text}: {_slice(text, type)}", *(_clause(text, one) for one in clauses)])
        case _:
            return ""


def permission_head(collected: Collected, entity: Entity) -> str:
    """`permission orders.refund includes orders.read`."""
    symbol = (collected.permissions if entity.kind == "permission" else collected.roles).get(entity.name)
    includes = symbol.node.includes if symbol is not None and isinstance(symbol.node, n.PermissionDecl) else ()
    more = f" includes {', '.join(path.text for path in includes)}" if includes else ""
    return f"{entity.kind} {entity.name}{more}"


def defined(collected: Collected, key: str) -> str:
    """A record, an error, an enum or an alias, from what it means."""
    definition = collected.definitions.get(key)
    if definition is None:
        return ""
    name = key.rpartition(".")[2]
    match definition:
        case RecordDef(fields=fields, open=is_open, is_error=is_error):
            word = "error" if is_error else "open record" if is_open else "record"
            return _block(f"{word} {name}", [field(one) for one in fields])
        case EnumDef(variants=variants):
            lines = [v.name + (f"({', '.join(map(field, v.fields))})" if v.fields else "") for v in variants]
            return _block(f"enum {name}", lines)
        case AliasDef(type=type):
            return f"type {name} = {show(type)}"


def field(one: FieldDef | ParameterDef) -> str:
    """`name?: T as "wire" = default`."""
    mark = "?" if one.optional else ""
    wire = f" as {value(one.wire)}" if one.wire != one.name else ""
    trusted = "trusted " if isinstance(one, ParameterDef) and one.trusted else ""
    return f"{trusted}{one.name}{mark}: {show(one.type)}{wire}{default(one)}"


def default(one: FieldDef | ParameterDef) -> str:
    """` = value`, where there is a default."""
    if isinstance(one.default, NoDefault):
        return ""
    return f" = {value(one.default)}"


def value(given: object) -> str:
    """A constant as source writes it, in short."""
    match given:
        case str():
            shown = '"' + given.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        case list():
            shown = f"[{', '.join(map(value, given))}]"
        case dict():
            shown = "{…}"
        case bytes():
            shown = "…"
        case _:
            shown = text_of(given)
    return _short(shown)


def signature(name: str, parameters: Sequence[ParameterDef | FieldDef], result: Type | None, fails: Sequence[str] = ()) -> str:
    """`name(parameters) -> result fails …`, in lines of its own where it is long."""
    shown = [field(one) for one in parameters]
    end = f" -> {show(result)}" if result is not None and not isinstance(result, UnitType) else ""
    end += f" fails {', '.join(fails)}" if fails else ""
    return _laid(name, shown, end)


def signature_of(found: Signature, name: str) -> str:
    """A known signature under a name."""
    own = f"{name}<{', '.join(found.type_parameters)}>" if found.type_parameters else name
    return signature(own, found.parameters, found.result, sorted(one.rpartition(".")[2] for one in found.fails))


def builtin(name: str) -> Builtin | None:
    """A function or method of the language by its name in the back end (`std.now`, `list.map`)."""
    owner, _, own = name.partition(".")
    if owner in METHODS and own in METHODS[owner]:
        return METHODS[owner][own]
    if owner == "native":
        topic, _, inner = own.partition(".")
        return find_native(f"native_{topic}_{inner}", "std/_")
    own = name.removeprefix("std.")
    return EFFECT_SIGNATURES.get(own) or FUNCTIONS.get(own) or IN_TESTS.get(own)


def builtin_signature(one: Builtin) -> str:
    """`xs.map(function: fn(T) -> U) -> List<U>`, type parameters without their marks."""
    owner, dot, own = one.name.partition(".")
    shown = [
        f"{name}{'' if at < one.required else '?'}: {show(type)}"
        for at, (name, type) in enumerate(zip(one.names, one.parameters, strict=True))
    ]
    receiver = {"list": "List<T>.", "map": "Map<String, T>."}.get(owner, f"{owner.capitalize()}.") if owner in METHODS else ""
    end = "" if isinstance(one.result, UnitType) else f" -> {show(one.result)}"
    name = own if (dot and owner in METHODS) or owner in ("std", "native") else one.name
    return (
        _laid(f"fn {receiver}{name}", shown, end).replace("?T", "T").replace("?U", "U").replace("?K", "K").replace("?N", "Number")
    )


# --- parts ---------------------------------------------------------------------------------------------------------------


def _callable(
    collected: Collected, key: str, node: n.FunctionDecl | n.ToolDecl | n.NodeDecl | n.AgentDecl | n.Operation, source: Source
) -> str:
    clauses = () if isinstance(node, n.FunctionDecl) else node.clauses
    return "\n".join([_line(collected, key, node, source), *(f"  {_clause(source, one)}" for one in clauses)])


def _line(
    collected: Collected, key: str, node: n.FunctionDecl | n.ToolDecl | n.NodeDecl | n.AgentDecl | n.Operation, source: Source
) -> str:
    word = "table" if isinstance(node, n.FunctionDecl) and isinstance(node.body, n.Rows) else WORDS.get(type(node), "")
    variables = node.type_parameters if isinstance(node, n.FunctionDecl) else ()
    name = f"{word} {node.name.text}".strip() + (f"<{', '.join(one.name.text for one in variables)}>" if variables else "")
    shown = [_flat(_slice(source, one)) for one in node.parameters]
    end = f" -> {_flat(_slice(source, node.result))}" if node.result is not None else ""
    end += f" fails {', '.join(path.text for path in node.fails)}" if node.fails else ""
    return _laid(name, shown, end)


def _laid(name: str, parameters: Sequence[str], end: str) -> str:
    flat = f"{name}({', '.join(parameters)}){end}"
    if len(flat) <= MAX_WIDTH or not parameters:
        return flat
    return f"{name}(\n" + "".join(f"  {one},\n" for one in parameters) + f"){end}"


def _remote(collected: Collected, key: str, node: n.McpMember, source: Source) -> str:
    word = "tool" if isinstance(node, n.McpTool) else "prompt" if isinstance(node, n.McpPrompt) else "resource"
    owner = key.rpartition(".")[0].rpartition(".")[2]
    found = collected.signatures.get(key)
    name = f"{word} {owner}.{node.name.text}"
    line = f"{name}(…)" if found is None else signature_of(found, name)
    return "\n".join([line, *(f"  {_clause(source, one)}" for one in node.clauses)])


def _member(one: n.McpMember) -> str:
    word = "tool" if isinstance(one, n.McpTool) else "prompt" if isinstance(one, n.McpPrompt) else "resource"
    return f"{word} {one.name.text}"


def _block(first: str, lines: Sequence[str]) -> str:
    if not lines:
        return f"{first} {{}}"
    flat = f"{first} {{ {', '.join(lines)} }}"
    if len(lines) <= 4 and len(flat) <= 60 and "\n" not in flat:
        return flat
    shown = [f"  {line}" for line in lines[:MAX_MEMBERS]]
    if len(lines) > MAX_MEMBERS:
        shown.append(f"  // … {len(lines) - MAX_MEMBERS} more")
    return "\n".join([f"{first} {{", *shown, "}"])


def _clause(source: Source, clause: n.Clause) -> str:
    return _short(_flat(_slice(source, clause)), _MAX_CLAUSE)


def _slice(source: Source, node: n.Node) -> str:
    return source.text[node.span.start : node.span.end]


def _flat(text: str) -> str:
    return " ".join(text.split())


def _short(text: str, most: int = 120) -> str:
    flat = _flat(text)
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def _constant_type(collected: Collected, type: Type | None) -> str:
    return f": {show(type)}" if type is not None else ""
