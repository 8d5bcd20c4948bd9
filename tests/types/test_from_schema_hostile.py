"""Schemas made to cost: each is accepted and cheap, or refused by name; values made to cost end too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ael.types.decode import decoder, reader
from ael.types.from_schema import SchemaRefused, import_schema
from ael.types.problem import DecodeError

Make = Callable[[Any], Any]


def chain(count: int, make: Make) -> dict[str, Any]:
    """Definitions, each made of a reference to the next."""
    below = {f"a{at}": make({"$ref": f"#/$defs/a{at + 1}"}) for at in range(count)}
    return {"$defs": {**below, f"a{count}": {"type": "integer"}}, "$ref": "#/$defs/a0"}


def nested(count: int, make: Make) -> Any:
    schema: Any = {"type": "integer"}
    for _ in range(count):
        schema = make(schema)
    return schema


def record(name: str, key: str = "c", **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {key: {"$ref": f"#/$defs/{name}"}, **more}, "required": [key, *more]}


@pytest.mark.feature("A9.4")
@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        (chain(30, lambda ref: {"allOf": [ref, ref]}), "allOf"),
        (chain(30, lambda ref: {"anyOf": [ref, {"not": ref}]}), "anyOf"),
        (chain(6_000, lambda ref: ref), "$ref"),
        ({"anyOf": [{"type": "object", "required": [f"p{at}"]} for at in range(1_000)]}, "anyOf"),
        ({"anyOf": [{"type": "object", "required": [f"p{at}"]} for at in range(10_000)]}, "anyOf"),
        ({"oneOf": [{"type": "array", "minItems": at} for at in range(1_000)]}, "oneOf"),
        ({"type": "object", "properties": {f"p{at}": {} for at in range(1_500)}}, "properties"),
        ({"$defs": {f"d{at}": {} for at in range(30_000)}}, "schema"),
        (nested(5_000, lambda inner: {"type": "array", "items": inner}), "schema"),
        (nested(5_000, lambda inner: {"x": inner, "allOf": [inner]}), "schema"),
        ({"type": "string", "pattern": "^(a{1000}){1000}$"}, "pattern"),
        ({"type": "string", "pattern": "(" * 5_000}, "pattern"),
        # a predicate that would look at a part twice, and at its part twice …
        (
            {
                "$defs": {"n": {**record("n"), "not": {"properties": {"c": {"$ref": "#/$defs/n"}}, "required": ["z"]}}},
                "$ref": "#/$defs/n",
            },
            "$ref",
        ),
        (
            chain(40, lambda ref: {"type": "object", "properties": {"a": ref}, "not": {"properties": {"a": {"not": ref}}}}),
            "$ref",
        ),
    ],
)
def test_what_multiplies_is_refused_by_name(schema: Any, keyword: str) -> None:
    with pytest.raises(SchemaRefused) as caught:
        import_schema(schema, "t.R")
    assert caught.value.keyword == keyword
    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string", "enum": [f"e{at}" for at in range(5_000)]}, "e4999", "e5000"),
        (chain(90, lambda ref: ref), 1, "a"),
        (chain(60, lambda ref: {"type": "array", "items": ref}), [[]], ["a"]),
        (nested(90, lambda inner: {"not": inner}), 1, "a"),
        (nested(30, lambda inner: {"type": "array", "items": inner}), [[[]]], [[1]]),
        (
            {"allOf": [{"anyOf": [{"type": "object", "required": [f"p{a}{b}"]} for a in range(10)]} for b in range(12)]},
            {f"p1{b}": 1 for b in range(12)},
            {},
        ),
    ],
)
def test_what_is_only_large_is_taken(schema: Any, good: object, bad: object) -> None:
    made = import_schema(schema, "t.R")
    decode = decoder(made.type, made.definitions)
    decode(good)
    with pytest.raises(DecodeError):
        decode(bad)


def test_a_hundred_records_that_hold_each_other() -> None:
    defs = {
        f"d{at}": {"type": "object", "properties": {f"p{to}": {"$ref": f"#/$defs/d{to}"} for to in range(at, at + 9) if to < 120}}
        for at in range(120)
    }
    made = import_schema({"$defs": defs, "$ref": "#/$defs/d0"}, "t.R")
    assert len(made.definitions) == 120
    decode = decoder(made.type, made.definitions)
    assert decode({"p1": {"p2": {}}}) == {"p1": {"p2": {}}}
    with pytest.raises(DecodeError):
        decode({"p1": {"p2": 1}})


def test_a_value_that_would_be_tried_over_and_over_is_refused_within_a_budget() -> None:
    either = {"anyOf": [record("n", x={"type": "integer"}), record("n", x={"type": "string"}), {"type": "null"}]}
    made = import_schema({"$defs": {"n": either}, "$ref": "#/$defs/n"}, "t.R")
    value: Any = None
    for _ in range(12):
        value = {"c": value, "x": 1}
    decode = decoder(made.type, made.definitions)
    assert decode(value) == value
    for _ in range(18):
        value = {"c": value, "x": 1.5}
    with pytest.raises(DecodeError, match=r"it takes more than 200,000 tries"):
        decode(value)
    # and the next value has a budget of its own
    assert decode({"c": None, "x": "a"}) == {"c": None, "x": "a"}
    with pytest.raises(DecodeError):
        reader(made.type, made.definitions)('{"c":null,"x":1.5}')
