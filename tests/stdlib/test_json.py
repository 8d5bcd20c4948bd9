"""Json of the standard library: pointers, patches, differences, paths and shapes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.lower.natives.json import found
from ael.types import json_path
from tests.stdlib.functions import ending, module

jsons = module("json")
pytestmark = [pytest.mark.feature("A15.9")]
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 1.0]), st.text("a/~é\n", max_size=3))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=4)),
    max_leaves=12,
)
BOOKS: Any = {
    "store": {
        "book": [
            {"category": "reference", "author": "Nigel Rees", "title": "Sayings of the Century", "price": 8.95},
            {"category": "fiction", "author": "Evelyn Waugh", "title": "Sword of Honour", "price": 12.99},
            {"category": "fiction", "author": "Herman Melville", "title": "Moby Dick", "isbn": "0-553-21311-3", "price": 8.99},
            {"category": "fiction", "author": "J. R. R. Tolkien", "title": "The Lord of the Rings", "isbn": "0-395-19395-8",
             "price": 22.99},
        ],
        "bicycle": {"color": "red", "price": 399},
    }
}  # fmt: skip
MIXED: Any = {
    "a": [3, 5, 1, 2, 4, 6, {"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}],
    "o": {"p": 1, "q": 2, "r": 3, "s": 5, "t": {"u": 6}},
    "e": "f",
}
DEEP: Any = {"o": {"j": 1, "k": 2}, "a": [5, 3, [{"j": 4}, {"k": 6}]]}
NULLS: Any = {"a": None, "b": [None], "c": [{}], "null": 1}
ODD: Any = {"o": {"j j": {"k.k": 3}}, "'": {"@": 2}, "é": 1}


def titles(*indexes: int) -> list[object]:
    return [BOOKS["store"]["book"][i]["title"] for i in indexes]


@pytest.mark.parametrize(
    ("value", "path", "wanted"),
    [
        (BOOKS, "$.store.book[*].author", [book["author"] for book in BOOKS["store"]["book"]]),
        (BOOKS, "$..author", [book["author"] for book in BOOKS["store"]["book"]]),
        (BOOKS, "$.store.*", [BOOKS["store"]["book"], BOOKS["store"]["bicycle"]]),
        (BOOKS, "$.store..price", [8.95, 12.99, 8.99, 22.99, 399]),
        (BOOKS, "$..book[2].title", titles(2)),
        (BOOKS, "$..book[-1].title", titles(3)),
        (BOOKS, "$..book[0,1].title", titles(0, 1)),
        (BOOKS, "$..book[:2].title", titles(0, 1)),
        (BOOKS, "$..book[?@.isbn].title", titles(2, 3)),
        (BOOKS, "$..book[?@.price<10].title", titles(0, 2)),
        (BOOKS, "$.store.book[?@.price > $.store.book[0].price && @.category == 'fiction'].title", titles(1, 2, 3)),
        (MIXED, "$.a[?@.b == 'kilo']", [{"b": "kilo"}]),
        (MIXED, "$.a[?(@.b == 'kilo')]", [{"b": "kilo"}]),
        (MIXED, "$.a[?@>3.5]", [5, 4, 6]),
        (MIXED, "$.a[?@.b]", [{"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}]),
        (MIXED, "$[?@.*]", [MIXED["a"], MIXED["o"]]),
        (MIXED, "$[?@[?@.b]]", [MIXED["a"]]),
        (MIXED, "$.o[?@<3, ?@<3]", [1, 2, 1, 2]),
        (MIXED, '$.a[?@<2 || @.b == "k"]', [1, {"b": "k"}]),
        (MIXED, '$.a[?match(@.b, "[jk]")]', [{"b": "j"}, {"b": "k"}]),
        (MIXED, '$.a[?search(@.b, "[jk]")]', [{"b": "j"}, {"b": "k"}, {"b": "kilo"}]),
        (MIXED, "$.o[?@>1 && @<4]", [2, 3]),
        (MIXED, "$.o[?@.u || @.x]", [{"u": 6}]),
        (MIXED, "$.a[?@.b == $.x]", [3, 5, 1, 2, 4, 6]),
        (MIXED, "$.a[?@ == @]", MIXED["a"]),
        (MIXED, "$.a[?!@.b]", [3, 5, 1, 2, 4, 6]),
        (MIXED, "$.a[?!(@.b || @ > 2)]", [1, 2]),
        (MIXED, "$.a[?length(@.b) > 1]", [{"b": "kilo"}]),
        (MIXED, "$.a[?value(@..b) == 'j']", [{"b": "j"}]),
        (DEEP, "$..j", [1, 4]),
        (DEEP, "$..[0]", [5, {"j": 4}]),
        (DEEP, "$..o", [{"j": 1, "k": 2}]),
        (DEEP, "$.o..[*, *]", [1, 2, 1, 2]),
        (DEEP, "$.a..[0, 1]", [5, 3, {"j": 4}, {"k": 6}]),
        (NULLS, "$.a", [None]),
        (NULLS, "$.a[0]", []),
        (NULLS, "$.a.d", []),
        (NULLS, "$.b[?@]", [None]),
        (NULLS, "$.b[?@==null]", [None]),
        (NULLS, "$.c[?@.d==null]", []),
        (NULLS, "$.null", [1]),
        (ODD, "$.o['j j']", [{"k.k": 3}]),
        (ODD, "$.o['j j']['k.k']", [3]),
        (ODD, '$.o["j j"]["k.k"]', [3]),
        (ODD, '$["\'"]["@"]', [2]),
        (ODD, "$['\\'']", [{"@": 2}]),
        (ODD, "$.é", [1]),
        (ODD, "$['\\u00e9']", [1]),
        (["a", "b", "c", "d", "e", "f", "g"], "$[1:3]", ["b", "c"]),
        (["a", "b", "c", "d", "e", "f", "g"], "$[5:]", ["f", "g"]),
        (["a", "b", "c", "d", "e", "f", "g"], "$[1:5:2]", ["b", "d"]),
        (["a", "b", "c", "d", "e", "f", "g"], "$[5:1:-2]", ["f", "d"]),
        (["a", "b"], "$[::-1]", ["b", "a"]),
        (["a", "b"], "$[::0]", []),
        (["a", "b"], "$[-3]", []),
        ({"😀": 1}, "$['\\uD83D\\uDE00']", [1]),
    ],
)
def test_the_examples_of_rfc_9535(value: Any, path: str, wanted: list[Any]) -> None:
    assert jsons.select(value, path) == wanted
    assert [found(value, pointer) for pointer in jsons.pointers(value, path)] == [[one] for one in wanted]


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("$.absent1 == $.absent2", True), ("$.absent1 <= $.absent2", True), ("$.absent == 'g'", False),
        ("$.absent1 != $.absent2", False), ("$.absent != 'g'", True), ("1 <= 2", True), ("1 > 2", False), ("13 == '13'", False),
        ("'a' <= 'b'", True), ("'a' > 'b'", False), ("$.obj == $.arr", False), ("$.obj != $.arr", True), ("$.obj == $.obj", True),
        ("$.obj != $.obj", False), ("$.arr == $.arr", True), ("$.obj == 17", False), ("$.obj <= $.arr", False), ("$.obj < $.arr", False),
        ("$.obj <= $.obj", True), ("$.arr <= $.arr", True), ("1 <= $.arr", False), ("1 >= $.arr", False), ("1 > $.arr", False),
        ("true <= true", True), ("true > true", False), ("1 == 1.0", True), ("1 == true", False), ("-0 == 0", True), ("1e2 == 100", True),
    ],
)  # fmt: skip
def test_the_comparisons_of_rfc_9535(condition: str, holds: bool) -> None:
    value = {"obj": {"x": "y"}, "arr": [2, 3]}
    assert (len(jsons.select(value, f"$[?{condition}]")) > 0) is holds


@pytest.mark.parametrize(
    "path",
    ["", "a", "@", "$.", "$..", "$[", "$[]", "$[01]", "$[-0]", "$[1.0]", "$['a", "$['\\x']", "$['\n']", "$.a[?]", "$.a[?1]", "$[?'a']",
     "$.a[?@.*==1]", "$.a[?@..b==1]", "$.a[?@[0,1]==1]", "$.a[?match(@)]", "$[?match(@, 'a') == true]", "$[?length(@)]",
     "$[?count(1) == 1]", "$[?length(@.*) == 1]",
     "$ ", " $", "$.1", "$[1 2]", "$[?nothing(@)]", "$[?@ = 1]", "$[?!@ == 1]", "$[?(@.a]", "$[9007199254740992]",
     "$[?@==1e999]", "$.a b", "$[?@ && ]", "$" + ".a" * 1_000, "$" + "[?@" * 20 + "]" * 20, "$[?" + "(" * 20 + "@" + ")" * 20 + "]"],
)  # fmt: skip
def test_a_path_that_is_none_says_where(path: str) -> None:
    name, told = ending(jsons.select, {"a": [1]}, path)
    assert name == "BadPath"
    assert 0 <= told["at"] <= len(path)
    assert told["reason"]


@given(st.text("$@.[]*?:,'\"ab01-=!&|()<> ", max_size=24))
def test_any_path_selects_or_is_told_to_be_none(path: str) -> None:
    told = ending(jsons.select, MIXED, path)
    assert isinstance(told, list) or told[0] == "BadPath"


def test_what_looks_at_too_much_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_path, "MAX_WORK", 100_000)
    wide = {f"k{i}": [f"{'a' * 50}{j}" for j in range(10)] for i in range(1_000)}
    assert ending(jsons.select, wide, "$..[?$..*]") == "TooLarge"
    assert ending(jsons.transform, wide, [{"$count": "$..*"}] * 20) == "TooLarge"
    pattern = f"{'a?' * 500}b"
    assert jsons.select(wide, f"$.k1[?search(@, '{pattern}')]") == []


@given(VALUES)
def test_flat_parts_are_where_their_pointers_say(value: Any) -> None:
    flat = jsons.flatten(value)
    for pointer, part in flat.items():
        assert found(value, pointer) == [part]
        assert jsons.has(value, pointer)
        assert jsons.set(value, pointer, part) == value
        changed = jsons.set(value, pointer, {"new": 1})
        assert found(changed, pointer) == [{"new": 1}]
        assert {k: v for k, v in jsons.flatten(changed).items() if k != f"{pointer}/new"} == {
            k: v for k, v in flat.items() if k != pointer
        }
        assert pointer == "" or len(jsons.flatten(jsons.remove(value, pointer))) >= len(flat) - 1
    assert jsons.select(value, "$..*") == [found(value, pointer)[0] for pointer in jsons.pointers(value, "$..*")]


@given(VALUES, st.text("/~01ab-", max_size=6))
def test_any_pointer(value: Any, pointer: str) -> None:
    told = ending(jsons.set, value, pointer, 1)
    if isinstance(told, tuple):
        assert told[0] == "BadPath"
    else:
        assert jsons.has(told, pointer) or pointer.endswith("-")
    removed = ending(jsons.remove, value, pointer)
    assert (
        isinstance(removed, tuple)
        or pointer == ""
        or removed == value
        or not jsons.has(removed, pointer)
        or "[" in json.dumps(value)
    )


def test_an_index_has_one_form() -> None:
    assert [jsons.has([[1], [2]], pointer) for pointer in ("/0/0", "/00", "/1", "/01", "/-", "/-1", "/2", "/+1", "/1e0", "/\u0661")] == [
        True, False, True, False, False, False, False, False, False, False,
    ]  # fmt: skip


def patched(value: Any, patch: Any) -> Any:
    """The algorithm of RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    made = dict(value) if isinstance(value, dict) else {}
    for name, one in patch.items():
        if one is None:
            made.pop(name, None)
        else:
            made[name] = patched(made.get(name), one)
    return made


@given(VALUES, VALUES)
def test_patches_and_differences(before: Any, after: Any) -> None:
    assert jsons.merge(before, after) == patched(before, after)
    patch = jsons.create_merge_patch(before, after)
    if patch is not None:
        assert jsons.same(jsons.merge(before, patch), after)
    changes = jsons.diff(before, after)
    assert (changes == []) == jsons.same(before, after)
    for change in changes:
        assert found(before, change["pointer"]) == ([] if change["kind"] == "Added" else [change["before"]])
        assert found(after, change["pointer"]) == ([] if change["kind"] == "Removed" else [change["after"]])


@given(VALUES)
def test_texts(value: Any) -> None:
    assert jsons.canonical(value) == json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert jsons.pretty(value, 2) == json.dumps(value, indent=2, ensure_ascii=False)
    assert jsons.try_parse(jsons.canonical(value)) == value
    assert jsons.transform(value, "$") == value
    assert jsons.same(value, json.loads(json.dumps(value)))


@given(VALUES, st.recursive(st.sampled_from(["$", "$.a", "$..b", "$$x", 1, None, "text", "$["]), lambda inner: st.one_of(
    st.lists(inner, max_size=3),
    st.dictionaries(st.sampled_from(["a", "$$b", "$all", "$count", "$each", "$to"]), inner, max_size=3),
), max_leaves=8))  # fmt: skip
def test_any_shape_makes_a_value_or_is_told_to_be_none(value: Any, shape: Any) -> None:
    made = ending(jsons.transform, value, shape)
    if isinstance(made, tuple):
        assert made[0] == "BadPath"
    else:
        json.dumps(made)


def test_values_that_are_too_deep_are_a_fault() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    assert ending(jsons.flatten, deep) == "TooDeep"
    assert ending(jsons.diff, deep, deep) == "TooDeep"
    assert ending(jsons.same, deep, deep) in (True, "TooDeep")
    assert ending(jsons.canonical, deep) == ending(jsons.pretty, deep, 2) == "Malformed"
    assert ending(jsons.select, deep, "$..a") == []
