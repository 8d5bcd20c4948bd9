"""Types and schemas say the same: what one takes, so does the other, and a validator that knows nothing of either."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from ael.types.decode import checker, decoder, encoder
from ael.types.definition import Definition
from ael.types.from_schema import SchemaRefused, import_schema
from ael.types.problem import DecodeError
from ael.types.schema import schema
from ael.types.type import Type
from tests.types.schemas import typed, values, written

SETTINGS = settings(
    max_examples=120, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
NOTHING = object()


def taken(type: Type, definitions: dict[str, Definition], value: Any) -> Any:
    """What a value is decoded to, or NOTHING."""
    try:
        return decoder(type, definitions)(value)
    except DecodeError:
        return NOTHING


def alike(a: Any, b: Any) -> bool:
    """Equal as JSON: `1` is `1.0`, and `true` is neither."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    return bool(a == b)


def agree(type: Type, definitions: dict[str, Definition], judge: Any, value: Any) -> None:
    """The decoder and the validator give one verdict; what is taken stays the value that it is, in and out."""
    valid = judge.is_valid(value)
    found = taken(type, definitions, value)
    assert (found is not NOTHING) == valid, (judge.schema, value)
    if valid:
        assert alike(found, value)
        assert alike(checker(type, definitions)(found), value)
        assert alike(encoder(type, definitions)(found), value)


@pytest.mark.feature("A9.3")
@SETTINGS
@given(typed(), st.lists(values, min_size=6, max_size=12))
def test_a_type_its_schema_and_the_type_of_that_schema_have_the_same_values(
    made: tuple[Type, dict[str, Definition]], given_values: list[Any]
) -> None:
    type, definitions = made
    text = schema(type, definitions)
    judge = jsonschema.Draft202012Validator(text)
    back = import_schema(text, "t.Back")
    for value in given_values:
        agree(type, definitions, judge, value)
        agree(back.type, back.definitions, judge, value)


@pytest.mark.feature("A9.3")
@SETTINGS
@given(written(), st.lists(values, min_size=8, max_size=16))
def test_a_schema_its_type_and_the_schema_of_that_type_have_the_same_values(source: Any, given_values: list[Any]) -> None:
    try:
        made = import_schema(source, "t.R")
    except SchemaRefused as refused:
        # a definition that leads back to itself, or through which a predicate would multiply
        event(f"refused by {refused.keyword}")
        return
    judge = jsonschema.Draft202012Validator(source)
    told = jsonschema.Draft202012Validator(schema(made.type, made.definitions))
    again = import_schema(told.schema, "t.Again")
    for value in given_values:
        agree(made.type, made.definitions, judge, value)
        assert told.is_valid(value) == judge.is_valid(value)
        agree(again.type, again.definitions, judge, value)
