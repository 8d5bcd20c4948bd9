"""Who answers what a server asks, beside the person at a terminal: whoever is behind the client of a served program."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ael.run.ports import ApprovalRequest, Question
from ael.server.approval import ServedApprover

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
