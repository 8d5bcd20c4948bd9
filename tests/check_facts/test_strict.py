"""`policy strict`: no outside data decides the way, whatever form that has (feature A14.4)."""

from __future__ import annotations

import pytest

from tests.check_facts.support import at, check, label_texts

HEAD = """
permission money.pay
store books: Map<String, String> needs money.pay

model fast {
  provider openai
  name "gpt-5-mini"
}

error Bad { text: String }

/// Pay. Call it once.
tool pay(amount: Int) -> String
  needs money.pay
  repeat idempotent
{
  "paid ${amount}"
}

node said(text: String) -> String
  model fast
  policy one_call
{
  instructions "Answer."
}

fn later(yes: Bool) -> String {
  if yes { pay(1) } else { "" }
}

fn given(yes: Bool, f: fn(Int) -> String) -> String {
  if yes { f(1) } else { "" }
}
"""
WAY = """
  edge start -> said(text)
  edge said -> work(said)
  edge work -> finish
"""


def agent(body: str, edges: str = WAY, more: str = "", policy: str = "  policy strict\n", fails: str = " fails Bad") -> str:
    work = f"node work(text: String) -> String{fails}\n  grants money.pay\n{{\n  {body}\n}}\n"
    return f"{HEAD}{more}{work}\nagent desk(text: String) -> String{fails}\n{policy}  grants money.pay\n{{{edges}}}\n"


CHOSEN = {
    "if": 'if text == "go" { pay(1) } else { "" }',
    "match": 'match text {\n    "go" => pay(1)\n    _ => ""\n  }',
    "guard": 'match 1 {\n    1 if text == "go" => pay(1)\n    _ => ""\n  }',
    "return": 'if text != "go" { return "" }\n  pay(1)',
    "fail": 'if text != "go" { fail Bad("x") }\n  pay(1)',
    "and": 'if text == "go" and pay(1) == "" { "a" } else { "b" }',
    "while": 'var n = 0\n  while text == "go" up to 3 {\n    pay(n)\n    n = n + 1\n  }\n  ""',
    "continue": 'for x in [1, 2] {\n    if text == "go" { continue }\n    pay(x)\n  }\n  ""',
    "function": 'later(text == "go")',
    "lambda": 'let f = fn(x: Int) => pay(x)\n  if text == "go" { f(1) } else { "" }',
    "function value": 'given(text == "go", fn(x) => pay(x))',
    "node": 'if text == "go" { said("x") } else { "" }',
    "store": 'if text == "go" { books.put("a", "b") }\n  ""',
    "from a store": 'books.put("a", text)\n  if books.get("a") == "go" { pay(1) } else { "" }',
    "inside of another form": 'var all = ""\n  for x in [text] {\n    if x == "go" { all = pay(1) }\n  }\n  all',
    "a compensation of what fails": "compensate { pay(1) }\n  try fails_with(text)",
    "a compensation before what decides": 'compensate { pay(1) }\n  if text != "go" { fail Bad("x") }\n  ""',
    "a compensation of what is not always come to": 'compensate { pay(1) }\n  if text == "go" { return "" }\n  try fails_with("x")',
    "a compensation of what is done or not": 'compensate { pay(1) }\n  if text == "go" { try fails_with("x") }\n  ""',
    "a fault of what is done or not": '({\n    if text == "go" { try fails_with("x") }\n    ""\n  }) catch { Bad b => pay(1) }',
    "caught": "(fails_with(text) catch { Bad b => pay(1) })",
}
FREE = {
    "a compensation of what fails by itself": 'compensate { pay(1) }\n  try fails_with("x")\n  text',
    "a value alone": 'pay(if text == "go" { 1 } else { 2 })',
    "whatever is said": "pay(text.length())",
    "released": 'if release(text, "both are harmless") == "go" { pay(1) } else { "" }',
    "after a loop": 'for x in [1, 2] {\n    if text == "go" { continue }\n  }\n  pay(1)',
    "a read": 'if text == "go" { books.get("a") ?? "" } else { pay(1)\n    "" }'.replace("{ pay(1)\n    ", "{ "),
    "a pure function value": 'given(text == "go", fn(x) => "a")',
    "each of a list": '[1, 2].map(fn(x) => pay(x)).join("")',
    "the program's own condition": 'if 1 == 2 { pay(1) } else { "" }',
    "after a lambda that returns": 'let f = fn(x: String) {\n    if x == "" { return "a" }\n    "b"\n  }\n  let _f = f(text)\n  pay(1)',
}
FAILS_WITH = "fn fails_with(text: String) -> String fails Bad {\n  fail Bad(text)\n}\n"


@pytest.mark.feature("A14.4")
@pytest.mark.parametrize("form", CHOSEN)
def test_outside_data_does_not_decide_a_call_in_a_node_of_a_strict_agent(form: str) -> None:
    source = agent(CHOSEN[form], more=FAILS_WITH)
    assert "AEL0704" in check(source).codes, [(d.code, d.message) for d in check(source).found]
    loose = agent(CHOSEN[form], more=FAILS_WITH, policy="")
    assert "AEL0704" not in check(loose).codes


@pytest.mark.feature("A14.4", "A14.6")
@pytest.mark.parametrize("form", FREE)
def test_what_decides_nothing_may_be_outside_data(form: str) -> None:
    assert "AEL0704" not in check(agent(FREE[form], more=FAILS_WITH)).codes, [
        (d.code, d.message) for d in check(agent(FREE[form], more=FAILS_WITH)).found
    ]


@pytest.mark.feature("A14.4")
def test_the_message_says_what_is_called_and_by_what() -> None:
    found = check(agent(CHOSEN["function"])).one("AEL0704")
    assert "whether `pay` is called, and the agent `desk` says `policy strict`" in found.message
    assert at(found) == "said"
    assert "this decides it" in [text for _, text in label_texts(found)]
    inside = check(agent('let answer = said(text)\n  if answer == "go" { pay(1) } else { "" }')).found
    assert [one.code for one in inside if one.code == "AEL0704"] == ["AEL0704"]


@pytest.mark.feature("A14.4")
def test_a_declared_error_that_outside_data_had_a_hand_in_does_not_decide_an_edge() -> None:
    edges = """
  edge start -> said(text)
  edge said -> work(said)
  edge work -> finish
  edge work -> other() on Bad
  edge other -> finish
"""
    more = 'node other() -> String {\n  "other"\n}\n'
    tainted = agent('if text == "go" { fail Bad("x") }\n  "a"', edges, more, fails=" fails Bad").replace(
        "agent desk(text: String) -> String fails Bad", "agent desk(text: String) -> String"
    )
    assert "AEL0704" in check(tainted).codes
    own = tainted.replace("work(said)", 'work("mine")')
    assert "AEL0704" not in check(own).codes, [(d.code, d.message) for d in check(own).found]
    fault = tainted.replace("on Bad", "on Fault, Bad").replace("work(said)", 'work("mine")')
    assert "AEL0704" not in check(fault).codes, "a fault is the run time's own word"


@pytest.mark.feature("A14.4")
def test_the_edges_of_an_agent_inside_decide_too() -> None:
    """A strict agent's nodes may be agents that say nothing: what they do along an edge of their own is done for it."""
    more = """
node inside(text: String) -> String {
  text
}

agent inner(text: String) -> String {
  edge start -> inside(text) when text == "go"
  edge start -> finish(text) otherwise
  edge inside -> finish
}
"""
    edges = "\n  edge start -> said(text)\n  edge said -> inner(said)\n  edge inner -> finish\n"
    assert "AEL0704" in check(agent("text", edges, more, fails="")).codes
    assert "AEL0704" not in check(agent("text", edges.replace("inner(said)", "inner(text)"), more, fails="")).codes


DELEGATE = """
/// Help. Call it first.
node helper(text: String) -> String {
  text
}

node lead(text: String) -> String
  model fast
  policy loop(steps: 3, tool_calls: 2)
  grants money.pay
  tools helper, pay
  tool_choice auto
{
  instructions "Answer."
}
"""


@pytest.mark.feature("A14.4")
@pytest.mark.parametrize(("choice", "refused"), [("auto", True), ("any", True), ("pay", True), ("helper", False)])
def test_a_model_does_not_choose_which_node_is_visited(choice: str, refused: bool) -> None:
    """It may call the tools that it is offered, which is what it is for; a delegate is a way, unless it is the only one."""
    edges = "\n  edge start -> lead(text)\n  edge lead -> finish\n"
    source = agent("text", edges, DELEGATE.replace("auto", choice), fails="")
    assert ("AEL0704" in check(source).codes) is refused, [(d.code, d.message) for d in check(source).found]
    if refused:
        [found] = [one for one in check(source).found if one.code == "AEL0704"]
        assert at(found) == "helper"
        assert "whether `helper` is called" in found.message
