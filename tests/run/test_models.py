"""Which model is asked: availability alone decides, one owner of retries, what a provider asks for is kept to."""

from __future__ import annotations

from typing import Any

import pytest

from ael.data import replace
from ael.run.bindings import Bindings, BoundModel, Options
from ael.run.engine import Engine
from ael.run.events import FellBack, Retried
from ael.run.ports import ModelError, ModelErrorKind, ModelTurn, Opaque, Stop
from ael.run.trace import SpanList
from ael.types.fault import FaultKind
from ael.types.spec import BudgetSpec, ModelSpec
from tests.run.fakes import FakeClock, FakeModel, call, calls, model, said
from tests.run.helpers import Collected, fault_of, node, parameter, run, tool, unit, value_of
from tests.run.loops import ASK, Body


def unavailable(after: float | None = None, status: int = 503) -> ModelError:
    return ModelError(ModelErrorKind.UNAVAILABLE, "overloaded", status=status, retry_after=after)


def two(first: FakeModel, second: FakeModel | None, clock: FakeClock | None = None, **settings: Any) -> Engine:
    """A node whose model `fast` falls back to `cheap`."""
    models = [ModelSpec("main.fast", None, "fast-1", fallback="main.cheap"), ModelSpec("main.cheap", None, "cheap-1")]
    made = unit(
        tools=[tool("look", Body("x"))], nodes=[node("answer", parameter("q"), tools=["look"], **settings)], models=models
    )
    bound = {"main.fast": BoundModel(first, "fast-1", {}, "main.cheap")}
    if second is not None:
        bound["main.cheap"] = BoundModel(second, "cheap-1")
    return Engine(made, Bindings(models=bound, clock=clock or FakeClock(), random=lambda: 0.0))


@pytest.mark.feature("A7.10", "B3")
@pytest.mark.parametrize("status", [429, 408, 500, 503, 529])
def test_a_fallback_is_asked_while_the_model_is_unavailable(status: int) -> None:
    first, second = model(unavailable(status=status), forever=True), model(said("cheap answer"))
    events = Collected()
    assert value_of(run(two(first, second), "answer", ASK, Options(caller="c", on_event=events))) == "cheap answer"
    assert len(first.asked) == 2
    assert [(event.model, event.to) for event in events.of(FellBack)] == [("main.fast", "main.cheap")]


@pytest.mark.feature("A7.10", "A8.12")
@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        (ModelErrorKind.BAD_REQUEST, FaultKind.BAD_ARGUMENTS),
        (ModelErrorKind.NOT_AUTHORISED, FaultKind.DENIED),
        (ModelErrorKind.NOT_FOUND, FaultKind.MODEL_UNAVAILABLE),
        (ModelErrorKind.OVERFLOW, FaultKind.CONTEXT_OVERFLOW),
        (ModelErrorKind.MALFORMED, FaultKind.MALFORMED),
        (ModelErrorKind.INCOMPLETE, FaultKind.DISCONNECTED),
    ],
)
def test_every_other_failure_is_one_request_and_a_typed_outcome(kind: ModelErrorKind, fault: FaultKind) -> None:
    """K34: a 404 is one request; K36: what is too long is not sent again unchanged; no other model is asked."""
    first, second = model(ModelError(kind, "no", status=400)), model(said("never"))
    assert fault_of(run(two(first, second), "answer", ASK)).kind is fault
    assert len(first.asked) == 1
    assert second.asked == []


@pytest.mark.feature("A7.10")
@pytest.mark.parametrize("stop", [Stop.REFUSED, Stop.FILTERED, Stop.UNKNOWN])
def test_a_refusal_or_bad_output_never_switches_the_model(stop: Stop) -> None:
    first, second = model(ModelTurn("", (), stop, None)), model(said("never"))
    fault_of(run(two(first, second), "answer", ASK))
    assert second.asked == []


@pytest.mark.feature("B17")
def test_a_short_retry_after_is_waited_for_and_a_long_one_is_a_reason_to_fall_back() -> None:
    clock = FakeClock()
    first, second = model(unavailable(1.5), said("fast answer")), model(said("cheap answer"))
    assert value_of(run(two(first, second, clock), "answer", ASK)) == "fast answer"
    assert clock.slept == [1.5]
    clock = FakeClock()
    first, second = model(unavailable(20), said("fast answer")), model(said("cheap answer"))
    assert value_of(run(two(first, second, clock), "answer", ASK)) == "cheap answer"
    assert clock.slept == []


@pytest.mark.feature("A7.11")
def test_when_all_are_unavailable_they_are_waited_for_as_long_as_they_ask() -> None:
    """A deferral uses no attempt; the wait is the shortest that was asked for."""
    clock = FakeClock()
    first, second = model(unavailable(30), said("fast answer")), model(unavailable(40))
    events = Collected()
    assert value_of(run(two(first, second, clock), "answer", ASK, Options(caller="c", on_event=events))) == "fast answer"
    assert clock.slept == [30]
    assert len(events.of(Retried)) == 1


@pytest.mark.feature("A7.11")
def test_waiting_is_bounded_in_number_and_by_the_deadline() -> None:
    clock = FakeClock()
    first = model(unavailable(10), forever=True)
    fault = fault_of(
        run(
            two(first, None, clock, budget=BudgetSpec(time=10**9)),
            "answer",
            ASK,
            Options(caller="c", budget=BudgetSpec(time=10**9)),
        )
    )
    assert fault.kind is FaultKind.MODEL_UNAVAILABLE
    assert fault.details["retry_after"] == 10
    assert len(first.asked) == 4
    clock = FakeClock()
    first = model(unavailable(400), forever=True)
    assert fault_of(run(two(first, None, clock), "answer", ASK)).kind is FaultKind.MODEL_UNAVAILABLE
    assert clock.slept == []
    assert len(first.asked) == 1


def test_an_unavailable_model_is_asked_as_often_as_declared() -> None:
    """K34: three requests, no more, wherever they are counted."""
    first = model(unavailable(), forever=True)
    assert fault_of(run(two(first, None), "answer", ASK)).kind is FaultKind.MODEL_UNAVAILABLE
    assert len(first.asked) == 3


@pytest.mark.feature("A7.10")
def test_the_first_model_is_asked_again_when_it_may_be_there_again() -> None:
    clock = FakeClock()

    async def look(k: Any) -> str:
        clock.advance(100)
        return "x"

    first = model(unavailable(60), said("fast answer"))
    second = model(calls(call("look", {})))
    made = unit(
        tools=[tool("look", look)],
        nodes=[node("answer", parameter("q"), tools=["look"])],
        models=[ModelSpec("main.fast", None, "fast-1", fallback="main.cheap"), ModelSpec("main.cheap", None, "cheap-1")],
    )
    bound = {"main.fast": BoundModel(first, "fast-1", {}, "main.cheap"), "main.cheap": BoundModel(second, "cheap-1")}
    assert value_of(run(Engine(made, Bindings(models=bound, clock=clock)), "answer", ASK)) == "fast answer"
    assert len(second.asked) == 1


def test_a_switch_takes_the_history_along_and_each_turn_is_added_whole() -> None:
    """K37: the other provider gets the conversation as it stands; its adapter leaves out parts that are not its own."""
    opaque = Opaque("fake", ("secret thoughts",))
    first = model(calls(call("look", {}), opaque=opaque), unavailable(90))
    second = model(said("cheap answer"), name="other")
    assert value_of(run(two(first, second), "answer", ASK)) == "cheap answer"
    roles = [role for role, _ in second.asked[0].messages]
    assert roles == ["user", "model", "answers"]
    assert second.conversations[0].spec.tools == first.conversations[0].spec.tools
    assert second.conversations[0].spec.model == "cheap-1"


def test_a_model_that_is_bound_to_nothing_is_told_so() -> None:
    made = Engine(unit(nodes=[node("answer", parameter("q"))]), Bindings())
    fault = fault_of(run(made, "answer", ASK))
    assert fault.kind is FaultKind.MODEL_UNAVAILABLE
    assert "bound to nothing" in fault.message


def test_a_cycle_of_fallbacks_is_no_endless_chain() -> None:
    models = [ModelSpec("main.fast", None, "a", fallback="main.cheap"), ModelSpec("main.cheap", None, "b", fallback="main.fast")]
    first, second = model(unavailable(), forever=True), model(unavailable(), forever=True)
    made = unit(nodes=[node("answer", parameter("q"))], models=models)
    bound = {"main.fast": BoundModel(first, "a"), "main.cheap": BoundModel(second, "b")}
    outcome = run(Engine(made, Bindings(models=bound, clock=FakeClock())), "answer", ASK)
    assert fault_of(outcome).kind is FaultKind.MODEL_UNAVAILABLE
    assert (len(first.asked), len(second.asked)) == (2, 3)


def test_every_wire_attempt_is_counted_and_traced() -> None:
    """Those without usage too: attempts, waits and the switch stand in the trace."""
    spans = SpanList()
    first, second = model(unavailable(), forever=True), model(said("cheap answer"))
    made = two(first, second)
    made = Engine(made.world.unit, replace(made.world.bindings, sinks=(spans,)))
    outcome = run(made, "answer", ASK)
    assert outcome.spent.attempts == 3
    retries = [span for span in spans.spans if span.kind == "retry"]
    assert [span.attributes.get("fallback") for span in retries] == [None, "main.cheap"]
