"""Skills as a person meets them: what is offered and why it may be called, where an instruction came from, and a skill that changed."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Ael
from tests.cli.watched import watch_steps

MAIN = """permission orders.read
permission orders.refund includes orders.read

/// Give the money back. Only after a person asked for it.
tool refund(id: String(max: 64)) -> String
  needs orders.refund
  repeat idempotent
{APPROVAL}{
  "refunded ${id}"
}

model fast {
  provider openai
  name "gpt-5-mini"
}

skill tone {
  version "1"
  instructions from "tone.md"
}

skill refunds {
  version "2.1"
  instructions "Refund in full."
  tools refund
  skills tone
}

node answer(question: String) -> String
  model fast
  policy loop(steps: 3, tool_calls: 2)
  grants orders.refund
  skills refunds
{
  instructions "Answer."
}

agent main(question: String) -> String
  grants orders.refund
  skills refunds, tone
{
  edge start -> answer(question)
  edge answer -> finish
}
"""
PLAIN = MAIN.replace("{APPROVAL}", "")
ASKS = MAIN.replace("{APPROVAL}", "  approval required\n")
SCRIPT = '[{"call": "refund", "with": {"id": "A-1"}}, {"final": "done"}]'
DEPLOY = 'model fast = scripted("script.json")\nruns = sqlite("runs.db")\n'
FILES = {"main.ael": PLAIN, "tone.md": "Be kind.\n", "script.json": SCRIPT, "deploy.ael": DEPLOY}


@pytest.mark.feature("A6.1", "A16.7")
def test_where_an_instruction_came_from_is_shown(ael: Ael) -> None:
    ael.write(FILES)
    ran = ael("run", ".", "--question", "my money?", "--trace")
    assert (ran.code, ran.out) == (0, '"done"\n')
    assert "skills tone 1, refunds 2.1" in ran.err
    [row] = json.loads(ael("runs", "list", "--format", "json").out)
    step = ael("runs", "show", row["run"], "--step", "1").out
    assert (
        '<skill name="tone" version="1">\nBe kind.\n</skill>\n\n<skill name="refunds" version="2.1">\nRefund in full.\n</skill>'
        in step
    )
    assert "refund" in step
    assert "node answer" in (kept := ael("trace", row["run"]).out)
    assert kept.count("skills tone 1, refunds 2.1") == 2, "of the agent and of its node"
    traced = ael("trace", row["run"], "--content").out
    assert '<skill name="refunds" version="2.1">' in traced.replace('\\"', '"')
    previewed = json.loads(ael("preview", ".", "answer", "--json").out)
    assert '<skill name="tone" version="1">' in json.dumps(previewed).replace('\\"', '"')
    assert "answer  (model fast, skills tone, refunds)" in ael("graph", ".").out


@pytest.mark.feature("A4.1", "A6.2", "D5")
def test_a_tool_of_a_skill_goes_through_the_same_checks(ael: Ael) -> None:
    ael.write(FILES)
    told = ael("explain-access", "answer").out
    assert "tool refund through the skill refunds needs orders.refund: may be called" in told
    [reached] = json.loads(ael("explain-access", "answer", "--json").out)["reaches"]
    assert (reached["name"], reached["skill"], reached["allowed"]) == ("main.refund", "main.refunds", True)
    for line, who in (
        ("deny orders.refund\n", "the operator's allow-list"),
        ("tenant local {\n  deny orders.refund\n}\n", "the tenant"),
    ):
        ael.write(
            {
                "deploy.ael": DEPLOY + line,
                "script.json": '[{"call": "refund", "with": {"id": "A-1"}}, {"final": "it was refused"}]',
            }
        )
        ran = ael("run", ".", "--question", "my money?", "--trace", "--content")
        assert ran.out == '"it was refused"\n'
        assert "orders.refund" in ran.err
        assert "refunded A-1" not in ran.err, "the tool did not run"
        [denied] = json.loads(ael("explain-access", "answer", "--json").out)["reaches"]
        assert denied["allowed"] is False
        assert who in denied["denied_by"]


@pytest.mark.feature("A6.1", "B8")
@pytest.mark.parametrize("change", ["the file", "the version", "the text"])
def test_a_skill_that_changed_is_another_program(ael: Ael, change: str) -> None:
    ael.write(FILES | {"main.ael": ASKS})
    parked = ael("run", ".", "--question", "my money?", "--quiet")
    assert parked.code == 3, parked.err
    [row] = json.loads(ael("runs", "list", "--format", "json").out)
    run = str(row["run"])
    new = {
        "the file": {"tone.md": "Be brief.\n"},
        "the version": {"main.ael": ASKS.replace('"2.1"', '"2.2"')},
        "the text": {"main.ael": ASKS.replace("Refund in full.", "Refund half.")},
    }[change]
    ael.write(new)
    refused = ael("runs", "resume", run)
    assert refused.code == 2
    assert f"error[AEL0906]: the program has changed since the run {run} began" in refused.err
    assert ael("check", "--against-runs").code == 1
    ael.write(FILES | {"main.ael": ASKS})
    assert ael("runs", "approve", run).code == 0
    assert ael("runs", "resume", run, "--quiet").out == '"done"\n'
    ael.write(new)
    at_end = ael("runs", "fork", run, "--at", "end", "--quiet")
    assert at_end.code == 1
    assert "Diverged" in at_end.err, "the model would be asked with other instructions"
    anew = ael("runs", "fork", run, "--at", "1", "--quiet", "--allow", "refund")
    assert anew.code == 3, anew.err
    assert "refund waits for an approval" in anew.err, "what the skill brings asks again, under its own rules"


@pytest.mark.feature("B24", "A6.3")
def test_watching_sees_a_change_of_a_file_of_instructions(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    ael.write(FILES)
    watch_steps(monkeypatch, [lambda: ael.write({"tone.md": "Answer ${question}."})])
    ended = ael("check", "--watch")
    assert ended.code == 130
    first, second = ended.err.split("changed, checking again ---")
    assert "no problems" in first
    assert "AEL1128" in second
