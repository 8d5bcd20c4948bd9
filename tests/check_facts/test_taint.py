"""Outside data: where it comes from, how it spreads, and that it reaches no trusted parameter."""

from __future__ import annotations

import pytest

from tests.check_facts.support import MODEL, at, check, label_texts

BASE = (
    """
permission mail.send
permission web.read

/// Send a mail. Call this when the customer asks for one.
tool send(trusted to: String, text: String) -> String
  needs mail.send
  repeat idempotent
{
  "sent to ${to}"
}

/// Read a page. Call this when a page is named.
tool fetch(url: String) -> String
  needs web.read
  repeat idempotent
  taints
{
  "page ${url}"
}

/// What a model says.
node said(question: String) -> String
  model fast
{
  instructions "Answer."
}

fn same(text: String) -> String {
  text
}

fn first(a: String, b: String) -> String {
  a
}
"""
    + MODEL
)


def main(body: str, more: str = "", head: str = "question: String, to: String") -> str:
    opening = f"node main({head}) -> String\n  grants mail.send, web.read\n{{\n  let used = fetch(question)\n  log(used)\n"
    return f"{BASE}\n{opening}  {body}\n}}\n{more}"


TAINTED = [
    'send(said(question), "x")',
    'send(fetch(question), "x")',
    'send(used, "x")',
    'send(same(used), "x")',
    'send(first(used, to), "x")',
    'let a = used\n  let b = a\n  send(b, "x")',
    'send("mr ${used}", "x")',
    'send(used.trim(), "x")',
    'send([to, used].join(","), "x")',
    'send(if used == "a" { "b" } else { "c" }, "x")',
    'send(match used {\n    "a" => "b"\n    _ => "c"\n  }, "x")',
    'var target = to\n  if used == "a" {\n    target = "b"\n  }\n  send(target, "x")',
    'var target = to\n  for i in 1..3 {\n    send(target, "x")\n    target = used\n  }\n  ""',
    'send(picked(used), "x")',
    'send([used].map(fn(x) => x.trim()).join(""), "x")',
    '[used].map(fn(x) => send(x, "y")).join("")',
    'let f = fn(x: String) => send(x, "y")\n  f(used)',
    'let f = fn(x: String) => used\n  send(f("a"), "y")',
    'send(["a"].fold("", fn(all, x) => "${all}${x}${used}"), "y")',
    'send(apply(used, fn(x) => x), "y")',
    'apply(used, fn(x) => send(x, "y"))',
    "apply(used, relay)",
    'send(Pair(a: to, b: used).a, "y")',
    'let p = parallel {\n    a: same(to)\n    b: same(used)\n  }\n  send(p.b, "y")',
    'let all = parallel x in [used] up to 2 {\n    same(x)\n  }\n  send(all.join(""), "y")',
    "relay(used)",
    'send(send(used_, "x"), "y")'.replace("used_", 'release(used, "checked")') + '\n  send(used, "z")',
]

CLEAN = [
    "send(to, used)",
    'send("desk@example.com", used)',
    "send(same(to), used)",
    'send(first(to, used), "x")',
    'send(first(a: to, b: used), "x")',
    'send(release(used, "an address that we checked by hand"), "x")',
    'if used == "a" {\n    send(to, "x")\n  } else {\n    ""\n  }',
    "let f = fn(x: String) => send(x, used)\n  f(to)",
    "apply(to, fn(x) => send(x, used))",
    'send(apply(to, same), "x")',
    "relay(to)",
    'send("${today()} ${new_id()}", used)',
    'send(send(to, "x"), "y")',
    "let p = Pair(a: to, b: to)\n  send(p.a, used)",
]

MORE = """
record Pair { a: String  b: String }

fn apply(x: String, f: fn(String) -> String) -> String {
  f(x)
}

fn relay(to: String) -> String {
  send(to, "by relay")
}

fn picked(x: String) -> String {
  if x == "a" {
    return "b"
  }
  "c"
}
""".replace(
    "record Pair { a: String  b: String }",
    "record Pair {\n  a: String\n  b: String\n}",
)


@pytest.mark.parametrize("body", TAINTED)
@pytest.mark.feature("B18", "A14.3", "A14.1")
def test_outside_data_does_not_reach_a_trusted_parameter(body: str) -> None:
    assert set(check(main(body, MORE)).codes) == {"AEL0701"}, [
        (d.code, d.message, d.place.span) for d in check(main(body, MORE)).found
    ]


@pytest.mark.parametrize("body", CLEAN)
@pytest.mark.feature("B18", "A14.6")
def test_clean_values_do(body: str) -> None:
    found = check(main(body, MORE)).found
    assert found == [], [(d.code, d.message) for d in found]


@pytest.mark.feature("B18")
def test_the_message_shows_where_it_comes_from_and_where_it_goes() -> None:
    found = check(main("let answer = said(question)\n  relay(answer)", MORE)).one("AEL0701")
    assert at(found) == "answer"
    assert "the trusted parameter `to` of `send`" in found.message
    labels = label_texts(found)
    assert ("said(question)", "`said` gives what a model said") in labels
    assert ("to", "from there it goes to `to` of `send`") in labels
    assert ("trusted to: String", "trusted here") in labels
    assert any("release" in note for note in found.notes)


@pytest.mark.feature("A14.1", "A1.14")
def test_which_results_are_outside_data() -> None:
    source = (
        main("send(to, used)", MORE)
        + """
/// Clean. Call this first.
tool clean(x: String(max: 10)) -> String(max: 10)
  needs web.read
  repeat idempotent
{
  x
}

/// Outside. Call this first.
tool python() -> String(max: 10)
  needs web.read
  repeat idempotent
  extern "clock:now"

fn asks() -> String {
  said("a")
}
"""
    )
    effects = check(source, extern=frozenset({"clock"})).good.effects
    tainted = {name for name, effect in effects.items() if effect.tainted}
    assert tainted == {"main.fetch", "main.said", "main.python", "main.asks"}


def test_an_operation_is_what_its_provider_makes_of_it() -> None:
    source = main(
        "send(Echo.echo(to), used)",
        """
service Echo {
  /// The same.
  echo(text: String) -> String
    repeat idempotent

  /// From elsewhere.
  other(text: String) -> String
    repeat idempotent
}

provide Echo as echo {
  fn echo(text: String) -> String {
    text
  }

  fn other(text: String) -> String {
    said(text)
  }
}
""",
    )
    assert check(source).found == []
    assert check(source.replace("Echo.echo(to)", "Echo.echo(used)")).codes == ["AEL0701"]
    assert check(source.replace("Echo.echo(to)", "Echo.other(to)")).codes == ["AEL0701"]
    provider = source[source.index("provide Echo") :]
    found = check(source.replace(provider, "")).one("AEL0701")
    assert ("Echo.echo(to)", "`Echo.echo` is answered from outside") in label_texts(found)


STORES = """
store notes: Map<String, String>
store copies: Map<String, String>

fn keep(text: String) -> Unit {
  notes.put("a", text)
}

fn copy() -> Unit {
  copies.put("a", notes.get("a") ?? "")
}
"""


@pytest.mark.feature("A14.3")
def test_a_store_carries_outside_data_on() -> None:
    read = 'send(copies.get("a") ?? "", "x")'
    assert check(main(f"keep(to)\n  copy()\n  {read}", STORES)).found == []
    found = check(main(f"{read}\n", STORES + '\nfn late() -> Unit {\n  keep(said("a"))\n}\n')).one("AEL0701")
    assert ("copies", "outside data is written to this store") in label_texts(found)
    assert check(main(f"keep(used)\n  {read}", STORES)).codes == ["AEL0701"]


ERRORS = """
error Refused {
  reason: String
}

fn risky(reason: String) -> String fails Refused {
  if reason == "" {
    fail Refused(reason: reason)
  }
  "fine"
}
"""


@pytest.mark.feature("A14.3")
def test_errors_count() -> None:
    body = 'risky(VALUE) catch {\n    Refused e => send(e.reason, "x")\n  }'
    assert check(main(body.replace("VALUE", "to"), ERRORS)).found == []
    assert check(main(body.replace("VALUE", "used"), ERRORS)).codes == ["AEL0701"]


@pytest.mark.feature("B18", "A4.2")
def test_what_a_model_is_offered_marks_what_goes_on_to_a_trusted_parameter() -> None:
    source = (
        main("send(to, used)")
        + """
/// Send it on. Call this when asked.
tool forward(trusted_to: String, text: String) -> String
  needs mail.send
  repeat idempotent
{
  send(trusted_to, text)
}

node answer(question: String) -> String
  model fast
  grants mail.send
  tools forward
{
  instructions "Answer."
}
"""
    )
    found = check(source).one("AEL0702")
    assert at(found).startswith("trusted_to")
    assert ("forward", "offered to a model here, which chooses the arguments") in label_texts(found)
    assert found.fix is not None
    assert check(source.replace("forward(trusted_to", "forward(trusted trusted_to")).found == []
    # not offered: only its callers matter
    assert check(source.replace("  tools forward\n", "").replace("  grants mail.send\n  tools", "  tools")).errors == []


def test_a_provider_may_be_called_from_elsewhere() -> None:
    source = main(
        "send(to, used)",
        """
service Post {
  /// Send.
  send(trusted to: String) -> String
    needs mail.send
    repeat idempotent
}

provide Post as post
  grants mail.send
{
  fn send(to: String) -> String {
    relay(to)
  }
}
"""
        + MORE,
    )
    assert check(source).codes == ["AEL0702"]
    assert check(source.replace("  fn send(to:", "  fn send(trusted to:")).found == []


def test_recursion_and_requirements() -> None:
    more = """
fn down(n: Int, x: String, y: String) -> String {
  if n == 0 { x } else { down(n - 1, y, x) }
}
"""
    assert check(main("send(down(3, to, to), used)", more)).found == []
    assert check(main("send(down(3, to, used), used)", more)).codes == ["AEL0701"]


@pytest.mark.feature("B18")
def test_release_has_a_reason() -> None:
    assert check(main('send(release(used, ""), "x")')).codes == ["AEL0703"]
    assert check(main('send(release(used, to), "x")')).codes == ["AEL0703"]
    assert check(main('send(release("a", "why not"), "x")')).codes == ["AEL1125"]


MODEL_KEEPS = """
store kept: Map<String, String> needs mail.send

fn keep(text: String) -> Unit {
  kept.put("a", text)
}

/// Keep a text. Call it when it matters.
tool remember(KEPT: String) -> Bool
  needs mail.send
  repeat idempotent
{
  keep(KEPT)
  true
}

node asked(question: String) -> String
  model fast
  policy loop(steps: 3, tool_calls: 3)
  grants mail.send
  WAY
{
  instructions "Answer."
}

/// Help. Call it first.
node helper(KEPT: String) -> Bool
  grants mail.send
{
  remember(KEPT)
}

skill notes {
  version "1"
  instructions "Remember."
  tools remember
}

node reads(to: String) -> String
  grants mail.send
{
  send(kept.get("a") ?? to, "x")
}
"""


@pytest.mark.feature("B18", "A14.3", "A14.6", "K44")
@pytest.mark.parametrize("way", ["tools remember", "tools helper", "skills notes"])
def test_what_a_model_has_a_tool_keep_is_outside_data(way: str) -> None:
    """No code of the program passes it on: the model says the arguments."""
    source = BASE + MODEL_KEEPS.replace("KEPT", "text").replace("WAY", way)
    assert "AEL0701" in check(source).codes, [(d.code, d.message) for d in check(source).found]
    nobody = source.replace(way, "tools send")
    assert "AEL0701" not in check(nobody).codes, [(d.code, d.message) for d in check(nobody).found]


@pytest.mark.feature("A14.6")
def test_what_a_model_may_say_there_is_clean() -> None:
    """A trusted parameter takes what is an input of the run, or what a person agreed to."""
    source = BASE + MODEL_KEEPS.replace("KEPT", "text").replace("WAY", "tools remember").replace(
        "(text: String)", "(trusted text: String)"
    )
    assert "AEL0701" not in check(source).codes, [(d.code, d.message) for d in check(source).found]
