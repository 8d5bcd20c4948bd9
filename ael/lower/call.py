"""Calls: functions, effects through the frame, function values, what the language brings."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ael.check.program import CallInfo, Meaning
from ael.lower import build, builtin, names
from ael.lower.closure import function_argument
from ael.lower.convention import acts, call_acts, holds_function
from ael.lower.record import construct
from ael.lower.scope import Builder
from ael.syntax import nodes as n
from ael.types.definition import NoDefault
from ael.types.signature import ParameterDef
from ael.types.type import Unknown


def call(b: Builder, e: n.Call) -> ast.expr:
    """The value of a call."""
    info = b.tables.calls[e]
    match info.kind:
        case "function":
            return _function(b, info)
        case "effect":
            return _effect(b, info)
        case "record" | "error" | "variant":
            return construct(b, info)
        case "value":
            return _value(b, e, info)
        case "check":
            return _check(b, e, info)
        case "builtin":
            return builtin.call(b, e, info)


def _function(b: Builder, info: CallInfo) -> ast.expr:
    acting = call_acts(b, info)
    made = b.program.names.of("f", info.name)
    given = arguments(b, info.arguments, b.program.checked.signatures[info.name].parameters, acting=acting)
    if acting:
        if not acts(b.program.checked, info.name):
            made += names.ACTING
        return ast.Await(build.call(made, b.enter(), *given))
    depth = b.depth() if info.name in b.program.graph.recursive else None
    return build.call(made, *given, *([depth] if depth is not None else []))


def _effect(b: Builder, info: CallInfo) -> ast.expr:
    signature = b.program.checked.signatures.get(info.name)
    parameters = signature.parameters if signature is not None else ()
    given: ast.expr = ast.Tuple([*arguments(b, info.arguments, parameters, acting=True)], build.LOAD)
    return ast.Await(build.method(names.FRAME, "act", b.site(), build.const(info.name), given))


def _value(b: Builder, e: n.Call, info: CallInfo) -> ast.expr:
    acting = b.function.acting
    given = [a for a in info.arguments if a is not None]
    callee, *arguments = b.operands([lambda: b.value(e.callee), *(_argument(b, a, acting=acting) for a in given)])
    if acting:
        return ast.Await(build.call(callee, b.enter(), *arguments))
    return build.call(callee, *arguments)


def _argument(b: Builder, e: n.Expr, *, acting: bool) -> Callable[[], ast.expr]:
    return lambda: function_argument(b, e, acting=acting)


def _check(b: Builder, e: n.Call, info: CallInfo) -> ast.expr:
    type = b.tables.type_arguments[e]
    (argument,) = b.values([a for a in info.arguments if a is not None])
    return build.call("check", b.program.checker(type), argument)


def arguments(b: Builder, given: Sequence[n.Expr | None], parameters: Sequence[ParameterDef], *, acting: bool) -> list[ast.expr]:
    """Arguments in parameter order, evaluated as written, defaults filled in, absent optional ones `None`."""
    present = [a for a in given if a is not None]
    order = sorted(range(len(present)), key=lambda i: present[i].span.start)
    # Behind a type parameter a function is a value like any: it keeps the convention of the code that it comes from.
    wanted = [p.type for p, a in zip(parameters, given, strict=False) if a is not None] or [Unknown()] * len(present)
    forms = [acting or (b.function.acting and not holds_function(type)) for type in wanted]
    values = b.operands([_argument(b, present[i], acting=forms[i]) for i in order])
    if order != list(range(len(present))):
        values = [b.held(v) for v in values]
    placed = dict(zip(order, values, strict=True))
    results, at = [], 0
    for position, argument in enumerate(given):
        if argument is not None:
            results.append(placed[at])
            at += 1
        else:
            default = parameters[position].default if position < len(parameters) else None
            results.append(build.const(None) if isinstance(default, NoDefault) else b.program.constant(default))
    return results


def meaning(b: Builder, e: n.Reference | n.FieldAccess, what: Meaning) -> ast.expr:
    """A name that is no local: a constant, a plain variant, a function, `call.key`."""
    match what.kind:
        case "const":
            return b.program.constant(b.program.checked.constants[what.name], what.name)
        case "variant":
            return build.const(what.member or what.name.rpartition(".")[2])
        case "function" | "tool" | "node" | "agent":
            return function_argument(b, e, acting=b.function.acting)
        case "call_key":
            return build.attribute(names.FRAME, "key")
        case _:
            raise AssertionError(f"the check lets no {what.kind} {what.name} stand as a value")
