"""Operators: arithmetic, comparison, logic, `??`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ael.lower import build, equality
from ael.lower.number import (
    INNER,
    Number,
    finish_float,
    finish_int,
    int_bits,
    is_decimal,
    is_float,
    is_int,
    within,
)
from ael.lower.scope import Builder
from ael.lower.text import concatenate
from ael.syntax import nodes as n
from ael.types.type import ListType, LiteralType, StringType, Type

_ARITHMETIC: dict[str, Callable[[], ast.operator]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "div": ast.FloorDiv, "%": ast.Mod,
}  # fmt: skip
_COMPARE: dict[str, Callable[[], ast.cmpop]] = {
    "==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE, "in": ast.In, "not in": ast.NotIn,
}  # fmt: skip
_DECIMAL = {
    "+": "decimal_add", "-": "decimal_subtract", "*": "decimal_multiply", "/": "decimal_divide", "div": "decimal_div",
    "%": "decimal_modulo",
}  # fmt: skip


def binary(b: Builder, e: n.Binary) -> ast.expr:
    """The value of a binary operator, fit to be kept."""
    match e.op:
        case "and" | "or":
            return _logic(b, e)
        case "??":
            return _coalesce(b, e)
        case "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in":
            return _comparison(b, e)
        case _:
            return finish(b, e, arithmetic(b, e))


def unary(b: Builder, e: n.Unary) -> ast.expr:
    if e.op == "not":
        return build.negate(b.value(e.operand))
    return finish(b, e, arithmetic(b, e))


def finish(b: Builder, e: n.Expr, number: Number) -> ast.expr:
    """The value of arithmetic, tested as far as needed where it leaves its expression."""
    type = b.type(e)
    if is_int(type):
        return finish_int(b, number, exact=b.function.acting and not b.function.loops)
    if is_float(type):
        return finish_float(b, number)
    return number.value


def arithmetic(b: Builder, e: n.Expr) -> Number:
    """The value of a number, untested where `e` is arithmetic."""
    match e:
        case n.Binary(op="+" | "-" | "*" | "/" | "div" | "%"):
            return _arithmetic(b, e)
        case n.Unary(op="-", operand=operand):
            inner = arithmetic(b, operand)
            if is_decimal(b.type(e)):
                return Number(build.call("decimal_negate", inner.value))
            if isinstance(inner.value, ast.Constant):
                return Number(build.const(-inner.value.value), inner.bits)  # type: ignore[operator, arg-type]
            return Number(ast.UnaryOp(ast.USub(), inner.value), inner.bits, inner.finite, inner.product)
        case n.Reference() if b.tables.resolved.get(e) in b.unchecked:
            return Number(b.value(e), finite=False)
        case _:
            return Number(b.value(e), int_bits(b, e) if is_int(b.type(e)) else 0)


def _arithmetic(b: Builder, e: n.Binary) -> Number:
    type, left_type = b.type(e), b.type(e.left)
    if _is_text(left_type) and e.op == "+":
        return Number(concatenate(b, e))
    if is_decimal(left_type):
        left, right = b.values((e.left, e.right))
        return Number(build.call(_DECIMAL[e.op], left, right))
    if isinstance(left_type, ListType):
        left, right = b.values((e.left, e.right))
        return Number(build.call("list_concat", left, right))
    numbers: list[Number] = []

    def operand(side: n.Expr, *, tested: bool) -> ast.expr:
        number = arithmetic(b, side)
        if tested and not number.finite:
            number = Number(finish_float(b, number))
        if number.bits > INNER:
            number = Number(within(b, number.value), 4_096)
        numbers.append(number)
        return number.value

    acts_later = b.facts.calls(e.right)
    left, right = b.operands(
        [lambda: operand(e.left, tested=acts_later), lambda: operand(e.right, tested=e.op in ("/", "div", "%"))]
    )
    value = ast.BinOp(left, _ARITHMETIC[e.op](), right)
    if is_int(type):
        product = e.op == "*" or (e.op in "+-" and any(one.product for one in numbers))
        return Number(value, _result_bits(e.op, numbers[0].bits, numbers[1].bits), product=product)
    if is_float(type) and is_float(left_type):
        return Number(value, finite=False)
    return Number(value)


def _result_bits(op: str, left: int, right: int) -> int:
    match op:
        case "*":
            return left + right
        case "div":
            return left + 1
        case "%":
            return right
        case _:
            return max(left, right) + 1


def _is_text(type: Type) -> bool:
    return isinstance(type, StringType) or (isinstance(type, LiteralType) and isinstance(type.value, str))


def _comparison(b: Builder, e: n.Binary) -> ast.expr:
    left_type, right_type = b.type(e.left), b.type(e.right)

    def side(of: n.Expr, type: Type) -> ast.expr:
        # An Int may be over the limit inside a comparison: the answer is exact all the same.
        return arithmetic(b, of).value if is_int(type) else b.value(of)

    left, right = b.operands([lambda: side(e.left, left_type), lambda: side(e.right, right_type)])
    if e.op in ("==", "!=") and (null := _null_test(e, left, right)) is not None:
        return null
    if e.op in ("==", "!=", "in", "not in") and (
        equality.mixes(left_type, b.program.checked.definitions) or equality.mixes(right_type, b.program.checked.definitions)
    ):
        test = build.call("same" if e.op in ("==", "!=") else "among", left, right)
        return build.negate(test) if e.op in ("!=", "not in") else test
    return build.compare(left, _COMPARE[e.op](), right)


def _null_test(e: n.Binary, left: ast.expr, right: ast.expr) -> ast.expr | None:
    for node, other in ((e.right, left), (e.left, right)):
        if isinstance(node, n.NullLit):
            return build.is_none(other) if e.op == "==" else build.is_not_none(other)
    return None


def _logic(b: Builder, e: n.Binary) -> ast.expr:
    parts: list[n.Expr] = []
    spine: n.Expr = e
    while isinstance(spine, n.Binary) and spine.op == e.op:
        parts.append(spine.right)
        spine = spine.left
    parts.append(spine)
    parts.reverse()
    return _logic_chain(b, e.op, parts)


def _logic_chain(b: Builder, op: str, parts: list[n.Expr]) -> ast.expr:
    """Operands of one `and` or `or`; from the first one on that needs statements, the rest goes under an `if`."""
    plain: list[ast.expr] = []
    for at, part in enumerate(parts):
        with b.capture() as statements:
            made = b.value(part)
        if statements and plain:
            held = b.temp()
            b.emit(build.assign(held, _joined(op, plain)))
            with b.capture() as rest:
                rest.extend(statements)
                value = _logic_chain_from(b, op, made, parts[at + 1 :])
                b.emit(build.assign(held, value))
            test: ast.expr = build.name(held)
            b.emit(build.if_(test if op == "and" else build.negate(test), rest))
            return build.name(held)
        b.emit(*statements)
        plain.append(made)
    return _joined(op, plain)


def _logic_chain_from(b: Builder, op: str, first: ast.expr, rest: list[n.Expr]) -> ast.expr:
    if not rest:
        return first
    with b.capture() as statements:
        others = _logic_chain(b, op, rest)
    if not statements:
        return _joined(op, [first, others])
    held = b.temp()
    b.emit(build.assign(held, first))
    test: ast.expr = build.name(held)
    b.emit(build.if_(test if op == "and" else build.negate(test), [*statements, build.assign(held, others)]))
    return build.name(held)


def _joined(op: str, parts: list[ast.expr]) -> ast.expr:
    return build.both(parts) if op == "and" else build.any_of(parts)


def _coalesce(b: Builder, e: n.Binary) -> ast.expr:
    left = b.value(e.left)
    with b.capture() as statements:
        right = b.value(e.right)
    held = b.temp()
    if not statements:
        if isinstance(left, ast.Name) and b.is_stable(left):
            return ast.IfExp(build.is_not_none(left), build.name(left.id), right)
        return ast.IfExp(build.is_not_none(build.walrus(held, left)), build.name(held), right)
    b.emit(build.assign(held, left))
    b.emit(build.if_(build.is_none(build.name(held)), [*statements, build.assign(held, right)]))
    return build.name(held)
