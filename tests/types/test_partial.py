"""Values that are still being written, and the repair of text: feature B1."""

from __future__ import annotations

import json

import pytest

from ael.types.decode import reader
from ael.types.partial import MISSING, partial
from ael.types.repair import repair
from ael.types.type import DecimalType, IntType, JsonType, ListType, MapType, StringType, Type, UnionType, optional
from tests.types.world import CARD, CASH, ORDER, SHAPE, TEXTS, TOPIC, TREE, WORLD


def so_far(text: str, type: Type) -> object:
    return partial(text, type, WORLD)


@pytest.mark.feature("B1")
@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (StringType(), '"hel', "hel"),
        (ListType(StringType()), '["a", "b', ["a", "b"]),
        (ListType(IntType()), "[1, 2,", [1, 2]),
        (ORDER, '{"id":"A-1","note":"hel', {"id": "A-1", "note": "hel"}),
        (ORDER, '{"id":"A-1","cou', {"id": "A-1"}),
        (ORDER, '{"count":"x","id":"A', {"id": "A"}),
        (TREE, '{"name":"a","below":[{"name":"b', {"name": "a", "below": [{"name": "b"}]}),
        (SHAPE, '{"kind":"Circle","radius":1', {"kind": "Circle", "radius": 1.0}),
        (SHAPE, '{"kind":"Cir', MISSING),
        (TOPIC, '"Ref', MISSING),
        (TOPIC, '"Refund"', "Refund"),
        (MapType(IntType()), '{"a":1,"b":"x","c":2', {"a": 1, "c": 2}),
        (UnionType((CARD, CASH)), '{"type":"cash","amount":5', {"type": "cash", "amount": 5}),
        (UnionType((CARD, CASH)), '{"number":"5', MISSING),
        (optional(ListType(StringType())), '["a', ["a"]),
        (TEXTS, '["a",["b', ["a", ["b"]]),
        (JsonType(), '{"a":[1,{"b":"c', {"a": [1, {"b": "c"}]}),
        (IntType(), '"5', MISSING),
        (StringType(max=2), '"abc', MISSING),
        (ORDER, "", MISSING),
        (ORDER, "no json", MISSING),
        (ORDER, '{"id":"A-1","id":"', MISSING),
    ],
)
def test_what_is_there_so_far(type: Type, text: str, value: object) -> None:
    assert so_far(text, type) == value


@pytest.mark.feature("B1")
def test_a_partial_value_only_grows_into_the_whole() -> None:
    text = json.dumps({"name": "root é \U0001f600", "below": [{"name": "one"}, {"name": "two", "below": []}]})
    last = 0
    for cut in range(len(text) + 1):
        made = so_far(text[:cut], TREE)
        size = 0 if made is MISSING else len(json.dumps(made))
        assert size >= last
        last = size
    assert so_far(text, TREE) == reader(TREE, WORLD)(text)


@pytest.mark.parametrize("text", ["[" * 10_000, '{"a":' * 500, "\ud800", '"\\ud83d', "1e999", "[1e999", "x" * 300_000, "\x00"])
@pytest.mark.parametrize("type", [JsonType(), TREE, TEXTS, ListType(DecimalType())])
def test_nothing_is_raised(type: Type, text: str) -> None:
    made = so_far(text, type)
    assert made is MISSING or isinstance(made, str | list | dict | int)


@pytest.mark.feature("B1")
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('Here it is:\n```\n{"a": [1, 2,],}\n```\nEnjoy!', '{"a": [1, 2]}'),
        ('{"a": 1,}', '{"a": 1}'),
        ('Sure! {"a": "b }"} as you asked', '{"a": "b }"}'),
        ('```\n{"a": "```\\n"}\n```', '{"a": "```\\n"}'),
        ('first ```\n{"a": 1}\n``` then ```\n{"b": 1}\n```', '{"a": 1}'),
        ("[1, 2, ]", "[1, 2]"),
    ],
)
def test_repaired_text_is_what_was_meant(text: str, meant: str) -> None:
    assert json.loads(repair(text)) == json.loads(meant)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "just words",
        '{"a": [1, 2',
        '{"a": "b',
        "[" * 10_000,
        '{"a": 1' + ",{" * 5_000,
        "x" * 300_000 + "{}",
        '{"a": NaN}',
        '{"a":1,"a":2}',
        '{"b":[{"a":1,"\\u0061":2,}]}',
        '{"a":"\\ud800",}',
    ],
)
def test_what_cannot_be_repaired_is_given_back_for_the_reader_to_refuse(text: str) -> None:
    assert repair(text) == text


@pytest.mark.parametrize("rule", ["any", "one"])
def test_unions_of_schemas_show_the_first_member_that_fits_so_far(rule: str) -> None:
    union = UnionType((ListType(IntType()), ListType(StringType(max=2))), rule)
    assert partial("[1, 2", union, WORLD) == [1, 2]
    assert partial('{"a": [1', MapType(union), WORLD) == {"a": [1]}
