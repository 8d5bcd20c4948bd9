"""Code that acts: effects, frames, sites, functions as arguments, parallel parts, tools and nodes."""

from __future__ import annotations

import pytest

from ael.lower.emit import emit
from ael.lower.lower import lower
from tests.lower.helpers import World, act, checked, compiled

WORLD = """
permission p
error NotFound { id: String }
/// Things.
service Things {
  /// Read one.
  get(id: String, limit: Int = 5, note?: String) -> String
    needs p
    repeat idempotent
}
"""


def world() -> World:
    return World({"main.Things.get": lambda id, limit, note: f"<{id}{limit}{note or ''}>"})


def test_effects_get_all_parameters() -> None:
    source = (
        WORLD
        + """
    fn f() -> String { Things.get("a") + Things.get(note: "n", id: "b") }
    """
    )
    seen = world()
    assert act(compiled(source).functions["main.f"], world=seen) == "<a5><b5n>"
    assert [arguments for _, _, arguments in seen.calls] == [("a", 5, None), ("b", 5, "n")]


def test_sites_are_numbered_in_source_order_and_the_same_each_time() -> None:
    source = (
        WORLD
        + """
    fn inner(x: String) -> String { Things.get(x) }
    fn f(xs: List<String>) -> String {
      var all = Things.get("first")
      for x in xs { all = all + inner(x) + inner("${x}!") }
      all + Things.get("last")
    }
    """
    )
    paths = []
    for _ in range(2):
        seen = world()
        act(compiled(source).functions["main.f"], ["a", "b"], world=seen)
        paths.append([path for path, _, _ in seen.calls])
    assert paths[0] == paths[1] == ["/0.1", "/1.1/0.1", "/2.1/0.1", "/1.2/0.1", "/2.2/0.1", "/3.1"]


def test_operands_are_evaluated_from_left_to_right() -> None:
    source = (
        WORLD
        + """
    record Pair { a: String, b: String }
    fn g(a: String, b: String, c: String) -> String { a + b + c }
    fn f(flag: Bool) -> String {
      let one = g(Things.get("1"), { let x = Things.get("2")
        x }, c: match flag {
          true => Things.get("3")
          false => "no"
        })
      let two = g(b: Things.get("4"), c: if flag { let y = Things.get("5")
        y } else { "" }, a: Things.get("6"))
      let pair = Pair(b: Things.get("7"), a: Things.get("8"))
      one + two + pair.a
    }
    """
    )
    seen = world()
    act(compiled(source).functions["main.f"], True, world=seen)
    assert [arguments[0] for _, _, arguments in seen.calls] == list("12345678")


def test_logic_is_cut_short() -> None:
    source = (
        WORLD
        + """
    fn yes(x: String) -> Bool { Things.get(x) != "" }
    fn f(a: Bool, b: String?) -> Bool {
      let p = a and { let r = yes("1")
        r } and yes("2")
      let q = a or { let r = yes("3")
        r }
      let s = b ?? Things.get("4")
      p and q and s == b
    }
    """
    )
    f = compiled(source).functions["main.f"]
    seen = world()
    assert act(f, False, "b", world=seen) is False
    assert [arguments[0] for _, _, arguments in seen.calls] == ["3"]
    seen = world()
    assert act(f, True, None, world=seen) is False
    assert [arguments[0] for _, _, arguments in seen.calls] == ["1", "2", "4"]


def test_functions_take_acting_functions_and_plain_ones() -> None:
    source = (
        WORLD
        + """
    fn twice(f: fn(String) -> String, x: String) -> String { f(f(x)) }
    fn pure() -> String { twice(fn(s) => s + "!", "a") }
    fn acts() -> String { twice(fn(s) => Things.get(s), "a") }
    fn named() -> String { twice(loud, "a") + twice(look, "b") }
    fn loud(s: String) -> String { s.upper() }
    fn look(s: String) -> String { Things.get(s) }
    fn mixed(flag: Bool) -> String {
      let plain = fn(s: String) => s + "?"
      let g = if flag { plain } else { fn(s: String) => Things.get(s) }
      g("x") + twice(plain, "y") + twice(g, "z")
    }
    """
    )
    unit = compiled(source)
    assert unit.functions["main.pure"]() == "a!!"
    assert act(unit.functions["main.acts"], world=world()) == "<<a5>5>"
    assert act(unit.functions["main.named"], world=world()) == "A<<b5>5>"
    assert act(unit.functions["main.mixed"], True, world=world()) == "x?y??z??"
    assert act(unit.functions["main.mixed"], False, world=world()) == "<x5>y??<<z5>5>"


def test_functions_behind_type_parameters_keep_their_convention() -> None:
    source = (
        WORLD
        + """
    fn same<T>(x: T) -> T { x }
    fn f() -> String {
      let g = same(fn(s: String) => s + "!")
      var fs = [fn(s: String) => Things.get(s)]
      fs = fs.append(fn(s: String) => s + "?")
      var out = g("a")
      for h in fs { out = out + h("b") }
      out + (fs.first() ?? g)("c")
    }
    fn plain() -> String {
      let g = same(fn(s: String) => s + "!")
      [g, fn(s: String) => s + "?"].fold("", fn(a, h) => a + h("x"))
    }
    """
    )
    unit = compiled(source)
    assert act(unit.functions["main.f"], world=world()) == "a!<b5>b?<c5>"
    assert unit.functions["main.plain"]() == "x!x?"


def test_lists_with_acting_functions() -> None:
    source = (
        WORLD
        + """
    fn f(xs: List<String>) -> List<String> { xs.map(fn(x) => Things.get(x)).filter(fn(x) => Things.get(x) != "") }
    fn g(xs: List<String>) -> String { xs.fold("", fn(a, x) => a + Things.get(x)) }
    fn h(xs: List<String>) -> List<String> { xs.sort_by(fn(x) => Things.get(x)) }
    """
    )
    unit = compiled(source)
    seen = world()
    assert act(unit.functions["main.f"], ["b", "a"], world=seen) == ["<b5>", "<a5>"]
    assert len({path for path, _, _ in seen.calls}) == 4
    assert act(unit.functions["main.g"], ["b", "a"], world=world()) == "<b5><a5>"
    assert act(unit.functions["main.h"], ["b", "a"], world=world()) == ["a", "b"]


def test_parallel_parts() -> None:
    source = (
        WORLD
        + """
    fn f(xs: List<String>) -> List<String> {
      let mark = "!"
      parallel x in xs up to 2 { Things.get(x) + mark }
    }
    fn g() -> String {
      let both = parallel { a: Things.get("1"), b: Things.get("2") }
      both.a + both.b
    }
    """
    )
    unit = compiled(source)
    seen = world()
    assert act(unit.functions["main.f"], ["a", "b"], world=seen) == ["<a5>!", "<b5>!"]
    assert len({path for path, _, _ in seen.calls}) == 2
    assert act(unit.functions["main.g"], world=world()) == "<15><25>"


def test_captures_are_bound_by_value() -> None:
    source = """
    fn f() -> List<Int> {
      var fs = [fn() => 0]
      var n = 1
      for i in 1..3 {
        fs = fs.append(fn() => i * n)
        n = n + 1
      }
      var out = [0]
      for g in fs { out = out.append(g()) }
      out
    }
    """
    assert compiled(source).functions["main.f"]() == [0, 0, 1, 4, 9]


def test_tools_nodes_and_their_clauses() -> None:
    source = (
        WORLD
        + """
    role boss
    /// Do it.
    tool do_it(id: String, amount: Int) -> String
      needs p
      repeat reconcile
        key "do-${id}"
      approval required by boss when amount > 100
    {
      Things.get(id) + call.key
    }
    model fast {
      provider anthropic
      name "claude-haiku-4-5"
    }
    record Answer { text: String, score: Float }
    node ask(question: String) -> Answer
      model fast
      policy one_call
      budget tokens 2_000, time 10s
    {
      instructions "Answer."
      input question.upper()
      require output.score > 0.5, "be sure: ${output.score}"
      require output.text != question
      examples [ "q" => Answer(text: "a", score: 1.0) ]
    }
    node plain(x: Int) -> Int { x + 1 }
    """
    )
    unit = compiled(source)
    tool = unit.tools["main.do_it"]
    assert tool.approval_when is not None
    assert [tool.approval_when("x", n) for n in (100, 101)] == [False, True]
    assert tool.key is not None
    assert tool.key("x", 1) == "do-x"
    assert tool.body is not None
    assert act(tool.body, "a", 1, world=world()) == "<a5>key"
    node = unit.nodes["main.ask"]
    assert node.input is not None
    assert node.input("q") == {"input": "Q"}
    first, second = node.requirements
    good, bad = {"text": "a", "score": 1.0}, {"text": "q", "score": 0.5}
    assert [first.check(o, "q") for o in (good, bad)] == [True, False]
    assert [second.check(o, "q") for o in (good, bad)] == [True, False]
    assert first.text == "output.score > 0.5"
    assert first.message is not None
    assert first.message(bad, "q") == "be sure: 0.5"
    assert node.examples == (("q", {"text": "a", "score": 1.0}),)
    body = unit.nodes["main.plain"].body
    assert body is not None
    assert act(body, 1) == 2


def test_provides_and_tests() -> None:
    source = (
        WORLD
        + """
    provide Things as local {
      fn get(id: String, limit: Int, note: String?) -> String { "${id}${limit}" }
    }
    /// Read.
    tool read(id: String) -> String
      needs p
      repeat idempotent
    { Things.get(id) }
    test "reads" {
      let got = read("a")
      assert got == "<a5>"
      assert calls(read) == 1
    }
    """
    )
    unit = compiled(source)
    assert act(unit.provides["main.local"].operations["get"], "a", 2, None) == "a2"
    act(unit.tests[0].body, world=World({"main.read": lambda id: f"<{id}5>"}))


def test_the_same_program_compiles_to_the_same_code() -> None:
    source = WORLD + "fn f(xs: List<String>) -> List<String> { xs.map(fn(x) => Things.get(x)) }"
    assert emit(checked(source)) == emit(checked(source))
    assert lower(checked(source)).digest == lower(checked(source)).digest


def test_deep_nesting_of_acting_code() -> None:
    text = 'out = out + Things.get("x")\n if out == stop { return "stopped" }'
    for level in range(11):
        loop = f"for i{level} in 1..1 {{\n {text}\n }}"
        text = f"let v{level} = {{\n {loop}\n 1 div zero\n }} catch {{ Arithmetic a => 0 }}\n sum = sum + v{level}"
    source = (
        f'{WORLD}fn f(stop: String) -> String {{\n var out = ""\n var sum = 0\n let zero = 0\n {text}\n "${{out}} ${{sum}}"\n}}'
    )
    f = compiled(source).functions["main.f"]
    assert act(f, "", world=world()) == "<x5> 0"
    assert act(f, "<x5>", world=world()) == "stopped"


def test_deep_acting_recursion_is_cut_by_the_frame() -> None:
    source = (
        WORLD
        + """
    fn down(n: Int) -> Int { if n == 0 { Things.get("x").length() } else { down(n - 1) } }
    """
    )
    unit = compiled(source)
    assert act(unit.functions["main.down"], 50, world=world()) == 4
    with pytest.raises(Exception, match="too deep"):
        act(unit.functions["main.down"], 500, world=world())
