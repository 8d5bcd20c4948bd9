"""What the language brings: methods of built-in types and its functions, by the table in `ael/check/builtin.py`.

`list.map` is the function `list_map` of `ael.lower.abi`, `list_map_acting` with acting arguments; `number.round` is `int_round`,
`float_round` or `decimal_round`. A few are Python itself: a length, a comprehension.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from decimal import Decimal

from ael.check.builtin import TEST_EFFECTS, TEST_FUNCTIONS, TEST_TARGETS
from ael.check.program import CallInfo, Meaning
from ael.lower import build, names
from ael.lower.closure import comprehension, function_argument, inline, iterable
from ael.lower.convention import call_acts
from ael.lower.number import is_decimal, is_float
from ael.lower.scope import Builder
from ael.syntax import nodes as n
from ael.types.type import DecimalType, DurationType, FloatType, ListType, Named

_HIGHER = frozenset(
    {f"list.{own}" for own in ["map", "filter", "find", "any", "all", "count", "fold", "sort_by", "flat_map", "group_by"]}
)
_HIGHER |= {"map.map_values", "map.filter"}
"""What calls its last argument. To all others a function is a value like any."""


def call(b: Builder, e: n.Call, info: CallInfo) -> ast.expr:
    """The value of a call of a built-in."""
    given = [a for a in info.arguments if a is not None]
    match info.name:
        case "release":
            return _release(b, given)
        case name if name in TEST_TARGETS or name in TEST_EFFECTS:
            return _of_test(b, e, info)
        case "json":
            (value,) = b.values(given)
            return build.call("to_json", value)
        case "fails":
            return _fails(b, given)
        case name if name in TEST_FUNCTIONS:
            return build.call(f"turn_{name}", *b.values(given))
    if info.name.startswith("native."):
        return build.call(b.program.native(info.name), *b.values(given))
    if info.name in _HIGHER:
        return _higher_order(b, info, given)
    values = b.values(given)
    if info.name == "list.sum" and (zero := _zero(b, given[0])) is not None:
        values.append(zero)
    if (part := _slice(info.name, given, values)) is not None:
        return part
    return _direct(info.name, values) or build.call(abi_name(b, info, given), *values)


def abi_name(b: Builder, info: CallInfo, given: list[n.Expr]) -> str:
    """The function of the abi that does it."""
    owner, dot, own = info.name.partition(".")
    if not dot:
        return f"std_{owner}"
    if owner == "number":
        type = b.type(given[0])
        owner = "decimal" if is_decimal(type) else "float" if is_float(type) else "int"
    return f"{owner}_{own}"


def _zero(b: Builder, items: n.Expr) -> ast.expr | None:
    """What the sum of no items is, where it is no Int."""
    type = b.program.resolve(b.type(items))
    item = b.program.resolve(type.item) if isinstance(type, ListType) else None
    match item:
        case FloatType():
            return build.const(0.0)
        case DecimalType():
            return b.program.constant(Decimal(0))
        case DurationType():
            return b.program.duration(0)
        case _:
            return None


def _direct(name: str, values: list[ast.expr]) -> ast.expr | None:
    """The few that need no function."""
    match name:
        case "string.length" | "list.length" | "map.length" | "bytes.length":
            return build.call("len", *values)
        case "string.is_empty" | "list.is_empty" | "map.is_empty":
            return build.negate(values[0])
        case "string.contains":
            return build.compare(values[1], ast.In(), values[0]) if _both_plain(values) else None
        case "map.has":
            return build.compare(values[1], ast.In(), values[0]) if _both_plain(values) else None
        case _:
            return None


def _slice(name: str, given: list[n.Expr], values: list[ast.expr]) -> ast.expr | None:
    """`xs.take(2)`, `s.slice(0, 3)` with literal positions are Python's slices."""
    if not all(isinstance(a, n.IntLit) for a in given[1:]):
        return None
    match name, values:
        case ("list.take", [value, end]):
            bounds = ast.Slice(None, end, None)
        case ("list.drop", [value, start]):
            bounds = ast.Slice(start, None, None)
        case ("list.slice" | "string.slice", [value, start, *end]):
            bounds = ast.Slice(start, end[0] if end else None, None)
        case _:
            return None
    return ast.Subscript(value, bounds, build.LOAD)


def _both_plain(values: list[ast.expr]) -> bool:
    """Whether two operands may be evaluated in either order."""
    return all(isinstance(v, ast.Constant | ast.Name) for v in values)


def _higher_order(b: Builder, info: CallInfo, given: list[n.Expr]) -> ast.expr:
    acting = call_acts(b, info)
    if not acting and (made := _in_place(b, info.name, given)) is not None:
        return made
    makers: list[Callable[[], ast.expr]] = [(lambda a=a: b.value(a)) for a in given[:-1]]  # type: ignore[misc]
    values = b.operands([*makers, lambda: function_argument(b, given[-1], acting=acting)])
    function = abi_name(b, info, given)
    if acting:
        return ast.Await(build.call(function + names.ACTING, build.name(names.FRAME), b.site(), *values))
    return build.call(function, *values)


def _in_place(b: Builder, name: str, given: list[n.Expr]) -> ast.expr | None:
    """A comprehension, where the function is a short lambda."""
    if name not in ("list.map", "list.filter", "list.any", "list.all", "list.count"):
        return None
    with b.capture() as before:
        receiver = iterable(b, b.value(given[0]))
    body = inline(b, given[1])
    if body is None:
        return None
    b.emit(*before)
    item = build.name(body.binder)
    match name:
        case "list.map":
            return comprehension(body.binder, receiver, body.value)
        case "list.filter":
            return comprehension(body.binder, receiver, item, body.value)
        case "list.count":
            return build.call("len", comprehension(body.binder, receiver, build.const(1), body.value))
        case _:
            over = ast.comprehension(build.target(body.binder), receiver, [], 0)
            return build.call(name.removeprefix("list."), ast.GeneratorExp(body.value, [over]))


def _release(b: Builder, given: list[n.Expr]) -> ast.expr:
    values = b.values(given)
    return build.method(names.FRAME, "release", b.site(), *values)


def _fails(b: Builder, given: list[n.Expr]) -> ast.expr:
    """The error by its name and its fields."""
    type = b.type(given[0])
    name = type.name if isinstance(type, Named) else ""
    return build.call("turn_fails", build.const(name), *b.values(given))


def _of_test(b: Builder, e: n.Call, info: CallInfo) -> ast.expr:
    """What a test does through its frame: `target` is the name that it begins with; the arguments by their names."""
    target, given = "", info.arguments
    if info.name in TEST_TARGETS:
        what = b.tables.resolved.get(e.arguments[0].value)
        assert isinstance(what, Meaning)
        target, given = what.name, given[1:]
        if TEST_TARGETS[info.name].arguments:
            words = [a.name.text for a in e.arguments[1:] if a.name is not None]
        else:
            words = [name for name, _ in TEST_TARGETS[info.name].more]
    else:
        words = list(TEST_EFFECTS[info.name].names)
    named = [(word, value) for word, value in zip(words, given, strict=True) if value is not None]
    values = b.values([value for _, value in named])
    keys: list[ast.expr | None] = [build.const(word) for word, _ in named]
    site = b.site()
    made = build.method(names.FRAME, "test", site, build.const(info.name), build.const(target), ast.Dict(keys, values))
    return ast.Await(made)
