"""MCP servers for tenants and nodes: each tenant with its own credential, and only those nodes that the deployment names."""

from __future__ import annotations

from pathlib import Path

import pytest

from ael.run.bindings import Options
from ael.run.outcome import Faulted, Value
from ael.types.fault import FaultKind
from tests.mcp.http_peer import Asked, HttpPeer, Out
from tests.mcp_run.programs import SOURCE, Crm, finished, lock, network, open_at, program, served

AGENT = (
    SOURCE
    + """
agent desk(id: String(max: 64)) -> String
  grants crm.read
{
  edge start -> customer(id)
  edge customer -> finish
}
"""
)


@pytest.mark.feature("A4.13", "A4.4")
@pytest.mark.parametrize(
    ("nodes", "allowed"),
    [("[ticket]", set()), ("[customer]", {"main.customer", "main.desk"}), ("[desk]", {"main.desk"}), ("[]", set())],
)
def test_only_the_nodes_that_a_server_is_for_reach_it(tmp_path: Path, nodes: str, allowed: set[str]) -> None:
    """A typed denial for every other, before anything is sent; an agent that is named may, with the nodes inside of it."""

    async def test() -> None:
        crm = Crm()
        async with served(crm, tmp_path, f", nodes: {nodes}", source=AGENT) as (made, _):
            for entry in ("main.customer", "main.desk"):
                outcome = await made.run(entry, {"id": "c-1"})
                if entry in allowed:
                    assert isinstance(outcome, Value), outcome
                else:
                    assert isinstance(outcome, Faulted)
                    assert outcome.kind is FaultKind.DENIED
                    assert "`main.crm.get_customer` is called only inside of" in outcome.message
        assert len(crm.called) == len(allowed)

    finished(test)


@pytest.mark.feature("A4.2", "A4.13")
def test_a_model_is_told_that_its_node_may_not(tmp_path: Path) -> None:
    """Whatever a server says of itself: a refused call is an answer, and nothing is sent."""

    async def test() -> None:
        crm = Crm()
        script = [{"calls": [{"call": "crm__get_customer", "with": {"id": "c-1"}}]}, {"final": "I may not."}]
        async with served(crm, tmp_path, ", nodes: [customer]", script=script) as (made, _):
            outcome = await made.run("main.look", {"id": "c-1"})
            assert isinstance(outcome, Value)
            [refused] = [span for span in made.spans.spans if span.outcome == "refused"]
            assert "is called only inside of `customer`" in str(refused.attributes["reason"])
        assert crm.called == []

    finished(test)


@pytest.mark.feature("B13", "K43")
def test_each_tenant_and_caller_comes_with_its_own_credential(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And on a connection of its own: nothing of one is seen with another's, not by one who is only called the same."""
    for name in ("COMMON", "ACME", "ANN"):
        monkeypatch.setenv(name, f"token-of-{name.lower()}")
    crm = Crm()
    tokens: list[str] = []

    async def guarded(asked: Asked, out: Out) -> None:
        if asked.method == "POST" and asked.message.get("method") == "tools/call":
            tokens.append(asked.headers.get("authorization", ""))
        await crm(asked, out)

    async def test() -> None:
        async with HttpPeer(guarded) as peer:
            deploy = (
                'secret T = env("COMMON")\nsecret acme.T = env("ACME")\nsecret ann.T = env("ANN")\nsecret TOKEN = env("ANN")\n'
                'caller ann = bearer(secret("TOKEN"), tenant: "acme")\ntenant acme {\n}\ntenant beta {\n}\n'
                + network(peer, ', bearer: secret("T")')
            )
            async with program(tmp_path, deploy) as made:
                for tenant, caller in (("acme", "bob"), ("beta", "acme"), ("acme", "ann"), ("acme", "bob")):
                    outcome = await made.run("main.customer", {"id": "c-1"}, Options(tenant, caller))
                    assert isinstance(outcome, Value), outcome
                shown = made.said + repr(made.spans.spans)
        assert "token-of" not in shown

    finished(test)
    assert tokens == [f"Bearer token-of-{name}" for name in ("acme", "common", "ann", "acme")]


def test_a_tenants_secret_is_enough_where_every_tenant_has_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock(tmp_path)
    own = 'secret acme.T = env("ACME")\ntenant acme {\n}\n'
    deploy = own + 'mcp crm = http("https://crm.example.com/mcp", bearer: secret("T"))\n'
    opened = open_at(tmp_path, deploy)
    assert opened.deployment.owned_secrets.keys() == {("acme", "T")}
