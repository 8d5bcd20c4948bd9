"""A server that wants something of a person before it answers (revision 2026-07-28)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from ael.mcp.session import Elicitation, ElicitationReply, SessionLimits
from ael.types.fault import FaultKind
from tests.mcp.http_peer import Asked, Out
from tests.mcp.mcp_peer import NEW, OLD, McpPeer, error, params, result, text
from tests.mcp.support import Heard, call, failing, run, served, texts

ASK: dict[str, object] = {
    "method": "elicitation/create",
    "params": {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}}},
}


def wants(*rounds: Mapping[str, object]) -> McpPeer:
    """A server that wants these things, one after another, and then answers with what it got."""
    peer = McpPeer(NEW)
    got: list[Any] = []

    async def answer(asked: Asked, out: Out) -> None:
        given = params(asked)
        got.append((given.get("inputResponses"), given.get("requestState", "none")))
        if len(got) <= len(rounds):
            await out.reply(200, result(asked, {"resultType": "input_required", **rounds[len(got) - 1]}))
        else:
            await out.reply(200, result(asked, {"resultType": "complete", **text(str(got[1:]))}))

    peer.on["tools/call"] = answer
    return peer


def test_a_question_is_asked_and_the_call_goes_on_with_the_answer() -> None:
    async def test() -> None:
        heard = Heard(ElicitationReply("accept", {"ok": True}))
        async with served(wants({"inputRequests": {"q": ASK}, "requestState": " opaque\x7f"}), heard, elicitation=True) as (
            session,
            http,
        ):
            answer = await call(session, meta={"idempotencyKey": "k"})
            assert texts(answer) == ["[({'q': {'action': 'accept', 'content': {'ok': True}}}, ' opaque\\x7f')]"]
            assert heard.questions == [Elicitation("Sure?", ASK["params"]["requestedSchema"])]  # type: ignore[index]
            first, second = (asked for asked in http.asked if asked.headers.get("mcp-method") == "tools/call")
            assert first.message["id"] != second.message["id"]
            assert params(first)["_meta"]["idempotencyKey"] == params(second)["_meta"]["idempotencyKey"] == "k"

    run(test())


def test_state_that_was_not_given_is_not_sent_and_state_alone_is_enough() -> None:
    async def test() -> None:
        heard = Heard(ElicitationReply("decline"))
        async with served(wants({"inputRequests": {"q": ASK}}, {"requestState": "s"}), heard, elicitation=True) as (session, _):
            assert texts(await call(session)) == ["[({'q': {'action': 'decline'}}, 'none'), (None, 's')]"]

    run(test())


@pytest.mark.parametrize("method", ["elicitation/create", "sampling/createMessage", "roots/list"])
def test_what_was_not_offered_is_denied(method: str) -> None:
    async def test() -> None:
        heard = Heard()
        offered = method != "elicitation/create"
        asks = {"inputRequests": {"q": {"method": method, "params": ASK["params"]}}}
        async with served(wants(asks), heard, elicitation=offered) as (session, _):
            problem = await failing(call(session), FaultKind.DENIED, sent=True)
            assert method in problem.message
            assert heard.questions == []

    run(test())


@pytest.mark.feature("A9.8", "B12")
@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"inputRequests": {}},
        {"inputRequests": []},
        {"inputRequests": {"q": 7}},
        {"inputRequests": {"q": {"method": "elicitation/create"}}},
        {"inputRequests": {"q": {"method": "elicitation/create", "params": {"message": 7}}}},
        {"inputRequests": {str(at): ASK for at in range(50)}},
        {"requestState": 7},
        {"resultType": "a kind of tomorrow"},
    ],
)
def test_what_cannot_be_understood_is_malformed(wanted: dict[str, object]) -> None:
    async def test() -> None:
        async with served(wants(wanted), elicitation=True) as (session, _):
            await failing(call(session), FaultKind.MALFORMED, sent=True)

    run(test())


def test_a_server_that_asks_for_ever_is_stopped() -> None:
    async def test() -> None:
        heard = Heard()
        async with served(
            wants(*[{"inputRequests": {"q": ASK}}] * 50), heard, elicitation=True, limits=SessionLimits(rounds=3)
        ) as (session, _):
            await failing(call(session), FaultKind.MALFORMED, sent=True)
            assert len(heard.questions) == 4

    run(test())


@pytest.mark.feature("B12")
def test_a_person_who_does_not_answer_meets_the_deadline() -> None:
    async def test() -> None:
        heard = Heard()
        heard.before = lambda: asyncio.sleep(60)
        async with served(wants({"inputRequests": {"q": ASK}}), heard, elicitation=True) as (session, _):
            await session.listing("tools", deadline=20)
            await failing(call(session, deadline=0.3), FaultKind.TIMEOUT, sent=True)

    run(test())


def test_a_page_to_open_is_asked_for_by_its_address() -> None:
    async def test() -> None:
        heard = Heard(ElicitationReply("accept"))
        ask = {"method": "elicitation/create", "params": {"mode": "url", "message": "Sign in", "url": "https://example.com/x"}}
        async with served(wants({"inputRequests": {"q": ask}}), heard, elicitation=True) as (session, _):
            assert texts(await call(session)) == ["[({'q': {'action': 'accept'}}, 'none')]"]
            assert heard.questions == [Elicitation("Sign in", {}, "https://example.com/x")]

    run(test())


def test_the_kind_of_a_result_means_nothing_in_the_older_era_and_complete_where_it_is_missing() -> None:
    async def odd(asked: Asked, out: Out) -> None:
        await out.reply(200, result(asked, {"resultType": "input_required", **text("done")}))

    async def missing(asked: Asked, out: Out) -> None:
        await out.reply(200, result(asked, text("done")))

    async def test() -> None:
        for version, answer in ((OLD, odd), (NEW, missing)):
            peer = McpPeer(version)
            peer.on["tools/call"] = answer
            async with served(peer) as (session, _):
                assert texts(await call(session)) == ["done"]

    run(test())


# --- addresses to be opened before a call (error -32042)

PAGE = {"mode": "url", "message": "Sign in", "url": "https://example.com/x", "elicitationId": "e-1"}


def gated(version: str, *refusals: object) -> McpPeer:
    """A server that turns a call down with these data, one after another, and then answers with how often it was asked."""
    peer = McpPeer(version)
    asked_for: list[object] = []

    async def answer(asked: Asked, out: Out) -> None:
        asked_for.append(asked)
        if len(asked_for) <= len(refusals):
            await out.reply(200, error(asked, -32042, "sign in first", refusals[len(asked_for) - 1]))
        else:
            done = {} if version == OLD else {"resultType": "complete"}
            await out.reply(200, result(asked, {**done, **text(f"asked {len(asked_for)} times")}))

    peer.on["tools/call"] = answer
    return peer


@pytest.mark.parametrize("version", [OLD, NEW])
def test_a_call_that_needs_an_address_to_be_opened_is_made_again_when_a_person_has(version: str) -> None:
    async def test() -> None:
        heard = Heard(ElicitationReply("accept"))
        other = {**PAGE, "url": "https://example.com/y"}
        async with served(gated(version, {"elicitations": [PAGE, other]}), heard, elicitation=True) as (session, _):
            assert texts(await call(session)) == ["asked 2 times"]
        assert heard.questions == [
            Elicitation("Sign in", {}, "https://example.com/x"),
            Elicitation("Sign in", {}, "https://example.com/y"),
        ]

    run(test())


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize(
    ("data", "reply", "offered", "questions"),
    [
        ({"elicitations": [PAGE, PAGE]}, "decline", True, 1),
        ({"elicitations": [PAGE]}, "cancel", True, 1),
        ({"elicitations": [PAGE]}, "accept", False, 0),
        ({"elicitations": [{**PAGE, "mode": "form", "requestedSchema": {"type": "object"}}]}, "accept", True, 0),
        ({"elicitations": [{**PAGE, "url": 7}]}, "accept", True, 0),
        ({"elicitations": [PAGE] * 9}, "accept", True, 0),
        ({"elicitations": []}, "accept", True, 0),
        ({"elicitations": 7}, "accept", True, 0),
        ("x", "accept", True, 0),
    ],
)  # fmt: skip
def test_without_a_person_who_opened_all_of_it_the_call_is_denied_and_was_not_sent(
    version: str, data: object, reply: str, offered: bool, questions: int
) -> None:
    async def test() -> None:
        heard = Heard(ElicitationReply(reply))  # type: ignore[arg-type]
        async with served(gated(version, data), heard, elicitation=offered) as (session, http):
            problem = await failing(call(session), FaultKind.DENIED, sent=False)
            assert "sign in first" in problem.message
            assert http.methods().count("tools/call") == 1
        assert len(heard.questions) == questions

    run(test())


def test_a_server_that_always_wants_an_address_to_be_opened_is_left() -> None:
    async def test() -> None:
        heard = Heard(ElicitationReply("accept"))
        peer = gated(OLD, *[{"elicitations": [PAGE]}] * 50)
        async with served(peer, heard, elicitation=True, limits=SessionLimits(rounds=3)) as (session, _):
            await failing(call(session), FaultKind.MALFORMED, sent=False)
        assert len(heard.questions) == 4

    run(test())
