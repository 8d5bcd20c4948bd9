"""Repeat safety: declared by tools and operations, inferred for the rest, never claimed over something weaker."""

from __future__ import annotations

import pytest

from ael.types.signature import Repeat
from tests.check_facts.support import MODEL, TOOL, at, check, label_texts

BANK = """
permission pay.send

service Bank {
  /// Send money.
  send(to: String(max: 40), key: String) -> Unit
    needs pay.send
    repeat REPEAT

  /// What was sent.
  sent(to: String(max: 40)) -> Int
    needs pay.send
    repeat idempotent
}
"""

PAY = """
/// Pay an invoice. Call this when it was checked.
tool pay(to: String(max: 40)) -> Unit
  needs pay.send
  repeat DECLARED
{
  BODY
}
"""


def pay(repeat: str, declared: str, body: str, more: str = "") -> str:
    return BANK.replace("REPEAT", repeat) + PAY.replace("DECLARED", declared).replace("BODY", body) + more


MET = """Bank.send(to, key: KEY) catch {
    Uncertain u => log(u.key)
  }"""


@pytest.mark.feature("A1.1")
def test_a_tool_says_what_repeating_it_does() -> None:
    found = check(TOOL.replace("  repeat idempotent\n", "")).one("AEL0512")
    assert at(found) == "look_up"
    assert [note.split(":")[0] for note in found.notes[1:]] == ["`repeat idempotent`", "`repeat reconcile`", "`repeat never`"]


def test_an_operation_says_it_too() -> None:
    source = "service S {\n  /// One.\n  get() -> Int\n}\n"
    assert "the operation `get`" in check(source).one("AEL0512").message


@pytest.mark.parametrize("weak", ["never", "reconcile"])
@pytest.mark.feature("D3")
def test_idempotent_over_something_weaker_is_refused(weak: str) -> None:
    found = check(pay(weak, "idempotent", MET.replace("KEY", '"k"'))).one("AEL0513")
    assert f"`Bank.send`, which is `repeat {weak}`" in found.message
    labels = label_texts(found)
    assert ("repeat idempotent", "said here") in labels
    assert (f"repeat {weak}", "`Bank.send` says so here") in labels


@pytest.mark.feature("D3")
def test_through_any_depth() -> None:
    more = (
        "\nfn one(to: String(max: 40)) -> Unit {\n  two(to)\n}\n\nfn two(to: String(max: 40)) -> Unit {\n  "
        + MET.replace("KEY", '"k"')
        + "\n}\n"
    )
    found = check(pay("reconcile", "idempotent", "one(to)", more)).one("AEL0513")
    assert at(found) == "one(to)"
    assert any("which calls `two` here" in text for _, text in label_texts(found))


@pytest.mark.parametrize("weak", ["never", "reconcile"])
def test_the_tools_own_key_makes_it_safe(weak: str) -> None:
    assert check(pay(weak, "idempotent", MET.replace("KEY", "call.key"))).found == []


def test_a_key_made_up_on_the_way_does_not() -> None:
    assert check(pay("reconcile", "idempotent", MET.replace("KEY", "new_id()"))).errors == ["AEL0513"]
    assert check(pay("reconcile", "idempotent", MET.replace("KEY", '"${call.key}-2"'))).errors == ["AEL0513"]


def test_a_provider_of_an_idempotent_operation_is_held_to_it() -> None:
    source = (
        BANK.replace("REPEAT", "reconcile")
        + """
service Desk {
  /// Pay.
  pay(to: String(max: 40)) -> Unit
    needs pay.send
    repeat idempotent
}

provide Desk as desk
  grants pay.send
{
  fn pay(to: String(max: 40)) -> Unit {
    Bank.send(to, key: KEY) catch {
      Uncertain u => log(u.key)
    }
  }
}
"""
    )
    assert "`Desk.pay` says `repeat idempotent`" in check(source.replace("KEY", '"k"')).one("AEL0513").message
    assert check(source.replace("KEY", "call.key")).found == []


@pytest.mark.parametrize("weak", ["never", "reconcile"])
def test_retry_is_for_what_is_idempotent(weak: str) -> None:
    found = check(TOOL.replace("repeat idempotent", f"repeat {weak}\n  retry 3")).one("AEL0514")
    assert at(found) == "retry 3"
    retry = check(TOOL.replace("repeat idempotent", "repeat idempotent\n  retry 3")).good.tools["main.look_up"].retry
    assert retry is not None
    assert retry.attempts == 3


def test_the_long_form_of_retry() -> None:
    text = 'repeat idempotent\n  retry(attempts: 5, backoff: "linear", base: 50ms, cap: 2s)'
    retry = check(TOOL.replace("repeat idempotent", text)).good.tools["main.look_up"].retry
    assert retry is not None
    assert (retry.attempts, retry.backoff, retry.base, retry.cap) == (5, "linear", 50, 2_000)
    for wrong in ("retry(attempts: 0)", "retry(tries: 3)", 'retry(3, backoff: "no")', "retry(3, base: 5)"):
        assert check(TOOL.replace("repeat idempotent", f"repeat idempotent\n  {wrong}")).codes == ["AEL0521"], wrong


@pytest.mark.feature("A1.15", "B16")
def test_parallel_is_for_reads() -> None:
    tool = check(TOOL.replace("repeat idempotent", "repeat idempotent\n  parallel")).good.tools["main.look_up"]
    assert tool.parallel
    assert at(check(TOOL.replace("repeat idempotent", "repeat never\n  parallel")).one("AEL0515")) == "parallel"
    writing = """
permission notes.write
store notes: Map<String, String> needs notes.write

/// Note it. Call this when asked.
tool note(text: String(max: 40)) -> Unit
  needs notes.write
  repeat idempotent
  parallel
{
  keep(text)
}

fn keep(text: String) -> Unit {
  notes.CALL
}
"""
    assert "writes a store" in check(writing.replace("CALL", 'put("a", text)')).one("AEL0515").message
    assert check(writing.replace("notes.CALL", 'log(notes.get(text) ?? "")')).found == []


@pytest.mark.feature("B16")
def test_a_provider_that_writes_is_seen_through_its_operation() -> None:
    source = """
permission notes.write
store notes: Map<String, String> needs notes.write

service Notes {
  /// Keep it.
  keep(text: String(max: 40)) -> Unit
    needs notes.write
    repeat idempotent
}

provide Notes as kept
  grants notes.write
{
  fn keep(text: String(max: 40)) -> Unit {
    notes.put("a", text)
  }
}

/// Note it. Call this when asked.
tool note(text: String(max: 40)) -> Unit
  needs notes.write
  repeat idempotent
  parallel
{
  Notes.keep(text)
}
"""
    assert check(source).codes == ["AEL0515"]


def test_what_a_function_and_a_node_may_be_repeated_is_inferred() -> None:
    source = (
        pay("reconcile", "reconcile", 'try Bank.send(to, key: "k")')
        + MODEL
        + """
fn both(to: String(max: 40)) -> Int fails Uncertain {
  let before = Bank.sent(to)
  try pay(to)
  before
}

node main(to: String(max: 40)) -> Int fails Uncertain
  grants pay.send
{
  try both(to)
}

/// Answer.
node answer(question: String) -> String fails Uncertain
  model fast
  grants pay.send
  tools pay
{
  instructions "Pay it."
}
"""
    )
    effects = check(source).good.effects
    assert effects["main.both"].repeat is Repeat.RECONCILE
    assert effects["main.both"].uncertain
    assert effects["main.pay"].uncertain
    assert effects["main.main"].repeat is Repeat.RECONCILE
    assert effects["main.answer"].repeat is Repeat.RECONCILE
    assert effects["main.Bank.sent"].repeat is Repeat.IDEMPOTENT
    assert not effects["main.Bank.sent"].uncertain


def test_an_extern_is_taken_at_its_word_and_needs_the_packs_leave() -> None:
    source = """
permission clock.read

/// The time. Call this when asked.
tool clock() -> String(max: 40)
  needs clock.read
  repeat never
  extern "TARGET"
"""
    assert "pack does not allow" in check(source.replace("TARGET", "clock:now")).one("AEL0518").message
    good = check(source.replace("TARGET", "clock:now"), extern=frozenset({"clock"})).good.tools["main.clock"]
    assert good.extern == "clock:now"
    assert good.repeat is Repeat.NEVER
    for wrong in ("clock", "clock:", ":now", "clock:now()", "a b:c"):
        assert check(source.replace("TARGET", wrong), extern=frozenset({"clock"})).codes == ["AEL0519"], wrong


@pytest.mark.feature("A1.13")
def test_timeouts() -> None:
    def timeout(text: str) -> int | None:
        return check(TOOL.replace("repeat idempotent", f"repeat idempotent\n  {text}")).good.tools["main.look_up"].timeout

    assert timeout("timeout 5s") == 5_000
    assert timeout("timeout none") == -1
    assert check(TOOL).good.tools["main.look_up"].timeout is None
    assert check(TOOL.replace("repeat idempotent", "repeat idempotent\n  timeout 0s")).codes == ["AEL1124"]
    assert check(TOOL.replace("repeat idempotent", "repeat idempotent\n  timeout 5")).codes == ["AEL0612"]


@pytest.mark.feature("A1.14")
def test_a_tool_that_taints_and_one_with_limits() -> None:
    tool = check(TOOL.replace("repeat idempotent", "repeat idempotent\n  taints\n  limit input 8KiB, output 2MB")).good.tools[
        "main.look_up"
    ]
    assert tool.taints
    assert tool.signature.effects.tainted
    assert (tool.limit.input, tool.limit.output) == (8_192, 2_000_000)
    assert check(TOOL.replace("repeat idempotent", "repeat idempotent\n  limit inptu 8KiB")).codes == ["AEL0612"]
