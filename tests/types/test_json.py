"""The reader and the writer of JSON: kinds K12 and K13."""

from __future__ import annotations

import json
import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from ael.types.canonical import EncodeError, digest, encode
from ael.types.json import JsonError, nesting, read, replace_lone_surrogates
from ael.types.limits import Limits
from ael.types.value import File, Secret


def refusal(text: bytes | str, **options: object) -> JsonError:
    with pytest.raises(JsonError) as caught:
        read(text, **options)  # type: ignore[arg-type]
    return caught.value


@pytest.mark.parametrize(
    "text",
    ["null", "true", "[]", "{}", '"é"', "0", "-1.5e3", '{"a":[1,{"b":null}]}', " [1 , 2]\n", '"\\ud83d\\ude00"', '"\\u0000"'],
)
def test_json_is_read_as_the_standard_library_reads_it(text: str) -> None:
    assert read(text) == json.loads(text)


@pytest.mark.parametrize(
    "text", ["", " ", "nul", "[1,]", "{'a':1}", "01", "1 2", "[", '{"a"', '"a', "+1", ".5", "1.", "// x", "\x00"]
)
def test_what_is_no_json_is_refused_with_a_place(text: str) -> None:
    error = refusal(text)
    assert error.kind == "syntax"
    assert 0 <= error.offset <= len(text)


def test_a_refusal_names_path_and_offset() -> None:
    error = refusal('{"orders": [{"id": 1}, {"id": tru}]}')
    assert (error.path, error.kind) == ("orders[1].id", "syntax")
    assert '{"orders": [{"id": 1}, {"id": tru}]}'[error.offset - 3 : error.offset] == "tru"


class TestK12:
    @pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "[NaN]", '{"a":-Infinity}'])
    def test_non_finite_words_are_refused(self, text: str) -> None:
        assert refusal(text).kind == "syntax"

    @pytest.mark.parametrize("text", ["1e400", "-1e400", '{"a":[1,1e400]}', "1" + "0" * 400 + ".5"])
    def test_numbers_beyond_binary64_are_refused(self, text: str) -> None:
        assert refusal(text).kind == "number"

    def test_the_path_of_a_number_is_told(self) -> None:
        assert refusal('{"a":[1,1e999]}').path == "a[1]"

    @pytest.mark.parametrize("number", [2**53 + 1, -(2**64), 2**4096 - 1, -(2**4096 - 1)])
    def test_whole_numbers_are_exact(self, number: int) -> None:
        assert read(str(number)) == number

    @pytest.mark.parametrize("text", [str(2**4096), "9" * 1300, "9" * 100_000, "-" + "9" * 5000])
    def test_whole_numbers_beyond_4096_bits_are_refused(self, text: str) -> None:
        assert refusal(text).kind == "number"

    def test_decimals_are_exact_where_asked(self) -> None:
        assert read("[0.1, 1.10, 3]", decimals=True) == [Decimal("0.1"), Decimal("1.10"), 3]
        assert str(read("1.10", decimals=True)) == "1.10"

    @pytest.mark.parametrize("text", ["1e999999", "1e-999999", "0." + "1" * 2000])
    def test_decimals_that_could_not_be_written_are_refused(self, text: str) -> None:
        assert refusal(text, decimals=True).kind == "number"

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, [1.0, math.nan], {"a": {"b": [math.inf]}}, Decimal("NaN")])
    def test_no_writer_lets_a_non_finite_number_through(self, value: object) -> None:
        with pytest.raises(EncodeError):
            encode(value)


class TestK13:
    @pytest.mark.parametrize(
        "text", ['"\\ud800"', '["\\udc00\\ud800"]', b'"\xed\xa0\x80"', b'"\xff"', b"\xef\xbb\xbf1", '"\ud800"']
    )
    def test_broken_unicode_is_refused(self, text: bytes | str) -> None:
        assert refusal(text).kind == "encoding"

    @pytest.mark.parametrize(
        ("text", "path"),
        [
            ('{"a":1,"a":2}', "a"),
            ('{"a":1,"\\u0061":2}', "a"),
            ('{"b":{"c":[{"d":{"e":1,"e":1}}]}}', "b.c[0].d.e"),
            ('{"":1,"":1}', '[""]'),
        ],
    )
    def test_the_same_key_twice_is_refused_however_it_is_written(self, text: str, path: str) -> None:
        error = refusal(text)
        assert (error.kind, error.path) == ("duplicate", path)
        assert error.offset == text.rindex('"', 0, text.rindex(":") - 1)

    def test_the_same_key_in_different_objects_is_fine(self) -> None:
        assert read('[{"a":1},{"a":{"a":2}}]') == [{"a": 1}, {"a": {"a": 2}}]

    @pytest.mark.parametrize(
        "text", ["[" * 4096, '{"a":' * 1000, "[" * 33 + "]" * 33, '["]",' * 40, '[{"a":' * 17 + "1" + "}]" * 17]
    )
    def test_deep_nesting_is_refused_without_recursion(self, text: str) -> None:
        assert refusal(text).kind == "depth"

    def test_brackets_inside_of_texts_do_not_count(self) -> None:
        text = json.dumps({"a": "[" * 100, "b\\": '"{' * 50, "c": ["\\"]})
        assert read(text) == json.loads(text)

    def test_the_depth_is_a_limit_of_the_deployment(self) -> None:
        assert read("[" * 40 + "]" * 40, Limits(depth=40)) == json.loads("[" * 40 + "]" * 40)
        assert refusal("[[]]", limits=Limits(depth=1)).kind == "depth"
        assert refusal("[]", limits=Limits(depth=0)).kind == "depth"

    def test_the_size_is_looked_at_first(self) -> None:
        assert refusal("x" * 20, max_bytes=19).kind == "size"
        assert refusal('"é"', max_bytes=3).kind == "size"
        assert read('"é"', max_bytes=4) == "é"

    def test_one_declared_replacement_for_text_that_was_cut(self) -> None:
        mended = replace_lone_surrogates(b'"\\ud83d\\ude00 \\ud83d \\uDE00 \\\\ud83d"')
        assert read(mended) == "\U0001f600 \ufffd \ufffd \\ud83d"
        assert replace_lone_surrogates(b'"plain"') == b'"plain"'


def test_writing_keeps_order_or_sorts() -> None:
    value = {"b": 1, "a": [1.0, True, None, "é\n"]}
    assert encode(value) == '{"b":1,"a":[1.0,true,null,"é\\n"]}'.encode()
    assert encode(value, sort=True) == '{"a":[1.0,true,null,"é\\n"],"b":1}'.encode()


def test_values_without_a_json_type_are_written_in_their_form() -> None:
    value = [
        Decimal("1.10"),
        b"abc",
        datetime(2026, 3, 1, 14, 0, tzinfo=timezone(timedelta(hours=2))),
        date(2026, 3, 1),
        timedelta(minutes=90),
        File("image/png", data=b"x"),
        File("image/png", uri="https://example.com/a.png"),
    ]
    assert json.loads(encode(value)) == [
        "1.10",
        "YWJj",
        "2026-03-01T12:00:00Z",
        "2026-03-01",
        "PT1H30M",
        {"media": "image/png", "data": "eA=="},
        {"media": "image/png", "uri": "https://example.com/a.png"},
    ]


def test_digests_do_not_depend_on_the_order_of_keys() -> None:
    assert digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1})
    assert digest({"a": 1}) != digest({"a": 1.0})
    assert digest([]) == "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"


class Text(str):
    pass


def cycle() -> list[object]:
    made: list[object] = []
    made.append({"again": made})
    return made


@pytest.mark.feature("A5.2")
@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": [{1, 2}]}, "a[0]"),
        ({"a": {1: 2}}, "a"),
        ([(1, 2)], "[0]"),
        ([lambda: 1], "[0]"),
        ({"key": Secret("KEY", "hunter2")}, "key"),
        (["\ud800"], "[0]"),
        ({"\ud800": 1}, ""),
        ([10**3000], "[0]"),
        ([10**5000], "[0]"),
        ([Text("x")], "[0]"),
        ({"a": object()}, "a"),
        ([Decimal("1e999999")], "[0]"),
        ([datetime(2026, 1, 1)], "[0]"),
        ([bytearray(b"x")], "[0]"),
        (cycle(), "[0].again"),
        (math.nan, ""),
    ],
)
def test_what_is_no_data_is_refused_with_its_path(value: object, path: str) -> None:
    with pytest.raises(EncodeError) as caught:
        encode(value)
    assert caught.value.path == path
    assert "hunter2" not in str(caught.value)


def test_deep_values_are_written_down_to_a_depth_and_refused_below() -> None:
    deep: list[object] = []
    for _ in range(200):
        deep = [deep]
    assert encode(deep).count(b"[") == 201
    for _ in range(2000):
        deep = [deep]
    with pytest.raises(EncodeError):
        encode(deep)


def test_what_the_reader_takes_the_writer_writes() -> None:
    text = "[" * 32 + str(2**4096 - 1) + "]" * 32
    assert encode(read(text)).decode() == text


@pytest.mark.parametrize(
    ("value", "limit", "fits"), [(1, 0, True), ([], 0, False), ([[]], 2, True), ([[]], 1, False), (cycle(), 50, False)]
)
def test_nesting(value: object, limit: int, fits: bool) -> None:
    assert nesting(value, limit) is fits


def test_limits_refuse_what_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="below zero"):
        Limits(entries=-1)
    with pytest.raises(ValueError, match="above 128"):
        Limits(depth=1000)
    with pytest.raises(ValueError, match="at least one"):
        Limits(problems=0)
