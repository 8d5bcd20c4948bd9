"""Whole sessions with credentials: the transport, the session and the authorizer together."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import jwt
import pytest

from ael.mcp import oauth
from ael.mcp.endpoint import Authorizer, HttpEndpoint
from ael.mcp.failure import McpError
from ael.mcp.session import Elicitation, ElicitationReply, Session, open_session
from ael.types.fault import FaultKind
from ael.types.value import Secret
from tests.mcp_auth.authority import HOSTS, Authority, Protected, Site, nothing, said, visit
from tests.mcp_auth.support import facts, robot, run, user
from tests.net.loopback import Answer, Asked, Loopback


class Quiet:
    """A listener that says no."""

    def changed(self, what: str) -> None:
        pass

    async def elicit(self, question: Elicitation) -> ElicitationReply:
        return ElicitationReply("decline")

    def log(self, level: str, text: str) -> None:
        pass


class Whose(Protected):
    """An MCP server of the stateless era with one tool, which says whose token it was called with. `writes` needs a scope of its own."""

    def __call__(self, asked: Asked) -> Answer:
        answer = super().__call__(asked)
        if asked.method != "POST" or answer.status != 200 or asked.path != "/mcp":
            return answer
        owner = json.loads(b"".join(piece for piece in answer.pieces if isinstance(piece, bytes)))
        message = json.loads(asked.body)
        granted = self.authority.tokens[owner["token"]]
        match message["method"]:
            case "server/discover":
                result: dict[str, Any] = {
                    "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "s", "version": "1"},
                }
            case "tools/list":
                result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("whose", "writes")]}
            case _:
                if message["params"]["name"] == "writes" and "write" not in granted.scopes:
                    return nothing(403, www_authenticate='Bearer error="insufficient_scope", scope="write"')
                result = {"content": [{"type": "text", "text": owner["token"]}]}
        shown = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
        return said({"jsonrpc": "2.0", "id": message["id"], "result": shown})


def site() -> Site:
    authority = Authority()
    return Site(authority, Whose(authority))


async def session(where: Site, authorizer: Authorizer) -> Session:
    return await open_session(HttpEndpoint(where.mcp, authorizer=authorizer, hosts=HOSTS), Quiet(), connect=10.0)


async def whose(made: Session, tool: str = "whose") -> str:
    answer = await made.call(tool, {}, meta={}, deadline=10.0)
    [part] = answer.parts
    assert part.text is not None
    return part.text


@pytest.mark.feature("A9.15")
def test_two_tenants_have_two_sessions_and_two_tokens() -> None:
    async def test(where: Site) -> None:
        tokens = oauth.Tokens()
        one = await session(where, robot(where, tenant="a", tokens=tokens))
        two = await session(where, robot(where, tenant="b", tokens=tokens))
        seen = await asyncio.gather(*(whose(made) for made in (one, two) * 5))
        assert set(seen[::2]) == {"token-robot-0001"}
        assert set(seen[1::2]) == {"token-robot-0002"}
        await one.close()
        await two.close()

    run(test, site())


@pytest.mark.feature("A9.15")
def test_a_rotated_credential_is_used_by_the_next_call_of_an_open_session() -> None:
    values = ["robot-secret-4711"]

    async def test(where: Site) -> None:
        account = oauth.client_credentials(facts(where), "robot", secret=lambda: Secret("ROBOT", values[-1]))
        made = await session(where, account)
        assert await whose(made) == "token-robot-0001"
        values.append("robot-secret-0815")
        where.authority.clients["robot"] = "robot-secret-0815"
        assert await whose(made) == "token-robot-0002"
        await made.close()

    run(test, site())


def test_a_call_that_needs_more_than_the_session_has_steps_up_and_is_made_once() -> None:
    async def test(where: Site) -> None:
        made = await session(where, user(where))
        await whose(made)
        assert await whose(made, "writes") == "token-registered-1-0002"
        assert where.authority.authorizations[-1]["scope"] == "write"
        calls = [json.loads(asked.body)["params"] for asked in where.protected.asked if b"tools/call" in asked.body]
        assert [call["name"] for call in calls] == ["whose", "writes", "writes"]
        await made.close()

    run(test, site())


def test_many_calls_with_a_token_that_ended_get_one_new_one() -> None:
    async def test(where: Site) -> None:
        made = await session(where, robot(where))
        await whose(made)
        where.authority.tokens.clear()
        where.authority.wait = 0.05
        # The token is fresh: it is not got anew, whoever asks.
        problems = await asyncio.gather(*(whose(made) for _ in range(10)), return_exceptions=True)
        assert {getattr(problem, "kind", None) for problem in problems} == {FaultKind.DENIED}
        assert len(where.authority.token_requests) == 1
        await made.close()

    run(test, site())


def test_a_call_without_a_token_to_be_had_is_denied_and_was_not_sent() -> None:
    async def test(where: Site) -> None:
        where.authority.clients.clear()
        with pytest.raises(McpError) as caught:
            await session(where, robot(where))
        assert caught.value.kind is FaultKind.DENIED
        assert not caught.value.sent
        assert not [asked for asked in where.protected.asked if asked.path == "/mcp"]

    run(test, site())


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_token_goes_to_its_own_origin_only(status: int) -> None:
    async def test(where: Site) -> None:
        seen: list[Asked] = []

        def trap(asked: Asked) -> Answer:
            seen.append(asked)
            return nothing(401)

        async with Loopback(trap) as other:
            made = await session(where, robot(where))
            where.protected.answers["/mcp"] = lambda asked: nothing(status, location=f"{other.url}/mcp")
            with pytest.raises(McpError) as caught:
                await whose(made)
            assert caught.value.kind is FaultKind.DENIED
            assert not seen
            await made.close()

    run(test, site())


def test_a_token_that_is_quoted_by_the_server_is_masked() -> None:
    async def test(where: Site) -> None:
        made = await session(where, robot(where))

        def quoting(asked: Asked) -> Answer:
            return said({"error": f"bad: {asked.headers['authorization']}"}, 500)

        where.protected.answers["/mcp"] = quoting
        with pytest.raises(McpError) as caught:
            await whose(made)
        assert "token-robot" not in caught.value.message
        await made.close()

    run(test, site())


def test_a_key_bound_session() -> None:
    """Each request has a proof of its own, for its own method and token."""

    async def test(where: Site) -> None:
        def token(asked: Asked) -> Answer:
            answer = where.authority._token(asked)
            told = json.loads(b"".join(piece for piece in answer.pieces if isinstance(piece, bytes)))
            return said({**told, "token_type": "DPoP"})

        where.authority.answers["/token"] = token
        made = await session(where, oauth.authorization_code(facts(where), visit, bound=True))
        await whose(made)
        await whose(made)
        await made.close()
        sent = [asked.headers["dpop"] for asked in where.protected.asked if "dpop" in asked.headers]
        proofs = [jwt.decode(proof, options={"verify_signature": False}) for proof in sent]
        assert len(proofs) >= 3
        assert len({proof["jti"] for proof in proofs}) == len(proofs)
        assert {(proof["htm"], proof["htu"]) for proof in proofs} == {("POST", where.mcp)}
        assert len({proof["ath"] for proof in proofs}) == 1

    run(test, site())
