"""Strict decoding, rule by rule: kinds K07 to K13 below the normalising of arguments."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from ael.types.decode import decoder, reader
from ael.types.limits import Limits
from ael.types.problem import DecodeError
from ael.types.type import (
    AnonymousRecord,
    BoolType,
    BytesType,
    DateType,
    DecimalType,
    DurationType,
    FileType,
    FloatType,
    FunctionType,
    IntType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    NullType,
    SecretType,
    StringType,
    TimestampType,
    Type,
    UnionType,
    UnitType,
    optional,
)
from ael.types.value import File
from tests.types.world import CARD, CASH, OPEN, ORDER, SHAPE, TEXTS, TOPIC, TREE, WORLD


def taken(type: Type, text: str, limits: Limits | None = None) -> object:
    return reader(type, WORLD, limits or Limits())(text)


def problems(type: Type, text: str, limits: Limits | None = None) -> list[str]:
    with pytest.raises(DecodeError) as caught:
        taken(type, text, limits)
    return [str(problem) for problem in caught.value.problems]


def same(a: object, b: object) -> bool:
    """Equal, and of the same Python types at every depth."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (StringType(), '"1"', "1"),
        (StringType(max=2), '"é\U0001f600"', "é\U0001f600"),
        (StringType(min=1), '" "', " "),
        (StringType(format="email"), '"a@example.com"', "a@example.com"),
        (StringType(format="something"), '"anything"', "anything"),
        (IntType(), "9007199254740993", 9007199254740993),
        (IntType(0, 100), "100", 100),
        (IntType(), "-0", 0),
        (IntType(), "1.0", 1),
        (IntType(), "1e3", 1000),
        (IntType(), "-0.0", 0),
        (IntType(), "9007199254740992.0", 2**53),
        (LiteralType(1), "1.0", 1),
        (ListType(IntType()), "[1, 2.0, 3e0]", [1, 2, 3]),
        (ListType(LiteralType(1)), "[1.0]", [1]),
        (MapType(IntType()), '{"a": 1.0}', {"a": 1}),
        (optional(IntType()), "5.0", 5),
        (UnionType((LiteralType(1), LiteralType(2), StringType())), "2.0", 2),
        (AnonymousRecord((("a", IntType()), ("b", DecimalType()))), '{"a":2.0,"b":1.10}', {"a": 2, "b": Decimal("1.10")}),
        (FloatType(), "1", 1.0),
        (FloatType(), "1e3", 1000.0),
        (FloatType(0.0, 1.0), "1", 1.0),
        (DecimalType(), "1.10", Decimal("1.10")),
        (DecimalType(), '"1.10"', Decimal("1.10")),
        (DecimalType(), '"-1e3"', Decimal("-1e3")),
        (DecimalType(), "3", Decimal(3)),
        (BoolType(), "true", True),
        (BytesType(), '"YWJj"', b"abc"),
        (BytesType(max=0), '""', b""),
        (TimestampType(), '"2026-03-01T12:00:00+02:00"', datetime(2026, 3, 1, 10, tzinfo=UTC)),
        (TimestampType(), '"2026-03-01T12:00:00.5Z"', datetime(2026, 3, 1, 12, 0, 0, 500_000, tzinfo=UTC)),
        (DateType(), '"2024-02-29"', date(2024, 2, 29)),
        (DurationType(), '"PT1H30M"', timedelta(minutes=90)),
        (UnitType(), "null", None),
        (NullType(), "null", None),
        (JsonType(), '{"a":[1,2.5,null,"x"]}', {"a": [1, 2.5, None, "x"]}),
        (LiteralType("low"), '"low"', "low"),
        (LiteralType(3), "3", 3),
        (LiteralType(True), "true", True),
        (ListType(IntType()), "[1,2]", [1, 2]),
        (ListType(FloatType()), "[1,2.5]", [1.0, 2.5]),
        (MapType(IntType()), '{"a":1}', {"a": 1}),
        (MapType(FloatType(), max=1), '{"$eq":1}', {"$eq": 1.0}),
        (AnonymousRecord((("a", IntType()), ("b", FloatType()))), '{"b":1,"a":2}', {"a": 2, "b": 1.0}),
        (optional(IntType()), "null", None),
        (TOPIC, '"Refund"', "Refund"),
        (SHAPE, '"Point"', "Point"),
        (SHAPE, '{"radius":2,"kind":"Circle"}', {"kind": "Circle", "radius": 2.0}),
        (TREE, '{"name":"a","below":[{"name":"b"}]}', {"name": "a", "below": [{"name": "b"}]}),
        (TEXTS, '["a",["b",[]]]', ["a", ["b", []]]),
        (OPEN, '{"more":[1,{}],"id":1}', {"id": 1, "more": [1, {}]}),
        (FileType(media="image/*"), '{"media":"image/png","data":"YQ=="}', File("image/png", data=b"a")),
        (FileType(), '{"uri":"https://a.example/x","media":"text/plain"}', File("text/plain", uri="https://a.example/x")),
        (UnionType((CARD, CASH)), '{"amount":1,"type":"cash"}', {"type": "cash", "amount": 1}),
        (UnionType((StringType(), ListType(StringType()))), '["a"]', ["a"]),
        (UnionType((LiteralType("auto"), IntType())), '"auto"', "auto"),
        (UnionType((DateType(), TimestampType())), '"2026-03-01"', date(2026, 3, 1)),
    ],
)
def test_what_fits_is_taken(type: Type, text: str, value: object) -> None:
    assert same(taken(type, text), value)


@pytest.mark.parametrize(
    ("type", "text", "message"),
    [
        (IntType(), '"1"', 'expected Int, got string "1"'),
        (IntType(), "1.5", "expected Int, got number 1.5"),
        (IntType(), "1e16", "expected Int, got number 1e+16"),
        (IntType(0, 9), "1e1", "expected at most 9, got number 10"),
        (ListType(IntType(0, 9)), "[1, 1e1]", "`[1]`: expected at most 9, got number 10"),
        (IntType(), "true", "expected Int, got true"),
        (IntType(0, 9), "10", "expected at most 9, got number 10"),
        (IntType(min=1), "0", "expected at least 1, got number 0"),
        (FloatType(), "true", "expected Float, got true"),
        (FloatType(), '"1.5"', 'expected Float, got string "1.5"'),
        (FloatType(max=1.0), "1.5", "expected at most 1.0, got number 1.5"),
        (FloatType(), "1" + "0" * 400, "expected a number that a Float can hold, got a number of 1,329 bits"),
        (BoolType(), "1", "expected Bool, got number 1"),
        (BoolType(), '"true"', 'expected Bool, got string "true"'),
        (StringType(), "1", "expected String, got number 1"),
        (StringType(max=2), '"abc"', "expected at most 2 characters, got 3"),
        (StringType(min=1), '""', "expected at least 1 character, got 0"),
        (StringType(pattern="^[a-z]+$"), '"a\\n"', 'expected text that matches `^[a-z]+$`, got string "a\\n"'),
        (StringType(format="email"), '"nobody"', 'expected text in the format email, got string "nobody"'),
        (DecimalType(), '"NaN"', 'expected Decimal, got string "NaN"'),
        (DecimalType(), '" 1"', 'expected Decimal, got string " 1"'),
        (DecimalType(), '"1e999999"', 'expected Decimal, got string "1e999999"'),
        (DecimalType(max=Decimal("1.5")), '"1.6"', "expected at most 1.5, got number 1.6"),
        (BytesType(), '"YWJj="', "expected base64 text, got string"),
        (BytesType(), '"YW Jj"', "expected base64 text, got string"),
        (BytesType(), '"YR=="', "expected base64 text, got string"),
        (BytesType(max=2), '"YWJj"', "expected at most 2 bytes, got 3"),
        (TimestampType(), '"2026-03-01T12:00:00"', "expected a time with an offset such as"),
        (TimestampType(), '"2026-02-30T12:00:00Z"', "expected a time with an offset such as"),
        (TimestampType(), "1772366400", "expected a time with an offset such as"),
        (DateType(), '"2026-2-3"', "expected a day such as"),
        (DurationType(), '"P1M"', "expected an ISO 8601 duration"),
        (NullType(), "0", "expected null, got number 0"),
        (LiteralType(1), "true", "expected 1, got true"),
        (LiteralType(True), "1", "expected true, got number 1"),
        (LiteralType(1), "1.5", "expected 1, got number 1.5"),
        (LiteralType(True), "1.0", "expected true, got number 1.0"),
        (ListType(IntType(), max=2), "[1,2,3]", "expected at most 2 entries, got 3"),
        (ListType(IntType(), min=1), "[]", "expected at least 1 entry, got 0"),
        (ListType(IntType()), '"[1,2]"', 'expected List<Int>, got string "[1,2]"'),
        (MapType(IntType()), "[]", "expected Map<String, Int>, got empty array"),
        (TOPIC, '"refund"', 'expected "Refund" | "Shipping" | "Other", got string "refund"'),
        (SHAPE, '{"kind":"Point"}', 'expected "Point" | Circle | Box, got object with key `kind`'),
        (SHAPE, '"Circle"', 'expected "Point" | Circle | Box, got string "Circle"'),
        (ORDER, "[]", "expected an object (Order), got empty array"),
        (FileType(media="image/*"), '{"media":"text/plain","data":""}', "expected a file as {media, data: base64} or {media,"),
        (FileType(max=1), '{"media":"a/b","data":"YWI="}', "expected at most 1 byte, got 2"),
        (FileType(), '{"media":"a/b"}', "expected a file"),
        (UnionType((CARD, CASH)), '{"type":"coin"}', '`type`: expected "card" | "cash", got string "coin"'),
        (UnionType((IntType(), StringType())), "null", "expected Int | String, got null"),
        (SecretType(), '"x"', "a Secret is no data"),
        (FunctionType((), IntType()), '"x"', "a function is no data"),
    ],
)
def test_what_does_not_fit_is_refused_in_words_a_model_can_use(type: Type, text: str, message: str) -> None:
    (problem,) = problems(type, text)
    assert problem.startswith(message)


@pytest.mark.feature("A3.2")
def test_all_problems_of_a_value_are_told_with_their_paths() -> None:
    text = '{"orders":[{"id":"A-1x","count":0,"total":"0","colour":1},{"id":"A-1","count":1,"total":1}]}'
    assert problems(AnonymousRecord((("orders", ListType(ORDER)),)), text) == [
        "`orders[0].colour`: is not known; the known keys are `id`, `count`, `total`, `note`, `express`, `topic`, `If-Match`",
        '`orders[0].id`: expected text that matches `^[A-Z]-[0-9]+$`, got string "A-1x"',
        "`orders[0].count`: expected at least 1, got number 0",
        "`orders[0].total`: expected at least 0.01, got number 0",
    ]


def test_every_bound_of_one_value_is_told() -> None:
    assert len(problems(StringType(max=2, pattern="^[a-z]+$", format="email"), '"ABC"')) == 3


def test_at_most_so_many_problems_are_told_and_that_there_are_more() -> None:
    with pytest.raises(DecodeError) as caught:
        taken(ListType(IntType()), "[" + ",".join(['"x"'] * 100) + "]")
    assert len(caught.value.problems) == 20
    assert caught.value.more
    assert caught.value.text.endswith("and more")


def test_what_is_quoted_is_bounded() -> None:
    (problem,) = problems(IntType(), '"' + "x" * 100_000 + '"')
    assert len(problem) < 120
    many = "{" + ",".join(f'"{"k" * 500}{n}":1' for n in range(100)) + "}"
    with pytest.raises(DecodeError) as caught:
        taken(ORDER, many)
    assert len(caught.value.text) <= 4_000
    with pytest.raises(DecodeError) as caught:
        taken(TOPIC, many)
    assert len(caught.value.text) < 1_000


def test_missing_fields_are_told_with_their_type() -> None:
    assert problems(CASH, '{"type":"cash"}') == ["`amount`: is missing; expected Int"]


def test_defaults_are_filled_in_and_declared_order_is_kept() -> None:
    assert same(
        taken(ORDER, '{"If-Match":"x","total":1,"count":2,"id":"A-1"}'),
        {"id": "A-1", "count": 2, "total": Decimal(1), "express": 5, "If-Match": "x"},
    )


class TestK09:
    @pytest.mark.parametrize("text", ["1e5", "007", "9" * 40, "true", "null", "1.0", "[1]", '{"a":1}', "NaN"])
    def test_text_is_never_parsed(self, text: str) -> None:
        import json

        assert taken(StringType(), json.dumps(text)) == text

    def test_a_number_as_text_is_refused_with_path_expected_and_got(self) -> None:
        type = AnonymousRecord((("a", AnonymousRecord((("b", ListType(IntType())),))),))
        with pytest.raises(DecodeError) as caught:
            taken(type, '{"a":{"b":[1,"5"]}}')
        (problem,) = caught.value.problems
        assert (problem.path, problem.expected, problem.got) == ("a.b[1]", "Int", 'string "5"')


class TestK10:
    def test_null_for_an_optional_field_that_is_not_nullable_is_refused_below_the_arguments(self) -> None:
        assert problems(ORDER, '{"id":"A-1","count":1,"total":1,"note":null}') == ["`note`: expected String, got null"]

    def test_null_for_an_optional_nullable_field_is_kept(self) -> None:
        value = taken(ORDER, '{"id":"A-1","count":1,"total":1,"topic":null}')
        assert isinstance(value, dict)
        assert value["topic"] is None

    def test_null_for_a_field_with_a_default_is_refused(self) -> None:
        assert problems(ORDER, '{"id":"A-1","count":1,"total":1,"express":null}') == ["`express`: expected Int, got null"]

    def test_an_empty_text_is_a_value(self) -> None:
        value = taken(ORDER, '{"id":"A-1","count":1,"total":1,"note":""}')
        assert isinstance(value, dict)
        assert value["note"] == ""


class TestK11:
    def test_an_unknown_key_deep_inside_is_refused_with_its_path(self) -> None:
        assert problems(TREE, '{"name":"a","below":[{"name":"b","colour":1}]}') == [
            "`below[0].colour`: is not known; the known keys are `name`, `below`"
        ]

    def test_an_open_record_keeps_unknown_keys_but_bounds_them(self) -> None:
        assert taken(OPEN, '{"id":1,"If-Match":"x"}') == {"id": 1, "If-Match": "x"}
        assert problems(OPEN, '{"id":1,"more":{"x":1e999}}') == ["`more.x`: expected a JSON value, got number inf"]


class TestBounds:
    def test_text_without_a_bound_has_the_default_one_in_bytes(self) -> None:
        limits = Limits(string_bytes=8)
        assert taken(StringType(), '"éééé"', limits) == "éééé"
        assert problems(StringType(), '"ééééa"', limits) == ["expected at most 8 bytes, got 9"]
        assert taken(StringType(max=20), '"123456789"', limits) == "123456789"

    def test_lists_and_maps_without_a_bound_have_the_default_one(self) -> None:
        limits = Limits(entries=2)
        assert problems(ListType(IntType()), "[1,2,3]", limits) == ["expected at most 2 entries, got 3"]
        assert problems(MapType(IntType()), '{"a":1,"b":2,"c":3}', limits) == ["expected at most 2 entries, got 3"]
        assert problems(JsonType(), '{"a":[1,2,3]}', limits) == ["`a`: expected at most 2 entries, got 3"]
        assert taken(ListType(IntType(), max=3), "[1,2,3]", limits) == [1, 2, 3]

    def test_long_keys_are_refused(self) -> None:
        assert len(problems(MapType(IntType()), '{"123456789":1}', Limits(string_bytes=8))) == 1
        assert len(problems(JsonType(), '{"123456789":1}', Limits(string_bytes=8))) == 1

    def test_json_is_bounded_too(self) -> None:
        assert problems(JsonType(), '{"a":["123456789"]}', Limits(string_bytes=8)) == [
            "`a[0]`: a text of more than 8 bytes, or not valid Unicode"
        ]
        assert problems(JsonType(), '{"a":1e999}') == ["`a`: expected a JSON value, got number inf"]

    @pytest.mark.parametrize("type", [JsonType(), TREE, TEXTS, ListType(JsonType())])
    def test_nesting_is_bounded_where_the_type_does_not(self, type: Type) -> None:
        assert "nested more than 32 deep" in problems(type, "[" * 40 + "]" * 40)[0]

    def test_a_type_that_is_deeper_than_the_limit_is_bounded_by_the_limit(self) -> None:
        deep: Type = IntType()
        for _ in range(5):
            deep = ListType(deep)
        assert taken(deep, "[[[[[1]]]]]") == [[[[[1]]]]]
        assert "nested more than 4 deep" in problems(deep, "[[[[[1]]]]]", Limits(depth=4))[0]

    def test_deep_text_for_a_shallow_type_is_refused(self) -> None:
        assert problems(ListType(IntType()), "[" * 150 + "]" * 150) == ["`[0]`: expected Int, got array of 1"]
        assert len(problems(ListType(IntType()), "[" * 4096)) == 1

    def test_objects_that_did_not_come_from_text_are_bounded(self) -> None:
        endless: dict[str, object] = {"name": "x"}
        endless["below"] = [endless, endless]
        with pytest.raises(DecodeError, match="nested more than 32 deep, or contains itself"):
            decoder(TREE, WORLD)(endless)


def test_unions_tell_what_is_wrong_inside_of_the_member_that_is_meant() -> None:
    union = UnionType((CARD, CASH, IntType()))
    assert problems(union, '{"type":"cash","amount":"1"}') == ['`amount`: expected Int, got string "1"']
    by_shape = UnionType((AnonymousRecord((("a", IntType()), ("b", IntType()))), AnonymousRecord((("c", IntType()),))))
    assert problems(by_shape, '{"a":1,"b":"x"}') == ['`b`: expected Int, got string "x"']
    assert problems(by_shape, '{"z":1}')[0].startswith(("expected {", "`z`: is not known"))


def test_a_union_of_a_schema_keeps_its_rule() -> None:
    small, even = IntType(max=10), IntType(min=5)
    assert taken(UnionType((small, even), "any"), "7") == 7
    assert taken(UnionType((small, even), "one"), "3") == 3
    assert problems(UnionType((small, even), "one"), "7") == ["fits 2 of Int(max: 10) | Int(min: 5), and may fit only one"]
    assert problems(UnionType((small, StringType()), "one"), "null")


def test_decoders_are_made_once() -> None:
    assert decoder(ORDER, WORLD) is decoder(ORDER, WORLD)
    assert decoder(ORDER, WORLD) is not decoder(ORDER, dict(WORLD))


def test_types_that_mean_nothing_are_refused_when_the_decoder_is_made() -> None:
    from ael.types.definition import AliasDef
    from ael.types.type import Named, Variable

    loop = {"a.A": AliasDef("a.A", Named("a.B")), "a.B": AliasDef("a.B", Named("a.A"))}
    for type in (Named("a.A"), Named("nowhere"), Variable("T")):
        with pytest.raises(TypeError):
            decoder(type, loop)
