"""A user's account: a page in a browser, a redirect to this machine, refresh tokens, registration on the spot."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ael.mcp import oauth
from ael.types.fault import FaultKind
from ael.types.value import Secret
from tests.mcp_auth.authority import Site, nothing, plain, said, visit
from tests.mcp_auth.support import SECRET, Clock, Refused, ask, facts, fault, run, user


def test_a_user_says_yes_once() -> None:
    async def test(site: Site) -> None:
        account = user(site)
        first, second = await ask(site, account), await ask(site, account)
        assert first == second == {"token": "token-registered-1-0001", "client": "registered-1", "resource": site.mcp}
        [asked] = site.authority.authorizations
        assert asked["response_type"] == "code"
        assert asked["resource"] == site.mcp
        assert asked["code_challenge_method"] == "S256"
        assert len(asked["code_challenge"]) == 43
        assert len(asked["state"]) >= 32
        assert "scope" not in asked
        [registration] = site.authority.registrations
        assert registration["token_endpoint_auth_method"] == "none"
        assert registration["application_type"] == "native"
        assert registration["redirect_uris"] == [asked["redirect_uri"]]
        assert registration["grant_types"] == ["authorization_code", "refresh_token"]

    run(test)


def test_nothing_is_asked_of_the_user_before_the_server_wants_it() -> None:
    async def test(site: Site) -> None:
        account = user(site)
        assert await account.headers(5.0) == {}
        assert not site.authority.authorizations

    run(test)


def test_the_scopes_are_those_of_the_challenge_then_those_of_the_metadata() -> None:
    async def test(site: Site) -> None:
        site.protected.changes["scopes_supported"] = ["from-metadata"]
        await ask(site, user(site))
        site.protected.challenge = 'Bearer scope="from-challenge"'
        await ask(site, user(site))
        await ask(site, user(site, scopes=("from-deployment",)))
        assert [asked.get("scope") for asked in site.authority.authorizations] == [
            "from-metadata",
            "from-challenge",
            "from-deployment",
        ]

    run(test)


def test_lasting_access_is_asked_for_where_the_server_has_it() -> None:
    async def test(site: Site) -> None:
        site.authority.changes["scopes_supported"] = ["a", "offline_access"]
        site.protected.challenge = 'Bearer scope="a"'
        await ask(site, user(site))
        [asked] = site.authority.authorizations
        assert (asked["scope"], asked["prompt"]) == ("a offline_access", "consent")

    run(test)


def test_a_step_up_asks_for_what_was_asked_before_too() -> None:
    async def test(site: Site) -> None:
        site.protected.challenge = 'Bearer scope="a"'
        site.protected.needs = frozenset({"a"})
        account = user(site)
        await ask(site, account)
        site.protected.needs = frozenset({"a", "b"})
        await ask(site, account)
        assert [asked["scope"] for asked in site.authority.authorizations] == ["a", "a b"]
        # The client that registered itself is used again.
        assert len(site.authority.registrations) == 1

    run(test)


def test_a_second_yes_is_for_all_that_was_given_before() -> None:
    clock = Clock()

    async def test(site: Site) -> None:
        site.authority.refreshes = False
        site.protected.challenge = 'Bearer scope="a"'
        site.protected.needs = frozenset({"a", "b"})
        account = user(site, clock=clock)
        await ask(site, account)
        clock.now += 3700
        await ask(site, account)
        assert [asked["scope"] for asked in site.authority.authorizations] == ["a", "a b", "a b"]

    run(test)


def test_a_refresh_token_needs_no_user_and_rotates() -> None:
    clock = Clock()

    async def test(site: Site) -> None:
        account = user(site, clock=clock)
        await ask(site, account)
        for number in (2, 3):
            clock.now += 3600
            assert (await ask(site, account))["token"] == f"token-registered-1-000{number}"
        used = [request["refresh_token"] for request in site.authority.token_requests[1:]]
        assert used == ["refresh-0001-secret", "refresh-0002-secret"]
        assert all(request["resource"] == site.mcp for request in site.authority.token_requests)
        assert len(site.authority.authorizations) == 1

    run(test)


def test_a_server_that_gives_no_new_refresh_token_means_the_old_one() -> None:
    clock = Clock()

    async def test(site: Site) -> None:
        account = user(site, clock=clock)
        await ask(site, account)
        used: list[str] = []

        def token(asked: Any) -> Any:
            used.append(plain(asked.body.decode())["refresh_token"])
            return said({"access_token": f"fresh-{len(used)}", "token_type": "Bearer", "expires_in": 3600})

        site.authority.answers["/token"] = token
        for _ in range(2):
            clock.now += 3600
            await account.headers(5.0)
        assert used == ["refresh-0001-secret"] * 2

    run(test)


def test_a_refresh_token_that_counts_no_more_asks_the_user_again() -> None:
    clock = Clock()

    async def test(site: Site) -> None:
        account = user(site, clock=clock)
        await ask(site, account)
        site.authority._refresh.clear()
        clock.now += 3700
        assert await account.headers(5.0) == {}
        assert (await ask(site, account))["token"] == "token-registered-1-0002"
        assert len(site.authority.authorizations) == 2

    run(test)


def test_a_token_that_is_refused_is_refreshed_first() -> None:
    clock = Clock()

    async def test(site: Site) -> None:
        account = user(site, clock=clock)
        first = await ask(site, account)
        clock.now += 60
        del site.authority.tokens[first["token"]]
        await ask(site, account)
        assert site.authority.token_requests[-1]["grant_type"] == "refresh_token"
        assert len(site.authority.authorizations) == 1

    run(test)


def test_many_refusals_open_one_page() -> None:
    async def test(site: Site) -> None:
        opened: list[str] = []

        async def open_url(url: str) -> None:
            opened.append(url)
            await asyncio.sleep(0.05)
            await visit(url)

        account = user(site, open_url)
        answers = await asyncio.gather(*(ask(site, account) for _ in range(20)))
        assert {answer["token"] for answer in answers} == {"token-registered-1-0001"}
        assert len(opened) == 1

    run(test)


def test_a_token_refused_at_once_does_not_open_page_after_page() -> None:
    async def test(site: Site) -> None:
        site.protected.accepts = False
        account = user(site)
        for _ in range(3):
            with pytest.raises(Refused):
                await ask(site, account, times=10)
        assert len(site.authority.authorizations) == 1

    run(test)


def test_a_given_client_is_not_registered() -> None:
    async def test(site: Site) -> None:
        answer = await ask(site, user(site, id="robot", secret=SECRET))
        assert answer["client"] == "robot"
        assert not site.authority.registrations
        assert site.authority.token_requests[0]["authorization"].startswith("Basic ")

    run(test)


def test_a_client_with_a_metadata_document_is_not_registered() -> None:
    document = "https://client.example.com/ael.json"

    async def test(site: Site) -> None:
        site.authority.changes["client_id_metadata_document_supported"] = True
        assert (await ask(site, user(site, document=document)))["client"] == document
        assert not site.authority.registrations

    run(test)


def test_a_document_is_no_id_where_the_server_does_not_read_it() -> None:
    async def test(site: Site) -> None:
        assert (await ask(site, user(site, document="https://client.example.com/ael.json")))["client"] == "registered-1"

    run(test)


def test_a_server_that_registers_nobody_is_told() -> None:
    async def test(site: Site) -> None:
        site.authority.changes["registration_endpoint"] = None
        assert "registers no clients" in (await fault(ask(site, user(site)))).message

    run(test)


def test_a_registered_secret_that_is_over_is_replaced() -> None:
    async def test(site: Site) -> None:
        ends: list[float] = []

        def register(asked: Any) -> Any:
            ends.append(1.0)
            return said({"client_id": f"short-{len(ends)}", "client_secret": "s" * 20, "client_secret_expires_at": 1}, 201)

        site.authority.changes["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
        site.authority.answers["/register"] = register
        site.authority.clients.update({"short-1": "s" * 20, "short-2": "s" * 20})
        account = user(site)
        first = await ask(site, account)
        assert first["client"] == "short-1"
        site.protected.needs = frozenset({"more"})
        await ask(site, account)
        assert len(ends) == 2

    run(test)


def test_a_registration_that_the_server_forgot_is_made_again() -> None:
    clock = Clock()

    async def test(site: Site) -> None:
        site.authority.changes["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
        account = user(site, clock=clock)
        await ask(site, account)
        site.authority.clients.clear()
        site.authority.tokens.clear()
        clock.now += 60
        assert (await ask(site, account))["client"] == "registered-2"

    run(test)


@pytest.mark.parametrize("methods", [["S256", "plain"], ["plain"], [], None])
def test_without_pkce_no_user_is_sent_there(methods: list[str] | None) -> None:
    async def test(site: Site) -> None:
        site.authority.changes["code_challenge_methods_supported"] = methods
        if methods is not None and "S256" in methods:
            await ask(site, user(site))
        else:
            assert "PKCE" in (await fault(ask(site, user(site)))).message
            assert not site.authority.registrations
            assert not site.authority.authorizations

    run(test)


def test_a_no_of_the_user_is_told_with_the_servers_words() -> None:
    async def test(site: Site) -> None:
        site.authority.redirect.update({"code": None, "error": "access_denied", "error_description": "the user\x1b[31m said no"})
        problem = await fault(ask(site, user(site)))
        assert "access_denied" in problem.message
        assert "\x1b" not in problem.message
        assert not site.authority.token_requests

    run(test)


def test_an_answer_without_a_code_is_malformed() -> None:
    async def test(site: Site) -> None:
        site.authority.redirect["code"] = None
        await fault(ask(site, user(site)), FaultKind.MALFORMED)

    run(test)


def test_nobody_in_front_of_the_browser() -> None:
    async def test(site: Site) -> None:
        problem = await fault(ask(site, user(site, lambda url: None, seconds=0.05)), FaultKind.TIMEOUT)
        assert "browser" in problem.message

    run(test)


def test_a_page_that_cannot_be_shown() -> None:
    def broken(url: str) -> None:
        raise OSError(f"no browser for {url}")

    async def test(site: Site) -> None:
        problem = await fault(ask(site, user(site, broken)))
        assert "OSError" in problem.message
        assert "state" not in problem.message

    run(test)


def test_parameters_of_the_authorization_endpoint_are_kept() -> None:
    async def test(site: Site) -> None:
        site.authority.changes["authorization_endpoint"] = f"{site.authority.url}/authorize?tenant=7&state=planted"
        await ask(site, user(site))
        [asked] = site.authority.authorizations
        assert asked["tenant"] == "7"
        assert asked["state"] != "planted"

    run(test)


def test_a_server_of_the_first_revision_has_no_metadata() -> None:
    """MCP 2025-03-26: the endpoints are at the root of the server itself."""

    async def test(site: Site) -> None:
        site.protected.metadata = False
        site.protected.url, old = site.authority.url, site.protected.url
        own = site.authority.answers
        own["/.well-known/oauth-authorization-server"] = lambda asked: nothing()
        own["/mcp"] = site.protected
        answer = await ask(site, user(site))
        assert answer["client"] == "registered-1"
        # It knows nothing of resources.
        assert answer["resource"] is None
        assert old != site.protected.url

    run(test)


def test_a_server_that_wants_key_bound_tokens() -> None:
    async def test(site: Site) -> None:
        nonces = iter(["nonce-a", "nonce-b"])

        def token(asked: Any) -> Any:
            seen.append(asked.headers["dpop"])
            if len(seen) == 1:
                return said({"error": "use_dpop_nonce"}, 400, dpop_nonce=next(nonces))
            return said({"access_token": "bound-token", "token_type": "DPoP", "refresh_token": "r" * 20})

        seen: list[str] = []
        site.authority.answers["/token"] = token
        account = oauth.authorization_code(facts(site), visit, bound=True)
        assert await account.challenged(401, ["DPoP"], 10.0)
        given = await account.headers(5.0, method="GET")
        assert isinstance(given["authorization"], Secret)
        assert given["authorization"].reveal() == "DPoP bound-token"
        assert given["dpop"] != (await account.headers(5.0, method="GET"))["dpop"]
        assert await account.challenged(401, ['DPoP error="use_dpop_nonce"'], 5.0, sent=given, nonce=next(nonces))
        assert not await account.challenged(401, ['DPoP error="use_dpop_nonce"'], 5.0, sent=given, nonce="nonce-b")
        assert not await account.challenged(401, ['DPoP error="use_dpop_nonce"'], 5.0, sent=given, nonce="bad nonce\r\nx: y")
        import jwt

        first, second = (jwt.decode(proof, options={"verify_signature": False}) for proof in seen)
        assert (first["htm"], first["htu"]) == ("POST", f"{site.authority.url}/token")
        assert "nonce" not in first
        assert second["nonce"] == "nonce-a"
        third = jwt.decode((await account.headers(5.0, method="DELETE"))["dpop"], options={"verify_signature": False})  # type: ignore[arg-type]
        assert (third["htm"], third["htu"], third["nonce"]) == ("DELETE", site.mcp, "nonce-b")

    run(test)


def test_a_bearer_token_is_not_taken_for_a_bound_one() -> None:
    async def test(site: Site) -> None:
        account = oauth.authorization_code(facts(site), visit, bound=True)
        await fault(account.challenged(401, ["DPoP"], 10.0), FaultKind.MALFORMED)

    run(test)
