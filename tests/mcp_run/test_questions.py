"""What servers ask in runs: in rounds of the stateless era, and put to whoever is behind the client of a served program."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ael.run.ports import ApprovalRequest, Decision, Question
from ael.server.approval import ServedApprover
from tests.mcp.http_peer import Asked, HttpPeer, Out
from tests.mcp.mcp_peer import NEW, params, result
from tests.mcp_run.programs import Crm, finished, network, program, served
from tests.mcp_run.test_http import value
from tests.run.fakes import FakeApprover

SCHEMA = {"type": "object", "properties": {"size": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("answer", "question", "approved"),
    [
        ({"size": 3}, Question("How many?", SCHEMA), True),
        (None, Question("How many?", SCHEMA), False),
        ({}, Question("Look", {}, "https://example.com"), False),
    ],
)
def test_a_question_goes_to_the_client_as_the_server_says_it(
    answer: Mapping[str, object] | None, question: Question, approved: bool
) -> None:
    asked: list[tuple[str, Mapping[str, object]]] = []

    async def elicit(message: str, schema: Mapping[str, object]) -> Mapping[str, object] | None:
        asked.append((message, schema))
        return answer

    async def work() -> None:
        approver = ServedApprover({}, known=False, seconds=5.0)
        request = SimpleNamespace(caller=SimpleNamespace(name="lin"), elicit=elicit, parks=False)
        approver.flights["r1"] = cast("Any", SimpleNamespace(request=request))
        decision = await approver.decide(ApprovalRequest("r1", "s", "acme", "main.crm.get", None, {}, "", "asks", question))
        assert (decision.approved, decision.by) == (approved, "lin")
        assert decision.arguments == (answer if approved else None)
        assert asked == ([("How many?", SCHEMA)] if question.url is None else [])

    asyncio.run(work())


def test_a_question_of_the_stateless_era_is_a_round_of_the_same_call(tmp_path: Path) -> None:
    """K54: the answer goes with the same request, asked again; the journal has one call and one question."""
    asks = {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": "Is it urgent?", "requestedSchema": {**SCHEMA, "required": ["size"]}},
    }

    async def test() -> None:
        crm = Crm(NEW)

        async def rounds(asked: Asked, out: Out) -> None:
            given = params(asked)
            if "inputResponses" not in given:
                told = {"resultType": "input_required", "inputRequests": {"q": asks}, "requestState": "s1"}
                await out.reply(200, result(asked, told))
                return
            assert given["requestState"] == "s1"
            said = json.dumps(given["inputResponses"]["q"], sort_keys=True)
            await out.reply(200, result(asked, {**crm.complete, "content": [{"type": "text", "text": said}]}))

        crm.doing["create_ticket"] = rounds
        approver = FakeApprover(Decision(True, "lin", "", {"size": 3}))
        async with served(crm, tmp_path, ", elicitation: true", approver=approver) as (made, _):
            said = value(await made.run("main.ticket", {"text": "x"}))
            assert json.loads(str(said)) == {"action": "accept", "content": {"size": 3}}
            assert [one.kind for one in made.spans.spans if one.kind in ("tool", "approval")] == ["approval", "tool"]
        assert len({meta["idempotencyKey"] for *_, meta in crm.called}) == 1

    finished(test)


FORM = {
    "message": "With TOKEN?",
    "requestedSchema": {"type": "object", "properties": {"size": {"type": "string", "description": "as in TOKEN"}}},
}
PAGE = {"mode": "url", "message": "Sign in", "url": "https://example.com/?t=TOKEN"}


@pytest.mark.parametrize("asks", [FORM, PAGE])
def test_a_question_is_shown_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asks: dict[str, object]) -> None:
    """K41: the server has the credential, and may say it again in its words, in the fields of a form, and in an address."""
    token = "tok-0123456789abcdef"
    monkeypatch.setenv("T", token)
    told = json.loads(json.dumps(asks).replace("TOKEN", token))

    async def test() -> None:
        crm = Crm(NEW)

        async def rounds(asked: Asked, out: Out) -> None:
            if "inputResponses" not in params(asked):
                wanted = {"q": {"method": "elicitation/create", "params": told}}
                await out.reply(200, result(asked, {"resultType": "input_required", "inputRequests": wanted}))
            else:
                await out.reply(200, result(asked, {**crm.complete, "content": []}))

        crm.doing["create_ticket"] = rounds
        approver = FakeApprover(Decision(True, "lin", "", {"size": "x"}))
        async with HttpPeer(crm) as peer:
            deploy = 'secret T = env("T")\n' + network(peer, ', elicitation: true, headers: ["X-Api-Key": secret("T")]')
            async with program(tmp_path, deploy, approver=approver) as made:
                value(await made.run("main.ticket", {"text": "x"}))
        [request] = approver.requests
        assert token not in repr(request)
        assert repr(request).count("***") == (2 if asks is FORM else 1)

    finished(test)
