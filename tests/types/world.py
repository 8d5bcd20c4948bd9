"""Declared types that the tests of this folder share."""

from __future__ import annotations

from decimal import Decimal

from ael.types.definition import AliasDef, Definitions, EnumDef, FieldDef, RecordDef, VariantDef
from ael.types.type import (
    DecimalType,
    FloatType,
    IntType,
    ListType,
    LiteralType,
    Named,
    StringType,
    UnionType,
    optional,
)

ORDER = Named("shop.Order")
TOPIC = Named("shop.Topic")
SHAPE = Named("shop.Shape")
TREE = Named("shop.Tree")
TEXTS = Named("shop.Texts")
CARD = Named("shop.Card")
CASH = Named("shop.Cash")
OPEN = Named("shop.Open")

WORLD: Definitions = {
    "shop.Order": RecordDef(
        "shop.Order",
        (
            FieldDef("id", "id", StringType(max=8, pattern="^[A-Z]-[0-9]+$"), doc="The public number."),
            FieldDef("count", "count", IntType(1, 100)),
            FieldDef("total", "total", DecimalType(min=Decimal("0.01"))),
            FieldDef("note", "note", StringType(), optional=True),
            FieldDef("express", "express", IntType(), default=5),
            FieldDef("topic", "topic", optional(TOPIC), optional=True),
            FieldDef("if_match", "If-Match", StringType(), optional=True),
        ),
        doc="An order.",
    ),
    "shop.Topic": EnumDef("shop.Topic", (VariantDef("Refund", doc="Money back."), VariantDef("Shipping"), VariantDef("Other"))),
    "shop.Shape": EnumDef(
        "shop.Shape",
        (
            VariantDef("Point"),
            VariantDef("Circle", (FieldDef("radius", "radius", FloatType(min=0.0)),)),
            VariantDef("Box", (FieldDef("width", "width", FloatType()), FieldDef("height", "height", FloatType()))),
        ),
    ),
    "shop.Tree": RecordDef(
        "shop.Tree",
        (FieldDef("name", "name", StringType()), FieldDef("below", "below", ListType(Named("shop.Tree")), optional=True)),
    ),
    "shop.Texts": AliasDef("shop.Texts", UnionType((StringType(), ListType(Named("shop.Texts"))))),
    "shop.Card": RecordDef(
        "shop.Card", (FieldDef("type", "type", LiteralType("card")), FieldDef("number", "number", StringType()))
    ),
    "shop.Cash": RecordDef("shop.Cash", (FieldDef("type", "type", LiteralType("cash")), FieldDef("amount", "amount", IntType()))),
    "shop.Open": RecordDef("shop.Open", (FieldDef("id", "id", IntType()),), open=True),
}
