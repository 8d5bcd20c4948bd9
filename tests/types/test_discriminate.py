"""Members of a union that are told apart, and those that are not: kind K53."""

from __future__ import annotations

import pytest

from ael.types.definition import AliasDef, Definitions, EnumDef, FieldDef, RecordDef, VariantDef
from ael.types.discriminate import ambiguous, kinds
from ael.types.type import (
    AnonymousRecord,
    BoolType,
    BytesType,
    DateType,
    DecimalType,
    DurationType,
    FileType,
    FloatType,
    IntType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    Named,
    NullType,
    StringType,
    TimestampType,
    Type,
    UnionType,
    UnitType,
)
from tests.types.world import CARD, CASH, OPEN, ORDER, SHAPE, TEXTS, TOPIC, TREE, WORLD


def shape(*required: str, optional: tuple[str, ...] = (), is_open: bool = False, kind: Type | None = None) -> RecordDef:
    fields = [FieldDef(name, name, kind or IntType()) for name in required]
    return RecordDef("r", (*fields, *(FieldDef(name, name, IntType(), optional=True) for name in optional)), open=is_open)


def world(a: RecordDef, b: RecordDef) -> Definitions:
    return {"t.A": a, "t.B": b}


A, B = Named("t.A"), Named("t.B")


@pytest.mark.parametrize(
    "members",
    [
        [IntType(), StringType(), BoolType(), NullType(), ListType(IntType()), ORDER],
        [LiteralType("low"), LiteralType("high"), LiteralType(3), NullType()],
        [LiteralType("auto"), StringType()],
        [LiteralType(3), IntType()],
        [JsonType(), NullType()],
        [CARD, CASH, IntType()],
        [SHAPE, CARD],
        [TOPIC, LiteralType("low"), ORDER],
        [DateType(), TimestampType(), DurationType()],
        [LiteralType("now"), TimestampType()],
        [TEXTS, IntType()],
        [TREE, ORDER],
        [FileType(), ORDER],
        [ListType(IntType(), min=1), ListType(StringType())],
        [ListType(IntType(), max=1), ListType(IntType(), min=2)],
        [MapType(StringType()), CASH],
        [AnonymousRecord((("a", IntType()),)), AnonymousRecord((("a", StringType()),))],
    ],
)
def test_what_is_told_apart(members: list[Type]) -> None:
    assert ambiguous(members, WORLD) is None
    assert ambiguous(members[::-1], WORLD) is None
    assert ambiguous([UnionType(tuple(members))], WORLD) is None


@pytest.mark.parametrize(
    "members",
    [
        [IntType(), FloatType()],
        [IntType(0, 5), IntType(6, 9)],
        [StringType(max=5), StringType(pattern="^a")],
        [DecimalType(), StringType()],
        [DecimalType(), IntType()],
        [StringType(), TimestampType()],
        [StringType(), BytesType()],
        [StringType(), TOPIC],
        [LiteralType("Refund"), TOPIC],
        [LiteralType("2026-03-01"), DateType()],
        [JsonType(), IntType()],
        [UnitType(), NullType()],
        [ListType(IntType()), ListType(StringType())],
        [MapType(IntType()), MapType(StringType())],
        [MapType(IntType()), OPEN],
        [SHAPE, AnonymousRecord((("kind", StringType()), ("radius", FloatType())))],
        [TEXTS, StringType()],
    ],
)
def test_what_is_not(members: list[Type]) -> None:
    assert ambiguous(members, WORLD) == (members[0], members[1])
    assert ambiguous([UnionType(tuple(members))], WORLD) == (members[0], members[1])


class TestK53:
    @pytest.mark.parametrize(
        ("a", "b"),
        [
            (shape("x"), shape("x", optional=("y",))),
            (shape(optional=("x",)), shape(optional=("y",))),
            (shape("x"), shape("x")),
            (shape("x", is_open=True), shape("x", "y")),
            (shape("x", is_open=True), shape("y", is_open=True)),
        ],
    )
    def test_a_record_that_is_part_of_another_is_refused(self, a: RecordDef, b: RecordDef) -> None:
        assert ambiguous([A, B], world(a, b)) == (A, B)
        assert ambiguous([B, NullType(), A], world(a, b)) == (B, A)

    @pytest.mark.parametrize(
        ("a", "b"),
        [
            (shape("x"), shape("x", "y")),
            (shape("x", kind=LiteralType("a")), shape("x", kind=LiteralType("b"), is_open=True)),
            (shape("x", kind=StringType()), shape("x", kind=IntType())),
            (shape("x", kind=StringType()), shape(optional=("x",))),
        ],
    )
    def test_records_that_no_value_can_share_are_fine(self, a: RecordDef, b: RecordDef) -> None:
        assert ambiguous([A, B], world(a, b)) is None

    def test_recursive_types_end(self) -> None:
        def node(name: str) -> RecordDef:
            return RecordDef(name, (FieldDef("next", "next", Named(name)),))

        assert ambiguous([A, B], world(node("t.A"), node("t.B"))) == (A, B)
        loop = {"t.A": AliasDef("t.A", UnionType((A, IntType()))), "t.B": AliasDef("t.B", UnionType((B, IntType())))}
        assert ambiguous([A, B], loop) == (A, B)

    def test_variants_of_one_enum_are_no_question(self) -> None:
        enum = EnumDef(
            "t.A", (VariantDef("X", (FieldDef("v", "v", IntType()),)), VariantDef("Y", (FieldDef("v", "v", IntType()),)))
        )
        assert ambiguous([A, NullType()], {"t.A": enum}) is None


@pytest.mark.parametrize(
    ("type", "found"),
    [
        (SHAPE, {"string", "object"}),
        (TEXTS, {"string", "array"}),
        (DecimalType(), {"number", "string"}),
        (UnionType((CARD, NullType())), {"object", "null"}),
    ],
)
def test_kinds(type: Type, found: set[str]) -> None:
    assert kinds(type, WORLD) == found
