"""Served nodes that ask a model: turns are told, and what they spend is their caller's."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path

import pytest

from ael.net.redact import Redactor
from ael.server.told import Masked
from ael.types.value import Secret
from tests.programs import write
from tests.server.support import TOKEN, opened, serving
from tests.server.test_callers import bearer
from tests.server.test_calls import result, told

MAIN = """\
model fast {
  provider anthropic
  name "claude-haiku-4-5"
}

/// Answer a question.
pub node answer(question: String(max: 200)) -> String(max: 200)
  model fast
  policy one_call
  budget tokens 2_000, time 20s
{
  instructions "Answer."
}
"""
DEPLOY = """\
model fast = scripted("script.json")
secret A = env("ALICE_TOKEN")
caller alice = bearer(secret("A")) budget steps 2, tokens 50_000
"""
SCRIPT = [{"final": "Paris"}] * 5


def test_turns_are_told_and_steps_are_the_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALICE_TOKEN", TOKEN)
    write(tmp_path, {"script.json": json.dumps(SCRIPT)})

    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN, DEPLOY)) as served:
            reply = await served.call("answer", {"question": "?"}, bearer(TOKEN), {"progressToken": "p"})
            assert reply.json["result"]["structuredContent"] == {"result": "Paris"}
            said = [message["params"]["message"] for message in reply.messages[:-1]]
            assert said == ["node answer", "node answer: model turn 1", "node answer: value"]
            definition = served.service.protocol.tools["answer"].definition
            assert definition["annotations"] == {"readOnlyHint": False, "openWorldHint": True}
            assert not result(await served.call("answer", {"question": "?"}, bearer(TOKEN)))["isError"]
            third = told(await served.call("answer", {"question": "?"}, bearer(TOKEN)))
            assert third["fault"] == "BudgetExhausted"
            assert "the caller `alice` has used 2 of 2 model steps" in str(third["message"])
            # The conversation so far is the operator's.
            assert "transcript" not in json.dumps(third)

    asyncio.run(scenario())


def test_log_lines_hold_no_secrets_and_no_tracebacks() -> None:
    form = Masked(Redactor([Secret("A", TOKEN)]))
    try:
        raise ValueError(TOKEN)
    except ValueError:
        record = logging.LogRecord("mcp.server", logging.ERROR, "x.py", 1, f"failed with {TOKEN}", (), sys.exc_info())
    assert form.format(record) == "ael serve: mcp.server: failed with [secret]"
