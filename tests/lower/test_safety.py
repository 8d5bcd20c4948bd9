"""What compiled code cannot do: reach Python, whatever a program calls its things."""

from __future__ import annotations

import ast

import pytest

from ael.lower import abi
from ael.lower.lower import namespace, trees
from ael.lower.unit import Halt
from tests.lower.helpers import checked, compiled

NASTY = """
record Trap {
  class: String as "__class__"
  mro: Int as "__mro__"
  import: Bool
  none: String?
}
fn lambda(def: Trap, len: Int, str: String) -> String {
  let exec = def.class
  let print = def.mro + len
  "${exec} ${print} ${str.length()} ${def.import}"
}
fn f() -> String {
  lambda(Trap(class: "c", mro: 1, import: true, none: null), 2, "abc")
}
"""


def test_names_of_python_are_ordinary_names() -> None:
    assert compiled(NASTY).functions["main.f"]() == "c 3 3 true"


def test_no_attribute_of_a_value_is_read() -> None:
    _, modules, _ = trees(checked(NASTY))
    for tree in modules.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                assert isinstance(node.value, ast.Name)
                assert node.value.id in ("k",) or node.value.id.startswith("_")
            assert not isinstance(node, ast.Import | ast.ImportFrom | ast.Global | ast.Pow)


def test_the_namespace_has_nothing_dangerous() -> None:
    space = abi.namespace(Halt())
    assert space["__builtins__"] == {}
    for name in (
        "getattr",
        "setattr",
        "eval",
        "exec",
        "open",
        "__import__",
        "compile",
        "globals",
        "vars",
        "dir",
        "object",
        "super",
    ):
        assert name not in space
        assert not any(value is vars(__import__("builtins")).get(name) for value in space.values())
    modules = [name for name, value in space.items() if type(value).__name__ == "module"]
    assert modules == []


def test_builtins_stay_empty_after_running() -> None:
    program, modules, places = trees(checked(NASTY))
    space = namespace(program, Halt())
    for name, tree in modules.items():
        exec(compile(tree, places[name].filename, "exec", dont_inherit=True), space)
    assert space["__builtins__"] == {}
    with pytest.raises(NameError):
        exec("open('x')", space)
