"""The fixed text forms of values and types, and of times."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from ael.types.formats import FORMATS
from ael.types.text import has_text, show, text_of
from ael.types.times import parse_date, parse_duration, parse_timestamp, print_duration
from ael.types.type import (
    AnonymousRecord,
    BytesType,
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
from tests.types.world import ORDER, SHAPE, TEXTS, TOPIC, WORLD


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (1, "1"),
        (1.0, "1.0"),
        (1e22, "1e+22"),
        (True, "true"),
        (Decimal("0.10"), "0.10"),
        (Decimal("1e3"), "1000"),
        (datetime(2026, 3, 1, 14, 0, 0, 500, tzinfo=timezone(timedelta(hours=2))), "2026-03-01T12:00:00.000500Z"),
        (date(2026, 3, 1), "2026-03-01"),
        (timedelta(days=1, hours=2, seconds=3.5), "P1DT2H3.5S"),
        (timedelta(0), "PT0S"),
        (timedelta(seconds=-90), "-PT1M30S"),
        (None, "null"),
    ],
)
def test_text_of_values(value: object, text: str) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize("value", [[], {}, b"", len, object()])
def test_nothing_else_has_a_text(value: object) -> None:
    with pytest.raises(TypeError, match="has no text form"):
        text_of(value)


@pytest.mark.parametrize(
    ("type", "has"),
    [
        (StringType(), True),
        (TimestampType(), True),
        (TOPIC, True),
        (union(LiteralType("a"), IntType()), True),
        (SHAPE, False),
        (ORDER, False),
        (optional(IntType()), False),
        (ListType(IntType()), False),
        (JsonType(), False),
        (TEXTS, False),
    ],
)
def test_what_can_stand_in_a_text(type: Type, has: bool) -> None:
    assert has_text(type, WORLD) is has


@pytest.mark.parametrize(
    ("type", "text"),
    [
        (StringType(min=1, max=64), "String(min: 1, max: 64)"),
        (StringType(pattern='^"$', format="email"), 'String(pattern: "^\\"$", format: "email")'),
        (IntType(0, 100), "Int(0..100)"),
        (IntType(min=1), "Int(min: 1)"),
        (FloatType(0.0, 1.0), "Float(0.0..1.0)"),
        (DecimalType(min=Decimal("0.01")), "Decimal(min: 0.01)"),
        (BytesType(max=1_000_000), "Bytes(max: 1MB)"),
        (BytesType(max=65_536), "Bytes(max: 64KiB)"),
        (BytesType(min=0, max=1_001), "Bytes(min: 0, max: 1001)"),
        (ListType(ORDER, max=5), "List<Order>(max: 5)"),
        (MapType(optional(IntType())), "Map<String, Int?>"),
        (optional(TOPIC), "Topic?"),
        (UnionType((TOPIC, IntType())), "Topic | Int"),
        (union(TOPIC, IntType(), optional(StringType())), "Topic | Int | String | null"),
        (union(LiteralType("low"), LiteralType(3), LiteralType(True)), '"low" | 3 | true'),
        (FunctionType((IntType(), ORDER), StringType()), "fn(Int, Order) -> String"),
        (optional(FunctionType((), UnitType())), "(fn() -> Unit)?"),
        (AnonymousRecord((("a", IntType()),)), "{ a: Int }"),
        (AnonymousRecord(()), "{}"),
        (FileType("image/*", 5_000_000), 'File(max: 5MB, media: "image/*")'),
        (Variable("T"), "T"),
        (Never(), "Never"),
        (Unknown(), "unknown"),
        (Named("Uncertain"), "Uncertain"),
    ],
)
def test_show(type: Type, text: str) -> None:
    assert show(type) == text


def test_a_huge_type_is_shown_bounded() -> None:
    deep: Type = IntType()
    for _ in range(5_000):
        deep = ListType(deep)
    assert show(deep) == "List<" * 13 + "…" + ">" * 13
    assert len(show(UnionType(tuple(LiteralType(f"value {n}") for n in range(1_000))))) == 400


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T12:00:00",
        "2026-03-01 12:00:00Z",
        "2026-03-01T12:00Z",
        "2026-13-01T12:00:00Z",
        "2026-03-01T24:00:00Z",
        "2026-03-01T12:00:60Z",
        "2026-03-01T12:00:00+24:00",
        "2026-03-01T12:00:00z",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "٢٠٢٦-03-01T12:00:00Z",
        "2026-03-01T12:00:00Z\n",
        "",
    ],
)
def test_no_timestamps(text: str) -> None:
    assert parse_timestamp(text) is None


def test_digits_beyond_the_microsecond_are_cut() -> None:
    assert parse_timestamp("2026-03-01T12:00:00.123456789-05:30") == datetime(2026, 3, 1, 17, 30, 0, 123456, tzinfo=UTC)


@pytest.mark.parametrize("text", ["P", "PT", "P1Y", "P1M", "1D", "P1.5D", "PT1H1", "P1DT", "pt1h", "PT1S ", "P999999999W", "-"])
def test_no_durations(text: str) -> None:
    assert parse_duration(text) is None


@pytest.mark.parametrize("text", ["PT0S", "P1D", "PT1H", "P2DT3H4M5.000006S", "-P1DT1S", "PT0.5S"])
def test_durations_are_printed_as_they_are_read(text: str) -> None:
    value = parse_duration(text)
    assert value is not None
    assert print_duration(value) == text


def test_weeks_are_days() -> None:
    assert parse_duration("P2W") == timedelta(days=14)


@pytest.mark.parametrize("text", ["2026-02-29", "0000-01-01", "2026-1-1", "20260101", "2026-01-01 "])
def test_no_dates(text: str) -> None:
    assert parse_date(text) is None


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("email", ["a.b+c@example.co.uk"], ["a", "@b", "a@", "a b@c", ".a@b.c", "a..b@c.d", "a@-b.c", "a@b\n"]),
        ("hostname", ["localhost", "a-b.example"], ["", "a..b", "-a", "a_b", "x" * 300]),
        (
            "uri",
            ["https://example.com/a?b=c#d", "mailto:a@b.c", "urn:isbn:1"],
            ["", "example.com", "http:", "http://a b", "http://%zz"],
        ),
        (
            "uuid",
            ["123e4567-e89b-12d3-a456-426614174000"],
            ["123e4567e89b12d3a456426614174000", "{123e4567-e89b-12d3-a456-426614174000}"],
        ),
        ("ipv4", ["127.0.0.1"], ["127.1", "256.0.0.1", "127.0.0.1 "]),
        ("ipv6", ["::1", "2001:db8::1"], ["::1%eth0", "127.0.0.1", ":::"]),
        ("date-time", ["2026-03-01T12:00:00Z"], ["2026-03-01"]),
        ("date", ["2026-03-01"], ["2026-03-32"]),
        ("time", ["12:00:00Z", "12:00:00.5+01:00"], ["12:00", "25:00:00Z"]),
        ("duration", ["PT1S"], ["1s"]),
    ],
)
def test_formats(name: str, good: list[str], bad: list[str]) -> None:
    assert all(FORMATS[name](text) for text in good)
    assert not any(FORMATS[name](text) for text in bad)
