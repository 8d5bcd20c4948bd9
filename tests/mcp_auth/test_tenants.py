"""Tokens belong to one server, one tenant and one version of a credential (fault kind K43)."""

from __future__ import annotations

import asyncio

import pytest

from ael.mcp import oauth
from ael.mcp.oauth.token import Tokens
from ael.types.value import Secret
from tests.mcp_auth.authority import Authority, Protected, Site
from tests.mcp_auth.support import Clock, ask, facts, robot, run, user


@pytest.mark.feature("A9.15")
def test_two_tenants_never_share_a_token() -> None:
    async def test(site: Site) -> None:
        tokens = Tokens()
        first, second = robot(site, tenant="a", tokens=tokens), robot(site, tenant="b", tokens=tokens)
        answers = await asyncio.gather(ask(site, first), ask(site, second), ask(site, first), ask(site, second))
        assert len({answer["token"] for answer in answers}) == 2
        assert answers[0] == answers[2]
        assert answers[1] == answers[3]

    run(test)


def test_two_users_never_share_a_registration_or_a_page() -> None:
    async def test(site: Site) -> None:
        tokens = Tokens()
        for tenant in ("a", "b"):
            await ask(site, user(site, tenant=tenant, tokens=tokens))
        assert len(site.authority.authorizations) == len(site.authority.registrations) == 2

    run(test)


@pytest.mark.parametrize(("one", "other"), [("a", "b"), ("", "a"), ("a\x00b", "a"), ("1:a", "1")])
def test_keys_of_different_facts_are_different(one: str, other: str) -> None:
    tokens = Tokens()
    facts_of = (tokens.key("https://s", one, ("x",)), tokens.key("https://s", other, ("x",)))
    assert facts_of[0] != facts_of[1]
    # Texts cannot be moved from one fact to the next.
    assert tokens.key("https://s", "", (one, other)) != tokens.key("https://s", "", (one + other, ""))
    assert tokens.key("https://s", "", ("1:a",)) != tokens.key("https://s", "", ("", "a"))
    # What a key says is of no use outside of this process.
    assert tokens.key("https://s", "t", ("x",)) == tokens.key("https://s", "t", ("x",))
    assert tokens.key("https://s", "t", ("x",)) != Tokens().key("https://s", "t", ("x",))


def test_the_same_tenant_and_credential_share_one() -> None:
    async def test(site: Site) -> None:
        tokens = Tokens()
        first = await ask(site, robot(site, tenant="a", tokens=tokens))
        assert await ask(site, robot(site, tenant="a", tokens=tokens)) == first
        assert len(site.authority.token_requests) == 1
        # Other scopes, another issuer or another credential are another token.
        assert await ask(site, robot(site, tenant="a", tokens=tokens, scopes=("x",))) != first
        assert await ask(site, robot(site, tenant="a", tokens=tokens, issuer=site.authority.issuer)) != first

    run(test)


def test_two_servers_never_share_a_token() -> None:
    async def test(site: Site) -> None:
        tokens = Tokens()
        async with Site(Authority(clients=dict(site.authority.clients))) as second:
            one, two = await ask(site, robot(site, tokens=tokens)), await ask(second, robot(second, tokens=tokens))
        assert one["resource"] == site.mcp
        assert two["resource"] == second.mcp
        assert len(site.authority.token_requests) == len(second.authority.token_requests) == 1

    run(test)


@pytest.mark.feature("A9.15")
def test_the_next_call_after_a_rotation_uses_the_new_credential() -> None:
    values = ["robot-secret-4711"]

    async def test(site: Site) -> None:
        tokens = Tokens()
        account = oauth.client_credentials(facts(site, tokens=tokens), "robot", secret=lambda: Secret("ROBOT", values[-1]))
        first = await ask(site, account)
        assert await ask(site, account) == first
        values.append("robot-secret-0815")
        site.authority.clients["robot"] = "robot-secret-0815"
        second = await ask(site, account)
        assert second["token"] != first["token"]
        assert await ask(site, account) == second
        # What the old credential got is forgotten.
        assert len(tokens) == 1
        assert len(site.authority.token_requests) == 2

    run(test)


def test_a_rotation_while_a_token_is_being_got() -> None:
    values = ["robot-secret-4711"]

    async def test(site: Site) -> None:
        site.authority.wait = 0.1
        account = oauth.client_credentials(facts(site), "robot", secret=lambda: Secret("ROBOT", values[-1]))
        before = asyncio.create_task(account.headers(5.0))
        await asyncio.sleep(0.05)
        values.append("robot-secret-0815")
        site.authority.clients["robot"] = "robot-secret-0815"
        after = await account.headers(5.0)
        assert after["authorization"] is not (await before)["authorization"]
        assert len(site.authority.token_requests) == 2
        assert await ask(site, account) == {"token": "token-robot-0002", "client": "robot", "resource": site.mcp}

    run(test)


def test_tokens_outlive_the_event_loop_they_came_with() -> None:
    clock = Clock()
    tokens = Tokens()
    made: list[str] = []

    def once() -> None:
        authority = Authority()

        async def test(site: Site) -> None:
            account = oauth.client_credentials(
                facts(site, tokens=tokens, clock=clock), "robot", secret=Secret("R", "robot-secret-4711")
            )
            site.authority.wait = 0.02
            answers = await asyncio.gather(*(account.headers(5.0) for _ in range(5)))
            value = answers[0]["authorization"]
            assert isinstance(value, Secret)
            made.append(value.reveal())

        run(test, Site(authority, Protected(authority)))

    once()
    once()
    assert len(made) == 2


def test_tenants_that_are_gone_are_forgotten() -> None:
    tokens = Tokens(limit=3)
    keys = [tokens.key("https://s", str(tenant), ()) for tenant in range(5)]
    first = tokens.slot(keys[0])
    for key in keys[1:3]:
        tokens.slot(key)
    assert tokens.slot(keys[0]) is first
    tokens.slot(keys[3])
    tokens.slot(keys[4])
    assert len(tokens) == 3
    # The one that was used in between is still there.
    assert tokens.slot(keys[0]) is first
