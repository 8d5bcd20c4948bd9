"""Names, fields and `[ ]`: what a name means where it stands, and what is read from a value."""

from __future__ import annotations

from ael.check.builtin import EFFECT_SIGNATURES, FUNCTIONS, METHODS, RECEIVERS, TEST_EFFECTS, TEST_FUNCTIONS
from ael.check.checker import DISCARD, UNKNOWN, Checker
from ael.check.collect import Kind, Symbol
from ael.check.constant import FAILED, exact
from ael.check.kind import INT, STRING, plain, sure, without_null
from ael.check.mcp_member import unknown_member
from ael.check.module import kind_text, member, report_unknown, seen, server_member, visible
from ael.check.narrow import path_of
from ael.check.program import Meaning
from ael.check.suggest import did_you_mean, nearest
from ael.diagnostics.diagnostic import Label
from ael.source import Span
from ael.syntax import nodes as n
from ael.types.definition import Definitions, EnumDef, FieldDef, RecordDef
from ael.types.text import show
from ael.types.type import (
    AnonymousRecord,
    FunctionType,
    ListType,
    MapType,
    Named,
    Never,
    NullType,
    StringType,
    Type,
    UnionType,
    Unknown,
    optional,
)

_VALUE_KINDS: frozenset[Kind] = frozenset(
    {"const", "function", "tool", "node", "agent", "enum", "record", "error", "service", "store"}
)
_MEANINGS: dict[Kind, str] = {
    "alias": "type",
    "operation": "service",
    "mcp": "module",
    "skill": "module",
    "unknown": "type",
    "role": "permission",
}


def symbol_of(c: Checker, node: n.Expr) -> Symbol | None:
    """The declared thing that a name or a dotted name means, if it means one and no value; remembers what its parts mean."""
    if isinstance(node, n.Reference):
        if c.find_local(node.name.text) is not None:
            return None
        symbol = seen(c.module, node.name.text)
        if symbol is not None:
            _remember(c, node, symbol)
        return symbol
    if isinstance(node, n.FieldAccess):
        owner = symbol_of(c, node.target)
        if owner is None:
            return None
        if owner.kind == "module":
            found = member(c.collected, owner, node.name.text)
            if found is not None:
                _remember(c, node, found)
            return found
        if owner.kind == "mcp":
            found = server_member(c.collected, owner, node.name.text)
            if found is not None:
                _remember(c, node, found)
            return found
        if owner.kind == "service":
            return c.collected.symbols.get(f"{owner.name}.{node.name.text}")
        if owner.kind == "skill":
            found = c.collected.symbols.get(f"{owner.name}.{node.name.text}")
            if found is not None:
                _remember(c, node, found)
            return found
        return owner if owner.kind == "unknown" else None
    return None


def _remember(c: Checker, node: n.Expr, symbol: Symbol) -> None:
    kind = _MEANINGS.get(symbol.kind, symbol.kind)
    c.tables.resolved[node] = Meaning(kind, symbol.name)  # type: ignore[arg-type]


# --- names ---------------------------------------------------------------------------------------------------------------


def reference(c: Checker, node: n.Reference, expected: Type | None) -> Type:
    text = node.name.text
    local = c.find_local(text)
    if local is not None:
        c.tables.resolved[node] = local
        c.read.add(local)
        if c.narrowed and (known := c.narrowed.get((local,))) is not None:
            return known
        return local.type
    symbol = symbol_of(c, node)
    if symbol is None:
        return _unknown_name(c, node)
    return value_of(c, node, symbol, expected)


def _unknown_name(c: Checker, node: n.Reference) -> Type:
    text = node.name.text
    if text in FUNCTIONS or text in EFFECT_SIGNATURES or (c.in_test and (text in TEST_FUNCTIONS or text in TEST_EFFECTS)):
        c.report("AEL0213", f"`{text}` is a function of the language: call it, `{text}(…)`", node.span)
        return UNKNOWN
    if text == "output":
        c.report("AEL0215", "`output` means the result of a model-driven node, in its `require`", node.span)
        return UNKNOWN
    locals_seen = [name for scope in reversed(c.locals) for name in scope]
    meant = nearest(text, locals_seen)
    if meant is not None and (local := c.find_local(meant)) is not None:
        # What a misspelt name most likely means is not unread as well: one mistake, one message.
        c.read.add(local)
    known = [*locals_seen, *visible(c.module, *_VALUE_KINDS), *FUNCTIONS, *EFFECT_SIGNATURES]
    report_unknown(c.collected, c.module, node.name, "name", "AEL0202", c.bag, known, _VALUE_KINDS)
    return UNKNOWN


def value_of(c: Checker, node: n.Expr, symbol: Symbol, expected: Type | None) -> Type:
    """The type of a declared thing used as a value."""
    match symbol.kind:
        case "const":
            constants = c.constants
            value = constants.of(symbol)
            type = constants.type_of(symbol)
            if expected is None or expected is DISCARD or value is FAILED:
                return type
            return exact(value) or type
        case "function":
            signature = c.collected.signatures.get(symbol.name)
            if signature is None:
                return UNKNOWN
            if signature.type_parameters:
                message = f"`{symbol.name.rpartition('.')[2]}` has type parameters: pass `fn(x) => …` that calls it"
                c.report("AEL0314", message, node.span)
                return UNKNOWN
            return sure(FunctionType(tuple(p.type for p in signature.parameters), signature.result, signature.fails))
        case "unknown":
            return UNKNOWN
        case "tool" | "node" | "agent":
            name = symbol.name.rpartition(".")[2]
            c.report("AEL0213", f"`{name}` is {kind_text(symbol)}, no value: call it, or pass `fn(x) => {name}(x)`", node.span)
            return UNKNOWN
        case _:
            c.report("AEL0213", f"`{_shown(node, symbol)}` is {kind_text(symbol)}, not a value{_how(c, symbol)}", node.span)
            return UNKNOWN


def _shown(node: n.Expr, symbol: Symbol) -> str:
    return node.name.text if isinstance(node, n.Reference | n.FieldAccess) else symbol.name


def _how(c: Checker, symbol: Symbol) -> str:
    name = symbol.name.rpartition(".")[2]
    match symbol.kind:
        case "record" | "error":
            return f": `{name}(…)` makes one"
        case "enum":
            definition = c.definitions.get(symbol.name)
            first = definition.variants[0].name if isinstance(definition, EnumDef) and definition.variants else "…"
            return f": name a variant, such as `{name}.{first}`"
        case "service":
            return f": call one of its operations, `{name}.…(…)`"
        case "mcp":
            return f": call one of its tools, `{name}.…(…)`"
        case "store":
            return f": `{name}.get(key)` reads from it"
        case "skill":
            return f": a node that uses it says `skills {name}`"
        case _:
            return ""


# --- fields --------------------------------------------------------------------------------------------------------------


def field_access(c: Checker, node: n.FieldAccess, expected: Type | None) -> Type:
    target, name = node.target, node.name.text
    if isinstance(target, n.Reference) and target.name.text == "call" and name == "key" and c.find_local("call") is None:
        return call_key(c, node)
    owner = symbol_of(c, target)
    if owner is not None:
        return _member_of(c, node, owner, expected)
    found = c.infer(target)
    type = field_of(c, node, found)
    if c.narrowed and (path := path_of(c, node)) is not None and (known := c.narrowed.get(path)) is not None:
        return known
    return type


def call_key(c: Checker, node: n.FieldAccess) -> Type:
    if c.bodies_key():
        c.tables.resolved[node] = Meaning("call_key", "call", "key")
        return STRING
    message = "`call.key` is the idempotency key of the tool or operation whose body this is, and here is none"
    c.report("AEL0215", message, node.span)
    return STRING


def _member_of(c: Checker, node: n.FieldAccess, owner: Symbol, expected: Type | None) -> Type:
    name = node.name.text
    match owner.kind:
        case "unknown":
            return UNKNOWN
        case "skill":
            found = c.collected.symbols.get(f"{owner.name}.{name}")
            if found is None:
                no_function(c, owner, node.name)
                return UNKNOWN
            _remember(c, node, found)
            return value_of(c, node, found, expected)
        case "mcp":
            found = server_member(c.collected, owner, name)
            if found is None:
                no_server_member(c, owner, node.name)
                return UNKNOWN
            _remember(c, node, found)
            return value_of(c, node, found, expected)
        case "module":
            found = member(c.collected, owner, name)
            if found is None:
                no_member(c, owner, node.name)
                return UNKNOWN
            _remember(c, node, found)
            return value_of(c, node, found, expected)
        case "enum":
            definition = c.definitions.get(owner.name)
            if not isinstance(definition, EnumDef):
                return UNKNOWN
            variant = next((v for v in definition.variants if v.name == name), None)
            if variant is None:
                no_variant(c, definition, node.name)
                return UNKNOWN
            if variant.fields:
                fields = ", ".join(f"{f.name}: …" for f in variant.fields)
                c.report(
                    "AEL0306", f"the variant `{name}` has fields: `{owner.name.rpartition('.')[2]}.{name}({fields})`", node.span
                )
                return UNKNOWN
            c.tables.resolved[node] = Meaning("variant", owner.name, name)
            return Named(owner.name)
        case "service":
            operation = c.collected.symbols.get(f"{owner.name}.{name}")
            if operation is None:
                no_operation(c, owner, node.name)
            else:
                whole = f"{owner.name.rpartition('.')[2]}.{name}"
                c.report("AEL0213", f"`{whole}` is an operation, not a value: call it, `{whole}(…)`", node.span)
            return UNKNOWN
        case "const":
            return field_of(c, node, c.infer(node.target))
        case _:
            c.report(
                "AEL0214", f"`{owner.name.rpartition('.')[2]}` is {kind_text(owner)}, and has no member `{name}`", node.name.span
            )
            return UNKNOWN


def no_member(c: Checker, owner: Symbol, name: n.Name) -> None:
    """Report what a module does not declare, or not for others."""
    target = c.collected.modules.get(owner.name)
    if target is None:
        return
    symbol = target.names.get(name.text)
    short = owner.name.rpartition("/")[2]
    if symbol is not None and name.text not in target.imports:
        if symbol.kind == "unknown":
            return
        labels = c.label_of(owner.name, symbol.node.span, "declared here") if symbol.node is not None else ()
        c.report("AEL0206", f"`{name.text}` is not `pub`, so only `{short}` sees it", name.span, labels=labels)
        return
    known = [k for k, s in target.names.items() if s.public and k not in target.imports]
    end, fix = did_you_mean(name.text, known, c.module.source, name.span)
    c.report("AEL0205", f"the module `{short}` has no `{name.text}`{end}", name.span, fix=fix)


def no_server_member(c: Checker, owner: Symbol, name: n.Name) -> None:
    """Report what an MCP server does not have, or its block does not use."""
    unknown_member(c.collected, owner, name, c.module.source, c.bag)


def no_variant(c: Checker, definition: EnumDef, name: n.Name) -> None:
    """Report a variant that an enum does not have."""
    known = [v.name for v in definition.variants]
    end, fix = did_you_mean(name.text, known, c.module.source, name.span)
    short = definition.name.rpartition(".")[2]
    choices = ", ".join(f"`{k}`" for k in known[:12])
    c.report("AEL0214", f"`{short}` has no variant `{name.text}`{end or f'; it has {choices}'}", name.span, fix=fix)


def no_operation(c: Checker, owner: Symbol, name: n.Name) -> None:
    """Report an operation that a service does not have."""
    prefix = f"{owner.name}."
    known = [key[len(prefix) :] for key in c.collected.symbols if key.startswith(prefix)]
    end, fix = did_you_mean(name.text, known, c.module.source, name.span)
    choices = ", ".join(f"`{k}`" for k in known[:12])
    short = owner.name.rpartition(".")[2]
    c.report("AEL0214", f"`{short}` has no operation `{name.text}`{end or f'; it has {choices}'}", name.span, fix=fix)


def no_function(c: Checker, owner: Symbol, name: n.Name) -> None:
    """Report a function that a skill does not have."""
    prefix = f"{owner.name}."
    known = [key[len(prefix) :] for key in c.collected.symbols if key.startswith(prefix)]
    end, fix = did_you_mean(name.text, known, c.module.source, name.span)
    choices = f"; it has {', '.join(f'`{k}`' for k in known[:12])}" if known else "; it has no functions"
    c.report(
        "AEL0214",
        f"the skill `{owner.name.rpartition('.')[2]}` has no function `{name.text}`{end or choices}",
        name.span,
        fix=fix,
    )


def fields_of(type: Type, definitions: Definitions) -> tuple[FieldDef, ...] | None:
    """The fields of a record, an error or an unnamed record; None for what has none."""
    match type:
        case Named(name):
            definition = definitions.get(name)
            return definition.fields if isinstance(definition, RecordDef) else None
        case AnonymousRecord(fields):
            return tuple(FieldDef(name, name, inner) for name, inner in fields)
        case _:
            return None


def field_of(c: Checker, node: n.FieldAccess, target: Type) -> Type:
    """The type of a field of a value."""
    whole = c.expand(target)
    if isinstance(whole, Unknown | Never):
        return UNKNOWN
    name = node.name.text
    members = tuple(c.expand(m) for m in whole.members) if isinstance(whole, UnionType) else (whole,)
    if any(isinstance(m, NullType) for m in members):
        may_be_null(c, node.target, whole, f"`{name}`")
        return UNKNOWN
    found: Type = Never()
    wires: set[str] = set()
    for one in members:
        fields = fields_of(one, c.definitions)
        field = next((f for f in fields if f.name == name), None) if fields is not None else None
        if field is None:
            _no_field(c, node, one, fields, whole)
            return UNKNOWN
        wires.add(field.wire)
        if field.optional:
            c.tables.optional_reads.add(node)
        found = c.join(found, optional(field.type) if field.optional else field.type)
    if len(wires) > 1:
        c.report("AEL0305", f"the members of `{show(whole)}` have `{name}` under different keys: match it first", node.name.span)
        return UNKNOWN
    c.tables.fields[node] = wires.pop()
    return found


def may_be_null(c: Checker, node: n.Expr, type: Type, what: str) -> None:
    """Report that something is read from what may be null."""
    shown = show(type)
    name = node.name.text if isinstance(node, n.Reference | n.FieldAccess) else None
    asked = f"`if {name} != null {{ … }}`" if isinstance(node, n.Reference) else "`let x = …` and then `if x != null { … }`"
    notes = (f"{asked} asks first, `match` takes it apart, and `??` gives another value in its place",)
    c.report(
        "AEL0313", f"{f'`{name}`' if name else 'this'} may be null (it is `{shown}`), so it has no {what}", node.span, notes=notes
    )


def _no_field(c: Checker, node: n.FieldAccess, type: Type, fields: tuple[FieldDef, ...] | None, whole: Type) -> None:
    name, span = node.name.text, node.name.span
    kind = RECEIVERS.get(plain(type).__class__)
    if fields is None and kind is not None and name in METHODS[kind]:
        end = node.span.end
        fix = c.edit("call it", (Span(end, end), "()")) if METHODS[kind][name].required == 0 else None
        c.report("AEL0305", f"`{name}` is a method: call it, `{name}(…)`", span, fix=fix)
        return
    known = [f.name for f in fields] if fields is not None else []
    end_text, fix = did_you_mean(name, known, c.module.source, span)
    of = f"`{show(type)}`"
    if isinstance(whole, UnionType):
        of += f", a member of `{show(whole)}`,"
    if fields is None:
        c.report("AEL0305", f"{of} has no fields", span)
    else:
        labels: tuple[Label, ...] = ()
        if isinstance(type, Named) and (symbol := c.collected.symbols.get(type.name)) is not None and symbol.node is not None:
            labels = c.label_of(symbol.module, symbol.node.name.span, "declared here")  # type: ignore[attr-defined]
        c.report("AEL0305", f"{of} has no field `{name}`{end_text}", span, labels=labels, fix=fix)


# --- [ ] -----------------------------------------------------------------------------------------------------------------


def index(c: Checker, node: n.Index, expected: Type | None) -> Type:
    target = c.expand(c.infer(node.target))
    match target:
        case ListType(item):
            c.check(node.index, INT, " as the place in a list")
            return item
        case MapType(value):
            c.check(node.index, STRING, " as the key of a map")
            return optional(value)
    c.infer(node.index)
    match target:
        case Unknown() | Never():
            pass
        case UnionType(members) if NullType() in members and isinstance(without_null(target), ListType | MapType):
            may_be_null(c, node.target, target, "items")
        case StringType():
            c.report("AEL0324", "a text is not indexed: `text.slice(from, to)` gives a part of it", node.span)
        case _:
            c.report("AEL0324", f"`{show(target)}` is not indexed: `[ ]` takes an item of a list or a value of a map", node.span)
    return UNKNOWN
