"""Constant expressions: the values of `const`s, of defaults and of bounds.

A value is worked out when it is first asked for, whatever the order in the source; one that needs itself is reported with its path.
What is wrong with the types in a constant expression is reported by the check of expressions, not here.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal, DecimalException
from typing import TYPE_CHECKING

from ael.check.collect import Collected, ModuleScope, Symbol
from ael.check.module import member, seen
from ael.diagnostics.diagnostic import Bag, Label, Place
from ael.syntax import nodes as n
from ael.types.definition import EnumDef, NoDefault, RecordDef
from ael.types.text import text_of
from ael.types.type import (
    BoolType,
    DecimalType,
    DurationType,
    FloatType,
    IntType,
    ListType,
    LiteralType,
    MapType,
    Named,
    NullType,
    StringType,
    Type,
    UnionType,
    Unknown,
)

if TYPE_CHECKING:
    from ael.check.define import Definer

_MAX_BITS = 4_096
_MAX_DEPTH = 210


class _Failed:
    """No value: the reason is, or will be, reported."""


FAILED = _Failed()


class Constants:
    """Works out constant expressions of a program."""

    def __init__(self, collected: Collected, bag: Bag, definer: Definer) -> None:
        self.collected = collected
        self.bag = bag
        self.definer = definer
        self._values: dict[str, object] = {}
        self._types: dict[str, Type] = {}
        self._open: list[Symbol] = []
        self._depth = 0

    def of(self, symbol: Symbol) -> object:
        """The value of a `const`, or FAILED."""
        if symbol.name in self._values:
            return self._values[symbol.name]
        given = self.collected.given.get(symbol.name)
        if given is not None and symbol.node is None:
            self._types[symbol.name] = given.type
            return self._values.setdefault(symbol.name, given.value)
        if any(s is symbol for s in self._open):
            self._cycle(symbol)
            return FAILED
        node = symbol.node
        assert isinstance(node, n.ConstDecl)
        scope = self.collected.scope_of(symbol)
        self._open.append(symbol)
        declared = self.definer.writer(scope).type_of(node.type) if node.type is not None else None
        value = self.value(scope, node.value, declared)
        self._open.pop()
        value = self._values.setdefault(symbol.name, value)
        self._types[symbol.name] = declared if declared is not None else self._type(scope, node.value, value)
        if value is not FAILED:
            self.collected.constants[symbol.name] = value
        return value

    def type_of(self, symbol: Symbol) -> Type:
        """The type of a `const`: as declared, else that of its value."""
        self.of(symbol)
        return self._types.get(symbol.name, Unknown())

    def _cycle(self, symbol: Symbol) -> None:
        start = next(i for i, s in enumerate(self._open) if s is symbol)
        path = [*self._open[start:], symbol]
        for one in path:
            self._values[one.name] = FAILED
        names = " -> ".join(f"`{s.name.rpartition('.')[2]}`" for s in path)
        first = min(path[:-1], key=lambda s: (s.module, s.node.span if s.node else (0, 0)))
        assert first.node is not None
        labels = tuple(
            Label(Place(self.collected.scope_of(s).source, s.node.span), "which needs this")
            for s in path[:-1]
            if s is not first and s.node is not None
        )
        source = self.collected.scope_of(first).source
        self.bag.report("AEL0211", f"this constant needs itself: {names}", source, first.node.span, labels=labels)

    # --- values -----------------------------------------------------------------------------------------------------

    def value(self, scope: ModuleScope, node: n.Expr, expected: Type | None = None) -> object:
        """The value of a constant expression, with number literals as `expected` asks for; FAILED after a report or a type error."""
        self._depth += 1
        try:
            if self._depth > _MAX_DEPTH:
                message = "this constant is nested too deep: give parts of it names of their own"
                self.bag.report("AEL0326", message, scope.source, node.span)
                return FAILED
            return self._value(scope, node, expected)
        finally:
            self._depth -= 1

    def _value(self, scope: ModuleScope, node: n.Expr, expected: Type | None) -> object:
        match node:
            case n.IntLit(value=number):
                return _as(number, str(number), expected)
            case n.FloatLit(text=text):
                plain = text.replace("_", "")
                return Decimal(plain) if number_kind(expected, whole=False) is Decimal else float(plain)
            case n.MoneyLit(value=amount):
                return amount
            case n.DurationLit(milliseconds=length):
                return timedelta(milliseconds=length)
            case n.SizeLit(bytes=size):
                return size
            case n.BoolLit(value=truth):
                return truth
            case n.NullLit():
                return None
            case n.StringLit(parts=parts):
                return self._text(scope, parts)
            case n.ListLit(items=items):
                inner = _inside(expected, ListType)
                values = [self.value(scope, item, inner) for item in items]
                return FAILED if FAILED in values else values
            case n.MapLit(entries=entries):
                inner = _inside(expected, MapType)
                pairs = [(self.value(scope, e.key), self.value(scope, e.value, inner)) for e in entries]
                return FAILED if any(not isinstance(k, str) or v is FAILED for k, v in pairs) else dict(pairs)
            case n.Reference() | n.FieldAccess():
                return self._name(scope, node)
            case n.Unary(op=op, operand=operand):
                inner_value = self.value(scope, operand, expected)
                return FAILED if inner_value is FAILED else self._work_out(scope, node, op, inner_value)
            case n.Binary(op=op, left=left, right=right):
                hint = expected if op in ("+", "-", "*", "/", "div", "%") else None
                a, b = self.value(scope, left, hint), self.value(scope, right, hint)
                return FAILED if a is FAILED or b is FAILED else self._work_out(scope, node, op, a, b)
            case n.Call():
                return self._made(scope, node)
            case _:
                return self._refuse(scope, node)

    def _refuse(self, scope: ModuleScope, node: n.Expr) -> object:
        notes = ("a constant is made of literals, other constants, records and variants, and operators",)
        self.bag.report("AEL0315", "this has no value before the program runs", scope.source, node.span, notes=notes)
        return FAILED

    def _text(self, scope: ModuleScope, parts: tuple[n.TextPart | n.Expr, ...]) -> object:
        texts: list[str] = []
        for part in parts:
            if isinstance(part, n.TextPart):
                texts.append(part.text)
                continue
            value = self.value(scope, part)
            if value is FAILED or value is None or isinstance(value, list | dict):
                return FAILED
            texts.append(text_of(value))
        return "".join(texts)

    def _symbol(self, scope: ModuleScope, node: n.Expr) -> Symbol | None:
        match node:
            case n.Reference(name=name):
                return seen(scope, name.text)
            case n.FieldAccess(target=target, name=name):
                outer = self._symbol(scope, target)
                if outer is None or outer.kind != "module":
                    return None
                return member(self.collected, outer, name.text)
            case _:
                return None

    def _name(self, scope: ModuleScope, node: n.Reference | n.FieldAccess) -> object:
        symbol = self._symbol(scope, node)
        if symbol is not None and symbol.kind == "const":
            return self.of(symbol) if symbol.node is not None else self._refuse(scope, node)
        if isinstance(node, n.FieldAccess):
            owner = self._symbol(scope, node.target)
            if owner is not None and owner.kind == "enum" and isinstance(owner.node, n.EnumDecl):
                found = next((v for v in owner.node.variants if v.name.text == node.name.text), None)
                return node.name.text if found is not None and not found.fields else FAILED
            if symbol is None and not isinstance(node.target, n.Reference):
                return FAILED
            return FAILED if owner is None or symbol is None else self._refuse(scope, node)
        return FAILED if symbol is None or symbol.kind == "unknown" else self._refuse(scope, node)

    def _made(self, scope: ModuleScope, node: n.Call) -> object:
        symbol = self._symbol(scope, node.callee)
        if symbol is not None and symbol.kind in ("record", "error"):
            made: dict[str, object] = {}
            definition = self.definer.definition(symbol)
        elif (
            isinstance(node.callee, n.FieldAccess)
            and (owner := self._symbol(scope, node.callee.target)) is not None
            and owner.kind == "enum"
        ):
            definition = self.definer.definition(owner)
            made = {"kind": node.callee.name.text}
        else:
            return FAILED if symbol is not None and symbol.kind == "unknown" else self._refuse(scope, node)
        if isinstance(definition, EnumDef):
            variant = next((v for v in definition.variants if v.name == made["kind"]), None)
            fields = variant.fields if variant is not None else ()
        else:
            fields = definition.fields if isinstance(definition, RecordDef) else ()
        given: dict[str, n.Expr] = {}
        for at, argument in enumerate(node.arguments):
            given[argument.name.text if argument.name else fields[at].name if at < len(fields) else ""] = argument.value
        for f in fields:
            if f.name in given:
                value = self.value(scope, given[f.name], f.type)
                if value is FAILED:
                    return FAILED
                if value is not None or not f.optional:
                    made[f.wire] = value
            elif not isinstance(f.default, NoDefault):
                made[f.wire] = f.default
            elif not f.optional:
                return FAILED
        return made

    def _work_out(self, scope: ModuleScope, node: n.Expr, op: str, *values: object) -> object:
        operation = (_UNARY if len(values) == 1 else _BINARY).get(op)
        if operation is None:
            return self._refuse(scope, node)
        try:
            result = operation(*values)
        except ZeroDivisionError:
            self.bag.report("AEL0315", "this constant has no value: it divides by zero", scope.source, node.span)
            return FAILED
        except (TypeError, ValueError, OverflowError, DecimalException):
            return FAILED
        if isinstance(result, int) and result.bit_length() > _MAX_BITS:
            self.bag.report("AEL0315", f"this constant has more than {_MAX_BITS} bits", scope.source, node.span)
            return FAILED
        return result

    def _type(self, scope: ModuleScope, node: n.Expr, value: object) -> Type:
        """The type of a value, as its expression says where the value alone does not."""
        match node:
            case n.Call():
                symbol = self._symbol(scope, node.callee)
                if symbol is None and isinstance(node.callee, n.FieldAccess):
                    symbol = self._symbol(scope, node.callee.target)
                return Named(symbol.name) if symbol is not None else Unknown()
            case n.Reference() | n.FieldAccess():
                symbol = self._symbol(scope, node)
                if symbol is not None and symbol.kind == "const":
                    return self.type_of(symbol)
                owner = self._symbol(scope, node.target) if isinstance(node, n.FieldAccess) else None
                return Named(owner.name) if owner is not None else Unknown()
            case n.ListLit(items=items) if isinstance(value, list) and items:
                return ListType(self.definer.join(self._type(scope, i, v) for i, v in zip(items, value, strict=True)))
            case n.MapLit(entries=entries) if isinstance(value, dict) and len(value) == len(entries) > 0:
                return MapType(
                    self.definer.join(self._type(scope, e.value, v) for e, v in zip(entries, value.values(), strict=True))
                )
            case _:
                return _plain_type(value)


def exact(value: object) -> Type | None:
    """The type that holds this one value, where there is one."""
    match value:
        case bool() | int() | str():
            return LiteralType(value)
        case float():
            return FloatType(value, value)
        case Decimal():
            return DecimalType(value, value)
        case _:
            return None


def _plain_type(value: object) -> Type:
    match value:
        case bool():
            return BoolType()
        case int():
            return IntType()
        case float():
            return FloatType()
        case Decimal():
            return DecimalType()
        case str():
            return StringType()
        case timedelta():
            return DurationType()
        case None:
            return NullType()
        case _:
            return Unknown()


def number_kind(expected: Type | None, *, whole: bool) -> type[int] | type[float] | type[Decimal]:
    """What a number literal is where `expected` is asked for: of the number types there, the first that can hold it."""
    plain = expected.members if isinstance(expected, UnionType) else (expected,)
    for one in plain:
        if isinstance(one, IntType) and whole:
            return int
        if isinstance(one, LiteralType) and whole and type(one.value) is int:
            return int
        if isinstance(one, FloatType):
            return float
        if isinstance(one, DecimalType):
            return Decimal
    return int if whole else float


def _as(number: int, text: str, expected: Type | None) -> object:
    kind = number_kind(expected, whole=True)
    if kind is int:
        return number
    return Decimal(text) if kind is Decimal else float(number) if number.bit_length() < 1_000 else FAILED


def _inside(expected: Type | None, kind: type[ListType] | type[MapType]) -> Type | None:
    for one in expected.members if isinstance(expected, UnionType) else (expected,):
        if isinstance(one, kind):
            return one.item if isinstance(one, ListType) else one.value
    return None


def _divide(a: object, b: object) -> object:
    return a / b  # type: ignore[operator]


def _add(a: object, b: object) -> object:
    if isinstance(a, str) != isinstance(b, str) or isinstance(a, dict):
        raise TypeError
    return a + b  # type: ignore[operator]


def _times(a: object, b: object) -> object:
    if isinstance(a, str | list) or isinstance(b, str | list):
        raise TypeError
    if isinstance(a, int) and isinstance(b, int) and a.bit_length() + b.bit_length() > 2 * _MAX_BITS:
        raise OverflowError
    return a * b  # type: ignore[operator]


_UNARY: dict[str, Callable[..., object]] = {"-": lambda a: -a, "not": lambda a: not a}
_BINARY: dict[str, Callable[..., object]] = {
    "+": _add,
    "-": lambda a, b: a - b,
    "*": _times,
    "/": _divide,
    "div": lambda a, b: a // b,
    "%": lambda a, b: a % b if not isinstance(a, str) else FAILED,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "??": lambda a, b: b if a is None else a,
}
