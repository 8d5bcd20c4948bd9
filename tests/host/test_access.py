"""Who may do what in a deployment: `explain-access` and the check before a call give the same answer, whatever the deployment says."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ael.host import Host, open_host
from ael.hosting.access import Reached, explain
from ael.project.program import Opened
from ael.run.bindings import Options
from ael.run.outcome import Faulted, Outcome, Value
from ael.run.permission import Rights
from ael.types.fault import FaultKind
from tests.programs import open_files

PERMISSIONS = ("orders.read", "orders.refund", "db.read", "db.write")
TOOLS = ("look", "refund", "cancel")
PROGRAM = """
permission orders.read
permission orders.refund includes orders.read
permission db.read
permission db.write includes db.read

store book: Map<String, String> needs db.write
store shelf: Map<String, String> needs orders.read

service Orders {
  get(id: String(max: 40)) -> String
    needs orders.read
    repeat idempotent
    timeout 5s
  refund(id: String(max: 40)) -> String
    needs orders.refund
    repeat idempotent
    timeout 5s
}

provide Orders as kept grants db.write {
  fn get(id: String(max: 40)) -> String {
    book.get(id) ?? "none"
  }
  fn refund(id: String(max: 40)) -> String {
    book.put(id, "refunded")
    "refunded"
  }
}

/// Read an order. Call it first.
tool look(id: String(max: 40)) -> String
  needs orders.read
  repeat idempotent
{
  Orders.get(id)
}

/// Refund an order. Call it when it was paid.
tool refund(id: String(max: 40)) -> String
  needs orders.refund
  repeat idempotent
{
  shelf.put(id, "refunded")
  Orders.refund(id)
}

/// Cancel an order. Call it when it was not paid.
tool cancel(id: String(max: 40)) -> String
  needs orders.refund
  repeat idempotent
{
  "cancelled"
}

fn asked(id: String(max: 40)) -> String {
  look(id)
}

node looks() -> String
  grants orders.read
{
  asked("A")
}

node refunds() -> String
  grants orders.refund
{
  refund("A")
}

node cancels() -> String
  grants orders.refund
{
  cancel("A")
}

node outer() -> String
  grants orders.refund
{
  looks()
}

node direct() -> String
  grants orders.refund
{
  let kept = shelf.get("A") ?? "none"
  "${kept} ${Orders.get("A")}"
}

agent desk() -> String
  grants orders.refund
{
  edge start -> refunds()
  edge refunds -> finish
}
"""
NODES = ("looks", "refunds", "cancels", "outer", "direct", "desk")


@st.composite
def deployments(draw: st.DrawFn) -> str:
    """A deployment with any of: lists of the operator, tenants and callers with grants and denials."""
    names = st.lists(st.sampled_from(PERMISSIONS), unique=True, max_size=3)
    held = st.lists(st.sampled_from(PERMISSIONS[:2]), unique=True, min_size=1)
    lines = ['secret T = env("T")', 'secret U = env("U")']
    for word in ("allow", "deny"):
        listed = [*draw(names), *draw(st.lists(st.sampled_from(TOOLS), unique=True, max_size=2))]
        if listed and draw(st.booleans()):
            lines.append(f"{word} {', '.join(listed)}")
    tenants = draw(st.sampled_from([(), ("acme",), ("acme", "beta"), ("local", "acme")]))
    for tenant in tenants:
        clauses = [f"  grants {', '.join(draw(held))}"] if draw(st.booleans()) else []
        denied = draw(names)
        clauses += [f"  deny {', '.join(denied)}"] if denied else []
        lines += [f"tenant {tenant} {{", *clauses, "}"]
    for caller, secret in (("ann", "T"), ("bob", "U")):
        if draw(st.booleans()):
            whose = f', tenant: "{draw(st.sampled_from(tenants))}"' if tenants else ""
            granted = draw(names)
            rights = f" grants {', '.join(granted)}" if granted else ""
            lines.append(f'caller {caller} = bearer(secret("{secret}"){whose}){rights}')
    return "\n".join(lines) + "\n"


def opened_with(folder: Path, deploy: str) -> Opened:
    opened, bag = open_files(folder, {"main.ael": PROGRAM, "deploy.ael": deploy})
    assert opened is not None, bag.sorted()
    return opened


def told(host: Host, node: str, options: Options) -> list[Reached]:
    return explain(host.engine, host.opened.program, host.opened.deployment, f"main.{node}", options)


async def outcomes(host: Host, options: Options) -> dict[str, Outcome]:
    async with host:
        return {node: await host.engine.start(node, {}, options).outcome() for node in NODES}


@pytest.mark.feature("A3.3", "A4.4", "A4.14", "D5")
@settings(deadline=None, max_examples=60)
@given(deployments(), st.sampled_from(["local", "acme", "beta"]), st.sampled_from(["ann", "bob", "eve"]))
def test_the_explanation_and_the_gate_agree(deploy: str, tenant: str, caller: str) -> None:
    """The first thing that the explanation denies is what a run of the node ends with, in the same words; and where it denies nothing the
    run has its value."""
    with tempfile.TemporaryDirectory() as folder:
        host = open_host(opened_with(Path(folder), deploy))
        options = Options(tenant, caller)
        nobody = host.engine.access.refusal(tenant, caller)
        for node, outcome in asyncio.run(outcomes(host, options)).items():
            if nobody is not None:
                assert isinstance(outcome, Faulted)
                assert (outcome.kind, outcome.message) == (FaultKind.DENIED, nobody.message)
                continue
            reached = told(host, node, options)
            denied = [one for one in reached if one.denial is not None]
            for one in reached:
                refusing = [verdict.who for verdict in one.verdicts if not verdict.grants]
                if one.denial is None or one.denial.rule == "permission":
                    assert (one.denial.who if one.denial is not None else None) == (refusing[0] if refusing else None)
            if denied:
                assert isinstance(outcome, Faulted), (node, denied)
                assert (outcome.kind, outcome.message) == (FaultKind.DENIED, f"{denied[0].why}; do without it")
            else:
                assert isinstance(outcome, Value), (node, outcome)


@pytest.mark.feature("A4.4")
def test_a_deployment_cannot_widen_anything(tmp_path: Path) -> None:
    """Everything listed, granted and allowed: a node still has its own grants, a provider its own, and nothing more."""
    deploy = f"allow {', '.join((*PERMISSIONS, *TOOLS))}\ntenant acme {{\n  grants orders.read, orders.refund\n}}\n"
    host = open_host(opened_with(tmp_path, deploy))
    engine = host.engine
    rights = engine.plan("main.looks").inner(engine.rights(Options("acme", "c")))  # type: ignore[attr-defined]
    assert [permission for permission in PERMISSIONS if rights.refusal(permission) is None] == ["orders.read"]
    asyncio.run(host.close())


@pytest.mark.feature("A4.4", "A2.5")
@pytest.mark.parametrize(
    ("listed", "allowed"),
    [
        ("orders.read", set()),
        ("orders.refund, db.write", {"looks", "refunds", "cancels", "outer", "direct", "desk"}),
        ("look, cancel", {"looks", "cancels", "outer", "direct"}),
        ("orders.read, db.write, look", {"looks", "outer", "direct"}),
    ],
)
def test_what_is_not_on_the_operators_list_is_denied(tmp_path: Path, listed: str, allowed: set[str]) -> None:
    """Permissions and tools are two lists, each of which lets only those through that are on it."""
    host = open_host(opened_with(tmp_path, f"allow {listed}\n"))
    ended = asyncio.run(outcomes(host, Options(caller="c")))
    passed = {node for node, outcome in ended.items() if isinstance(outcome, Value)}
    assert passed == allowed
    assert all(outcome.kind is FaultKind.DENIED for outcome in ended.values() if isinstance(outcome, Faulted))


@pytest.mark.feature("A4.14")
def test_what_an_agent_has_not_its_nodes_have_not() -> None:
    """An agent's ceiling and a node's grants are both needed, and an empty ceiling is none at all: at run time too."""
    run = Rights("the run", None, ())
    agent = run.narrowed("the agent `desk`", frozenset({"read", "write"}), "main.desk")
    node = agent.narrowed("the node `n`", frozenset({"write", "admin"}), "main.n")
    assert [node.refusal(one) for one in ("write", "read", "admin")] == [None, "the node `n`", "the agent `desk`"]
    empty = run.narrowed("the agent `shut`", frozenset()).narrowed("the node `n`", frozenset({"write"}))
    assert empty.refusal("write") == "the agent `shut`"


@pytest.mark.feature("D5")
def test_what_is_denied_is_not_looked_into_and_what_is_reached_twice_is_told_once_for_each_right(tmp_path: Path) -> None:
    host = open_host(opened_with(tmp_path, "deny refund\n"))
    names = [(one.name, one.via) for one in told(host, "desk", Options(caller="c"))]
    assert names == [
        ("main.refunds", ("main.desk",)),
        ("main.refund", ("main.desk", "main.refunds")),
    ]
    asyncio.run(host.close())
