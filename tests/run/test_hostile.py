"""A model that does whatever it likes: every call is answered once, in order, limits hold, and the end is typed."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ael.journal.entry import State
from ael.journal.memory import MemoryJournal
from ael.run.bindings import Options
from ael.run.outcome import to_json
from ael.run.ports import Decision, ModelError, ModelErrorKind, ModelTurn, ProposedCall, Stop, Usage
from ael.types.canonical import encode
from ael.types.fault import Failure, Fault, FaultKind, Uncertain
from ael.types.signature import Repeat
from ael.types.spec import ApprovalSpec, BudgetSpec, LimitSpec
from ael.types.type import IntType
from tests.run.fakes import FakeApprover, FakeClock, FakeModel
from tests.run.helpers import ORDER, code, engine, node, parameter, run, tool, unit
from tests.run.loops import ASK

NAMES = st.sampled_from(["look", "pay", "fail", "big", "ask", "delegate__find", "nope", "LOOK", "", "look "]) | st.text(
    max_size=8
)
ARGUMENTS = (
    st.none()
    | st.sampled_from(
        [
            "",
            "{}",
            "null",
            "[]",
            '{"n": 1}',
            '{"n": "1"}',
            '{"n": 1, "n": 2}',
            '"{}"',
            "{",
            "[" * 200,
            '{"n": 1e999}',
            '{"n": \ud800}',
        ]
    )
    | st.dictionaries(st.sampled_from(["n", "m"]), st.integers() | st.text(max_size=5) | st.none(), max_size=2).map(json.dumps)
    | st.text(max_size=20)
)
PROPOSED = st.builds(ProposedCall, st.sampled_from(["", "a", "b"]), NAMES, ARGUMENTS)
USAGE = st.none() | st.builds(
    Usage, st.integers(0, 300), st.integers(0, 50), st.integers(0, 50), st.integers(0, 200), st.integers(0, 20)
)
FINALS = (
    st.none()
    | st.sampled_from(["", "{}", '{"id":"a","total":1}', '{"id":"a","total":-1}', "null", "{", '{"id":"\ud800","total":1}'])
    | st.text(max_size=12)
)
TURNS = st.builds(
    ModelTurn,
    st.sampled_from(["", "thinking", '<tool_call>{"name":"look"}</tool_call>', "\ud800", "x" * 2_000]) | st.text(max_size=10),
    st.lists(PROPOSED, max_size=4).map(tuple),
    st.sampled_from(list(Stop)),
    USAGE,
    FINALS,
    st.none(),
    st.just("m"),
    st.text(max_size=5),
)
ERRORS = st.builds(
    ModelError, st.sampled_from(list(ModelErrorKind)), st.text(max_size=10), retry_after=st.none() | st.floats(0, 5), usage=USAGE
)
REPLIES = st.lists(st.one_of(TURNS, TURNS, TURNS, ERRORS), min_size=1, max_size=12)
BUDGETS = st.builds(
    BudgetSpec, st.sampled_from([0, 300, 3_000, 50_000]), st.none(), st.none(), st.integers(0, 6), st.integers(0, 6)
)


def program(counts: dict[str, int]) -> Any:
    def counting(name: str, *results: object) -> Any:
        async def body(k: Any, *arguments: object) -> object:
            counts[name] = counts.get(name, 0) + 1
            result = results[counts[name] % len(results)]
            if isinstance(result, BaseException):
                raise result
            return result

        return body

    number = parameter("n", IntType(0, 9), optional=True)
    return unit(
        tools=[
            tool("look", counting("look", "a", "b"), number, parallel=True),
            tool("pay", counting("pay", "paid", Uncertain("k", "main.pay", "s")), number, repeat=Repeat.RECONCILE),
            tool(
                "fail",
                counting("fail", Failure("main.NotFound", {"id": "x"}), Fault(FaultKind.UNAVAILABLE, "x"), ValueError("y")),
                fails=frozenset({"main.NotFound"}),
            ),
            tool("big", counting("big", "x" * 5_000), limit=LimitSpec(output=100)),
            tool("ask", counting("ask", "asked"), number, approval=ApprovalSpec(None), permission="write"),
        ],
        nodes=[
            code("find", counting("find", "found", Fault(FaultKind.TIMEOUT, "t"))),
            node("text", parameter("q"), tools=["look", "pay", "fail", "big", "ask", "find"], attempts=3),
            node("order", parameter("q"), tools=["look", "pay", "fail", "big", "ask", "find"], attempts=2, result=ORDER),
            node("once", parameter("q"), tools=["look"], policy="one_call"),
        ],
    )


def decisions() -> FakeApprover:
    return FakeApprover(*[Decision(n % 3 != 0, "ann", "r", {"n": 12} if n % 5 == 4 else None) for n in range(60)])


@given(REPLIES, BUDGETS, st.sampled_from(["text", "order", "once"]))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_a_model_does(replies: list[Any], budget: BudgetSpec, entry: str) -> None:
    """The fake model refuses a transcript with an unanswered call (K05); the rest is looked at here."""
    counts: dict[str, int] = {}
    fake = FakeModel([*replies, *[ModelTurn("", (), Stop.REFUSED, None)] * 3])
    started: list[Any] = []
    options = Options(caller="c", budget=budget, run="r")
    made = engine(program(counts), fake, approver=decisions(), clock=FakeClock(), random=lambda: 0.5)
    outcome = run(made, entry, ASK, options, during=started.append)
    spent, account = outcome.spent, started[0].account
    assert budget.steps is None or spent.steps <= budget.steps
    assert budget.tool_calls is None or spent.tool_calls <= budget.tool_calls
    assert account.held == (0, 0)
    assert sum(counts.values()) <= spent.tool_calls
    if entry == "once":
        assert spent.steps <= 1
    entries = started[0].journal.entries()
    for path in {one.path for one in entries}:
        states = [one.state for one in entries if one.path == path]
        assert states.count(State.ANSWERED) == 1, f"{path} has {states}"
        assert states == sorted(states, key=list(State).index)
    encode(to_json(outcome))
    encode([[one.path, one.value, list(one.taint)] for one in entries])


@given(REPLIES, st.sampled_from(["text", "order"]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_a_model_does_replays_to_the_same_end(replies: list[Any], entry: str) -> None:
    """A finished run over its own journal asks nothing, runs nothing, and ends the same."""
    replies = [reply for reply in replies if isinstance(reply, ModelTurn)]
    journal = MemoryJournal()
    counts: dict[str, int] = {}
    for attempt in range(2):
        fake = FakeModel([*replies, *[ModelTurn("", (), Stop.REFUSED, None)] * 3] if attempt == 0 else [])
        made = engine(program(counts), fake, approver=decisions(), clock=FakeClock(), journal=journal)
        outcome = run(made, entry, ASK, Options(caller="c", budget=BudgetSpec(tokens=50_000, steps=8, tool_calls=9), run="r"))
        told = {key: value for key, value in to_json(outcome).items() if key != "spent"}
        if attempt == 0:
            first, ran = told, dict(counts)
        else:
            assert told == first
            assert counts == ran
            assert fake.asked == []
