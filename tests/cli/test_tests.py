"""What a `test` block meets: scripted models, fresh stores, the deployment's rules; and how its failures are told."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Ael

PROGRAM = """
permission notes.write

error Broke { reason: String(max: 80) }

store notes: Map<String, Int> needs notes.write

/// Count up. Call it once.
tool count() -> Int
  needs notes.write
  repeat idempotent
  timeout 1s
  approval required
{
  let before = notes.get("n") ?? 0
  notes.put("n", before + 1)
  before + 1
}

model clerk {
  provider openai
  name "gpt-5-mini"
}

node ask(question: String(max: 80)) -> Int
  model clerk
  policy loop(steps: 3, tool_calls: 3)
  grants notes.write
  tools count
  budget tokens 9_000, time 9s
{
  instructions "Count."
}

fn broken() -> Int fails Broke {
  fail Broke(reason: "on purpose")
}

fn far(at: Int) -> Int {
  [1, 2][at]
}
"""


def _failures(ael: Ael, tests: str) -> list[str]:
    ael.write({"main.ael": PROGRAM + tests})
    ended = ael("test")
    assert ended.code == 1, ended.err
    return [line.strip() for line in ended.err.splitlines() if line.startswith("      ")]


def test_a_script_plays_the_model_and_tools_run(ael: Ael) -> None:
    one = """
test "it counts" {
  script clerk [call("count", [:]), final(1)]
  assert ask("how many?") == 1
  assert calls(count) == 1
}
"""
    ael.write({"main.ael": f"{PROGRAM}{one}{one.replace('it counts', 'it counts from the start again')}"})
    ended = ael("test")
    assert (ended.code, ended.err.splitlines()[-1]) == (0, "2 passed, 0 failed"), ended.err


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("  try broken()\n  assert true\n", 'failed with Broke {"reason": "on purpose"}'),
        ("  assert far(5) == 1\n", "ended with the fault OutOfRange: "),
        ('  assert ask("q") == 1\n', "ended with the fault "),
        ('  script clerk [final(2)]\n  assert ask("q") == 1\n', 'ask("q") == 1'),
        ('  script clerk [final("a"), final("b"), final("c")]\n  assert ask("q") == 1\n', "ended with the fault InvalidOutput: "),
    ],
)
def test_how_failures_are_told(ael: Ael, body: str, said: str) -> None:
    lines = _failures(ael, f'\ntest "it goes wrong" {{\n{body}}}\n')
    assert any(said in line for line in lines), lines


def test_no_key_and_no_network_is_needed(ael: Ael) -> None:
    test = '\ntest "scripted" {\n  script clerk [final(3)]\n  assert ask("q") == 3\n}\n'
    ael.write({"main.ael": PROGRAM + test, "deploy.ael": 'model clerk = openai("gpt-5-mini")\nstore notes = sqlite("n.db")\n'})
    assert ael("test").code == 0
    assert not (ael.folder / "n.db").exists(), "a test never touches the deployment's stores"


def test_the_rules_of_the_deployment_hold(ael: Ael) -> None:
    test = '\ntest "it counts" {\n  script clerk [call("count", [:]), final(1)]\n  assert ask("q") == 1\n  assert calls(count) == 1\n}\n'
    ael.write({"main.ael": PROGRAM + test, "deploy.ael": "limit result 1KiB\n"})
    assert ael("test").code == 0
    ael.write({"deploy.ael": "deny count\n"})
    denied = ael("test")
    assert denied.code == 1, "nobody calls it here, so the test that needs it fails"
    ael.write({"deploy.ael": "modle x = 3\n"})
    broken = ael("test")
    assert broken.code == 2
    assert "error[AEL0811]" in broken.err
