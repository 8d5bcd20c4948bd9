"""Calls: of functions, tools, nodes, operations, stores, constructors, functions of the language, function values."""

from __future__ import annotations

from ael.check.access import may_be_null, no_function, no_member, no_operation, no_server_member, no_variant, symbol_of
from ael.check.arguments import Wanted, assign, check_all, check_open, finish, look_at_all, wanted_of
from ael.check.bounds import bounded
from ael.check.builtin import EFFECT_SIGNATURES, FUNCTIONS, TEST_EFFECTS, TEST_FUNCTIONS, TEST_TARGETS, Builtin
from ael.check.checker import DISCARD, UNKNOWN, Checker
from ael.check.collect import Kind, Symbol
from ael.check.failure import can_fail
from ael.check.generic import Bindings, opened
from ael.check.kind import plain, without_null
from ael.check.method import method, ordinary
from ael.check.module import kind_text, member, report_unknown, server_member, visible
from ael.check.natives import find_native
from ael.check.passing import failing_with
from ael.check.program import CallInfo, Meaning
from ael.check.suggest import did_you_mean
from ael.check.test_call import test_call
from ael.check.types import BUILT_IN
from ael.source import Span
from ael.syntax import nodes as n
from ael.types.definition import EnumDef, RecordDef
from ael.types.signature import Signature
from ael.types.text import show
from ael.types.type import (
    FunctionType,
    Named,
    Never,
    NullType,
    Type,
    UnionType,
    Unknown,
    optional,
    unchecked,
)

_CALLED: frozenset[Kind] = frozenset({"function", "tool", "node", "agent", "record", "error"})


def call(c: Checker, node: n.Call, expected: Type | None) -> Type:
    callee = node.callee
    if isinstance(callee, n.Reference):
        return _by_name(c, node, callee, expected)
    if isinstance(callee, n.FieldAccess):
        return _by_member(c, node, callee, expected)
    return _value(c, node, c.infer(callee))


# --- `name(…)` -----------------------------------------------------------------------------------------------------------


def _by_name(c: Checker, node: n.Call, callee: n.Reference, expected: Type | None) -> Type:
    text = callee.name.text
    local = c.find_local(text)
    if local is not None:
        return _value(c, node, c.infer(callee))
    symbol = symbol_of(c, callee)
    if symbol is not None:
        return _symbol(c, node, symbol, expected)
    if text in EFFECT_SIGNATURES:
        return _language(c, node, EFFECT_SIGNATURES[text], "effect", expected)
    if text in FUNCTIONS:
        return _language(c, node, FUNCTIONS[text], "builtin", expected)
    if (native := find_native(text, c.module.name)) is not None:
        return _language(c, node, native, "builtin", expected)
    if text in TEST_TARGETS or text in TEST_FUNCTIONS or text in TEST_EFFECTS:
        return test_call(c, node, text, expected)
    if text in ("setting", "secret"):
        look_at_all(c, node)
        c.report(
            "AEL0323", f"`{text}` is read where a model, a server or a deployment is set up, never by code that runs", node.span
        )
        return UNKNOWN
    look_at_all(c, node)
    if text == "print":
        c.report("AEL0202", "there is no `print`: `log(text)` writes to the run's log", callee.span)
        return UNKNOWN
    names = [name for scope in reversed(c.locals) for name, one in scope.items() if isinstance(one.type, FunctionType)]
    known = [*names, *visible(c.module, *_CALLED), *FUNCTIONS, *EFFECT_SIGNATURES]
    report_unknown(c.collected, c.module, callee.name, "function", "AEL0202", c.bag, known, _CALLED)
    return UNKNOWN


def _symbol(c: Checker, node: n.Call, symbol: Symbol, expected: Type | None) -> Type:
    short = symbol.name.rpartition(".")[2]
    match symbol.kind:
        case "function":
            return _declared(c, node, symbol, "function", expected)
        case "tool" | "node" | "agent":
            return _declared(c, node, symbol, "effect", expected)
        case "record" | "error":
            definition = c.definitions.get(symbol.name)
            if isinstance(definition, RecordDef):
                return _make(c, node, definition, symbol.kind)
        case "unknown":
            look_at_all(c, node)
            return UNKNOWN
        case "const":
            return _value(c, node, c.infer(node.callee))
        case "type":
            look_at_all(c, node)
            end = "" if short in ("Fault", "Uncertain") else f"; `{short}.check(x)` checks that a value is one"
            c.report("AEL0309", f"`{short}` is a type, and cannot be called{end}", node.callee.span)
            return UNKNOWN
        case "alias":
            look_at_all(c, node)
            c.report(
                "AEL0309",
                f"`{short}` is a type, and cannot be called; `{short}.check(x)` checks that a value is one",
                node.callee.span,
            )
            return UNKNOWN
        case "enum":
            look_at_all(c, node)
            c.report("AEL0309", f"`{short}` is an enum: name the variant, `{short}.…`", node.callee.span)
            return UNKNOWN
        case _:
            pass
    look_at_all(c, node)
    c.report("AEL0309", f"`{short}` is {kind_text(symbol)}, and cannot be called", node.callee.span)
    return UNKNOWN


def _declared(c: Checker, node: n.Call, symbol: Symbol, kind: str, expected: Type | None) -> Type:
    signature = c.collected.signatures.get(symbol.name)
    if signature is None:
        look_at_all(c, node)
        return UNKNOWN
    # The arguments of a server's tool are a JSON object: they have no order that could be relied on.
    named = isinstance(symbol.node, n.McpMember) and len(signature.parameters) > 1
    return _signed(c, node, signature, kind, expected, named=named)


def _signed(c: Checker, node: n.Call, signature: Signature, kind: str, expected: Type | None, *, named: bool = False) -> Type:
    """A call of what has a signature. `kind` is that of the `CallInfo`; `named`: its arguments must say their names."""
    what = f"`{signature.name.rpartition('.')[2]}`"
    if signature.type_parameters:
        types, result = opened(signature)
        wanted = [
            Wanted(w.name, optional(t) if p.optional else t, w.required)
            for w, t, p in zip(wanted_of(signature.parameters), types, signature.parameters, strict=True)
        ]
    else:
        # What a schema asks beyond a type is checked when a result arrives; code works with the type.
        wanted, result = wanted_of(signature.parameters), unchecked(signature.result)
    arguments, fine = assign(c, node, what, wanted, named=named)
    c.tables.calls[node] = CallInfo(kind, signature.name, arguments)  # type: ignore[arg-type]
    if not fine:
        look_at_all(c, node)
        can_fail(c, node, signature.fails, what)
        return result if not signature.type_parameters else UNKNOWN
    if signature.type_parameters:
        bindings: Bindings = {}
        goal = None if expected is None or expected is DISCARD else (result, expected)
        passed = check_open(c, node, arguments, wanted, bindings, goal)
        can_fail(c, node, signature.fails | passed, what)
        made = finish(c, node, what, result, bindings, None if expected is DISCARD else expected)
        return failing_with(made, passed)
    passed = check_all(c, arguments, wanted, signature.name)
    if passed or signature.fails:
        can_fail(c, node, signature.fails | passed, what)
    return failing_with(result, passed)


def _make(c: Checker, node: n.Call, definition: RecordDef, kind: str) -> Type:
    """A record or an error."""
    what = f"`{definition.name.rpartition('.')[2]}`"
    wanted = wanted_of(definition.fields)
    arguments, fine = assign(c, node, what, wanted, named=len(wanted) > 1, kind="field")
    c.tables.calls[node] = CallInfo(kind, definition.name, arguments)  # type: ignore[arg-type]
    if fine:
        check_all(c, arguments, wanted, definition.name)
    else:
        look_at_all(c, node)
    return Named(definition.name)


# --- `target.name(…)` ----------------------------------------------------------------------------------------------------


def _by_member(c: Checker, node: n.Call, callee: n.FieldAccess, expected: Type | None) -> Type:
    name = callee.name
    if isinstance(callee.target, n.Call) and name.text == "check" and (bound := _bounded_type(c, callee.target)) is not None:
        return _check(c, node, bound)
    owner = symbol_of(c, callee.target)
    if owner is None:
        found_here = method(c, node, callee, expected)
        return _value(c, node, c.infer(callee)) if found_here is None else found_here
    match owner.kind:
        case "unknown":
            look_at_all(c, node)
            return UNKNOWN
        case "skill":
            found = c.collected.symbols.get(f"{owner.name}.{name.text}")
            if found is None:
                look_at_all(c, node)
                no_function(c, owner, name)
                return UNKNOWN
            symbol_of(c, callee)
            return _symbol(c, node, found, expected)
        case "mcp":
            found = server_member(c.collected, owner, name.text)
            if found is None:
                look_at_all(c, node)
                no_server_member(c, owner, name)
                return UNKNOWN
            symbol_of(c, callee)
            return _symbol(c, node, found, expected)
        case "module":
            found = member(c.collected, owner, name.text)
            if found is None:
                look_at_all(c, node)
                no_member(c, owner, name)
                return UNKNOWN
            symbol_of(c, callee)
            return _symbol(c, node, found, expected)
        case "service":
            operation = c.collected.signatures.get(f"{owner.name}.{name.text}")
            if operation is None:
                look_at_all(c, node)
                no_operation(c, owner, name)
                return UNKNOWN
            return _signed(c, node, operation, "effect", expected)
        case "store":
            operation = c.collected.signatures.get(f"{owner.name}.{name.text}")
            if operation is None:
                look_at_all(c, node)
                end, fix = did_you_mean(
                    name.text, ("get", "put", "swap", "remove", "entries", "page", "has"), c.module.source, name.span
                )
                c.report(
                    "AEL0214",
                    f"a store has no `{name.text}`{end or '; it has `get`, `put`, `swap`, `remove`, `entries`, `page` and `has`'}",
                    name.span,
                    fix=fix,
                )
                return UNKNOWN
            return _signed(c, node, operation, "effect", expected)
        case "enum" if name.text != "check":
            return _variant(c, node, owner, name)
        case "record" | "error" | "enum" | "alias" | "type" if name.text == "check":
            type = c.type_named(owner)
            return _check(c, node, type)
        case "const":
            return method(c, node, callee, expected) or UNKNOWN
        case _:
            look_at_all(c, node)
            c.report(
                "AEL0214", f"`{owner.name.rpartition('.')[2]}` is {kind_text(owner)}, and has no member `{name.text}`", name.span
            )
            return UNKNOWN


def _variant(c: Checker, node: n.Call, owner: Symbol, name: n.Name) -> Type:
    definition = c.definitions.get(owner.name)
    if not isinstance(definition, EnumDef):
        look_at_all(c, node)
        return UNKNOWN
    variant = next((v for v in definition.variants if v.name == name.text), None)
    if variant is None:
        look_at_all(c, node)
        no_variant(c, definition, name)
        return Named(owner.name)
    what = f"`{owner.name.rpartition('.')[2]}.{name.text}`"
    if not variant.fields:
        look_at_all(c, node)
        fix = c.edit("leave the brackets out", (Span(node.callee.span.end, node.span.end), "")) if not node.arguments else None
        c.report("AEL0308", f"{what} has no fields: write it without brackets", node.span, fix=fix)
        return Named(owner.name)
    wanted = wanted_of(variant.fields)
    arguments, fine = assign(c, node, what, wanted, kind="field")
    c.tables.calls[node] = CallInfo("variant", f"{owner.name}.{name.text}", arguments)
    if fine:
        check_all(c, arguments, wanted)
    else:
        look_at_all(c, node)
    return Named(owner.name)


# --- T.check(x) ----------------------------------------------------------------------------------------------------------


def _bounded_type(c: Checker, node: n.Call) -> Type | None:
    """The type that `String(max: 64)` means before `.check`; None where the call is another."""
    if not isinstance(node.callee, n.Reference) or c.find_local(node.callee.name.text) is not None:
        return None
    base = BUILT_IN.get(node.callee.name.text)
    if base is None:
        return None
    bounds = tuple(n.Bound(a.span, a.name, a.value) for a in node.arguments)
    type = bounded(c.definer, c.module, node.callee.name.text, base, bounds) if bounds else base
    c.types[node] = UNKNOWN
    return type


def _check(c: Checker, node: n.Call, type: Type) -> Type:
    """`T.check(x)`: `x` as a `T`, or the fault `OutOfRange`."""
    arguments, fine = assign(c, node, "`check`", [Wanted("value", type, True)])
    c.tables.calls[node] = CallInfo("check", "check", arguments)
    c.tables.type_arguments[node] = type
    if not fine or arguments[0] is None:
        look_at_all(c, node)
        return type
    value = arguments[0]
    if isinstance(value, n.ListLit | n.MapLit | n.IntLit | n.FloatLit):
        # the literal takes the kind of number that is asked for; its bounds are looked at when it runs
        c.check(value, plain(type))
        return type
    found = c.infer(value)
    if not c.is_data(found):
        c.report("AEL0310", f"`{show(found)}` cannot be checked: functions and secrets are no data", value.span)
    return type


# --- the language's own --------------------------------------------------------------------------------------------------


def _language(c: Checker, node: n.Call, builtin: Builtin, kind: str, expected: Type | None) -> Type:
    c.tables.resolved[node.callee] = Meaning("builtin", builtin.name)
    return ordinary(c, node, builtin, kind, {}, f"`{builtin.name.rpartition('.')[2]}`", expected)


# --- function values -----------------------------------------------------------------------------------------------------


def _value(c: Checker, node: n.Call, found: Type) -> Type:
    """A call of a function value."""
    function = c.expand(found)
    if not isinstance(function, FunctionType):
        look_at_all(c, node)
        if (
            isinstance(function, UnionType)
            and NullType() in function.members
            and isinstance(without_null(function), FunctionType)
        ):
            may_be_null(c, node.callee, function, "result")
        elif not isinstance(function, Unknown | Never):
            c.report("AEL0309", f"`{show(found)}` is not a function, and cannot be called", node.callee.span)
        return UNKNOWN
    named = next((a.name for a in node.arguments if a.name is not None), None)
    count = len(function.parameters)
    if named is not None:
        c.report("AEL0307", "a function value takes its arguments by their places, without names", named.span)
    elif len(node.arguments) < count:
        message = f"this function takes {count} argument{'s' if count > 1 else ''}, and here are {len(node.arguments)}"
        c.report("AEL0306", message, node.span)
    if named is not None or len(node.arguments) < count:
        look_at_all(c, node)
        return function.result
    wanted = [Wanted(f"argument {at}", type, True) for at, type in enumerate(function.parameters, 1)]
    arguments, fine = assign(c, node, "this function", wanted)
    c.tables.calls[node] = CallInfo("value", "", arguments)
    if fine:
        passed = check_all(c, arguments, wanted)
        if passed or function.fails:
            can_fail(c, node, function.fails | passed, "this function")
        return failing_with(function.result, passed)
    look_at_all(c, node)
    return function.result
