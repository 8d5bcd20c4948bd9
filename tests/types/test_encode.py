"""Results at the boundary: kind K47, and values that do not leave (K12, K41)."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from ael.types.decode import checker, encoder
from ael.types.encode import OutputError, output_checker, output_writer
from ael.types.limits import Limits
from ael.types.problem import DecodeError
from ael.types.type import (
    BytesType,
    DecimalType,
    FloatType,
    FunctionType,
    IntType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    SecretType,
    StringType,
    TimestampType,
    Type,
    UnionType,
    optional,
)
from ael.types.value import Secret
from tests.types.world import OPEN, ORDER, SHAPE, TOPIC, TREE, WORLD


def endless() -> list[object]:
    made: list[object] = []
    made.append(made)
    return made


class TestK47:
    @pytest.mark.feature("A5.2")
    @pytest.mark.parametrize(
        ("type", "value", "path"),
        [
            (ListType(StringType()), ["a", {"b"}], "[1]"),
            (MapType(ListType(StringType())), {"k": ["a", b"raw"]}, "k[1]"),
            (TREE, {"name": "a", "below": [{"name": object()}]}, "below[0].name"),
            (TREE, {"name": "a", "below": ({"name": "b"},)}, "below"),
            (JsonType(), {"a": [1, {2}]}, "a[1]"),
            (JsonType(), {"a": {1: 2}}, "a"),
            (JsonType(), [lambda: 1], "[0]"),
            (ListType(FloatType()), [1.0, math.nan], "[1]"),
            (ListType(FloatType()), [math.inf], "[0]"),
            (JsonType(), {"a": -math.inf}, "a"),
            (StringType(), "\ud83d", ""),
            (MapType(IntType()), {1: 2}, ""),
            (MapType(IntType()), {"\ud800": 2}, ""),
            (IntType(), True, ""),
            (IntType(), 1.5, ""),
            (LiteralType(1), True, ""),
            (IntType(), 2**4096, ""),
            (TOPIC, "refund", ""),
            (ORDER, {"id": "A-1", "count": 1}, "total"),
            (TimestampType(), datetime(2026, 1, 1), ""),
            (TimestampType(), "2026-01-01T00:00:00Z", ""),
            (DecimalType(), 0.1, ""),
            (DecimalType(), Decimal("Infinity"), ""),
            (JsonType(), {"a": Secret("KEY", "hunter2")}, "a"),
            (StringType(), Secret("KEY", "hunter2"), ""),
        ],
    )
    def test_a_result_of_the_wrong_type_names_tool_and_path(self, type: Type, value: object, path: str) -> None:
        with pytest.raises(OutputError) as caught:
            output_checker("shop.lookup", type, WORLD)(value)
        assert "`shop.lookup`" in str(caught.value)
        assert caught.value.problems[0].path == path
        assert "hunter2" not in str(caught.value)
        assert not caught.value.too_large

    @pytest.mark.parametrize("type", [JsonType(), TREE, ListType(JsonType())])
    def test_a_value_that_contains_itself_is_typed_and_no_recursion_error(self, type: Type) -> None:
        value: object = endless()
        if type == TREE:
            value = {"name": "a"}
            value["below"] = [value]
        with pytest.raises(OutputError, match="nested more than 32 deep"):
            output_checker("shop.loop", type, WORLD)(value)

    def test_a_result_that_is_too_large_is_told_apart(self) -> None:
        write = output_writer("shop.lookup", StringType(), WORLD, Limits(tool_result=10))
        assert write("12345678") == b'"12345678"'
        with pytest.raises(OutputError) as caught:
            write("123456789")
        assert caught.value.too_large

    def test_defaults_are_filled_in_and_null_is_absence_where_it_cannot_be_a_value(self) -> None:
        checked = output_checker("shop.lookup", ORDER, WORLD)
        made = checked({"total": Decimal(1), "count": 1, "id": "A-1", "note": None})
        assert made == {"id": "A-1", "count": 1, "total": Decimal(1), "express": 5}
        assert list(made) == ["id", "count", "total", "express"]  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("type", "value", "form"),
    [
        (DecimalType(), Decimal("1.10"), "1.10"),
        (DecimalType(), 3, "3"),
        (DecimalType(), Decimal("1e3"), "1000"),
        (BytesType(), b"abc", "YWJj"),
        (ListType(TimestampType()), [datetime(2026, 3, 1, 12, tzinfo=UTC)], ["2026-03-01T12:00:00Z"]),
        (FloatType(), 1, 1.0),
        (SHAPE, {"radius": 1, "kind": "Circle"}, {"kind": "Circle", "radius": 1.0}),
        (OPEN, {"id": 1, "more": [1]}, {"id": 1, "more": [1]}),
        (optional(DecimalType()), None, None),
        (UnionType((DecimalType(), ListType(BytesType()))), [b""], [""]),
        (ORDER, {"id": "A-1", "count": 1, "total": Decimal("1.0")}, {"id": "A-1", "count": 1, "total": "1.0", "express": 5}),
    ],
)
def test_the_json_form_of_values(type: Type, value: object, form: object) -> None:
    made = encoder(type, WORLD)(value)
    assert json.dumps(made) == json.dumps(form)


def test_timestamps_become_utc() -> None:
    from datetime import timezone

    value = datetime(2026, 3, 1, 14, tzinfo=timezone(timedelta(hours=2)))
    made = checker(TimestampType(), WORLD)(value)
    assert isinstance(made, datetime)
    assert made.tzinfo is UTC


def test_secrets_and_functions_are_values_but_no_data() -> None:
    secret = Secret("KEY", "hunter2")
    assert checker(SecretType(), WORLD)(secret) is secret
    assert checker(FunctionType((), IntType()), WORLD)(len) is len
    for type, value in ((SecretType(), secret), (FunctionType((), IntType()), len)):
        with pytest.raises(DecodeError, match="is no data"):
            encoder(type, WORLD)(value)
