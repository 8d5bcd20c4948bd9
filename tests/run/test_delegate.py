"""A node offered to a model: its name, its grants, its depth, and only its declared output (feature A7.19)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ael.run.bindings import Options
from ael.run.delegate import MAX_LEVEL
from ael.run.run import Run
from ael.types.fault import Failure, Fault, FaultKind, Uncertain
from ael.types.spec import BudgetSpec, ModelSpec
from tests.run.fakes import FakeClock, call, calls, final, model, said
from tests.run.helpers import (
    ALL,
    ORDER,
    code,
    engine,
    fault_of,
    node,
    parameter,
    run,
    tool,
    uncertain_of,
    unit,
    value_of,
)
from tests.run.loops import ASK, Body, answers

MODELS = [ModelSpec("main.fast", None, "fast-1"), ModelSpec("main.cheap", None, "cheap-1")]


@pytest.mark.feature("A7.19", "A7.7")
def test_a_delegate_is_offered_by_name_and_only_its_output_comes_back() -> None:
    body = Body("secret detail")
    outer = model(calls(call("delegate__find", {"topic": "x"})), said("done"))
    inner = model(calls(call("look", {}), text="private thoughts"), final({"id": "A", "total": 3}))
    made = unit(
        tools=[tool("look", body)],
        nodes=[
            node("find", parameter("topic"), result=ORDER, tools=["look"], model="main.cheap"),
            node("answer", parameter("q"), tools=["find"]),
        ],
        models=MODELS,
    )
    assert value_of(run(engine(made, outer, inner), "answer", ASK)) == "done"
    [offer] = outer.conversations[0].spec.tools
    assert (offer.name, offer.description) == ("delegate__find", "The node find.")
    assert answers(outer)[0].content == '{"id":"A","total":3}'
    assert "secret" not in str(outer.asked[-1].messages)
    assert "private" not in str(outer.asked[-1].messages)


def test_a_delegate_has_no_more_than_its_caller() -> None:
    """Grants only shrink: a delegate that may write does not write for a node that may only read."""
    body = Body("wrote")
    outer, inner = model(calls(call("delegate__find", {})), said("done")), model(calls(call("write", {})), said("could not"))
    made = unit(
        tools=[tool("write", body, permission="write")],
        nodes=[
            node("find", tools=["write"], model="main.cheap", grants=frozenset({"write", "read"})),
            node("answer", parameter("q"), tools=["find"], grants=frozenset({"read"})),
        ],
        models=MODELS,
    )
    assert value_of(run(engine(made, outer, inner), "answer", ASK)) == "done"
    assert body.got == []
    assert "needs the permission `write`" in answers(inner)[0].content


def test_a_delegate_spends_its_callers_budget() -> None:
    outer, inner = model(calls(call("delegate__find", {}))), model(calls(call("look", {})), forever=True)
    made = unit(
        tools=[tool("look", Body("x"))],
        nodes=[
            node("find", tools=["look"], model="main.cheap", budget=BudgetSpec(steps=100)),
            node("answer", parameter("q"), tools=["find"], budget=BudgetSpec(steps=4)),
        ],
        models=MODELS,
    )
    outcome = run(engine(made, outer, inner), "answer", ASK)
    assert fault_of(outcome).details["spender"] == "the node `answer`"
    assert outcome.spent.steps == 4


@pytest.mark.feature("A7.19")
def test_delegation_is_not_endless() -> None:
    """A node that offers itself: the depth is a typed error result, and the loop's own limits end it."""
    fake = model(
        *[calls(call("delegate__dig", {})) for _ in range(MAX_LEVEL + 1)], *[said("bottom") for _ in range(MAX_LEVEL + 1)]
    )
    made = unit(nodes=[node("dig", tools=["dig"], budget=BudgetSpec(steps=100, tool_calls=100))])
    assert value_of(run(engine(made, fake), "dig", {}, Options(caller="c", budget=BudgetSpec(tokens=10**6)))) == "bottom"
    deepest = fake.conversations[-1]
    [answer] = [message for role, message in deepest.messages if role == "answers"]
    assert "TooDeep: delegations are nested more than 16 deep" in answer[0].content  # type: ignore[index]


def test_how_a_delegate_ends_badly_is_an_error_result_or_the_end() -> None:
    for ending, told in (
        (Failure("main.NotFound", {"id": "A"}), "NotFound"),
        (Fault(FaultKind.UNAVAILABLE, "busy"), "Unavailable: busy"),
    ):

        async def find(k: Any, ending: BaseException = ending) -> object:
            raise ending

        outer = model(calls(call("delegate__find", {})), said("done"))
        made = unit(nodes=[code("find", find), node("answer", parameter("q"), tools=["find"])])
        assert value_of(run(engine(made, outer), "answer", ASK)) == "done"
        assert told in answers(outer)[0].content

    async def lost(k: Any) -> object:
        raise Uncertain("key", "main.pay", "step")

    outer = model(calls(call("delegate__lost", {})))
    made = unit(nodes=[code("lost", lost), node("answer", parameter("q"), tools=["lost"])])
    ending_ = uncertain_of(run(engine(made, outer), "answer", ASK))
    assert (ending_.key, ending_.operation) == ("key", "main.pay")
    assert ending_.details["transcript"]


@pytest.mark.feature("A2.3", "A2.1")
def test_a_tool_belongs_to_the_nearest_node_alone() -> None:
    """Whoever calls it, is called by it, or stands beside it has not its tools: they are not offered there, and a proposal runs nothing."""
    bodies = {name: Body("done") for name in ("own", "below", "beside")}
    proposals = [call(name, {}) for name in bodies]
    outer = model(calls(*proposals, call("delegate__child", {}), call("delegate__sibling", {})), said("done"))
    child, sibling = model(calls(*proposals), said("done")), model(calls(*proposals), said("done"))
    made = unit(
        tools=[tool(name, body) for name, body in bodies.items()],
        nodes=[
            node("child", tools=["below"], model="main.cheap"),
            node("sibling", tools=["beside"], model="main.other"),
            node("answer", parameter("q"), tools=["own", "child", "sibling"]),
        ],
        models=[*MODELS, ModelSpec("main.other", None, "other-1")],
    )
    assert value_of(run(engine(made, outer, child, sibling), "answer", ASK)) == "done"
    offered = {"own": outer, "below": child, "beside": sibling}
    for name, fake in offered.items():
        assert [offer.name for offer in fake.conversations[0].spec.tools if not offer.name.startswith("delegate")] == [name]
        [told] = [one for role, one in fake.conversations[0].messages if role == "answers"]
        given = {one.call.name: one for one in told}  # type: ignore[attr-defined]
        assert {tool for tool in bodies if not given[tool].is_error} == {name}
        assert all(given[tool].content.startswith(f'no tool "{tool}"') for tool in bodies if tool != name)
    assert [len(body.got) for body in bodies.values()] == [1, 1, 1]


@pytest.mark.feature("A2.3", "A4.14")
def test_what_is_granted_to_a_caller_is_not_granted_to_whom_it_calls() -> None:
    """Grants shrink on the way down, and nothing is handed down: a node below has what it was granted itself."""
    body = Body("wrote")

    async def through(k: Any) -> object:
        return await k.act(0, "main.write", ())

    for grants, fine in ((frozenset({"write"}), True), (frozenset({"read"}), False), (frozenset[str](), False)):

        async def main(k: Any) -> object:
            return await k.act(0, "main.below", ())

        made = unit(
            tools=[tool("write", body, permission="write")],
            nodes=[code("below", through, grants=grants), code("main", main, grants=ALL)],
        )
        body.got.clear()
        outcome = run(engine(made), "main")
        if fine:
            assert value_of(outcome) == "wrote"
        else:
            assert fault_of(outcome).kind is FaultKind.DENIED
        assert len(body.got) == fine


@pytest.mark.feature("A13.6")
def test_without_a_word_of_budget_delegations_are_few_however_they_are_nested() -> None:
    """Each turn asks for five more: what is below draws from the visit at the top, which makes 8 turns and 16 calls and no more."""

    def forever(name: str) -> Any:
        return model(calls(*[call(f"delegate__{name}", {}, f"c{at}") for at in range(5)]), forever=True)

    visited: list[int] = []

    async def leaf(k: Any) -> str:
        visited.append(1)
        return "x"

    made = unit(
        nodes=[
            code("leaf", leaf),
            node("inner", tools=["leaf"], model="main.cheap"),
            node("answer", parameter("q"), tools=["inner"]),
        ],
        models=MODELS,
    )
    outer, inner = forever("inner"), forever("leaf")
    outcome = run(engine(made, outer, inner), "answer", ASK)
    assert fault_of(outcome).kind is FaultKind.BUDGET_EXHAUSTED
    assert len(outer.asked) + len(inner.asked) <= 8
    assert outcome.spent.tool_calls <= 16
    assert len(visited) <= 16


@pytest.mark.feature("K39")
def test_a_child_whose_time_is_up_is_a_typed_result_and_the_others_go_on() -> None:
    clock = FakeClock()
    log: list[str] = []

    async def slow(k: Any) -> object:
        return await k.act(0, "main.wait", ())

    async def wait(k: Any) -> object:
        clock.advance(6)
        try:
            await asyncio.sleep(3600)
        finally:
            log.append("given up")

    async def quick(k: Any) -> str:
        log.append("went on")
        return "fine"

    outer = model(calls(*[call(f"delegate__{name}", {}) for name in ("first", "slow", "last")]), said("done"))
    made = unit(
        tools=[tool("wait", wait)],
        nodes=[
            code("first", quick),
            code("slow", slow, budget=BudgetSpec(time=5_000)),
            code("last", quick),
            node("answer", parameter("q"), tools=["first", "slow", "last"]),
        ],
    )
    assert value_of(run(engine(made, outer, clock=clock), "answer", ASK)) == "done"
    first, cut, last = answers(outer)
    assert (first.content, first.is_error, last.content, last.is_error) == ("fine", False, "fine", False)
    assert (cut.is_error, cut.content.split(":")[0]) == (True, "DeadlineExceeded")
    assert log == ["went on", "given up", "went on"]


@pytest.mark.feature("K39", "B15")
def test_a_cancel_ends_what_is_innermost_first() -> None:
    log: list[str] = []
    begun: list[int] = []

    def around(name: str, target: str) -> Any:
        async def body(k: Any) -> object:
            try:
                return await k.act(0, target, ())
            finally:
                log.append(name)

        return body

    async def wait(k: Any) -> object:
        begun.append(1)
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0)
            log.append("wait")

    async def stop(started: Run) -> None:
        while not begun:
            await asyncio.sleep(0)
        started.cancel("enough")

    made = unit(
        tools=[tool("wait", wait)],
        nodes=[code("inner", around("inner", "main.wait")), code("main", around("main", "main.inner"))],
    )
    outcome = fault_of(run(engine(made), "main", during=stop))
    assert outcome.kind is FaultKind.CANCELLED
    assert log == ["wait", "inner", "main"]
