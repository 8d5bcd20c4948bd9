"""A function that can fail keeps that with it wherever it goes: nothing launders an `Uncertain` (or an error) on the way to its call."""

from __future__ import annotations

import pytest

from tests.check.helpers import check

HEAD = """permission p.p
service S {
  once(x: Int) -> Int  needs p.p  repeat never
}
fn apply(f: fn() -> Int) -> Int { f() }
fn delay<T>(f: fn() -> T) -> fn() -> T { f }
fn wrap(f: fn() -> Int) -> fn() -> Int { fn() => f() }
fn make<T>(f: fn() -> Int, g: fn(fn() -> Int) -> T) -> T { g(f) }
"""
AT = HEAD.count("\n")
RISKY = "fn() => try S.once(1)"
MET = "catch { Uncertain u => "


def told(code: str) -> list[str]:
    """The codes and lines (from 1, below the head) of what is told."""
    found = []
    for one in check(HEAD + code):
        name, at, _ = one.split(" ", 2)
        found.append(f"{name} {int(at.partition(':')[0]) - AT}")
    return found


@pytest.mark.feature("D2")
@pytest.mark.parametrize(
    "made",
    [
        RISKY,
        f"delay({RISKY}) {MET}fn() => 0 }}",
        f"wrap({RISKY}) {MET}fn() => 0 }}",
        f"make({RISKY}, fn(h) => h) {MET}fn() => 0 }}",
        f"(fn(h: fn() -> Int) => h)({RISKY}) {MET}fn() => 0 }}",
        f"if 1 > 2 {{ fn() => 0 }} else {{ {RISKY} }}",
        f"(if 1 > 2 {{ [fn() => 0] }} else {{ [{RISKY}] }})[0]",
        f"([fn() => 0].append({RISKY}) {MET}[fn() => 0] }})[1]",
        f"[{RISKY}].reverse()[0]",
        f"(parallel {{ a: {RISKY}, b: 1 }}).a",
    ],
)
def test_what_a_kept_function_fails_with_has_to_be_met_where_it_is_called(made: str) -> None:
    assert told(f"fn f() -> Int {{\n  let g = {made}\n  g()\n}}\n") == ["AEL0403 3"]
    assert told(f"fn f() -> Int fails Uncertain {{\n  let g = {made}\n  try g()\n}}\n") == []


@pytest.mark.feature("D2")
@pytest.mark.parametrize(
    ("type", "made"),
    [
        ("fn() -> Int", RISKY),
        ("List<fn() -> Int>", f"[{RISKY}]"),
        ("List<fn() -> Int>", f"[{RISKY}].take(1)"),
        ("Map<String, fn() -> Int>", f'["a": {RISKY}]'),
        ("(fn() -> Int)?", RISKY),
        ("fn() -> fn() -> Int", f"fn() => {RISKY}"),
    ],
)
def test_a_written_type_does_not_hide_what_a_function_fails_with(type: str, made: str) -> None:
    assert told(f"fn f() {{\n  let g = {made}\n  let _h: {type} = g\n}}\n") == ["AEL0325 3"]
    assert told(f"fn f() -> {type} {{\n  let g = {made}\n  g\n}}\n") == ["AEL0325 3"]


@pytest.mark.feature("D2")
def test_a_call_that_is_given_a_function_fails_with_what_it_does_and_that_is_said_once() -> None:
    assert told(f"fn f() -> Int {{ apply({RISKY}) }}") == ["AEL0403 1"]
    assert told(f"fn f() -> Int fails Uncertain {{ try apply({RISKY}) }}") == []
    assert told(f"fn f() -> Int {{\n  let g = [{RISKY}]\n  g.map(fn(h) => 1)[0]\n}}") == []
    assert told(f"fn f() -> List<Int> {{\n  let g = [{RISKY}]\n  g.map(fn(h) => h())\n}}") == ["AEL0403 3"]
