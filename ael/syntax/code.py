"""Nodes of code: type expressions, expressions, patterns, statements."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, TypeAlias

from ael.syntax.tree import Name, Node, Path, node

# --- type expressions ------------------------------------------------------------------------------------------------


@node
class Bound(Node):
    """One bound of a type: `max: 64` (named) or `0..100` (`name` is None and `value` a `Range`)."""

    name: Name | None
    value: Expr


@node
class NamedType(Node):
    """`String(max: 64)`, `List<Order>(max: 5)`, `orders.Order`."""

    path: Path
    arguments: tuple[TypeExpr, ...]
    bounds: tuple[Bound, ...]


@node
class OptionalType(Node):
    """`T?`, which is `T | null`."""

    inner: TypeExpr


@node
class UnionType(Node):
    """`A | B`; at least two members, never itself a union in parentheses flattened by the parser."""

    members: tuple[TypeExpr, ...]


@node
class LiteralType(Node):
    """`"low"`, `3`, `true` or `null` as a type."""

    value: StringLit | IntLit | FloatLit | BoolLit | NullLit


@node
class FunctionType(Node):
    """`fn(A, B) -> C`."""

    parameters: tuple[TypeExpr, ...]
    result: TypeExpr


TypeExpr: TypeAlias = NamedType | OptionalType | UnionType | LiteralType | FunctionType


# --- expressions -----------------------------------------------------------------------------------------------------


@node
class IntLit(Node):
    """`42`, `1_000`, `-3` only as a `Unary`. `text_form` is what was written."""

    value: int
    text_form: str


@node
class FloatLit(Node):
    """`3.14`, `1e-3`; kept as text, since it takes the type that is expected (Float or Decimal)."""

    text: str


@node
class MoneyLit(Node):
    """`$0.25`, a Decimal."""

    value: Decimal
    text_form: str


@node
class DurationLit(Node):
    """`250ms 5s 2min 1h 7d`; `milliseconds` is exact."""

    milliseconds: int
    text_form: str


@node
class SizeLit(Node):
    """`64KiB`, `2MB`: an Int of bytes."""

    bytes: int
    text_form: str


@node
class TextPart(Node):
    """Literal text in a string, escapes resolved."""

    text: str


@node
class StringLit(Node):
    """A string; `parts` are `TextPart`s and, for `${…}`, expressions. `form` says how it was written."""

    parts: tuple[TextPart | Expr, ...]
    form: Literal["plain", "raw", "block"]


@node
class BoolLit(Node):
    value: bool


@node
class NullLit(Node):
    """`null`."""


@node
class ListLit(Node):
    items: tuple[Expr, ...]


@node
class MapEntry(Node):
    key: Expr
    value: Expr


@node
class MapLit(Node):
    """`["a": 1]`, empty `[:]`."""

    entries: tuple[MapEntry, ...]


@node
class Reference(Node):
    """A name used as an expression: a value, a function, a type whose constructor or variant is meant."""

    name: Name


@node
class FieldAccess(Node):
    """`target.name`: a field, a variant, an operation, a member of a module, or the function before a call's `(`."""

    target: Expr
    name: Name


@node
class Index(Node):
    """`target[index]`."""

    target: Expr
    index: Expr


@node
class Argument(Node):
    """An argument of a call, `name: value` or `value`."""

    name: Name | None
    value: Expr


@node
class Call(Node):
    """`callee(arguments)`; also how records, errors and variants are made."""

    callee: Expr
    arguments: tuple[Argument, ...]


UnaryOp: TypeAlias = Literal["-", "not"]
BinaryOp: TypeAlias = Literal["+", "-", "*", "/", "div", "%", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or", "??"]


@node
class Unary(Node):
    op: UnaryOp
    operand: Expr


@node
class Binary(Node):
    op: BinaryOp
    left: Expr
    right: Expr


@node
class Range(Node):
    """`0..100`, both ends included; either end may be missing in a bound. Only in bounds and `for` heads."""

    low: Expr | None
    high: Expr | None


@node
class FieldValue(Node):
    """`field: value` in a `with` or a `parallel` record."""

    name: Name
    value: Expr


@node
class With(Node):
    """`base with { field: value }`."""

    base: Expr
    fields: tuple[FieldValue, ...]


@node
class Lambda(Node):
    """`fn(x) => x.id` or `fn(x: Int) { … }`."""

    parameters: tuple[LambdaParameter, ...]
    body: Expr | Block


@node
class LambdaParameter(Node):
    name: Name
    type: TypeExpr | None


@node
class If(Node):
    """`if c { … } else if d { … } else { … }`."""

    condition: Expr
    then: Block
    otherwise: Block | If | None


@node
class Arm(Node):
    """`pattern if guard => body` of a `match` or a `catch`."""

    pattern: Pattern
    guard: Expr | None
    body: Expr | Block


@node
class Match(Node):
    subject: Expr
    arms: tuple[Arm, ...]


@node
class Try(Node):
    """`try X`: what X can fail with is passed on."""

    operand: Expr


@node
class Catch(Node):
    """`X catch { arms }`; with `passes`, `try X catch { arms }`, which passes the rest on."""

    operand: Expr
    arms: tuple[Arm, ...]
    passes: bool


@node
class ParallelFor(Node):
    """`parallel x in xs up to 4 { … }`, a list."""

    binder: Name
    iterable: Expr
    limit: Expr | None
    body: Block


@node
class ParallelRecord(Node):
    """`parallel { a: f(), b: g() }`, a record of the results."""

    branches: tuple[FieldValue, ...]


@node
class Block(Node):
    """`{ statements }`; its value is that of the last statement when that is an expression, else Unit."""

    statements: tuple[Statement, ...]


Expr: TypeAlias = (
    IntLit | FloatLit | MoneyLit | DurationLit | SizeLit | StringLit | BoolLit | NullLit | ListLit | MapLit
    | Reference | FieldAccess | Index | Call | Unary | Binary | Range | With | Lambda | If | Match | Try | Catch
    | ParallelFor | ParallelRecord | Block
)  # fmt: skip


# --- patterns --------------------------------------------------------------------------------------------------------


@node
class WildcardPattern(Node):
    """`_`."""


@node
class BinderPattern(Node):
    """A lower case name inside another pattern: binds what stands there."""

    name: Name


@node
class LiteralPattern(Node):
    """`"low"`, `3`, `-1`, `null`, `true`."""

    value: StringLit | IntLit | FloatLit | BoolLit | NullLit | Unary | MoneyLit | DurationLit


@node
class TypePattern(Node):
    """`NotFound e`, `String s`, `Topic.Refund`, `Paid`: an error, a union member or a plain variant, with a binder or not."""

    path: Path
    binder: Name | None


@node
class FieldPattern(Node):
    """An argument of a variant pattern: `r` or `radius: r`."""

    name: Name | None
    pattern: Pattern


@node
class VariantPattern(Node):
    """`Circle(r)`, `Circle(radius: r)`."""

    path: Path
    fields: tuple[FieldPattern, ...]


@node
class ListPattern(Node):
    """`[]`, `[first]`, `[first, ..rest]`; `rest` is None without `..`, a wildcard for a bare `..`."""

    items: tuple[Pattern, ...]
    rest: BinderPattern | WildcardPattern | None


@node
class OrPattern(Node):
    alternatives: tuple[Pattern, ...]


Pattern: TypeAlias = WildcardPattern | BinderPattern | LiteralPattern | TypePattern | VariantPattern | ListPattern | OrPattern


# --- statements ------------------------------------------------------------------------------------------------------


@node
class Let(Node):
    """`let name: T = value`, or `var` when `mutable`."""

    name: Name
    type: TypeExpr | None
    value: Expr
    mutable: bool


@node
class Assign(Node):
    """`name = value`, of a `var`."""

    name: Name
    value: Expr


@node
class ExprStatement(Node):
    value: Expr


@node
class For(Node):
    """`for x in xs { }`, `for i, x in xs { }`; `iterable` may be a `Range`."""

    index: Name | None
    binder: Name
    iterable: Expr
    body: Block


@node
class While(Node):
    """`while condition up to limit { }`."""

    condition: Expr
    limit: Expr | None
    body: Block


@node
class Break(Node):
    """`break`."""


@node
class Continue(Node):
    """`continue`."""


@node
class Return(Node):
    value: Expr | None


@node
class Fail(Node):
    """`fail NotFound(id: id)` or `fail e`."""

    value: Expr


@node
class Assert(Node):
    """`assert condition, "message"`."""

    condition: Expr
    message: Expr | None


@node
class Script(Node):
    """`script fast [ … ]` in a test: what a model answers, turn by turn."""

    model: Path
    turns: Expr


@node
class Compensate(Node):
    """`compensate { … }`: what is done when the rest of its block fails."""

    body: Block


Statement: TypeAlias = (
    Let | Assign | ExprStatement | For | While | Break | Continue | Return | Fail | Assert | Script | Compensate
)
