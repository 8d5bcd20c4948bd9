"""A node offered to a model: its name, its grants, its depth, and only its declared output (feature A7.19)."""

from __future__ import annotations

from typing import Any

import pytest

from ael.run.bindings import Options
from ael.run.delegate import MAX_LEVEL
from ael.types.fault import Failure, Fault, FaultKind, Uncertain
from ael.types.spec import BudgetSpec, ModelSpec
from tests.run.fakes import call, calls, final, model, said
from tests.run.helpers import ORDER, code, engine, fault_of, node, parameter, run, tool, uncertain_of, unit, value_of
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
