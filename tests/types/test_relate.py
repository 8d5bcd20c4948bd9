"""What fits where, what branches give together, what is data."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ael.types.definition import AliasDef, FieldDef, RecordDef
from ael.types.relate import fits, is_data, join
from ael.types.type import (
    AnonymousRecord,
    BoolType,
    BytesType,
    DateType,
    DecimalType,
    FileType,
    FloatType,
    FunctionType,
    IntType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    Named,
    Never,
    NullType,
    SecretType,
    StringType,
    TimestampType,
    Type,
    UnionType,
    UnitType,
    Unknown,
    Variable,
    optional,
    union,
)
from tests.types.world import CARD, CASH, ORDER, SHAPE, TEXTS, TOPIC, TREE, WORLD

LOW, HIGH, THREE = LiteralType("low"), LiteralType("high"), LiteralType(3)
PAIR = AnonymousRecord((("a", IntType(0, 5)), ("b", StringType())))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (IntType(), IntType()),
        (IntType(1, 5), IntType()),
        (IntType(1, 5), IntType(0, 5)),
        (FloatType(0.0, 0.5), FloatType(max=1.0)),
        (DecimalType(min=Decimal("0.01")), DecimalType(min=Decimal("0.010"))),
        (StringType(max=5), StringType(max=6)),
        (StringType(), StringType(min=0)),
        (StringType(min=2, max=5, pattern="^a"), StringType(min=1, pattern="^a")),
        (StringType(format="email"), StringType()),
        (BytesType(max=1), BytesType(max=2)),
        (LOW, StringType()),
        (LOW, StringType(max=3, pattern="^l")),
        (THREE, IntType(0, 3)),
        (LiteralType(True), BoolType()),
        (LOW, union(LOW, HIGH)),
        (BoolType(), union(LiteralType(True), LiteralType(False))),
        (union(LOW, HIGH), union(HIGH, THREE, LOW)),
        (IntType(), optional(IntType())),
        (NullType(), optional(IntType())),
        (optional(LOW), optional(StringType())),
        (ListType(IntType(0, 1), max=3), ListType(IntType(), max=5)),
        (ListType(Never(), max=0), ListType(ORDER)),
        (MapType(LOW), MapType(StringType())),
        (PAIR, AnonymousRecord((("a", IntType()), ("b", StringType())))),
        (ORDER, ORDER),
        (ORDER, union(ORDER, TOPIC)),
        (Never(), ORDER),
        (Unknown(), ORDER),
        (ORDER, Unknown()),
        (FileType(media="image/png", max=5), FileType(media="image/*", max=6)),
        (FileType(media="image/png"), FileType()),
        (FunctionType((StringType(),), LOW), FunctionType((LOW,), StringType())),
        (StringType(), JsonType()),
        (ListType(MapType(optional(FloatType()))), JsonType()),
        (SHAPE, JsonType()),
        (TREE, JsonType()),
        (TEXTS, JsonType()),
        (StringType(), TEXTS),
        (ListType(StringType()), TEXTS),
        (TEXTS, UnionType((StringType(), ListType(TEXTS)))),
        (Variable("T"), Variable("T")),
    ],
)
def test_what_fits(source: Type, target: Type) -> None:
    assert fits(source, target, WORLD)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (IntType(), FloatType()),
        (FloatType(), IntType()),
        (IntType(), IntType(0, 5)),
        (IntType(min=0), IntType(max=5)),
        (StringType(), StringType(max=5)),
        (StringType(max=5), StringType(min=1)),
        (StringType(pattern="^a"), StringType(pattern="^b")),
        (StringType(), StringType(format="email")),
        (LOW, StringType(max=2)),
        (LOW, StringType(pattern="^h")),
        (LOW, StringType(format="email")),
        (LOW, HIGH),
        (LiteralType(True), LiteralType(1)),
        (LiteralType(True), IntType()),
        (LiteralType(1), BoolType()),
        (THREE, FloatType()),
        (THREE, IntType(max=2)),
        (StringType(), LOW),
        (LOW, TOPIC),
        (optional(IntType()), IntType()),
        (union(LOW, THREE), StringType()),
        (BoolType(), LiteralType(True)),
        (ListType(IntType()), ListType(IntType(), max=5)),
        (ListType(optional(IntType())), ListType(IntType())),
        (ListType(IntType()), MapType(IntType())),
        (PAIR, AnonymousRecord((("a", IntType(0, 5)),))),
        (PAIR, AnonymousRecord((("b", StringType()), ("a", IntType(0, 5))))),
        (ORDER, TREE),
        (ORDER, Never()),
        (UnitType(), NullType()),
        (FileType(), FileType(media="image/*")),
        (FileType(media="text/plain"), FileType(media="image/*")),
        (FunctionType((LOW,), LOW), FunctionType((StringType(),), LOW)),
        (FunctionType((), StringType()), FunctionType((), LOW)),
        (FunctionType((), LOW), FunctionType((LOW,), LOW)),
        (JsonType(), StringType()),
        (DecimalType(), JsonType()),
        (TimestampType(), JsonType()),
        (ListType(BytesType()), JsonType()),
        (ORDER, JsonType()),
        (SecretType(), JsonType()),
        (IntType(), TEXTS),
        (ListType(IntType()), TEXTS),
        (Variable("T"), Variable("U")),
        (DateType(), TimestampType()),
    ],
)
def test_what_does_not_fit(source: Type, target: Type) -> None:
    assert not fits(source, target, WORLD)


def test_recursive_aliases_are_compared_in_bounded_time() -> None:
    world = {
        "a.A": AliasDef("a.A", UnionType((IntType(), ListType(Named("a.A"))))),
        "a.B": AliasDef("a.B", UnionType((IntType(), ListType(Named("a.B"))))),
        "a.C": AliasDef("a.C", UnionType((StringType(), ListType(Named("a.C"))))),
        "a.D": AliasDef("a.D", Named("a.D")),
    }
    assert fits(Named("a.A"), Named("a.B"), world)
    assert not fits(Named("a.A"), Named("a.C"), world)
    assert fits(Named("a.D"), Named("a.A"), world)


@pytest.mark.parametrize(
    ("a", "b", "joined"),
    [
        (IntType(0, 5), IntType(3, 9), IntType(0, 9)),
        (IntType(0, 5), IntType(), IntType()),
        (StringType(max=5, min=2), StringType(max=9), StringType(max=9)),
        (StringType(pattern="a"), StringType(pattern="b"), StringType()),
        (FloatType(0.0), FloatType(max=1.0), FloatType()),
        (DecimalType(max=Decimal(1)), DecimalType(max=Decimal(2)), DecimalType(max=Decimal(2))),
        (LOW, HIGH, union(LOW, HIGH)),
        (LOW, StringType(max=2), StringType(max=3)),
        (THREE, IntType(5, 6), IntType(3, 6)),
        (LiteralType(True), IntType(5, 6), union(LiteralType(True), IntType(5, 6))),
        (IntType(), NullType(), optional(IntType())),
        (ORDER, TOPIC, union(ORDER, TOPIC)),
        (ListType(LOW), ListType(HIGH), ListType(union(LOW, HIGH))),
        (ListType(IntType(), max=1), ListType(IntType(), max=2), ListType(IntType(), max=2)),
        (ListType(Never(), max=0), ListType(ORDER), ListType(ORDER)),
        (MapType(IntType()), MapType(NullType()), MapType(optional(IntType()))),
        (Never(), ORDER, ORDER),
        (Unknown(), ORDER, Unknown()),
        (optional(IntType(0, 1)), IntType(2, 3), optional(IntType(0, 3))),
        (IntType(), FloatType(), union(IntType(), FloatType())),
        (BytesType(max=1), BytesType(max=2), BytesType(max=2)),
        (FileType("image/png"), FileType("image/gif"), FileType()),
    ],
)
def test_join(a: Type, b: Type, joined: Type) -> None:
    assert join(a, b, WORLD) == joined
    assert fits(a, join(b, a, WORLD), WORLD)
    assert fits(b, join(b, a, WORLD), WORLD)


@pytest.mark.parametrize("type", [IntType(), JsonType(), ORDER, TREE, ListType(optional(SHAPE)), FileType(), Unknown(), TEXTS])
def test_data(type: Type) -> None:
    assert is_data(type, WORLD)


@pytest.mark.parametrize(
    "type",
    [SecretType(), FunctionType((), IntType()), Variable("T"), ListType(SecretType()), AnonymousRecord((("f", SecretType()),))],
)
def test_no_data(type: Type) -> None:
    assert not is_data(type, WORLD)
    assert not is_data(Named("a.R"), {"a.R": RecordDef("a.R", (FieldDef("f", "f", union(type, CARD, CASH)),))})


def test_true_is_not_one() -> None:
    assert LiteralType(True) != LiteralType(1)
    assert union(LiteralType(True), LiteralType(1)) == UnionType((LiteralType(True), LiteralType(1)))
    assert len({LiteralType(True), LiteralType(1), LiteralType("1")}) == 3
