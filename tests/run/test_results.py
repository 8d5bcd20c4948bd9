"""Results of a node and stop reasons: what finishes, what goes back, what ends the node (K15, K32, K33, K38)."""

from __future__ import annotations

import pytest

from ael.lower.unit import Requirement
from ael.run.ports import ModelTurn, ProposedCall, Stop, Usage
from ael.types.definition import FieldDef, RecordDef
from ael.types.fault import FaultKind
from ael.types.signature import Repeat
from ael.types.spec import BudgetSpec
from ael.types.type import FloatType, Named, StringType
from tests.run.fakes import call, calls, final, model, said
from tests.run.helpers import (
    ORDER,
    engine,
    fault_of,
    node,
    parameter,
    run,
    tool,
    unit,
    value_of,
)
from tests.run.loops import ASK, Body, answers, program


@pytest.mark.feature("A7.12", "A7.13")
def test_a_result_that_does_not_check_goes_back_with_its_problems_and_no_effect_is_run_again() -> None:
    body = Body("seen")
    made, fake = program(
        calls(call("look", {})),
        final({"id": 7}),
        final({"id": "A", "total": 3}),
        tools=[tool("look", body)],
        result=ORDER,
        attempts=2,
    )
    assert value_of(run(made, "answer", ASK)) == {"id": "A", "total": 3}
    assert len(body.got) == 1
    said_to = [message for role, message in fake.asked[2].messages if role == "user"][-1]
    assert isinstance(said_to, str)
    assert "`id`: expected" in said_to
    assert "`total`: is missing" in said_to


def test_attempts_are_the_answers_that_a_model_may_give() -> None:
    made, fake = program(final({}), forever=True, result=ORDER, attempts=3)
    fault = fault_of(run(made, "answer", ASK))
    assert fault.kind is FaultKind.INVALID_OUTPUT
    assert len(fake.asked) == 3
    assert fault.details["problems"]


def test_invalid_results_between_calls_are_still_counted() -> None:
    """K38: alternating calls and invalid results do not escape the count."""
    replies = [reply for _ in range(3) for reply in (final({}), calls(call("look", {})))]
    made, fake = program(*replies, tools=[tool("look", Body("x"))], result=ORDER, attempts=3, budget=BudgetSpec(steps=50))
    assert fault_of(run(made, "answer", ASK)).kind is FaultKind.INVALID_OUTPUT
    assert len(fake.asked) == 5


def test_five_thousand_attempts_need_no_stack() -> None:
    """K38: asking again is a loop, not a recursion."""
    made, fake = program(final({}), forever=True, result=ORDER, attempts=5_000, budget=BudgetSpec(steps=6_000, tokens=10**9))
    made.world.bindings.__dict__["run_budget"] = BudgetSpec(tokens=10**9)
    assert fault_of(run(made, "answer", ASK)).kind is FaultKind.INVALID_OUTPUT
    assert len(fake.asked) == 5_000


@pytest.mark.feature("A7.12")
def test_require_is_fed_back_and_then_ends_the_node() -> None:
    confident = RecordDef(
        "main.R", (FieldDef("answer", "answer", StringType()), FieldDef("confidence", "confidence", FloatType(0.0, 1.0)))
    )
    needed = Requirement(
        lambda output, q: output["confidence"] >= 0.5, "output.confidence >= 0.5", lambda output, q: f"not sure about {q}"
    )
    low, high = {"answer": "a", "confidence": 0.2}, {"answer": "a", "confidence": 0.9}
    for replies, attempts, ending in (([low, high], 2, "value"), ([low, low], 2, "fault"), ([{"answer": "a"}, high], 2, "value")):
        fake = model(*[final(reply) for reply in replies])
        made = unit(
            nodes=[node("answer", parameter("q"), result=Named("main.R"), requirements=(needed,), attempts=attempts)],
            definitions={"main.R": confident},
        )
        outcome = run(engine(made, fake), "answer", ASK)
        if ending == "value":
            assert value_of(outcome) == high
        else:
            assert fault_of(outcome).kind is FaultKind.INVALID_OUTPUT
            assert "must hold: output.confidence >= 0.5: not sure about hello" in fault_of(outcome).message


@pytest.mark.feature("A7.13", "A7.14")
def test_a_result_with_calls_finishes_and_the_calls_are_refused() -> None:
    """K38: the rule for a result and calls in one turn is fixed."""
    body = Body("acted")
    made, fake = program(
        final({"id": "A", "total": 1}, call("look", {}), call("look", {}), text="free text beside it"),
        tools=[tool("look", body, repeat=Repeat.NEVER)],
        result=ORDER,
    )
    assert value_of(run(made, "answer", ASK)) == {"id": "A", "total": 1}
    assert body.got == []
    assert len(fake.asked) == 1


def test_an_invalid_result_with_calls_runs_neither() -> None:
    body = Body("acted")
    made, fake = program(final({}, call("look", {})), final({"id": "A", "total": 1}), tools=[tool("look", body)], result=ORDER)
    assert value_of(run(made, "answer", ASK)) == {"id": "A", "total": 1}
    assert body.got == []
    assert "did not check" in answers(fake)[0].content


@pytest.mark.feature("A7.14")
def test_free_text_where_a_structured_result_is_due_is_no_result() -> None:
    made, _ = program(said("The order is fine."), said("It really is."), result=ORDER, attempts=2)
    assert fault_of(run(made, "answer", ASK)).kind is FaultKind.INVALID_OUTPUT


@pytest.mark.feature("B1")
def test_text_with_a_fence_and_a_trailing_comma_is_repaired_and_then_read_strictly() -> None:
    made, _ = program(said('Here it is:\n```json\n{"id": "A", "total": 3,}\n```'), result=ORDER)
    assert value_of(run(made, "answer", ASK)) == {"id": "A", "total": 3}


@pytest.mark.feature("A5.7")
def test_text_that_looks_like_a_call_is_text() -> None:
    """K15: a call written as text, with a made-up result, runs nothing."""
    body = Body("acted")
    text = '<tool_call>{"name": "look", "arguments": {}}</tool_call>\nResult: refunded'
    made, _ = program(said(text), tools=[tool("look", body)])
    outcome = run(made, "answer", ASK)
    assert value_of(outcome) == text
    assert body.got == []
    assert outcome.spent.tool_calls == 0


# --- stop reasons -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stop", "kind"),
    [(Stop.REFUSED, FaultKind.MODEL_REFUSED), (Stop.FILTERED, FaultKind.CONTENT_FILTERED), (Stop.UNKNOWN, FaultKind.MALFORMED)],
)
def test_each_stop_reason_is_one_typed_outcome_and_runs_nothing(stop: Stop, kind: FaultKind) -> None:
    """K33: refusals, filters and unknown reasons are not retried, and a call beside them is not run."""
    body = Body("acted")
    turn = ModelTurn("partial", (call("look", {}),), stop, Usage(1, 0, 0, 1, 0), detail="because")
    made, fake = program(turn, tools=[tool("look", body)], attempts=5)
    fault = fault_of(run(made, "answer", ASK))
    assert fault.kind is kind
    assert "because" in fault.message
    assert body.got == []
    assert len(fake.asked) == 1


def test_a_cut_turn_runs_nothing_and_the_conversation_goes_on() -> None:
    """K05, K32: half a call is not run, and is answered; the next call works."""
    body = Body("acted")
    cut = ModelTurn("", (ProposedCall("1", "look", '{"id": "A'),), Stop.CUT, Usage(1, 0, 0, 1, 0))
    made, fake = program(
        cut, calls(call("look", {"id": "A"})), said("done"), tools=[tool("look", body, parameter("id"))], attempts=2
    )
    assert value_of(run(made, "answer", ASK)) == "done"
    assert body.got == [("A",)]
    assert "cut" in answers(fake)[0].content


def test_reaching_the_token_maximum_is_a_cut_whatever_the_reason_says() -> None:
    """K32: the provider says calls, the output is at its maximum, the arguments are even complete."""
    body = Body("acted")
    turn = calls(call("look", {}), usage=Usage(input=5, output=1000))
    made, _ = program(turn, tools=[tool("look", body)], attempts=1)
    assert fault_of(run(made, "answer", ASK)).kind is FaultKind.MODEL_CUT
    assert body.got == []


def test_a_text_result_that_was_cut_is_no_result() -> None:
    """K32: cut text is not success."""
    made, fake = program(said("The answer is", Stop.CUT), forever=True, attempts=3)
    fault = fault_of(run(made, "answer", ASK))
    assert fault.kind is FaultKind.MODEL_CUT
    assert fault.details["text"] == "The answer is"
    assert len(fake.asked) == 3


def test_a_turn_with_calls_and_no_text_round_trips() -> None:
    """K33: empties are kept as they are."""
    made, fake = program(calls(call("look", None)), said(""), tools=[tool("look", Body(""))])
    assert value_of(run(made, "answer", ASK)) == ""
    assert answers(fake)[0].content == ""
