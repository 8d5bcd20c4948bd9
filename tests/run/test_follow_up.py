"""Follow-ups: ordered turns after a result, in one conversation, each checked, paid and journaled like the first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ael.journal.memory import MemoryJournal
from ael.run.bindings import Options
from ael.types.fault import FaultKind
from ael.types.spec import BudgetSpec
from tests.run.fakes import FakeModel, call, calls, final, model
from tests.run.helpers import ORDER, engine, fault_of, node, parameter, run, tool, unit, value_of
from tests.run.loops import ASK, Body, answers, program

FOLLOW = ("Look again.", "Say it shortly.")
FIRST, SECOND, THIRD = ({"id": one, "total": 1} for one in "ABC")


def told(fake: FakeModel, at: int) -> list[object]:
    """What the model had been told as the user when it was asked the `at`-th time, after the first message."""
    return [message for role, message in fake.asked[at].messages if role == "user"][1:]


@pytest.mark.feature("A7.15")
def test_they_are_told_in_order_in_one_conversation_and_the_last_result_is_the_nodes() -> None:
    made, fake = program(final(FIRST), final(SECOND), final(THIRD), result=ORDER, follow_ups=FOLLOW)
    assert value_of(run(made, "answer", ASK)) == THIRD
    assert [told(fake, at) for at in range(3)] == [[], ["Look again."], ["Look again.", "Say it shortly."]]
    assert len({id(conversation) for conversation in fake.conversations}) == 1


@pytest.mark.feature("A7.15", "A7.13")
def test_each_turn_has_its_own_attempts_and_one_that_fails_ends_the_node() -> None:
    replies = (final({}), final(FIRST), final({}), final(SECOND), final({}), final({}))
    made, fake = program(*replies, result=ORDER, attempts=2, follow_ups=FOLLOW)
    fault = fault_of(run(made, "answer", ASK))
    assert fault.kind is FaultKind.INVALID_OUTPUT
    assert len(fake.asked) == len(replies)


@pytest.mark.feature("A7.15")
def test_a_follow_up_may_call_tools_and_a_call_beside_a_result_is_refused() -> None:
    body = Body("seen")
    beside = replace(final(FIRST), calls=(call("look", {}, "1"),))
    made, fake = program(
        beside, calls(call("look", {}, "2")), final(SECOND), tools=[tool("look", body)], result=ORDER, follow_ups=FOLLOW[:1]
    )
    assert value_of(run(made, "answer", ASK)) == SECOND
    assert len(body.got) == 1
    first, second = answers(fake, 2)
    assert (first.is_error, second.is_error) == (True, False)
    assert told(fake, 2) == ["Look again."]


@pytest.mark.feature("A7.15", "A7.2")
def test_they_are_bounded_by_the_steps_of_the_node() -> None:
    made, fake = program(final(FIRST), final(SECOND), result=ORDER, follow_ups=FOLLOW, budget=BudgetSpec(steps=2))
    fault = fault_of(run(made, "answer", ASK))
    assert fault.kind is FaultKind.BUDGET_EXHAUSTED
    assert len(fake.asked) == 2
    assert fault.details["limit"] == "steps"


@pytest.mark.feature("A7.15", "A8.11")
def test_a_run_that_is_taken_up_again_goes_on_after_the_turns_that_it_has() -> None:
    journal = MemoryJournal()
    unit_ = unit(nodes=[node("answer", parameter("q"), result=ORDER, follow_ups=FOLLOW)])
    first = model(final(FIRST), final(SECOND), final(SECOND))
    assert value_of(run(engine(unit_, first, journal=journal), "answer", ASK, Options(run="r"))) == SECOND
    second = model(final(THIRD))
    whole = MemoryJournal()
    opened = journal._runs["r"]
    copy = whole.open(opened.header)
    for entry in opened.entries():
        if "turn3" not in entry.path and not entry.path.startswith("end"):
            copy.append(entry)
    again = run(engine(unit_, second, journal=whole), "answer", ASK, Options(run="r"))
    assert value_of(again) == THIRD
    assert len(second.asked) == 1, "two turns were replayed"
