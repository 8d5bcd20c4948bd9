"""Failures: `fails`, `try`, `catch`, `fail`; `Uncertain` must be faced."""

# ruff: noqa: E501 (messages are quoted whole)

from __future__ import annotations

import pytest

from ael.syntax import nodes as n
from tests.check.helpers import check, codes, mended, offered, program

HEAD = """error A { x: Int }
error B { y: String }
fn a(x: Int) -> Int fails A { if x > 1 { fail A(x: x) }
  x }
fn ab(x: Int) -> Int fails A, B { if x > 1 { fail A(x: x) }
  if x > 0 { fail B(y: "b") }
  x }
permission p.p
service S {
  safe(x: Int) -> Int fails A  needs p.p  repeat idempotent
  once(x: Int) -> Int fails A  needs p.p  repeat never
  look(x: Int) -> Int          needs p.p  repeat reconcile
}
"""
AT = HEAD.count("\n")


def told(code: str) -> list[str]:
    """What is told about `code` below the head, lines counted from 1."""
    lines = []
    for one in check(HEAD + code):
        code_, at, message = one.split(" ", 2)
        line, column = at.split(":")
        lines.append(f"{code_} {int(line) - AT}:{column} {message}")
    return lines


@pytest.mark.parametrize(
    "code",
    [
        "fn f() -> Int fails A { try a(1) }",
        "fn f() -> Int fails A, B { try ab(try a(1)) }",
        "fn f() -> Int { a(1) catch { A e => e.x } }",
        "fn f() -> Int { ab(1) catch { A e => e.x\n B e => e.y.length() } }",
        "fn f() -> Int { ab(1) catch { A | B => 2 } }",
        "fn f() -> Int { ab(1) catch { _ => 2 } }",
        "fn f() -> Int fails B { try ab(1) catch { A _ => 0 } }",
        "fn f() -> Int fails B { try ab(1) catch { A e if e.x > 5 => 0\n A _ => 1 } }",
        "fn f() -> Int fails A { try { let x = a(1)\n a(x) } }",
        "fn f() -> Int { { let x = a(1)\n fail A(x: x) } catch { A _ => 1 } }",
        "fn f() -> List<Int> fails A { try [1, 2].map(a) }",
        "fn f() -> List<Int> fails A { try [1, 2].map(fn(x) => try a(x)) }",
        "fn f() -> List<Int> { [1, 2].map(fn(x) => a(x) catch { A e => e.x }) }",
        "fn f() -> Int fails A { let g = fn(x: Int) => try a(x)\n try g(1) }",
        "fn f() -> Int { 1 div 0 catch { Arithmetic e => e.message.length() } }",
        "fn f() -> Int { a(1) catch { A _ => 1\n Fault t => t.kind.length() } }",
        "fn f(e: A) -> Int fails A { fail e }",
        "fn f() -> Int fails A { a(1) catch { A e => { fail e } } }",
        "fn f() -> Int { 1 div 0 catch { Fault t => { fail t } } }",
        "fn f(x: A | B) -> Int fails A, B { fail x }",
        'test "any" { let _x = try ab(1)\n fail A(x: 1) }',
        "fn f() -> List<Int> fails A { try parallel x in [1] { a(x) } }",
        "fn f() -> Int fails A { (try parallel { x: a(1), y: 2 }).x }",
        "fn f() -> Int fails A { match try a(1) { 0 => 1\n _ => try a(2) } }",
        "fn f() -> Int fails A { if (try a(1)) > 1 { 1 } else { 2 } }",
        "fn f(g: fn(Int) -> Int) -> Int { g(1) }\nfn h() -> Int fails A { try f(a) }",
        "fn f() -> Int fails A { try S.safe(1) }",
    ],
)
def test_failures_that_are_met(code: str) -> None:
    assert told(code) == []


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("fn f() -> Int fails A { a(1) }", "AEL0401 1:25 `a` can fail with `A`: pass it on with `try`, or meet it with `catch`"),
        ("fn f() -> Int { try a(1) }", "AEL0402 1:17 `try` passes on `A`, which `f` does not list in `fails`"),
        ("fn f() -> Int { try ab(1) }", "AEL0402 1:17 `try` passes on `A` and `B`, which `f` does not list in `fails`"),
        ("fn f() -> Int { ab(1) catch { A _ => 0 } }", "AEL0404 1:40 this `catch` leaves `B`: add an arm for each, or write `try` in front to pass them on"),
        ("fn f() -> Int { ab(1) catch { A e if e.x > 1 => 0\n B _ => 1 } }", "AEL0404 2:11 this `catch` leaves `A`: add an arm for each, or write `try` in front to pass them on"),
        ("fn f() -> Int { try ab(1) catch { A _ => 0 } }", "AEL0402 1:17 this passes on `B`, which `f` does not list in `fails`"),
        ("fn f() -> Int { fail A(x: 1) }", "AEL0402 1:17 this fails with `A`, which `f` does not list in `fails`"),
        ("fn f() -> Int { fail 1 }", "AEL0409 1:22 `fail` takes an error, and `Int` is none"),
        ("fn f() -> Int fails Timeout { 1 }", "AEL0408 1:21 `Timeout` is a fault, and faults pass on by themselves: `fails` lists declared errors and `Uncertain`"),
        ("fn f() -> Int fails S { 1 }", "AEL0408 1:21 `S` is a service, not an error: `error S { … }` declares one"),
        ("fn f() -> Int fails Aa { 1 }", "AEL0203 1:21 there is no error `Aa`"),
        ("fn f() -> Int { 1 div 0 catch { Cancelled _ => 0 } }", "AEL0407 1:33 `Cancelled` cannot be caught: who cancels a run means all of it"),
        ("fn f() -> Int { a(1) catch { A _ => 0\n B _ => 1 } }", "AEL1104 2:2 nothing here can fail with `B`, so this arm is never taken"),
        ("fn f() -> Int { a(1) catch { A _ => 0\n A _ => 1 } }", "AEL1104 2:2 this arm is never taken: the ones above it take everything that it matches"),
        ("fn f() -> List<Int> fails A { [1].map(a) }", "AEL0401 1:31 `map` can fail with `A`: pass it on with `try`, or meet it with `catch`"),
        ("fn f() -> Int { let g = fn(x: Int) => try a(x)\n g(1) }", "AEL0401 2:2 this function can fail with `A`: pass it on with `try`, or meet it with `catch`"),
        ("fn f() -> fn(Int) -> Int { a }", "AEL0325 1:28 this function can fail with `A`, which its type here does not say"),
        ("fn f() -> Int { [1].map(fn(x) => a(x))\n 1 }", "AEL0401 1:34 `a` can fail with `A`: pass it on with `try`, or meet it with `catch`"),
        ("const N = 1\nnode f() -> Int { try a(N) }", "AEL0402 2:19 `try` passes on `A`, which `f` does not list in `fails`"),
    ],
)  # fmt: skip
def test_failures_that_are_not(code: str, message: str) -> None:
    assert told(code) == [message]


def test_an_unlisted_error_is_told_once_for_a_callable() -> None:
    assert len(told("fn f() -> Int { (try a(1)) + (try a(2)) + (try a(3)) }")) == 1


def test_fixes() -> None:
    text = HEAD + "fn f() -> Int fails A { a(1) }"
    assert mended(text) == HEAD + "fn f() -> Int fails A { try a(1) }"
    text = HEAD + "fn f() -> Int { try a(1) }"
    assert mended(text) == HEAD + "fn f() -> Int fails A { try a(1) }"
    text = HEAD + "fn f(x: Int) fails A { ab(x) }"
    once = offered(text, "AEL0401")
    assert mended(once) == HEAD + "fn f(x: Int) fails A, B { try ab(x) }"
    text = HEAD + 'fn f() { log("${try a(1)}") }'
    assert mended(text) == HEAD + 'fn f() fails A { log("${try a(1)}") }'
    text = HEAD + "fn f() -> Int {\n  ab(1) catch {\n    A _ => 0\n  }\n}"
    assert offered(text, "AEL0404") == HEAD + "fn f() -> Int {\n  ab(1) catch {\n    A _ => 0\n    B b => { }\n  }\n}"


# --- Uncertain -----------------------------------------------------------------------------------------------------------

TOOL = """/// Do it. Call when asked.
tool t(x: Int) -> Int fails A
  needs p.p
  repeat REPEAT
{
  BODY
}
"""


def tool(repeat: str, body: str) -> list[str]:
    """What is told about a tool."""
    return [one for one in told(TOOL.replace("REPEAT", repeat).replace("BODY", body)) if not one.startswith("AEL05")]


@pytest.mark.feature("D2")
@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("fn f() -> Int { S.look(1) }", 1),
        ("fn f() -> Int { try S.look(1) }", 1),
        ("fn f() -> Int { S.look(1) catch { _ => 0 } }", 1),
        ("fn f() -> Int { S.look(1) catch { Fault _ => 0 } }", 1),
        ("fn f() -> Int fails A { try S.once(1) catch { A _ => 0 } }", 1),
        ("fn f() -> List<Int> { [1].map(fn(x) => try S.look(x)) }", 1),
        ("node f() -> Int grants p.p { S.look(1) }", 1),
        ("fn f() -> Int { S.look(1) catch { Uncertain u => u.key.length() } }", 0),
        ("fn f() -> Int fails Uncertain { try S.look(1) }", 0),
        ("fn f() -> Int fails Uncertain { S.look(1) catch { Uncertain u => { fail u } } }", 0),
        ("fn f() -> Int fails A, Uncertain { try S.once(1) }", 0),
        ("fn f() -> Int { S.once(1) catch { Uncertain _ => 1\n _ => 0 } }", 0),
        ("fn f() -> List<Int> fails Uncertain { try [1].map(fn(x) => try S.look(x)) }", 0),
        ('test "t" { let _x = try S.look(1) }', 0),
        ('test "t" { let _x = S.look(1) }', 1),
    ],
)
def test_uncertain_must_be_faced(code: str, count: int) -> None:
    found = [one for one in told(code) if not one.startswith("AEL05")]
    assert [one[:7] for one in found] == ["AEL0403"] * count


@pytest.mark.feature("D2")
def test_a_callable_that_can_end_uncertain_itself_need_not_list_it_but_says_try() -> None:
    assert tool("reconcile", "try S.look(x)") == []
    assert tool("never", "try S.once(x)") == []
    assert [one[:7] for one in tool("reconcile", "S.look(x)")] == ["AEL0403"]
    assert [one[:7] for one in tool("idempotent", "try S.look(x)")] == ["AEL0403"]


@pytest.mark.feature("D2")
def test_callers_of_such_a_tool_face_it() -> None:
    reconcile = TOOL.replace("REPEAT", "reconcile").replace("BODY", "x")
    assert [one[:7] for one in told(reconcile + "fn f() -> Int fails A { try t(1) }")] == ["AEL0403"]
    assert told(reconcile + "fn f() -> Int fails A, Uncertain { try t(1) }") == []


@pytest.mark.feature("D2")
def test_a_model_driven_node_with_such_a_tool_lists_uncertain() -> None:
    node = """model m { provider openai, name "x" }
node ask(q: String) -> Stringfails
  model m
  policy loop(steps: 2, tool_calls: 2)
  grants p.p
  tools t
  budget tokens 100
{ instructions "Answer." }
"""
    reconcile = TOOL.replace("REPEAT", "reconcile").replace("BODY", "x")
    found = told(reconcile + node.replace("fails", ""))
    assert [one[:7] for one in found] == ["AEL0403"]
    assert told(reconcile + node.replace("fails", " fails Uncertain")) == []
    fixed = mended(HEAD + reconcile + node.replace("fails", ""))
    assert "-> String fails Uncertain\n" in fixed
    assert check(fixed) == []


def test_a_provider_of_an_operation_that_can_end_uncertain_may_pass_it_on() -> None:
    provide = """service Other { go(x: Int) -> Int  needs p.p  repeat reconcile }
provide Other grants p.p { fn go(x: Int) -> Int { try S.look(x) } }
"""
    assert told(provide) == []
    assert [one[:7] for one in told(provide.replace("repeat reconcile", "repeat idempotent")) if "AEL05" not in one] == [
        "AEL0403"
    ]


def test_what_a_try_can_fail_with_is_in_the_table() -> None:
    found = program(HEAD + "fn f() -> Int fails B { try ab(1) catch { A _ => 0 } }")
    tables = found.modules["main"].tables
    (errors,) = [names for node, names in tables.failures.items() if isinstance(node, n.Catch)]
    assert errors == {"main.A", "main.B"}


def test_a_wrong_call_inside_makes_no_follow_up() -> None:
    assert codes(HEAD + "fn f() -> Int { missing(1) catch { A _ => 0 } }") == ["AEL0202"]
    assert codes(HEAD + "fn f() -> Int fails A { try missing(1) }") == ["AEL0202"]


@pytest.mark.parametrize("arm", ["x => 0", "Unknown x => 0", "A(y) => 0", "5 => 0"])
def test_a_wrong_arm_is_told_and_not_that_something_is_left(arm: str) -> None:
    found = told(f"fn f() -> Int {{ S.once(1) catch {{ {arm} }} }}")
    assert len(found) == 1, found
