"""Approvals, asked on a pseudo-terminal, and answered on the command line."""

from __future__ import annotations

import asyncio
import io
import json
import os
import pty
import signal
from pathlib import Path
from typing import TextIO

import pytest

from ael.cli.approve import TerminalApprover
from ael.run.ports import ApprovalRequest, Decision
from tests.cli.conftest import Ael
from tests.cli.terminal import Terminal
from tests.programs import write

PROGRAM = """
permission money.send

role finance

/// Send money. Call it once at most.
tool send(amount: Int(1..100), to: String(max: 40)) -> String(max: 80)
  needs money.send
  repeat idempotent
  timeout 5s
  approval required by finance
{
  log("sent ${amount} to ${to}")
  "sent"
}

model clerk {
  provider openai
  name "gpt-5-mini"
}

node main() -> String(max: 200)
  model clerk
  policy loop(steps: 3, tool_calls: 3)
  grants money.send
  tools send
  budget tokens 20_000, time 60s
{
  instructions "Send what is owed."
}
"""
SCRIPT = json.dumps([{"call": "send", "with": {"amount": 5, "to": "\u001b[31mAda\u202e"}}, {"final": "done"}])
FILES = {
    "main.ael": PROGRAM,
    "deploy.ael": 'model clerk = scripted("s.json")\nrole finance = ["local"]\n',
    "deploy.nobody.ael": 'model clerk = scripted("s.json")\n',
    "deploy.others.ael": 'model clerk = scripted("s.json")\nrole finance = ["somebody-else"]\n',
    "s.json": SCRIPT,
}
QUESTION = "run it? [y]es, [n]o, [e]dit the arguments, [l]ater: "


def test_yes(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    with Terminal(["run", "."], tmp_path) as terminal:
        seen = terminal.until(QUESTION)
        assert "send needs your approval (as finance):" in seen
        assert '"amount": 5' in seen
        assert "\x1b[31mAda" not in seen, "text from outside never steers the terminal"
        assert "sent 5" not in seen, "nothing runs before the answer"
        terminal.type("y")
        assert terminal.end() == (0, '"done"\n')
        assert "sent 5 to" in terminal.seen
        assert "send approved by" in terminal.seen


def test_no_with_a_reason(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    with Terminal(["run", ".", "--trace"], tmp_path) as terminal:
        terminal.until(QUESTION)
        terminal.type("n")
        terminal.until("the reason, which the model is told: ")
        terminal.type("too much")
        assert terminal.end() == (0, '"done"\n')
        assert "sent 5" not in terminal.seen
        assert "did not approve" in terminal.seen
        assert "too much" in terminal.seen.split("run main")[-1]


def test_edited_arguments_are_checked_and_run(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    with Terminal(["run", "."], tmp_path) as terminal:
        terminal.until(QUESTION)
        terminal.type("e")
        terminal.until("the arguments, as one line of JSON: ")
        terminal.type('{"amount": 7, "to": "Bob"}')
        assert terminal.end() == (0, '"done"\n')
        assert "sent 7 to Bob" in terminal.seen
        assert "sent 5" not in terminal.seen


def test_an_interrupt_ends_a_question_that_waits(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    with Terminal(["run", "."], tmp_path) as terminal:
        terminal.until(QUESTION)
        terminal.signal(signal.SIGINT)
        code, out = terminal.end()
        assert (code, out) == (130, "")
        assert "sent" not in terminal.seen


# --- the approver alone, on a pseudo-terminal ----------------------------------------------------------------------------

REQUEST = ApprovalRequest("r1", "main/1", "local", "main.send", "finance", {"amount": 5, "to": "Ada"}, "digest", "")


def _decide(*typed: str, end: bool = False) -> tuple[Decision, str]:
    """The decision when these lines are typed, all at once; `end` hangs the terminal up after them."""
    near, far = pty.openpty()
    out = io.StringIO()

    async def ask(source: TextIO) -> Decision:
        approver = TerminalApprover("ada", {"finance": ("ada",)}, source, out)
        return await asyncio.wait_for(approver.decide(REQUEST), 20)

    with os.fdopen(far, encoding="utf-8") as source:
        os.write(near, "".join(f"{line}\n" for line in typed).encode())
        if end:
            os.write(near, b"\x04")
        try:
            return asyncio.run(ask(source)), out.getvalue()
        finally:
            os.close(near)


@pytest.mark.parametrize(
    ("typed", "decision"),
    [
        (("y",), Decision(True, "ada")),
        (("  YES ",), Decision(True, "ada")),
        (("n", "too much"), Decision(False, "ada", "too much")),
        (("n", ""), Decision(False, "ada", "the person said no")),
        (("yes please", "hm"), Decision(False, "ada", "hm")),
        (("", ""), Decision(False, "ada", "the person said no")),
        (("e", '{"amount": 7, "to": "Bob"}'), Decision(True, "ada", "with edited arguments", {"amount": 7, "to": "Bob"})),
        (("e", "{"), Decision(False, "ada", "the edited arguments were no JSON")),
        (("e", "[1]"), Decision(False, "ada", "the edited arguments were no object")),
    ],
)
def test_answers(typed: tuple[str, ...], decision: Decision) -> None:
    decided, asked = _decide(*typed)
    assert decided == decision
    assert asked.startswith('\nmain.send needs your approval (as finance):\n{\n  "amount": 5,')


def test_the_end_of_the_input_is_a_no() -> None:
    assert _decide(end=True)[0] == Decision(False, "ada", "nobody answered")


# --- without a terminal ------------------------------------------------------------------------------------------------


def test_nobody_to_ask_is_a_no_where_runs_are_not_kept(ael: Ael) -> None:
    ael.write({**FILES, "deploy.ael": f"{FILES['deploy.ael']}runs = memory\n"})
    ended = ael("run", ".", "--trace")
    assert ended.code == 0
    assert "nobody could be asked: this is no terminal" in ended.err
    assert "sent" not in ended.err


@pytest.mark.feature("A4.5")
def test_with_nobody_to_ask_the_run_waits_parked(ael: Ael) -> None:
    ael.write(FILES)
    ended = ael("run", ".")
    assert ended.code == 3
    assert "parked: send waits for an approval" in ended.err
    assert "sent" not in ended.err
    [waiting] = json.loads(ael("runs", "approvals", "--format", "json").out)
    assert waiting["arguments"] == {"amount": 5, "to": "\u001b[31mAda\u202e"}
    approved = ael("runs", "approve", waiting["run"], "--resume")
    assert approved.code == 0
    assert "sent 5 to" in approved.err


def test_approve_and_deny_answer_without_asking(ael: Ael) -> None:
    ael.write(FILES)
    approved = ael("run", ".", "--approve")
    assert approved.code == 0
    assert "sent 5 to" in approved.err
    denied = ael("run", ".", "--deny", "--trace")
    assert denied.code == 0
    assert "denied on the command line" in denied.err
    assert "sent" not in denied.err
    both = ael("run", ".", "--approve", "--deny")
    assert both.code == 2
    assert "not allowed with argument" in both.err


def test_only_members_of_the_role_decide(ael: Ael) -> None:
    ael.write(FILES)
    others = ael("run", ".", "--approve", "--deploy", "others", "--trace")
    assert "is not in the role `finance`" in others.err
    assert "sent" not in others.err
    nobody = ael("run", ".", "--approve", "--deploy", "nobody", "--trace")
    assert "the deployment does not say who `finance` is" in nobody.err
    assert "sent" not in nobody.err
