"""Generated programs: they agree with the same computed by Python, and always end in a value or a fault."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ael.types.fault import Fault, FaultKind
from tests.lower.helpers import World, act, compiled

QUICK = settings(max_examples=60, deadline=None, derandomize=True)
BITS = 4096

Tree = Any
"""A number, a variable's name, or (operator, left, right), or ("if", condition, then, otherwise)."""

_NUMBERS = st.one_of(st.integers(0, 20), st.sampled_from([1 << 40, 1 << 2000, (1 << 4095) - 1]))
_ATOMS: st.SearchStrategy[Tree] = st.one_of(_NUMBERS, st.sampled_from("abc"))


def _grow(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    condition = st.tuples(st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), inner, inner)
    return st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "div", "%"]), inner, inner),
        st.tuples(st.just("if"), condition, inner, inner),
        st.tuples(st.just("block"), inner),
        st.tuples(st.just("match"), inner, inner, inner),
        st.tuples(st.just("let"), inner, inner),
    )


TREES = st.recursive(_ATOMS, _grow, max_leaves=12)
PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "div": operator.floordiv, "%": operator.mod, "<": operator.lt,
    "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Text:
    """AEL text of a tree."""

    def __init__(self) -> None:
        self.lets = 0

    def of(self, tree: Tree) -> str:
        match tree:
            case int() | str():
                return str(tree)
            case ("if", (op, x, y), then, otherwise):
                return f"(if {self.of(x)} {op} {self.of(y)} {{ {self.of(then)} }} else {{ {self.of(otherwise)} }})"
            case ("block", inner):
                self.lets += 1
                name = f"v{self.lets}"
                return f"{{ let {name} = {self.of(inner)}\n {name} }}"
            case ("let", inner, other):
                self.lets += 1
                name = f"v{self.lets}"
                return f"{{ var {name} = {self.of(inner)}\n {name} = {self.of(other)}\n {name} }}"
            case ("match", subject, zero, other):
                return f"(match {self.of(subject)} {{ 0 => {self.of(zero)}\n _ => {self.of(other)} }})"
            case (op, left, right):
                return f"({self.of(left)} {op} {self.of(right)})"
        raise AssertionError(tree)


class TooBig(Exception):
    """An intermediate value beyond the bound: AEL may fail there, or give the exact value."""


def value(tree: Tree, names: dict[str, int], large: list[int]) -> Any:
    """What Python computes; how large the largest value on the way is, goes to `large`."""
    match tree:
        case int():
            found = tree
        case str():
            found = names[tree]
        case ("if", (op, x, y), then, otherwise):
            chosen = PYTHON[op](value(x, names, large), value(y, names, large))
            return value(then if chosen else otherwise, names, large)
        case ("block", inner):
            return value(inner, names, large)
        case ("let", inner, other):
            value(inner, names, large)
            return value(other, names, large)
        case ("match", subject, zero, other):
            return value(zero if value(subject, names, large) == 0 else other, names, large)
        case (op, left, right):
            found = PYTHON[op](value(left, names, large), value(right, names, large))
    large.append(abs(found).bit_length())
    return found


@QUICK
@given(TREES, st.lists(st.integers(-30, 30), min_size=3, max_size=3))
def test_expressions_agree_with_python(tree: Tree, numbers: list[int]) -> None:
    f = compiled(f"fn f(a: Int, b: Int, c: Int) -> Int {{ {Text().of(tree)} }}").functions["main.f"]
    names = dict(zip("abc", numbers, strict=True))
    large: list[int] = []
    try:
        expected: Any = value(tree, names, large)
    except ZeroDivisionError:
        expected = FaultKind.ARITHMETIC
    try:
        found: Any = f(*numbers)
    except Fault as fault:
        found = fault.kind
    if max(large, default=0) <= BITS:
        assert found == expected
    else:
        assert found == expected or found is FaultKind.ARITHMETIC
    if isinstance(found, int):
        assert found.bit_length() <= BITS + 64


FORMS = st.recursive(
    st.just("t"),
    lambda inner: st.one_of(
        st.tuples(st.just("pair"), inner, inner),
        st.tuples(st.just("block"), inner, inner),
        st.tuples(st.just("if"), inner, inner),
        st.tuples(st.just("match"), inner, inner),
        st.tuples(st.just("list"), inner, inner),
        st.tuples(st.just("swap"), inner, inner),
        st.tuples(st.just("catch"), inner),
        st.tuples(st.just("text"), inner, inner),
        st.tuples(st.just("default"), inner, inner),
    ),
    max_leaves=8,
)


class Traced:
    """A program whose every leaf is an effect with a number, and the order in which they must come."""

    def __init__(self) -> None:
        self.count = 0
        self.names = 0
        self.order: list[int] = []

    def of(self, form: Any) -> str:
        match form:
            case "t":
                self.count += 1
                self.order.append(self.count)
                return f"Trace.t({self.count})"
            case ("pair", a, b):
                return f"add({self.of(a)}, {self.of(b)})"
            case ("swap", a, b):
                return f"add(b: {self.of(a)}, a: {self.of(b)})"
            case ("block", a, b):
                self.names += 1
                name = f"v{self.names}"
                return f"{{ let {name} = {self.of(a)}\n add({name}, {self.of(b)}) }}"
            case ("if", a, b):
                return f"(if {self.of(a)} > 0 {{ {self.of(b)} }} else {{ 0 }})"
            case ("match", a, b):
                self.names += 1
                return f"(match {self.of(a)} {{ 0 => 0\n m{self.names} if m{self.names} > 0 => {self.of(b)}\n _ => 1 }})"
            case ("list", a, b):
                return f"[{self.of(a)}, {self.of(b)}].sum()"
            case ("catch", a):
                return f"({self.of(a)} catch {{ Timeout t => 0 }})"
            case ("text", a, b):
                return f'"${{{self.of(a)}}}-${{{self.of(b)}}}".length()'
            case ("default", a, b):
                return f"({self.of(a)} + (maybe({self.of(b)}) ?? 0))"
        raise AssertionError(form)


SERVICE = """
permission p
service Trace {
  t(n: Int) -> Int
    needs p
    repeat idempotent
}
fn add(a: Int, b: Int) -> Int { a + b }
fn maybe(n: Int) -> Int? { if n > 0 { n } else { null } }
"""


@QUICK
@given(FORMS)
def test_effects_come_in_the_order_in_which_they_are_written(form: Any) -> None:
    program = Traced()
    text = program.of(form)
    source = f"{SERVICE}node main() -> Int\n  grants p\n{{ {text} }}\nfn pure(n: Int) -> Int {{ n }}"
    body = compiled(source).nodes["main.main"].body
    assert body is not None
    world = World({"main.Trace.t": lambda n: n})
    act(body, world=world)
    assert [arguments[0] for _, _, arguments in world.calls] == program.order


STATEMENTS = st.lists(
    st.sampled_from(
        [
            "x = x + y", "y = y * 2", "x = x * x", "s = s + s", 's = "${s}${x}"', "xs = xs.append(x)", "xs = xs + xs", "x = xs[y]",
            "y = y div x", "x = depth(y)", "for i in 1..min(y, 50) { x = x + i }", "for v in xs { y = y + v }", "m = m.set(s, x)",
            "while x < y up to 50 { x = x + 1 }", "for i in 1..20 { x = x + x }", "if x > y { x = y } else { y = x - 1 }",
            "x = xs.fold(x, fn(a, b) => a * b + 1)", "xs = xs.map(fn(v) => v + y)", "f = f * f", "f = f / f", "x = (m[s] ?? y)",
            "y = { x div y } catch { Arithmetic a => 7 }", "x = s.length()",
        ]
    ),
    min_size=1,
    max_size=10,
)  # fmt: skip


@QUICK
@given(STATEMENTS, st.integers(-3, 2000))
def test_every_program_ends_in_a_value_or_a_fault(statements: list[str], start: int) -> None:
    body = "\n  ".join(statements)
    source = f"""
fn depth(n: Int) -> Int {{ if n <= 0 {{ 0 }} else {{ 1 + depth(n - 1) }} }}
fn f(start: Int) -> String {{
  var x = start
  var y = 3
  var s = "ab"
  var f = 2.0
  var xs = [1, 2]
  var m = ["k": 1]
  for round in 1..12 {{
  {body}
  }}
  "${{x}} ${{y}} ${{f}} ${{s.length()}} ${{xs.length()}} ${{m.length()}}"
}}
"""
    f = compiled(source).functions["main.f"]
    try:
        ending = f(start)
    except Fault as fault:
        ending = fault.kind
    assert isinstance(ending, str)  # a FaultKind is one, too
    assert ending is not FaultKind.CRASHED
