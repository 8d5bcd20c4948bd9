"""What a test does to its run: scripts, crashes, denials; and that a test of something that never came is a failure."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Ael, ael  # noqa: F401  # a fixture

PROGRAM = """permission notes.write
permission mail.send

error Full { reason: String }

store notes: Map<String, Int> needs notes.write

service Mail {
  send(to: String) -> String fails Full
    needs mail.send
    repeat reconcile

  look(to: String) -> Int
    needs mail.send
    repeat idempotent
    timeout 5s
}

/// Count up. Call it once.
tool count(name: String) -> Int
  needs notes.write
  repeat idempotent
  approval required
{
  let before = notes.get(name) ?? 0
  notes.put(name, before + 1)
  before + 1
}

node first(n: Int) -> Int {
  n + 1
}

node both(to: List<String>) -> List<Int>
  grants mail.send
{
  parallel one in to up to 4 {
    Mail.look(one)
  }
}
"""
PASSES = {
    "a branch of several dies, and the others are not asked again": """
  script Mail.look [final(1), final(2), final(3)]
  crash_after(Mail.look, call: 2)
  let found = both(["a", "b", "c"])
  assert found.sum() == 6
  assert calls(Mail.look) == 3
""",
    "two crashes, one after the other": """
  crash_after(notes.put)
  crash_after(notes.put, call: 2)
  let a = count("x")
  let b = count("y")
  assert a + b == 2
  assert notes.get("x") == 1
  assert notes.get("y") == 1
  assert calls(notes.put) == 2
""",
    "what the test counted before the crash stays": """
  assert calls(count) == 0
  crash_after(count)
  let a = count("x")
  assert a == 1
  assert calls(count) == 1
""",
    "a node answers the same where it is passed again": """
  script first [final(10)]
  let a = first(1)
  script first [final(20)]
  crash_after(count)
  let b = count("x")
  let c = first(1)
  assert a == 10
  assert c == 20
  assert b == 1
  assert calls(first) == 2
""",
    "the clock is moved once": """
  let began = now()
  advance(1h)
  crash_after(count)
  let a = count("x")
  assert a == 1
  assert now().since(began) == 1h
""",
    "identifiers are the same after a crash": """
  let id = new_id()
  crash_during(count)
  let a = count(id)
  assert a == 1 or a == 2
  assert notes.get(id) == a
""",
    "a person declines one call, and says why": """
  decline(count, "not today")
  let said = count("x") catch { ApprovalDenied a => 0 }
  assert said == 0
  assert notes.get("x") == null
""",
}
FAILS = {
    "a crash that never comes": ("  crash_after(count)\n  assert true\n", "`count` was to crash in a call that was never made"),
    "a later call that is never made": (
        '  crash_during(count, call: 2)\n  let a = count("x")\n  assert a == 1\n', "`count` was to crash in a call that was never made",
    ),
    "a call that does not count": ("  crash_after(count, call: 0)\n", "`call` counts the calls from 1 on"),
    "time that goes back": ("  let back = 0s.minus(5s)\n  advance(back)\n", "`advance` takes no duration below zero"),
    "turns of another kind, given late": (
        '  let turns = final("x")\n  script Mail.look [turns]\n  assert Mail.look("a") == 1\n', "does not fit its type",
    ),
    "an error that is not listed, given late": (
        '  let turns = fails(Full(reason: "x"))\n  script Mail.look [turns]\n  assert Mail.look("a") == 1\n',
        "`Mail.look` does not fail with `Full`",
    ),
    "uncertainty of what may be repeated, given late": (
        '  let turns = uncertain()\n  script Mail.look [turns]\n  assert Mail.look("a") == 1\n', "never ends Uncertain",
    ),
    "a turn of a model, given late": (
        '  let turns = call("x")\n  script Mail.look [turns]\n  assert Mail.look("a") == 1\n', "`Mail.look` answers with",
    ),
    "nothing provides it": ('  assert Mail.look("a") == 1\n', "nothing provides `Mail.look` here"),
}  # fmt: skip


@pytest.mark.feature("B4", "C7")
def test_what_holds(ael: Ael) -> None:  # noqa: F811
    tests = "".join(f'\ntest "{title}" {{{body}}}\n' for title, body in PASSES.items())
    ael.write({"main.ael": PROGRAM + tests})
    ended = ael("test")
    assert (ended.code, ended.err.splitlines()[-1]) == (0, f"{len(PASSES)} passed, 0 failed"), ended.err


def test_what_does_not_hold_is_told(ael: Ael) -> None:  # noqa: F811
    tests = "".join(f'\ntest "{title}" {{\n{body}}}\n' for title, (body, _) in FAILS.items())
    ael.write({"main.ael": PROGRAM + tests})
    ended = ael("test", "--format", "json")
    assert ended.err.splitlines()[-1] == f"0 passed, {len(FAILS)} failed", ended.err
    for line, (title, (_, said)) in zip(ended.out.splitlines(), FAILS.items(), strict=True):
        assert said in line.replace("\\n", " "), (title, line)


def test_nobody_answers_within_the_time_of_the_deployment(ael: Ael) -> None:  # noqa: F811
    body = '  unanswered(count)\n  let said = count("x") catch { ApprovalDenied a => a.message.length() }\n  assert said == 0\n'
    ael.write({"main.ael": PROGRAM + f'\ntest "silence" {{\n{body}}}\n', "deploy.ael": "runs = memory(approval: 7d)\n"})
    ended = ael("test")
    assert ended.code == 1
    assert "said = " in ended.err, "it ended at once, with a message"
    assert "ended with" not in ended.err
