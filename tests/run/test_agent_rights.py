"""Agents and what their nodes may do: stores, servers, tools that never change, people who are asked in a branch."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ael.data import replace
from ael.lower.unit import CompiledEdge, CompiledNode, CompiledUnit
from ael.run.bindings import Options
from ael.run.ports import Decision
from ael.run.store import MemoryStore
from ael.types.agent import AgentSpec, EdgeSpec
from ael.types.fault import FaultKind
from ael.types.signature import Repeat, Signature
from ael.types.spec import ApprovalSpec, BudgetSpec, NodeSpec, StoreSpec
from ael.types.type import IntType
from tests.run.agents import compiled
from tests.run.fakes import FakeClock, call, calls, model, said
from tests.run.helpers import ALL, TEXT, code, engine, fault_of, node, parameter, run, tool, unit, value_of
from tests.run.loops import ASK
from tests.run.servers import FakeServer, remote, text
from tests.run.test_agent import EACH, outside
from tests.run.test_park import PARK, Desk, suspended

INT = IntType()


def agent(
    name: str, nodes: dict[str, str], *edges: EdgeSpec, grants: frozenset[str] = ALL, budget: BudgetSpec | None = None
) -> CompiledNode:
    """An agent of one text, which every edge hands on."""
    signature = Signature(f"main.{name}", (parameter("q"),), TEXT)
    spec = NodeSpec(f"main.{name}", signature, "", grants, budget=budget or BudgetSpec(), agent=AgentSpec(nodes, edges))
    return CompiledNode(spec, edges=tuple(CompiledEdge(passes=True) for _ in edges))


ONE = (EdgeSpec(("start",), False, "answer"), EdgeSpec(("answer",), False, "finish"))


@pytest.mark.feature("A4.15")
@pytest.mark.parametrize("operation", ["put", "get"])
def test_a_store_that_the_agent_does_not_grant_is_neither_written_nor_read(operation: str) -> None:
    """Nothing is granted that is not written down: each store has its permission, and a node without it has no way in."""
    notes = MemoryStore()

    async def write(k: Any, q: str) -> object:
        await k.act(0, f"main.notes.{operation}", ("a", q) if operation == "put" else ("a",))
        return q

    for ceiling, fine in ((ALL, True), (frozenset({"read"}), False), (frozenset[str](), False)):
        made = unit(
            nodes=[code("answer", write, parameter("q")), agent("desk", {"answer": "main.answer"}, *ONE, grants=ceiling)],
            stores=[StoreSpec("main.notes", TEXT, "write")],
        )
        outcome = run(engine(made, stores={"main.notes": notes}), "desk", ASK)
        if fine:
            assert value_of(outcome) == ASK["q"]
            asyncio.run(notes.remove("a", "t"))
        else:
            assert fault_of(outcome).kind is FaultKind.DENIED
            assert asyncio.run(notes.get("a")) is None


@pytest.mark.feature("A4.13")
def test_a_server_hears_nothing_of_an_agent_that_may_not_use_it() -> None:
    """The model of a node proposes a call of a server's tool; the agent around it lacks the permission."""
    for ceiling, heard in ((ALL, 1), (frozenset({"db"}), 0)):
        server = FakeServer([text("Ada")])
        asked = model(calls(call("crm__get", {})), said("done"))
        made = unit(
            tools=[remote("get")],
            nodes=[
                node("answer", parameter("q"), tools=["crm.get"]),
                agent("desk", {"answer": "main.answer"}, *ONE, grants=ceiling),
            ],
        )
        assert value_of(run(engine(made, asked, servers={"main.crm": server}), "desk", ASK)) == "done"
        assert len(server.calls) == heard
        told = str(asked.conversations[0].messages)
        assert ("needs the permission `read`" in told) == (heard == 0), "the model is told, and goes on without it"


@pytest.mark.feature("A2.6")
def test_what_a_model_is_offered_is_the_same_in_every_turn_and_every_visit() -> None:
    """Three visits of two turns: nothing adds a tool, and none changes."""

    async def look(k: Any) -> str:
        return "seen"

    asked = model(*[turn for _ in range(3) for turn in (calls(call("look", {})), said("again"))])
    again = EdgeSpec(("answer",), False, "answer", choice=True, limit=2)
    end = EdgeSpec(("answer",), False, "finish", choice=True, otherwise=True)
    made = unit(
        tools=[tool("look", look), tool("other", look)],
        nodes=[node("answer", parameter("q"), tools=["look"]), agent("desk", {"answer": "main.answer"}, ONE[0], again, end)],
    )
    assert value_of(run(engine(made, asked), "desk", ASK)) == "again"
    assert len(asked.conversations) == 3
    assert len(asked.asked) == 6
    offered = [[(one.name, one.description, one.schema) for one in each.spec.tools] for each in asked.conversations]
    assert [one[0] for one in offered[0]] == ["look"]
    assert offered[1] == offered[0]
    assert offered[2] == offered[0]


FORK = (
    EdgeSpec(("start",), False, "asks"),
    EdgeSpec(("start",), False, "works"),
    EdgeSpec(("asks", "works"), True, "ends"),
    EdgeSpec(("ends",), False, "finish"),
)


def fork(acted: list[str], budget: BudgetSpec | None = None) -> Any:
    """One branch asks a person, the other works."""

    async def pay(k: Any) -> str:
        acted.append("paid")
        return "paid"

    async def work(k: Any) -> str:
        acted.append("worked")
        return "worked"

    def through(name: str) -> Any:
        async def body(k: Any, q: str) -> object:
            return await k.act(0, f"main.{name}", ())

        return body

    async def ends(k: Any) -> object:
        acted.append("ended")
        return "both"

    desk = agent("desk", {"asks": "main.asks", "works": "main.works", "ends": "main.ends"}, *FORK, budget=budget)
    desk = replace(desk, edges=(*desk.edges[:2], CompiledEdge(), desk.edges[3]))
    return unit(
        tools=[tool("pay", pay, repeat=Repeat.NEVER, approval=ApprovalSpec("boss")), tool("work", work)],
        nodes=[
            code("asks", through("pay"), parameter("q")),
            code("works", through("work"), parameter("q")),
            code("ends", ends),
            desk,
        ],
    )


@pytest.mark.feature("A4.5", "A12.14")
def test_a_branch_that_waits_for_a_person_holds_no_other_up_and_the_agent_goes_on_from_there() -> None:
    acted: list[str] = []
    desk = Desk()
    made = fork(acted)
    [wait] = suspended(run(engine(made, journal=desk.store), "desk", ASK, PARK, during=desk.seen))
    assert (wait.kind, wait.path) == ("approval", "desk/asks#1/pay@0/approval")
    assert acted == ["worked"]
    desk.decide(wait, True)
    assert value_of(run(engine(made, journal=desk.store), "desk", ASK, PARK)) == "both"
    assert acted == ["worked", "paid", "ended"], "what was done is not done again"


@pytest.mark.feature("K46")
def test_the_time_of_an_agent_stands_still_while_a_person_thinks() -> None:
    clock = FakeClock()
    acted: list[str] = []

    class Slow:
        async def decide(self, request: object) -> Decision:
            clock.advance(3_600)
            await asyncio.sleep(0)
            return Decision(True, "ann")

    made = fork(acted, BudgetSpec(time=5_000))
    outcome = run(engine(made, clock=clock, approver=Slow()), "desk", ASK, Options(caller="c", run="r1"))
    assert value_of(outcome) == "both"
    assert sorted(acted) == ["ended", "paid", "worked"]


def with_grants(unit: CompiledUnit, name: str, grants: frozenset[str]) -> CompiledUnit:
    """The unit with other grants for one agent, as no check would let it be."""
    node = unit.nodes[name]
    return replace(unit, nodes={**unit.nodes, name: replace(node, spec=replace(node.spec, grants=grants))})


@pytest.mark.feature("A4.14", "A2.3")
def test_a_ceiling_and_a_grant_give_what_both_allow_and_an_empty_ceiling_gives_nothing() -> None:
    """The check refuses such agents; the run time does not rely on it."""
    called: list[int] = []

    async def act(n: int) -> int:
        called.append(n)
        return n

    fine = engine(compiled(EACH), externs=outside(act))
    assert value_of(run(fine, "main", {"items": [1]})) == [1]
    called.clear()
    for ceiling in (frozenset[str](), frozenset({"other.use"})):
        outcome = fault_of(
            run(engine(with_grants(compiled(EACH), "main.main", ceiling), externs=outside(act)), "main", {"items": [1]})
        )
        assert outcome.kind is FaultKind.DENIED
        assert outcome.message.startswith("`main.act` needs the permission `a.use`")
    assert called == []


@pytest.mark.feature("A2.3", "A13.2", "K02")
def test_branches_cannot_spend_the_same_allowance_twice() -> None:
    """Ten items under an agent that may make three calls: three are made, whoever is faster."""
    unit = compiled(EACH)
    node = unit.nodes["main.main"]
    bounded = replace(
        unit, nodes={**unit.nodes, "main.main": replace(node, spec=replace(node.spec, budget=BudgetSpec(tool_calls=3)))}
    )
    called: list[int] = []

    async def act(n: int) -> int:
        called.append(n)
        await asyncio.sleep(0)
        return n

    outcome = fault_of(run(engine(bounded, externs=outside(act)), "main", {"items": list(range(10))}))
    assert outcome.kind is FaultKind.BUDGET_EXHAUSTED
    assert outcome.details["spender"] == "the agent `main`"
    assert len(called) <= 3
