"""Arithmetic that stays exact, finite and bounded at next to no cost (docs/decisions/arithmetic.md).

Int: an expression is lowered bare together with how many bits its value can have, a stored Int counting 4,096. A sum adds a bit, a
product adds up its operands' bits. So only products (and what a loop carries on, see `carry.py`) need a test, where their value leaves
the expression.
Float: a value that is not finite stays so under `+ - *` and as a dividend, so that one test where the value leaves the expression is
exact; divisors are tested on their own. Decimal: one context with 34 digits, through functions.
"""

from __future__ import annotations

import ast

from ael.check.program import CallInfo, Local
from ael.data import dataclass
from ael.lower import build
from ael.lower.scope import Builder
from ael.syntax import nodes as n
from ael.types.type import DecimalType, FloatType, IntType, LiteralType, Type

BITS = 4_096
"""The largest Int has this many bits."""
SLACK = 64
"""Bits that sums in one expression may add before they are tested there."""
INNER = 1 << 15
"""Inside one expression, a value of more bits is tested on the way."""
SMALL = 64
"""Bits that lengths, positions and the like have at most."""


@dataclass(frozen=True, slots=True)
class Number:
    """`value` untested; `bits` bounds an Int, `product` says that it was multiplied; `finite` says that a Float needs no test."""

    value: ast.expr
    bits: int = 0
    finite: bool = True
    product: bool = False


def is_int(type: Type) -> bool:
    return isinstance(type, IntType) or (isinstance(type, LiteralType) and builtin_int(type.value))


def builtin_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_float(type: Type) -> bool:
    return isinstance(type, FloatType)


def is_decimal(type: Type) -> bool:
    return isinstance(type, DecimalType)


def int_bits(b: Builder, e: n.Expr) -> int:
    """How many bits an Int that is no arithmetic can have."""
    match b.type(e):
        case LiteralType(value) if isinstance(value, int):
            return value.bit_length()
        case IntType(low, high) if low is not None and high is not None:
            return max(low.bit_length(), high.bit_length())
    match e:
        case n.IntLit(value=value):
            return value.bit_length()
        case n.SizeLit(bytes=size):
            return size.bit_length()
        case n.Reference() if isinstance(local := b.tables.resolved.get(e), Local):
            return b.bits.get(local, BITS)
        case n.Call() if (info := b.tables.calls.get(e)) is not None:
            return _call_bits(info)
    return BITS


def _call_bits(info: CallInfo) -> int:
    small = info.kind == "builtin" and info.name.rpartition(".")[2] in ("length", "count", "index_of", "year", "month", "day")
    return SMALL if small else BITS


def finish_int(b: Builder, number: Number, *, exact: bool = False) -> ast.expr:
    """The value, with a test where it can be too large. `exact`: also where only a sum can have brought it over."""
    if number.bits <= BITS or not (exact or number.product or number.bits > BITS + SLACK):
        return number.value
    return within(b, number.value)


def within(b: Builder, value: ast.expr) -> ast.expr:
    """`value` if it has at most 4,096 bits, else the fault."""
    made = b.temp()
    test = ast.Compare(build.name("INT_LOW"), [ast.LtE(), ast.LtE()], [build.walrus(made, value), build.name("INT_HIGH")])
    return ast.IfExp(test, build.name(made), build.call("int_too_large"))


def finish_float(b: Builder, number: Number) -> ast.expr:
    """The value, with a test that it is finite where it may not be."""
    if number.finite:
        return number.value
    made = b.temp()
    test = ast.Compare(
        build.name("FLOAT_LOW"), [ast.LtE(), ast.LtE()], [build.walrus(made, number.value), build.name("FLOAT_HIGH")]
    )
    return ast.IfExp(test, build.name(made), build.call("float_too_large"))


def int_test(name: str) -> ast.stmt:
    """A statement that tests a variable."""
    test = ast.Compare(build.name("INT_LOW"), [ast.LtE(), ast.LtE()], [build.name(name), build.name("INT_HIGH")])
    return build.if_(build.negate(test), [ast.Expr(build.call("int_too_large"))])


def float_test(name: str) -> ast.stmt:
    """A statement that tests a variable."""
    test = ast.Compare(build.name("FLOAT_LOW"), [ast.LtE(), ast.LtE()], [build.name(name), build.name("FLOAT_HIGH")])
    return build.if_(build.negate(test), [ast.Expr(build.call("float_too_large"))])
