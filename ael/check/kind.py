"""Types without their bounds: what operators, methods and `var`s go by."""

from __future__ import annotations

from ael.types.type import (
    AnonymousRecord,
    BoolType,
    BytesType,
    DecimalType,
    FileType,
    FloatType,
    FunctionType,
    IntType,
    ListType,
    LiteralType,
    MapType,
    NullType,
    StringType,
    Type,
    UnionType,
    Unknown,
    union,
)

BOOL, INT, FLOAT, DECIMAL, STRING, NULL = BoolType(), IntType(), FloatType(), DecimalType(), StringType(), NullType()


def literal_base(literal: LiteralType) -> Type:
    """The type whose values a literal type's value is one of."""
    match literal.value:
        case bool():
            return BOOL
        case int():
            return INT
        case _:
            return STRING


def plain(type: Type) -> Type:
    """A type without bounds at its top: `Int(0..5)` is `Int`, `"a" | "b"` is `String`, `3?` is `Int?`."""
    match type:
        case LiteralType():
            return literal_base(type)
        case StringType():
            return STRING
        case IntType():
            return INT
        case FloatType():
            return FLOAT
        case DecimalType():
            return DECIMAL
        case BytesType():
            return BytesType()
        case FileType():
            return FileType()
        case ListType(item, low, high) if low is not None or high is not None:
            return ListType(item)
        case MapType(value, low, high) if low is not None or high is not None:
            return MapType(value)
        case UnionType(members):
            return union(*(plain(m) for m in members))
        case _:
            return type


def without_null(type: Type) -> Type:
    """`T` for `T?`."""
    if isinstance(type, UnionType) and NULL in type.members:
        return union(*(m for m in type.members if m != NULL))
    return type


def has_null(type: Type) -> bool:
    """Whether `null` is a value of the type as it stands."""
    return type == NULL or (isinstance(type, UnionType) and NULL in type.members)


def loose(type: Type) -> Type:
    """A type without the bounds of itself and of what it holds: what `==` goes by."""
    match type:
        case ListType(item):
            return ListType(loose(item))
        case MapType(value):
            return MapType(loose(value))
        case UnionType(members):
            return plain(UnionType(tuple(loose(m) for m in members)))
        case _:
            return plain(type)


def vague(type: Type) -> bool:
    """Whether a mistake that was reported already has a part in the type."""
    match type:
        case Unknown():
            return True
        case ListType(inner) | MapType(inner):
            return vague(inner)
        case UnionType(members):
            return any(vague(m) for m in members)
        case FunctionType(parameters, result):
            return vague(result) or any(vague(p) for p in parameters)
        case AnonymousRecord(fields):
            return any(vague(t) for _, t in fields)
        case _:
            return False


def sure(type: Type) -> Type:
    """The type, or `Unknown` for one in which a mistake has a part: whatever touches it is not reported again."""
    return Unknown() if vague(type) else type
