"""The program's own account at a server: got before it is asked for, kept, renewed, rotated."""

from __future__ import annotations

import asyncio
import sys
import time
from base64 import b64decode
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from ael.mcp import oauth
from ael.types.fault import FaultKind
from ael.types.value import Secret
from tests.mcp_auth.authority import HOSTS, Authority, Protected, Site, nothing, plain, said
from tests.mcp_auth.support import SECRET, Clock, Refused, ask, facts, fault, robot, run


@pytest.mark.feature("A9.15")
def test_a_token_is_got_before_the_first_request_and_kept() -> None:
    async def test(site: Site) -> None:
        account = robot(site)
        first, second = await ask(site, account), await ask(site, account)
        assert first == second == {"token": "token-robot-0001", "client": "robot", "resource": site.mcp}
        [request] = site.authority.token_requests
        assert request["grant_type"] == "client_credentials"
        assert request["resource"] == site.mcp
        # The endpoint never saw a request without the token.
        assert all("authorization" in asked.headers for asked in site.protected.asked if asked.path.startswith("/mcp"))

    run(test)


@pytest.mark.parametrize(
    ("methods", "expected"),
    [
        (["client_secret_basic"], "basic"),
        (["client_secret_post"], "post"),
        (["client_secret_post", "client_secret_basic"], "basic"),
        (None, "basic"),
    ],
)
def test_the_secret_is_shown_in_the_way_that_the_server_takes(methods: list[str] | None, expected: str) -> None:
    async def test(site: Site) -> None:
        site.authority.changes["token_endpoint_auth_methods_supported"] = methods
        await ask(site, robot(site))
        [request] = site.authority.token_requests
        shown = {"basic": request["authorization"].startswith("Basic "), "post": "client_secret" in request}
        assert shown == {name: name == expected for name in shown}

    run(test)


def test_an_id_and_a_secret_with_special_characters_are_encoded_for_the_basic_scheme() -> None:
    async def test(site: Site) -> None:
        site.authority.clients["a:b c"] = "s%:ä/+"
        await ask(site, oauth.client_credentials(facts(site), "a:b c", secret=Secret("S", "s%:ä/+")))
        assert b64decode(site.authority.token_requests[0]["authorization"][6:]) == b"a%3Ab%20c:s%25%3A%C3%A4%2F%2B"

    run(test)


def test_a_server_that_takes_no_secret_gets_none() -> None:
    async def test(site: Site) -> None:
        site.authority.changes["token_endpoint_auth_methods_supported"] = ["private_key_jwt"]
        problem = await fault(robot(site).headers(5.0))
        assert "client_secret_basic" in problem.message
        assert not site.authority.token_requests

    run(test)


def test_the_scopes_are_those_of_the_deployment() -> None:
    async def test(site: Site) -> None:
        site.protected.changes["scopes_supported"] = ["everything"]
        await ask(site, robot(site, scopes=("crm.read", "crm.write")))
        assert site.authority.token_requests[0]["scope"] == "crm.read crm.write"

    run(test)


def test_a_server_cannot_ask_for_more_than_the_deployment_names() -> None:
    async def test(site: Site) -> None:
        site.protected.needs = frozenset({"crm.read", "admin"})
        problem = await fault(ask(site, robot(site, scopes=("crm.read",))))
        assert "'admin'" in problem.message
        assert [request["scope"] for request in site.authority.token_requests] == ["crm.read"]

    run(test)


def test_without_scopes_in_the_deployment_the_server_says_what_is_needed() -> None:
    async def test(site: Site) -> None:
        site.protected.changes["scopes_supported"] = ["a"]
        site.protected.needs = frozenset({"a", "b"})
        await ask(site, robot(site))
        # A step up keeps what was asked for before.
        assert [request["scope"] for request in site.authority.token_requests] == ["a", "a b"]

    run(test)


def test_a_scope_that_is_never_granted_is_asked_for_once() -> None:
    async def test(site: Site) -> None:
        site.protected.answers["/mcp"] = lambda asked: nothing(
            403, www_authenticate='Bearer error="insufficient_scope", scope="admin"'
        )
        with pytest.raises(Refused):
            await ask(site, robot(site), times=10)
        assert len(site.authority.token_requests) == 2

    run(test)


def test_a_token_is_renewed_before_it_ends() -> None:
    clock = Clock()

    async def test(site: Site) -> None:
        account = robot(site, clock=clock)
        first = await ask(site, account)
        clock.now += 3569
        assert await ask(site, account) == first
        clock.now += 2
        assert (await ask(site, account))["token"] != first["token"]
        assert len(site.authority.token_requests) == 2

    run(test)


def test_a_short_lived_token_is_used_for_most_of_its_life() -> None:
    clock = Clock()

    async def test(site: Site) -> None:
        site.authority.life = 20
        account = robot(site, clock=clock)
        await ask(site, account)
        clock.now += 17
        await ask(site, account)
        assert len(site.authority.token_requests) == 1
        clock.now += 2
        await ask(site, account)
        assert len(site.authority.token_requests) == 2

    run(test)


def test_a_token_that_is_good_yet_is_sent_while_no_other_can_be_had() -> None:
    clock = Clock()

    async def test(site: Site) -> None:
        account = robot(site, clock=clock)
        first = await ask(site, account)
        down = site.authority.answers
        down["/token"] = lambda asked: nothing(503, retry_after="7")
        clock.now += 3580
        assert await ask(site, account) == first
        clock.now += 30
        problem = await fault(account.headers(5.0), FaultKind.UNAVAILABLE)
        assert (problem.status, problem.retry_after) == (503, 7.0)
        del down["/token"]
        assert (await ask(site, account))["token"] != first["token"]

    run(test)


def test_a_token_that_is_refused_is_replaced_once() -> None:
    clock = Clock()

    async def test(site: Site) -> None:
        account = robot(site, clock=clock)
        first = await ask(site, account)
        del site.authority.tokens[first["token"]]
        clock.now += 60
        assert (await ask(site, account))["client"] == "robot"
        assert len(site.authority.token_requests) == 2
        # A server that takes none of them does not have new ones made for ever.
        site.protected.accepts = False
        for _ in range(5):
            with pytest.raises(Refused):
                await ask(site, account, times=10)
        assert len(site.authority.token_requests) <= 3

    run(test)


@pytest.mark.feature("A9.15")
def test_many_requests_at_once_ask_for_one_token() -> None:
    async def test(site: Site) -> None:
        site.authority.wait = 0.05
        account = robot(site)
        answers = await asyncio.gather(*(account.headers(10.0) for _ in range(50)))
        assert {value.reveal() for given in answers if isinstance(value := given["authorization"], Secret)} == {
            "Bearer token-robot-0001"
        }
        assert len(site.authority.token_requests) == 1
        # So do many refusals at once, also those that come in after the new token is there.
        del site.authority.tokens["token-robot-0001"]
        sent = answers[0]
        told = await asyncio.gather(*(account.challenged(401, ["Bearer"], 10.0, sent=sent) for _ in range(50)))
        told.append(await account.challenged(401, ["Bearer"], 10.0, sent=sent))
        assert len(site.authority.token_requests) <= 2
        assert len(set(told)) == 1

    run(test)


def test_one_who_waits_no_longer_leaves_the_others_their_token() -> None:
    async def test(site: Site) -> None:
        site.authority.wait = 0.2
        account = robot(site)
        first = asyncio.create_task(account.headers(10.0))
        await asyncio.sleep(0.1)
        others = [asyncio.create_task(account.headers(10.0)) for _ in range(3)]
        await asyncio.sleep(0)
        first.cancel()
        answers = await asyncio.gather(*others)
        assert all("authorization" in given for given in answers)
        assert first.cancelled()
        impatient = robot(site)
        await fault(impatient.headers(0.01), FaultKind.TIMEOUT)
        assert "authorization" in await impatient.headers(10.0)

    run(test)


def test_a_refusal_is_told_to_all_who_wait() -> None:
    async def test(site: Site) -> None:
        site.authority.clients.clear()
        account = robot(site)
        problems = await asyncio.gather(*(account.headers(10.0) for _ in range(20)), return_exceptions=True)
        assert {getattr(problem, "kind", None) for problem in problems} == {FaultKind.DENIED}
        assert len(site.authority.token_requests) == 1

    run(test)


@pytest.mark.parametrize("algorithm", ["ES256", "RS256"])
def test_a_private_key_signs_for_the_issuer_alone(algorithm: str) -> None:
    made: Any = ec.generate_private_key(ec.SECP256R1()) if algorithm == "ES256" else rsa.generate_private_key(65537, 2048)
    pem = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    public = made.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    async def test(site: Site) -> None:
        key = oauth.SigningKey(Secret("KEY", pem), algorithm, id="key-1")
        await ask(site, oauth.client_credentials(facts(site), "robot", key=key))
        [request] = site.authority.token_requests
        assert request["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        assertion = request["client_assertion"]
        claims = jwt.decode(assertion, public, [algorithm], audience=site.authority.issuer)
        assert (claims["iss"], claims["sub"]) == ("robot", "robot")
        assert isinstance(claims["aud"], str)
        assert 0 < claims["exp"] - time.time() <= 61
        assert jwt.get_unverified_header(assertion)["kid"] == "key-1"

    run(test)


@pytest.mark.parametrize(
    ("pem", "algorithm"),
    [("no key at all", "ES256"), ("x", "HS256"), ("x", "none"), ("-----BEGIN PRIVATE KEY-----\nAAAA", "RS256")],
)
def test_a_key_that_cannot_sign_is_told_without_being_shown(pem: str, algorithm: str) -> None:
    async def test(site: Site) -> None:
        key = oauth.SigningKey(Secret("KEY", pem), algorithm)
        problem = await fault(oauth.client_credentials(facts(site), "robot", key=key).headers(5.0))
        assert len(pem) == 1 or pem not in problem.message
        assert not site.authority.token_requests

    run(test)


def test_an_algorithm_that_the_server_does_not_take_is_told() -> None:
    async def test(site: Site) -> None:
        site.authority.changes["token_endpoint_auth_signing_alg_values_supported"] = ["RS256"]
        pem = ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        account = oauth.client_credentials(facts(site), "robot", key=oauth.SigningKey(Secret("KEY", pem)))
        assert "ES256" in (await fault(account.headers(5.0))).message

    run(test)


def test_a_server_that_says_where_its_metadata_is_only_when_it_is_asked() -> None:
    async def test(site: Site) -> None:
        site.protected.metadata = False
        site.protected.challenge = f'Bearer resource_metadata="{site.protected.url}/elsewhere.json", scope="a b"'
        site.protected.answers["/elsewhere.json"] = lambda asked: said(
            {"resource": site.mcp, "authorization_servers": [site.authority.issuer]}
        )
        assert (await ask(site, robot(site)))["client"] == "robot"
        assert site.authority.token_requests[0]["scope"] == "a b"

    run(test)


def test_a_path_with_a_slash_at_its_end_and_a_query_is_asked_as_it_is_written() -> None:
    async def test(site: Site) -> None:
        site.authority.changes["token_endpoint"] = f"{site.authority.url}/o/token/?v=2"
        asked_for: list[str] = []

        def token(asked: Any) -> Any:
            asked_for.append(asked.path)
            return said({"access_token": "t", "token_type": "bearer"})

        site.authority.answers["/o/token/"] = token
        given = await robot(site).headers(5.0)
        assert asked_for == ["/o/token/?v=2"]
        assert isinstance(given["authorization"], Secret)
        assert given["authorization"].reveal() == "Bearer t"

    run(test)


def test_workload_identity_is_not_tried_twice() -> None:
    async def test(site: Site) -> None:
        refused: list[str] = []

        def token(asked: Any) -> Any:
            refused.append(asked.body.decode())
            return said({"error": "invalid_grant"}, 400)

        site.authority.answers["/token"] = token
        account = oauth.workload_identity(facts(site), "workload", Secret("IDENTITY", "eyJ.workload.token"))
        await fault(account.headers(5.0))
        assert len(refused) == 1
        assert "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer" in refused[0]

    run(test)


def test_an_identity_of_the_organisation_becomes_a_token() -> None:
    async def test(site: Site) -> None:
        seen: list[dict[str, str]] = []

        def provider(asked: Any) -> Any:
            seen.append(plain(asked.body.decode()))
            kind = "urn:ietf:params:oauth:token-type:id-jag"
            return said({"access_token": "the.identity.assertion", "issued_token_type": kind, "token_type": "N_A"})

        def token(asked: Any) -> Any:
            seen.append(plain(asked.body.decode()))
            return said({"access_token": "enterprise-token", "token_type": "Bearer"})

        site.authority.answers.update({"/provider/token": provider, "/token": token})
        account = oauth.enterprise_managed(
            facts(site),
            "robot",
            SECRET,
            provider=f"{site.authority.url}/provider/token",
            provider_id="us",
            identity=Secret("ID", "ey.id"),
        )
        given = await account.headers(5.0)
        assert isinstance(given["authorization"], Secret)
        assert given["authorization"].reveal() == "Bearer enterprise-token"
        first, second = seen
        assert (first["audience"], first["resource"], first["subject_token"]) == (site.authority.issuer, site.mcp, "ey.id")
        assert second["assertion"] == "the.identity.assertion"

    run(test)


def test_client_credentials_are_a_secret_or_a_key() -> None:
    where = oauth.ServerFacts("https://mcp.example.com/mcp")
    with pytest.raises(ValueError, match="either"):
        oauth.client_credentials(where, "robot")


def test_what_is_missing_for_a_key_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("jwt", "ael.mcp.oauth.signing", "ael.mcp.oauth.dpop"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "jwt", None)

    async def test(site: Site) -> None:
        async def keyed() -> None:
            oauth.client_credentials(facts(site), "robot", key=oauth.SigningKey(SECRET))

        async def bound() -> None:
            oauth.authorization_code(facts(site), lambda url: None, bound=True)

        for make in (keyed, bound):
            assert "the extra `oauth`" in (await fault(make())).message

    run(test)


@pytest.mark.feature("A9.17")
@pytest.mark.parametrize(
    "url",
    [
        "http://mcp.example.com/mcp",
        "http://intranet:8080/mcp",
        "https://user:password-1@mcp.example.com/mcp",
        "https://127.0.0.1/mcp",
        "https://2130706433/mcp",
        "https://169.254.169.254/mcp",
        "file:///etc/passwd",
        "https://mcp.example.com/mcp#part",
    ],
)
def test_a_url_that_no_token_may_go_to_is_refused_at_once(url: str) -> None:
    async def test(site: Site) -> None:
        async def make() -> None:
            oauth.client_credentials(oauth.ServerFacts(url, hosts=frozenset({"intranet:8080"})), "robot", secret=SECRET)

        problem = await fault(make())
        assert "password-1" not in problem.message

    run(test)


def test_a_site_whose_server_and_authority_share_nothing_but_the_metadata() -> None:
    async def test(site: Site) -> None:
        # The issuer has a path: its metadata is at the place that RFC 8414 names for one.
        assert site.authority.issuer.endswith("/tenant1")
        assert (await ask(site, robot(site, hosts=HOSTS)))["client"] == "robot"

    authority = Authority(prefix="/tenant1")
    run(test, Site(authority, Protected(authority)))
