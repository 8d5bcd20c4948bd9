"""Metadata that lies, leads elsewhere, or is no metadata: nothing of it may move a credential to the wrong place (fault kind K42)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ael.mcp import oauth
from ael.types.fault import FaultKind
from ael.types.value import Secret
from tests.mcp_auth.authority import Authority, Protected, Site, nothing, said
from tests.mcp_auth.support import Clock, ask, facts, fault, robot, run, user
from tests.net.loopback import Answer, Asked, Loopback, whole

RESOURCE = "/.well-known/oauth-protected-resource/mcp"
SERVER = "/.well-known/oauth-authorization-server"
ELSEWHERE = [
    "http://auth.example.com",
    "http://169.254.169.254/latest",
    "https://169.254.169.254",
    "https://10.0.0.1",
    "https://192.168.1.1:8443/x",
    "https://[::1]:8443",
    "https://[::ffff:10.0.0.1]",
    "https://0x7f.1",
    "https://2130706433",
    "https://user:pass@auth.example.com",
    "ftp://auth.example.com",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "https://auth.example.com/#x",
    "",
    "https://",
    "not a url",
    "https://auth.example.com/" + "x" * 3000,
]


@pytest.mark.feature("A9.13")
@pytest.mark.parametrize("url", ELSEWHERE)
def test_an_authorization_server_at_a_place_that_must_not_be_asked(url: str) -> None:
    async def test(site: Site) -> None:
        site.protected.changes["authorization_servers"] = [url]
        problem = await fault(robot(site).headers(5.0))
        assert "pass" not in problem.message.replace("password", "").replace("passed", "")
        assert not site.authority.token_requests

    run(test)


@pytest.mark.feature("A9.13")
@pytest.mark.parametrize("member", ["token_endpoint", "registration_endpoint", "authorization_endpoint"])
@pytest.mark.parametrize("url", [url for url in ELSEWHERE if url])
def test_an_endpoint_at_a_place_that_must_not_be_asked(url: str, member: str) -> None:
    async def test(site: Site) -> None:
        site.authority.changes[member] = url
        await fault(ask(site, user(site)))
        assert not (site.authority.token_requests)
        assert not (site.authority.registrations)
        assert not (site.authority.authorizations)

    run(test)


def test_a_public_server_leads_to_no_private_host_even_if_another_servers_line_lists_it() -> None:
    """The list of private hosts is the deployment's, for all its servers: one of them must not have it used against the others."""
    from ael.mcp.oauth.authorizer import OAuthAuthorizer

    def allowed(url: str, **more: Any) -> frozenset[str]:
        where = oauth.ServerFacts(url, hosts=frozenset({"intranet.example", "localhost"}), **more)
        made = oauth.client_credentials(where, "robot", secret=Secret("S", "s" * 20))
        assert isinstance(made, OAuthAuthorizer)
        return made._allowed.listed

    assert allowed("https://mcp.example.com/mcp") == frozenset()
    assert "intranet.example" in allowed("https://intranet.example/mcp")
    # What the deployment itself names is its word.
    assert "intranet.example:443" in allowed("https://mcp.example.com/mcp", issuer="https://intranet.example/realm")
    assert not any(
        "localhost" in host for host in allowed("https://mcp.example.com/mcp", issuer="https://intranet.example/realm")
    )


def test_metadata_of_another_origin_is_not_asked_for() -> None:
    async def test(site: Site) -> None:
        seen: list[Asked] = []

        def answer(asked: Asked) -> Answer:
            seen.append(asked)
            return said({"resource": site.mcp, "authorization_servers": [site.authority.issuer]})

        async with Loopback(answer) as other:
            site.protected.challenge = f'Bearer resource_metadata="{other.url}/prm"'
            problem = await fault(ask(site, user(site)))
            assert "another origin" in problem.message
            assert not seen

    run(test)


@pytest.mark.parametrize(
    "resource",
    [
        "https://evil.example.com/mcp",
        "{url}/other",
        "{url}/mcp/inner",
        "{url}/mc",
        "http://127.0.0.1:1/mcp",
        "{url}:80/mcp",
        "urn:x",
    ],
)
def test_metadata_about_another_resource_is_refused(resource: str) -> None:
    async def test(site: Site) -> None:
        site.protected.changes["resource"] = resource.replace("{url}", site.protected.url)
        await fault(ask(site, user(site)))
        assert not site.authority.authorizations

    run(test)


@pytest.mark.parametrize("resource", ["{url}/mcp", "{url}/mcp/", "{url}/", "{url}"])
def test_the_resource_is_sent_on_exactly_as_it_is_written(resource: str) -> None:
    async def test(site: Site) -> None:
        written = resource.replace("{url}", site.protected.url)
        site.protected.changes["resource"] = written
        assert (await ask(site, robot(site)))["resource"] == written

    run(test)


@pytest.mark.parametrize(
    ("own", "taken"),
    [("{issuer}", True), ("{issuer}/", True), ("{issuer}//x", False), ("https://evil.example.com", False), ("{upper}", False)],
)
def test_the_issuer_has_to_be_the_one_that_was_asked_for(own: str, taken: bool) -> None:
    async def test(site: Site) -> None:
        issuer = site.authority.issuer
        site.authority.changes["issuer"] = own.replace("{issuer}", issuer).replace("{upper}", issuer.upper())
        if taken:
            await ask(site, robot(site))
        else:
            await fault(ask(site, robot(site)))
            assert not site.authority.token_requests

    run(test)


def test_a_slash_is_part_of_an_issuer_with_a_path() -> None:
    async def test(site: Site) -> None:
        site.authority.changes["issuer"] = f"{site.authority.issuer}/"
        await fault(ask(site, robot(site)))

    authority = Authority(prefix="/tenant")
    run(test, Site(authority, Protected(authority)))


@pytest.mark.feature("A9.13")
@pytest.mark.parametrize("path", [RESOURCE, SERVER, "/token", "/register"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(path: str, status: int) -> None:
    async def test(site: Site) -> None:
        seen: list[Asked] = []

        def trap(asked: Asked) -> Answer:
            seen.append(asked)
            return said({})

        async with Loopback(trap) as other:
            place = site.protected.answers if path == RESOURCE else site.authority.answers
            place[path] = lambda asked: nothing(status, location=f"{other.url}{path}")
            problem = await fault(ask(site, user(site)))
            assert "redirect" in problem.message
            assert not seen

    run(test)


MALFORMED: list[tuple[bytes, FaultKind]] = [
    (b'{"resource": "x", "resource": "y"}', FaultKind.MALFORMED),
    (b'{"resource": 1}', FaultKind.MALFORMED),
    (b"[]", FaultKind.MALFORMED),
    (b"not json", FaultKind.MALFORMED),
    (b'{"resource": NaN}', FaultKind.MALFORMED),
    (b"\xff\xfe{}", FaultKind.MALFORMED),
    (b"[" * 5000 + b"]" * 5000, FaultKind.MALFORMED),
    (b'{"x": "' + b"a" * 300_000 + b'"}', FaultKind.TOO_LARGE),
    (b"{}", FaultKind.MALFORMED),
]


@pytest.mark.parametrize(("body", "kind"), MALFORMED, ids=[str(number) for number in range(len(MALFORMED))])
@pytest.mark.parametrize("path", [RESOURCE, SERVER, "/token"])
def test_a_document_that_is_none(body: bytes, kind: FaultKind, path: str) -> None:
    async def test(site: Site) -> None:
        place = site.protected.answers if path == RESOURCE else site.authority.answers
        place[path] = lambda asked: whole(body)
        problem = await fault(robot(site).headers(5.0), kind)
        assert len(problem.message) < 400

    run(test)


@pytest.mark.parametrize(
    "change",
    [
        {"token_endpoint": None},
        {"token_endpoint": 7},
        {"issuer": ["x"]},
        {"code_challenge_methods_supported": "S256"},
        {"scopes_supported": [1]},
        {"scopes_supported": ["s"] * 1000},
        {"authorization_response_iss_parameter_supported": "yes"},
        {"authorization_endpoint": ""},
    ],
)
def test_a_member_of_the_wrong_kind_is_refused_by_name(change: dict[str, Any]) -> None:
    async def test(site: Site) -> None:
        site.authority.changes.update(change)
        [name] = change
        assert f"`{name}`" in (await fault(robot(site).headers(5.0), FaultKind.MALFORMED)).message

    run(test)


@pytest.mark.parametrize(
    "token",
    [
        {"access_token": "", "token_type": "Bearer"},
        {"access_token": "t"},
        {"access_token": "t", "token_type": "mac"},
        {"access_token": "t\r\nx-injected: 1", "token_type": "Bearer"},
        {"access_token": "two words", "token_type": "Bearer"},
        {"access_token": "t" * 20_000, "token_type": "Bearer"},
        {"access_token": "t", "token_type": "Bearer", "expires_in": -1},
        {"access_token": "t", "token_type": "Bearer", "expires_in": True},
        {"access_token": "t", "token_type": "Bearer", "expires_in": "soon"},
        {"access_token": "t", "token_type": "Bearer", "scope": ["a"]},
        {"access_token": "t", "token_type": "Bearer", "refresh_token": 7},
        {"access_token": ["t"], "token_type": "Bearer"},
    ],
)
def test_a_token_that_is_none(token: dict[str, Any]) -> None:
    async def test(site: Site) -> None:
        site.authority.answers["/token"] = lambda asked: said(token)
        account = robot(site)
        await fault(account.headers(5.0), FaultKind.MALFORMED)

    run(test)


@pytest.mark.parametrize(
    ("told", "life"), [(3600, 3570.0), (3600.5, 3570.5), ("3600", 3570.0), (0, 0.0), (None, None), (10**12, 366 * 86400 - 30.0)]
)
def test_how_long_a_token_is_used(told: object, life: float | None) -> None:
    clock = Clock()

    async def test(site: Site) -> None:
        number = iter(range(100))
        site.authority.answers["/token"] = lambda asked: said(
            {"access_token": f"t{next(number)}", "token_type": "bearer", **({} if told is None else {"expires_in": told})}
        )
        account = robot(site, clock=clock)
        first = await value(account)
        if life:
            clock.now += life - 1
            assert await value(account) == first
        clock.now += 2 if life is not None else 1e9
        assert (await value(account) == first) is (life is None)

    async def value(account: oauth.OAuthAuthorizer) -> str:
        given = (await account.headers(5.0))["authorization"]
        assert isinstance(given, Secret)
        return given.reveal()

    run(test)


def test_a_site_that_answers_every_path_with_a_page_has_no_metadata_there() -> None:
    async def test(site: Site) -> None:
        page = whole(b"<html>welcome</html>", "text/html")
        site.protected.answers[RESOURCE] = lambda asked: page
        site.protected.answers["/.well-known/oauth-protected-resource"] = lambda asked: said(
            {"resource": f"{site.protected.url}/", "authorization_servers": [site.authority.issuer]}
        )
        site.authority.answers[SERVER] = lambda asked: page
        site.authority.answers["/.well-known/openid-configuration"] = lambda asked: said(site.authority.metadata())
        assert (await ask(site, robot(site)))["client"] == "robot"

    run(test)


@pytest.mark.parametrize(
    ("path", "prefix"),
    [
        ("/.well-known/oauth-authorization-server/t", "/t"),
        ("/.well-known/openid-configuration/t", "/t"),
        ("/t/.well-known/openid-configuration", "/t"),
        ("/.well-known/openid-configuration", ""),
    ],
)
def test_where_the_metadata_of_an_authorization_server_may_be(path: str, prefix: str) -> None:
    async def test(site: Site) -> None:
        site.authority.answers[f"{SERVER}{prefix}"] = lambda asked: nothing()
        site.authority.answers[path] = lambda asked: said(site.authority.metadata())
        assert (await ask(site, robot(site)))["client"] == "robot"

    authority = Authority(prefix=prefix)
    run(test, Site(authority, Protected(authority)))


def test_an_authorization_server_that_is_down_is_not_taken_for_one_without_metadata() -> None:
    async def test(site: Site) -> None:
        for place in (site.protected.answers, site.authority.answers):
            place[RESOURCE if place is site.protected.answers else SERVER] = lambda asked: nothing(503, retry_after="3")
            problem = await fault(robot(site).headers(5.0), FaultKind.UNAVAILABLE)
            assert (problem.status, problem.retry_after) == (503, 3.0)
            place.clear()

    run(test)


def test_a_resource_without_an_authorization_server_is_told() -> None:
    async def test(site: Site) -> None:
        site.protected.changes["authorization_servers"] = None
        assert "names no authorization server" in (await fault(robot(site).headers(5.0))).message

    run(test)


def test_metadata_that_is_named_but_not_there_is_told() -> None:
    async def test(site: Site) -> None:
        site.protected.challenge = f'Bearer resource_metadata="{site.protected.url}/nowhere"'
        assert "not there" in (await fault(ask(site, user(site)))).message

    run(test)


def test_a_server_with_metadata_whose_authority_has_none_is_not_used() -> None:
    """The endpoints of the first revision are the server's own, never those of a place that it names."""

    async def test(site: Site) -> None:
        site.authority.answers[SERVER] = lambda asked: nothing()
        assert "no metadata" in (await fault(robot(site).headers(5.0))).message
        assert not site.authority.token_requests

    run(test)


# --- whose authorization server it is


def test_a_credential_is_shown_to_the_first_authorization_server_only() -> None:
    """SEP-2352, and what a taken-over server would do: name another authorization server, to be shown the secret."""
    clock = Clock()

    async def test(site: Site) -> None:
        thief = Authority(clients={"robot": "robot-secret-4711"})
        async with Loopback(thief) as running:
            thief.url = running.url
            account = robot(site, clock=clock)
            await ask(site, account)
            site.protected.changes["authorization_servers"] = [thief.issuer]
            site.authority.tokens.clear()
            clock.now += 60
            problem = await fault(ask(site, account))
            assert "another authorization server" in problem.message
            assert not thief.token_requests

    run(test)


def test_the_deployment_names_the_one_authorization_server() -> None:
    async def test(site: Site) -> None:
        thief = Authority(clients={"robot": "robot-secret-4711"})
        async with Loopback(thief) as running:
            thief.url = running.url
            site.protected.changes["authorization_servers"] = [thief.issuer]
            await fault(robot(site, issuer=site.authority.issuer).headers(5.0))
            assert not thief.token_requests
            # One of several is found, wherever it stands.
            site.protected.changes["authorization_servers"] = [thief.issuer, site.authority.issuer]
            await ask(site, robot(site, issuer=site.authority.issuer))
            assert not thief.token_requests

    run(test)


def test_a_named_authorization_server_serves_a_server_without_metadata() -> None:
    async def test(site: Site) -> None:
        site.protected.metadata = False
        assert (await ask(site, robot(site, issuer=site.authority.issuer)))["client"] == "robot"

    run(test)


def test_a_user_of_a_server_that_moved_registers_there_anew() -> None:
    clock = Clock()

    async def test(site: Site) -> None:
        second = Authority()
        async with Loopback(second) as running:
            second.url = running.url
            account = user(site, clock=clock)
            await ask(site, account)
            site.protected.changes["authorization_servers"] = [second.issuer]
            site.protected.authority = second
            # Also at once after the first token.
            assert (await ask(site, account))["client"] == "registered-1"
            assert len(second.registrations) == 1
            assert all("refresh_token" not in request for request in second.token_requests)

    run(test)


@pytest.mark.parametrize(
    ("advertised", "iss", "taken"),
    [
        (True, "{issuer}", True),
        (None, "{issuer}", True),
        (None, None, True),
        (True, None, False),
        (True, "https://evil.example.com", False),
        (None, "https://evil.example.com", False),
        (True, "{issuer}/", False),
        (True, "{upper}", False),
        (True, "", False),
    ],
)
def test_an_answer_of_another_authorization_server_is_not_used(advertised: bool | None, iss: str | None, taken: bool) -> None:
    """Mix-up attacks (RFC 9207): the code goes to no token endpoint unless it is seen that it comes from that server."""

    async def test(site: Site) -> None:
        issuer = site.authority.issuer
        site.authority.changes["authorization_response_iss_parameter_supported"] = advertised
        site.authority.redirect["iss"] = iss and iss.replace("{issuer}", issuer).replace("{upper}", issuer.upper())
        if taken:
            await ask(site, user(site))
        else:
            await fault(ask(site, user(site)))
            assert not site.authority.token_requests

    run(test)


def test_the_error_of_another_authorization_server_is_not_believed() -> None:
    async def test(site: Site) -> None:
        site.authority.redirect.update({"iss": "https://evil.example.com", "code": None, "error": "access_denied"})
        problem = await fault(ask(site, user(site)))
        assert "access_denied" not in problem.message

    run(test)


def test_words_of_a_server_are_short_and_on_one_line() -> None:
    async def test(site: Site) -> None:
        told = json.dumps({"error": "invalid_client", "error_description": "no\n\x1b[2J\u202e" + "x" * 5000})
        site.authority.answers["/token"] = lambda asked: whole(told.encode(), status=401)
        problem = await fault(robot(site).headers(5.0))
        assert "invalid_client" in problem.message
        assert problem.message.isprintable()
        assert len(problem.message) < 500
        assert facts(site).issuer is None

    run(test)
