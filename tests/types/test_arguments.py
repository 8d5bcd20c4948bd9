"""A model's arguments made regular: kinds K07 to K11."""

from __future__ import annotations

import json

import pytest

from ael.types.arguments import Arguments, argument_reader, result_reader
from ael.types.definition import FieldDef, RecordDef
from ael.types.limits import Limits
from ael.types.problem import DecodeError
from ael.types.type import IntType, JsonType, ListType, MapType, Named, StringType, Type, UnionType, optional
from tests.types.world import CARD, CASH, ORDER, SHAPE, TOPIC, TREE, WORLD


def record(*fields: FieldDef) -> RecordDef:
    return RecordDef("test.call", fields)


def field(name: str, type: Type, **options: object) -> FieldDef:
    return FieldDef(name, name, type, **options)  # type: ignore[arg-type]


NOTHING = record()
ALL_OPTIONAL = record(field("q", StringType(), optional=True), field("n", IntType(), default=7))


def taken(of: RecordDef, raw: object, limits: Limits | None = None) -> Arguments:
    return argument_reader(of, WORLD, limits or Limits())(raw)


def refused(of: RecordDef, raw: object, limits: Limits | None = None) -> str:
    with pytest.raises(DecodeError) as caught:
        taken(of, raw, limits)
    return caught.value.text


class TestK07:
    @pytest.mark.feature("A3.7")
    @pytest.mark.parametrize("raw", ['{"q":', "{q: 1}", '{"q":"a"}}', "[1", "\\", "{'q': 'x'}", '{"q":"a"} {"q":"b"}', "{", '"{'])
    def test_broken_json_is_a_refusal_and_never_an_empty_object(self, raw: str) -> None:
        assert "JSON" in refused(ALL_OPTIONAL, raw)

    @pytest.mark.parametrize("raw", ["null", "[]", "7", '"x"', "true", "[[]]"])
    def test_json_that_is_no_object_is_refused(self, raw: str) -> None:
        assert "expected an object (call)" in refused(ALL_OPTIONAL, raw)

    @pytest.mark.parametrize("raw", ["x" * (1 << 20), '"' + "x" * (1 << 20) + '"', '{"n":"' + "\\u0000" * 40_000 + '"}'])
    def test_huge_arguments_are_refused_and_not_echoed(self, raw: str) -> None:
        text = refused(ALL_OPTIONAL, raw)
        assert len(text) < 500

    def test_the_size_limit_holds_for_what_a_provider_sends_as_an_object(self) -> None:
        assert "bytes, more than the 100 allowed" in refused(ALL_OPTIONAL, {"q": "x" * 200}, Limits(tool_input=100))

    @pytest.mark.parametrize("raw", [{"q": {1}}, {"q": float("nan")}, {1: 2}, {"q": "\ud800"}, ["x"]])
    def test_what_is_no_json_object_is_refused(self, raw: object) -> None:
        assert refused(ALL_OPTIONAL, raw)

    def test_an_endless_object_is_refused(self) -> None:
        endless: dict[str, object] = {}
        endless["q"] = endless
        assert "nested more than" in refused(ALL_OPTIONAL, endless)


class TestK08:
    @pytest.mark.feature("A3.9")
    @pytest.mark.parametrize("raw", ["", "   ", "\n", None, b"", "{}", {}])
    def test_empty_or_absent_arguments_are_an_empty_object(self, raw: object) -> None:
        made = taken(NOTHING, raw)
        assert made.value == {}
        assert [str(note) for note in made.notes] == ([] if raw in ("{}", {}) else ["empty arguments were taken as {}"])

    @pytest.mark.feature("A3.9")
    def test_they_are_then_decoded_like_any_other(self) -> None:
        assert taken(ALL_OPTIONAL, "").value == {"n": 7}
        assert refused(record(field("q", StringType())), "") == "`q`: is missing; expected String"

    def test_null_is_not_absent_arguments(self) -> None:
        assert refused(NOTHING, "null") == "expected an object (call), got null"


class TestK09:
    @pytest.mark.feature("A3.8")
    @pytest.mark.parametrize(
        ("type", "inner", "value"),
        [
            (ListType(IntType()), "[1,2]", [1, 2]),
            (MapType(IntType()), ' {"a":1} ', {"a": 1}),
            (TREE, '{"name":"a"}', {"name": "a"}),
            (optional(ListType(IntType())), "[1]", [1]),
            (UnionType((CARD, CASH)), '{"type":"cash","amount":1}', {"type": "cash", "amount": 1}),
        ],
    )
    def test_json_inside_of_a_text_is_unwrapped_once_and_told(self, type: Type, inner: str, value: object) -> None:
        made = taken(record(field("x", type)), json.dumps({"x": inner}))
        assert made.value == {"x": value}
        assert [str(note) for note in made.notes] == ["`x` came as JSON inside of a text, and was unwrapped once"]

    def test_the_whole_object_as_a_text_is_unwrapped(self) -> None:
        made = taken(ALL_OPTIONAL, json.dumps(json.dumps({"q": "a"})))
        assert (made.value, [note.what for note in made.notes]) == ({"q": "a", "n": 7}, ["unwrapped"])

    @pytest.mark.parametrize("layers", [2, 3])
    def test_twice_is_once_too_often(self, layers: int) -> None:
        raw = json.dumps({"q": "a"})
        for _ in range(layers):
            raw = json.dumps(raw)
        assert "expected an object" in refused(ALL_OPTIONAL, raw)
        nested = record(field("x", ListType(ListType(IntType()))))
        assert '`x[0]`: expected List<Int>, got string "[1]"' in refused(nested, json.dumps({"x": json.dumps(["[1]"])}))
        twice = json.dumps(json.dumps({"x": "[1]"}))
        assert 'expected List<Int>, got string "[1]"' in refused(record(field("x", ListType(IntType()))), twice)

    def test_the_limits_hold_for_the_inner_text(self) -> None:
        deep = "[" * 40 + "]" * 40
        assert "nested more than 32 deep" in refused(record(field("x", ListType(JsonType()))), json.dumps({"x": deep}))
        same_key = json.dumps({"x": '{"a":1,"a":2}'})
        assert "there twice" in refused(record(field("x", MapType(IntType()))), same_key)

    def test_broken_json_inside_of_a_text_is_refused_with_its_path(self) -> None:
        assert refused(record(field("x", ListType(IntType()))), '{"x":"[1,2"}').startswith(
            "`x`: JSON inside of a text, which is not taken"
        )

    @pytest.mark.feature("A3.8")
    @pytest.mark.parametrize("text", ["1e5", "007", "9" * 40, "true", "null", "1.0", "[1,2]", '{"a":1}', '"quoted"', ""])
    @pytest.mark.parametrize(
        "type", [StringType(), JsonType(), UnionType((StringType(), ListType(IntType()))), optional(StringType())]
    )
    def test_a_text_where_text_may_stand_is_never_parsed(self, type: Type, text: str) -> None:
        made = taken(record(field("x", type)), json.dumps({"x": text}))
        assert made == Arguments({"x": text})

    @pytest.mark.parametrize("value", ['"5"', '"true"', "5.5", '""', "[5]"])
    def test_scalars_are_never_converted(self, value: str) -> None:
        assert "`n`: expected Int" in refused(ALL_OPTIONAL, f'{{"n":{value}}}')

    def test_no_scalar_is_unwrapped_out_of_a_text(self) -> None:
        assert 'expected List<Int>, got string "5"' in refused(record(field("x", ListType(IntType()))), '{"x":"5"}')


class TestK10:
    def test_null_for_an_optional_field_is_its_absence(self) -> None:
        made = taken(record(field("a", StringType(), optional=True), field("b", IntType(), default=3)), '{"a":null,"b":null}')
        assert made.value == {"b": 3}
        assert [str(note) for note in made.notes] == [
            "`a` was null, and was taken as absent",
            "`b` was null, and was taken as absent",
        ]

    def test_one_of_ten_optional_fields_set_is_one_key(self) -> None:
        of = record(*(field(f"f{n}", StringType(), optional=True) for n in range(10)))
        raw = json.dumps({f"f{n}": ("x" if n == 4 else None) for n in range(10)})
        assert taken(of, raw).value == {"f4": "x"}

    def test_null_that_is_allowed_is_kept(self) -> None:
        of = record(field("a", optional(StringType()), optional=True), field("b", JsonType(), optional=True))
        assert taken(of, '{"a":null,"b":null}') == Arguments({"a": None, "b": None})

    def test_an_empty_text_is_passed_on_and_a_minimum_refuses_it(self) -> None:
        assert taken(record(field("a", StringType(), optional=True)), '{"a":""}').value == {"a": ""}
        assert "at least 1 character" in refused(record(field("a", StringType(min=1), optional=True)), '{"a":""}')

    def test_null_for_a_required_field_is_refused(self) -> None:
        assert refused(record(field("a", StringType())), '{"a":null}') == "`a`: expected String, got null"

    @pytest.mark.parametrize(
        ("type", "value"),
        [
            (ListType(TREE), [{"name": "a", "below": None}]),
            (MapType(TREE), {"k": {"name": "a", "below": [{"name": "b", "below": None}]}}),
            (optional(TREE), {"name": "a", "below": None}),
            (UnionType((TREE, ListType(IntType()))), {"name": "a", "below": None}),
        ],
    )
    def test_null_is_absence_at_every_depth(self, type: Type, value: object) -> None:
        made = taken(record(field("x", type)), json.dumps({"x": value}))
        assert "null" not in json.dumps(made.value)
        assert len(made.notes) == 1


def test_an_unknown_key_is_told_with_the_known_ones() -> None:
    assert refused(ALL_OPTIONAL, '{"query":"x"}') == "`query`: is not known; the known keys are `q`, `n`"
    assert refused(NOTHING, '{"query":null}') == "`query`: is not known; no keys are known here"


def test_variants_and_orders_pass_through() -> None:
    made = taken(
        record(field("s", SHAPE), field("o", ORDER)), '{"s":{"kind":"Circle","radius":1},"o":{"id":"A-1","count":1,"total":0.10}}'
    )
    assert made.value["s"] == {"kind": "Circle", "radius": 1.0}
    assert str(made.value["o"]["total"]) == "0.10"  # type: ignore[index]


def test_reading_arguments_changes_nothing_that_was_given() -> None:
    raw = {"q": None, "n": 1}
    assert taken(ALL_OPTIONAL, raw).value == {"n": 1}
    assert raw == {"q": None, "n": 1}


def test_a_result_reads_null_as_absence_and_unwraps_nothing() -> None:
    read = result_reader(ORDER, WORLD)
    made = read('{"id":"A-1","count":1,"total":"1","note":null,"express":null,"topic":null,"If-Match":null}')
    assert made.value == {"id": "A-1", "count": 1, "total": 1, "express": 5, "topic": None}
    assert {note.what for note in made.notes} == {"null"}
    for raw in ('"{}"', "", '{"value":1}'):
        with pytest.raises(DecodeError):
            read(raw)


def test_a_wrapped_result_is_taken_out() -> None:
    assert result_reader(TOPIC, WORLD, wrapped=True)('{"value":"Refund"}').value == "Refund"
    assert result_reader(Named("shop.Texts"), WORLD, wrapped=True)({"value": ["a"]}).value == ["a"]
    with pytest.raises(DecodeError, match="`value`: expected"):
        result_reader(TOPIC, WORLD, wrapped=True)('{"value":"refund"}')


@pytest.mark.parametrize("rule", ["any", "one"])
def test_unions_of_schemas_whose_members_overlap_are_left_to_the_decoder(rule: str) -> None:
    either = UnionType((ListType(IntType(), max=2), ListType(StringType())), rule)
    read = argument_reader(RecordDef("t.F", (FieldDef("a", "a", either), FieldDef("b", "b", ListType(either)))), {})
    assert read('{"a": [1], "b": [["x"], [1.0, 2]]}').value == {"a": [1], "b": [["x"], [1, 2]]}
    with pytest.raises(DecodeError):
        read('{"a": [1, "x"], "b": []}')


def test_what_stands_under_other_keys_is_made_regular_by_its_type() -> None:
    record = RecordDef("t.G", (), True, extra=ListType(IntType()))
    assert argument_reader(record, {})('{"z": "[1, 2]"}').value == {"z": [1, 2]}
