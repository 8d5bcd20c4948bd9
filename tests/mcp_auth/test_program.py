"""A program whose deployment names a credential: what the server gets, and what neither models nor traces ever see."""

from __future__ import annotations

import asyncio
from collections.abc import Sized
from pathlib import Path

import pytest

from ael.hosting.secrets import Secrets
from ael.hosting.servers import Opening
from ael.run.bindings import Options
from ael.run.outcome import Faulted, Value
from ael.types.fault import FaultKind
from tests.mcp.http_peer import Asked, HttpPeer, Out
from tests.mcp.mcp_peer import NEW, OLD, result
from tests.mcp_auth.authority import Authority
from tests.mcp_auth.test_secrets import clean
from tests.mcp_run.programs import ADA, Crm, finished, lock, network, open_at, program
from tests.net.loopback import Loopback

SECRET = "robot-secret-4711"
OAUTH = ', oauth: client_credentials(id: "robot", secret: secret("ROBOT"), scopes: ["crm.read"])'
LOOK = [{"calls": [{"call": "crm__get_customer", "with": {"id": "c-1"}}]}, {"final": "Ada is 36."}]


class Guarded:
    """A peer that takes tokens of an authority only. `tokens` are those that calls came with."""

    def __init__(self, inner: Crm, authority: Authority) -> None:
        self.inner = inner
        self.authority = authority
        self.url = ""
        self.tokens: list[str] = []
        self.issuers: list[str] = []

    async def __call__(self, asked: Asked, out: Out) -> None:
        token = asked.headers.get("authorization", "").removeprefix("Bearer ")
        if asked.path == "/.well-known/oauth-protected-resource/mcp":
            await out.reply(200, {"resource": self.url, "authorization_servers": self.issuers or [self.authority.issuer]})
        elif token not in self.authority.tokens:
            await out.reply(401, {"error": f"not {token} of {self.url}"}, www_authenticate="Bearer")
        else:
            if asked.method == "POST" and asked.message.get("method") == "tools/call":
                self.tokens.append(token)
            await self.inner(asked, out)


@pytest.fixture
def robot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROBOT_SECRET", SECRET)


@pytest.mark.feature("A9.11", "A9.15")
@pytest.mark.parametrize("version", [OLD, NEW])
def test_a_credential_is_named_and_the_model_sees_neither_it_nor_where_it_goes(tmp_path: Path, robot: None, version: str) -> None:
    async def test() -> None:
        authority, crm = Authority(), Crm(version)
        guarded = Guarded(crm, authority)
        async with Loopback(authority) as running, HttpPeer(guarded) as peer:
            authority.url, guarded.url = running.url, peer.url
            deploy = 'secret ROBOT = env("ROBOT_SECRET")\n' + network(peer, OAUTH)
            async with program(tmp_path, deploy, script=LOOK) as made:
                outcome = await made.run("main.look", {"id": "c-1"})
                assert isinstance(outcome, Value), outcome
                [token] = guarded.tokens
                shown = made.said + repr(made.spans.spans) + repr(outcome)
        clean(shown, [SECRET, token])
        assert guarded.url not in made.said
        assert guarded.url.partition("127.0.0.1")[2] not in made.said
        assert authority.url not in shown
        assert authority.token_requests[0]["scope"] == "crm.read"

    finished(test)


@pytest.mark.feature("A16.8", "K41")
def test_a_token_that_its_server_throws_back_is_masked_as_it_comes_in(tmp_path: Path, robot: None) -> None:
    """It came while the program ran: no line of a deployment names it."""

    async def test() -> None:
        authority, crm = Authority(), Crm(NEW)
        guarded = Guarded(crm, authority)

        async def echo(asked: Asked, out: Out) -> None:
            said = {**ADA, "name": f"I was sent {asked.headers['authorization']}"}
            await out.reply(200, result(asked, {**crm.complete, "content": [], "structuredContent": said}))

        crm.doing["get_customer"] = echo
        async with Loopback(authority) as running, HttpPeer(guarded) as peer:
            authority.url, guarded.url = running.url, peer.url
            deploy = 'secret ROBOT = env("ROBOT_SECRET")\n' + network(peer, OAUTH)
            async with program(tmp_path, deploy, script=LOOK) as made:
                looked = await made.run("main.look", {"id": "c-1"})
                value = await made.run("main.customer", {"id": "c-1"})
                assert isinstance(value, Value), value
                assert "I was sent Bearer ***" in str(value.value)
                clean(made.said + repr(made.spans.spans) + repr(looked) + repr(value.value), [SECRET, guarded.tokens[0]])

    finished(test)


@pytest.mark.feature("A9.15")
def test_runs_of_two_tenants_have_two_tokens_and_runs_of_one_share_one(tmp_path: Path, robot: None) -> None:
    async def test() -> None:
        authority = Authority()
        guarded = Guarded(Crm(NEW), authority)
        async with Loopback(authority) as running, HttpPeer(guarded) as peer:
            authority.url, guarded.url = running.url, peer.url
            deploy = 'secret ROBOT = env("ROBOT_SECRET")\n' + network(peer, OAUTH)
            async with program(tmp_path, deploy) as made:
                tenants = ["acme", "zenith"] * 3
                outcomes = await asyncio.gather(
                    *(made.run("main.customer", {"id": "c-1"}, Options(tenant=tenant, caller="lin")) for tenant in tenants)
                )
                assert all(isinstance(outcome, Value) for outcome in outcomes)
        assert len(guarded.tokens) == 6
        assert len(set(guarded.tokens)) == len(authority.token_requests) == 2

    finished(test)


def test_a_credential_that_is_not_taken_is_denied_without_being_shown(tmp_path: Path, robot: None) -> None:
    async def test() -> None:
        authority = Authority(clients={"robot": "another"})
        guarded = Guarded(Crm(NEW), authority)
        async with Loopback(authority) as running, HttpPeer(guarded) as peer:
            authority.url, guarded.url = running.url, peer.url
            deploy = 'secret ROBOT = env("ROBOT_SECRET")\n' + network(peer, OAUTH)
            async with program(tmp_path, deploy) as made:
                outcome = await made.run("main.customer", {"id": "c-1"})
                assert isinstance(outcome, Faulted), outcome
                assert outcome.kind is FaultKind.DENIED
                clean(repr(outcome) + repr(made.spans.spans), [SECRET])
        assert guarded.tokens == []

    finished(test)


@pytest.mark.parametrize("named", [True, False])
def test_the_secret_is_shown_to_the_issuer_that_the_deployment_names_and_to_no_other(
    tmp_path: Path, robot: None, named: bool
) -> None:
    """The server names two authorization servers, another one first: the word of the deployment counts, not the server's."""

    async def test() -> None:
        other, own = Authority(), Authority()
        guarded = Guarded(Crm(NEW), own)
        async with Loopback(other) as first, Loopback(own) as second, HttpPeer(guarded) as peer:
            other.url, own.url, guarded.url = first.url, second.url, peer.url
            guarded.issuers = [other.issuer, own.issuer] if named else [other.issuer]
            options = f', oauth: client_credentials(id: "robot", secret: secret("ROBOT"), issuer: "{own.issuer}")'
            deploy = 'secret ROBOT = env("ROBOT_SECRET")\n' + network(peer, options)
            async with program(tmp_path, deploy, script=LOOK) as made:
                outcome = await made.run("main.customer", {"id": "c-1"})
        assert other.token_requests == []
        if named:
            assert isinstance(outcome, Value), outcome
            assert len(own.token_requests) == 1
        else:
            assert isinstance(outcome, Faulted)
            assert outcome.kind is FaultKind.DENIED
            assert own.token_requests == []

    finished(test)


def test_nothing_is_kept_for_each_tenant(tmp_path: Path, robot: None) -> None:
    deploy = (
        'secret ROBOT = env("ROBOT_SECRET")\n'
        'mcp crm = http("https://crm.example.com/mcp", oauth: client_credentials(id: "robot", secret: secret("ROBOT")))\n'
    )
    lock(tmp_path)
    opened = open_at(tmp_path, deploy)
    opening = Opening(opened.deployment.servers["main.crm"], opened.deployment, Secrets(opened.deployment))

    def sizes() -> list[int]:
        return [len(held) for held in vars(opening).values() if isinstance(held, Sized)]

    opening.endpoint("first")
    before = sizes()
    for number in range(50):
        opening.endpoint(f"tenant-{number}")
    assert sizes() == before
