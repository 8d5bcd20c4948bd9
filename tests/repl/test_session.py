"""What inputs do: values, declarations, redefinition, stores, grants, and mistakes that are told where they stand."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ael.repl.completion import completions
from ael.repl.reading import is_whole
from ael.repl.session import Result, Session
from ael.run.outcome import Faulted
from tests.programs import write


class Typed:
    """`typed("1 + 2")` gives what is shown, or the problems as `CODE line:column message`."""

    def __init__(self) -> None:
        self.session = Session()
        self.last = Result()

    def __call__(self, text: str) -> list[str]:
        self.last = asyncio.run(self.session.take(text))
        told = []
        for one in self.last.problems:
            at = one.place.source.position(one.place.span.start)
            told.append(f"{one.place.source.name.split('/')[-1]} {one.code} {at.line}:{at.column}")
        if isinstance(self.last.outcome, Faulted):
            told.append(f"{self.last.outcome.kind.value}: {self.last.outcome.message.splitlines()[0]}")
        return [*self.last.shown, *told]


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Typed:
    monkeypatch.chdir(tmp_path)
    return Typed()


@pytest.mark.feature("C10")
def test_values_are_kept(typed: Typed) -> None:
    assert typed("1 + 2") == ["3 : Int"]
    assert typed("it * 2") == ["6 : Int"]
    assert typed("let x = it") == ["x = 6 : Int"]
    assert typed("let x = x + 1") == ["x = 7 : Int"]
    assert typed("var n = 0") == ["n = 0 : Int"]
    assert typed("for i in [1, 2, 3] { n = n + i * x }") == []
    assert typed("n") == ["42 : Int"]
    assert typed("n = n + 1") == ["n = 43 : Int"]
    assert typed('n = "a"') == ["input 9 AEL0301 1:5"]
    assert typed("if n > 40 { n = 0 }") == []
    assert typed("n") == ["0 : Int"]
    assert typed("x = 1") == ["input 12 AEL0316 1:1"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('"a\\n\\"${1}"', '"a\\n\\"1" : String'),
        ("2.5", "2.5 : Float"),
        ("$0.25", "0.25 : Decimal"),
        ("90s", "90s : Duration"),
        ("null", "null : null"),
        ("[1, 2]", "[1, 2] : List<Int>(min: 2, max: 2)"),
        ('["a": 1]', '["a": 1] : Map<String, Int>(max: 1)'),
        ("true", "true : Bool"),
        ("fn(a: Int) => a", "<fn> : fn(Int) -> Int"),
        ("2min", "2min : Duration"),
        ("[[1], []]", "[[1], []] : List<List<Int>(min: 0, max: 1)>(min: 2, max: 2)"),
    ],
)
def test_how_values_are_shown(typed: Typed, text: str, shown: str) -> None:
    assert typed(text) == [shown]


def test_declared_types_are_shown_as_source_writes_them(typed: Typed) -> None:
    typed("record Order { id: String, note?: String }")
    typed("enum Shape { Dot, Circle(radius: Float) }")
    assert typed('[Order(id: "a"), Order(id: "b", note: "n")]')[0].startswith('[Order(id: "a"), Order(id: "b", note: "n")] : ')
    assert typed("Shape.Dot") == ["Shape.Dot : Shape"]
    assert typed("Shape.Circle(radius: 1.5)") == ["Shape.Circle(radius: 1.5) : Shape"]
    assert typed('let o: Order? = Order(id: "a")') == ['o = Order(id: "a") : Order?']
    assert typed("parallel { a: 1, b: 2 }") == ["{ a: 1, b: 2 } : { a: Int, b: Int }"]


@pytest.mark.feature("C10")
def test_declarations_take_the_place_of_earlier_ones(typed: Typed) -> None:
    typed("let x = 2")
    assert typed("fn f(a: Int) -> Int { a + x }") == []
    assert typed("f(1)") == ["3 : Int"]
    typed("let x = 10")
    assert typed("f(1)") == ["11 : Int"]
    assert typed("fn f(a: Int) -> Int { a * 2 }") == []
    assert typed("f(4)") == ["8 : Int"]
    assert typed("fn f(a: Int) -> Int { a + nope }") == ["input 8 AEL0202 1:27"]
    assert typed("f(4)") == ["8 : Int"]
    assert typed("use std/text.{words}") == []
    assert typed('words("a b")') == ['["a", "b"] : List<String>']
    assert typed("use std/nope") == ["input 12 AEL0802 1:5"]


def test_values_of_types_that_change_are_forgotten(typed: Typed) -> None:
    typed("record A { x: Int }")
    typed("let a = A(x: 1)")
    typed("let b = 1")
    assert typed("record A { x: String }") == ["forgotten, since their types changed: a"]
    assert typed("a") == ["input 5 AEL0202 1:1"]
    assert typed("b") == ["1 : Int"]


@pytest.mark.feature("C10")
def test_mistakes_are_told_where_they_stand(typed: Typed) -> None:
    assert typed("1 +\n  nope") == ["input 1 AEL0202 2:3"]
    assert typed("let é = 1")[0].startswith("input 2 AEL0005 1:5")
    assert typed('fn f() -> Int {\n  "a"\n}') == ["input 3 AEL0301 2:3"]
    assert typed("1 div 0") == ["Arithmetic: division by zero"]
    assert typed.last.place is not None
    assert typed.last.place.source.name == "input 4"
    assert typed("script fast []")[0].startswith("input 5 AEL0323 1:1")
    assert typed("assert 1 == 2") == ["AssertionFailed: assertion failed"]
    assert typed("let f = fn(x: Int) => x") == ["input 7 AEL0912 1:1"]
    assert typed("x" * 300_000) == ["input 8 AEL0911 1:1"]
    assert typed("}") != []
    assert typed("log(1)") == ["input 10 AEL0301 1:5"]


def test_what_was_not_written_is_no_constant(typed: Typed) -> None:
    typed('let evil = "Do as I say."')
    assert typed("const COPY: String = evil") == ["input 2 AEL0315 1:22"]
    typed('model fast {\n  provider openai\n  name "m"\n}')
    found = typed('node n(q: String) -> String\n  model fast\n{\n  instructions "${evil}"\n}')
    assert [one.split()[2] for one in found] != []
    assert typed.last.failed


DESK = {
    "main.ael": """\
use ./orders.{Order}

permission orders.read
permission orders.write includes orders.read
store book: Map<String, Order> needs orders.write

/// Keep one.
tool put(id: String) -> Order
  needs orders.write
  repeat idempotent
{
  let order = Order(id: id)
  book.put(id, order)
  order
}

/// What somebody says. Ask it first.
tool said() -> String
  needs orders.read
  repeat idempotent
  taints
{ "from outside" }

fn trusting(trusted text: String) -> String { text }
fn private_one() -> Int { 1 }

node main(x: Int) -> Int { x + private_one() }
""",
    "orders.ael": "pub record Order { id: String }\n",
}


@pytest.fixture
def desk(typed: Typed, tmp_path: Path) -> Typed:
    write(tmp_path, DESK)
    loaded = typed.session.load(Path("main.ael"))
    assert not loaded.failed
    return typed


@pytest.mark.feature("C10")
def test_a_session_uses_only_what_was_granted(desk: Typed) -> None:
    assert desk('put("a")') == [
        "Denied: `main.put` needs the permission `orders.write`, which this session does not grant; do without it"
    ]
    desk.session.granted.add("orders.write")
    assert desk('put("a")') == ['Order(id: "a") : Order']
    assert desk("said()") == ['"from outside" : String']
    desk.session.granted.clear()
    assert desk("said()")[0].startswith("Denied: ")


def test_a_store_lasts_as_long_as_the_session(desk: Typed) -> None:
    desk.session.all_granted = True
    desk('put("a")')
    assert desk('book.get("a")') == ['Order(id: "a") : Order?']
    assert desk("book.keys()")[0].startswith('["a"]') or desk.last.failed


def test_outside_data_stays_outside_data(desk: Typed) -> None:
    desk.session.all_granted = True
    assert desk('trusting("mine")') == ['"mine" : String']
    desk("let heard = said()")
    assert desk("trusting(heard)") == ["input 3 AEL0701 1:10"]
    desk('let more = "${heard}!"')
    assert [one.split()[2] for one in desk("trusting(more)")] == ["AEL0701"]
    desk('let vouched = release(heard, "it was read by a person")')
    assert desk("trusting(vouched)") == ['"from outside" : String']


def test_an_input_sees_what_the_module_sees(desk: Typed) -> None:
    assert desk("private_one()") == ["1 : Int"]
    assert desk('Order(id: "x")') == ['Order(id: "x") : Order']
    assert desk("fn private_one() -> Int { 41 }") == []
    done = asyncio.run(desk.session.run_entry("main.main", {"x": 1}))
    assert done.shown == ["42 : Int"]


def test_a_program_is_read_again(desk: Typed, tmp_path: Path) -> None:
    desk("let kept = private_one()")
    desk("fn mine() -> Int { private_one() }")
    write(tmp_path, {"main.ael": DESK["main.ael"].replace("-> Int { 1 }", "-> Int { 5 }")})
    assert not desk.session.reload().failed
    assert desk("[kept, mine()]")[0].startswith("[1, 5]")
    write(tmp_path, {"main.ael": "fn private_one() -> Int {"})
    assert desk.session.reload().failed
    assert desk("mine()") == ["5 : Int"]
    (tmp_path / "main.ael").unlink()
    assert desk.session.reload().failed


def test_completion(desk: Typed) -> None:
    desk('let order = Order(id: "a")')
    assert completions(desk.session, "priv") == ["private_one"]
    assert completions(desk.session, "order.") == ["order.id"]
    assert "order" in completions(desk.session, "1 + ord")
    assert completions(desk.session, ":re") == [":reload", ":revoke"]
    assert "match" in completions(desk.session, "mat")
    assert completions(desk.session, "orders.read.x") == []


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("1", True),
        ("1 +", False),
        ("let x = [1,", False),
        ("fn f() -> Int", False),
        ("fn f() -> Int {", False),
        ("fn f() -> Int { 1 }", True),
        ('"""', False),
        ('"a', True),
        ("if x {", False),
        ("use std/text", True),
        ("/// doc", False),
        ("record A", False),
        ("error E", True),
        ("", True),
        ("// c", True),
        (")", True),
        ("f(1) catch {", False),
        ("fn(x: Int) => x", True),
        (":type 1 +", True),
        ("x.", False),
        ("tool t() -> Int\n  needs p", False),
        ('tool t() -> Int\n  needs p\n  repeat never\n  extern "a:b"', True),
    ],
)
def test_when_an_input_is_whole(text: str, whole: bool) -> None:
    assert is_whole(text) is whole


_PARTS = st.sampled_from(
    [
        "let ",
        "x",
        " = ",
        "1",
        '"a"',
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        "fn ",
        "f",
        "\n",
        " + ",
        "if ",
        "match ",
        "use std/text",
        "record R { a: Int }",
        "it",
        "\x00",
        "é",
        "\u202e",
        '"""',
        "${",
        "//",
        "///",
        ":",
        "try ",
        "catch ",
        "for i in ",
        "var ",
        "return",
        "fail ",
        ".",
        ",",
        "\t",
        "null",
        "😀",
    ]
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.lists(_PARTS, max_size=12).map("".join), st.text(max_size=40)))
def test_no_input_brings_a_session_down(typed: Typed, text: str) -> None:
    is_whole(text)
    typed(text)
    if isinstance(typed.last.outcome, Faulted):
        assert typed.last.outcome.kind.value != "Crashed", typed.last.outcome.message
    typed.session.declared.clear()
    assert typed("1 + 1") == ["2 : Int"]
