"""Parking: what waits for a person or a long time holds no task, and goes on over its journal as if nothing had been (A4.5, A4.6, K30)."""

from __future__ import annotations

from typing import Any

import pytest

from ael.journal.entry import Ending, Entry, Kind, State
from ael.journal.memory import MemoryJournal
from ael.run.bindings import Options
from ael.run.outcome import Outcome, Suspended, Unsettled
from ael.run.park import Wait
from ael.types.fault import Fault, FaultKind
from ael.types.signature import Repeat
from ael.types.spec import ApprovalSpec, BudgetSpec, RetrySpec
from ael.types.type import IntType
from tests.run.fakes import FakeApprover, FakeClock, call, calls, model, said
from tests.run.helpers import code, engine, fault_of, node, parameter, run, tool, unit, value_of
from tests.run.loops import ASK

PARK = Options(caller="c", run="r1", park=True)


def suspended(outcome: Outcome) -> tuple[Wait, ...]:
    assert isinstance(outcome, Suspended), outcome
    return outcome.waits


class Desk:
    """A journal in which a person answers what a parked run waits for."""

    def __init__(self) -> None:
        self.store = MemoryJournal()
        self.journal: Any = None

    def seen(self, started: Any) -> None:
        self.journal = started.journal

    def decide(self, wait: Wait, approved: bool, reason: str = "", arguments: dict[str, object] | None = None) -> None:
        value = {"approved": approved, "by": "ann", "reason": reason, "arguments": arguments}
        self.answer(wait, Ending.VALUE, value)

    def answer(self, wait: Wait, ending: Ending, value: object) -> None:
        before: Entry = self.journal.last(wait.path)
        self.journal.append(before._replace(state=State.ANSWERED, value=value, ending=ending))


def refunding() -> tuple[Any, dict[str, Any], list[int]]:
    """A model node that proposes two refunds, each to be approved."""
    paid: list[int] = []

    async def refund(n: int) -> str:
        paid.append(n)
        return f"refunded {n}"

    made = tool("refund", None, parameter("n", IntType()), repeat=Repeat.NEVER, approval=ApprovalSpec("boss"))
    return unit(tools=[made], nodes=[node("answer", parameter("q"), tools=["refund"])]), {"main.refund": refund}, paid


def turns() -> list[Any]:
    return [calls(call("refund", {"n": 5}, "1")), said("done")]


@pytest.mark.feature("A4.5", "A4.6")
def test_an_approval_parks_and_the_approved_call_runs_once_with_what_was_approved() -> None:
    program, externs, paid = refunding()
    desk = Desk()
    asked = model(*turns())
    [wait] = suspended(run(engine(program, asked, journal=desk.store, externs=externs), "answer", ASK, PARK, during=desk.seen))
    assert (wait.kind, wait.target, wait.until) == ("approval", "main.refund", None)
    assert wait.detail["arguments"] == {"n": 5}
    assert wait.detail["role"] == "boss"
    assert paid == []
    desk.decide(wait, True)
    again = model(said("done"))
    assert value_of(run(engine(program, again, journal=desk.store, externs=externs), "answer", ASK, PARK)) == "done"
    assert paid == [5]
    assert len(asked.asked) == 1, "the proposing turn is not paid again"
    assert len(again.asked) == 1


@pytest.mark.feature("A4.7")
def test_a_no_is_read_by_the_model_with_its_reason() -> None:
    program, externs, paid = refunding()
    desk = Desk()
    [wait] = suspended(
        run(engine(program, model(*turns()), journal=desk.store, externs=externs), "answer", ASK, PARK, during=desk.seen)
    )
    desk.decide(wait, False, "the customer has been paid already")
    again = model(said("sorry"))
    assert value_of(run(engine(program, again, journal=desk.store, externs=externs), "answer", ASK, PARK)) == "sorry"
    assert paid == []
    assert "the customer has been paid already" in str(again.asked[0].messages)


def test_edited_arguments_are_what_runs() -> None:
    program, externs, paid = refunding()
    desk = Desk()
    [wait] = suspended(
        run(engine(program, model(*turns()), journal=desk.store, externs=externs), "answer", ASK, PARK, during=desk.seen)
    )
    desk.decide(wait, True, arguments={"n": 3})
    assert value_of(run(engine(program, model(said("ok")), journal=desk.store, externs=externs), "answer", ASK, PARK)) == "ok"
    assert paid == [3]


def test_a_run_that_is_woken_with_no_answer_parks_again() -> None:
    program, externs, _ = refunding()
    desk = Desk()
    first = suspended(
        run(engine(program, model(*turns()), journal=desk.store, externs=externs), "answer", ASK, PARK, during=desk.seen)
    )
    assert suspended(run(engine(program, model(), journal=desk.store, externs=externs), "answer", ASK, PARK)) == first


@pytest.mark.feature("A4.10")
def test_an_approval_has_its_time_counted_from_when_it_was_asked_first() -> None:
    program, externs, paid = refunding()
    desk, clock = Desk(), FakeClock()
    bound: dict[str, Any] = {"journal": desk.store, "externs": externs, "clock": clock, "approval_timeout": 3_600.0}
    [wait] = suspended(run(engine(program, model(*turns()), **bound), "answer", ASK, PARK, during=desk.seen))
    assert wait.until is not None
    clock.advance(3_000)
    assert suspended(run(engine(program, model(), **bound), "answer", ASK, PARK)) == (wait,)
    clock.advance(700)
    again = model(said("late"))
    assert value_of(run(engine(program, again, **bound), "answer", ASK, PARK)) == "late"
    assert "no decision within 3600 s" in str(again.asked[0].messages)
    assert paid == []


def test_who_decides_in_the_process_is_asked_and_may_say_later() -> None:
    program, externs, paid = refunding()

    class Later(FakeApprover):
        async def decide(self, request: Any) -> Any:
            return None

    desk = Desk()
    bound: dict[str, Any] = {"journal": desk.store, "externs": externs, "approver": Later()}
    suspended(run(engine(program, model(*turns()), **bound), "answer", ASK, PARK, during=desk.seen))
    ending = run(engine(program, model(*turns()), externs=externs, approver=Later()), "answer", ASK, Options(caller="c"))
    assert value_of(ending) == "done"
    assert paid == []


@pytest.mark.feature("A12.14")
def test_branches_that_park_stop_no_other_branch() -> None:
    program, externs, paid = refunding()
    done: list[object] = []

    async def main(k: Any) -> object:
        names = ["main.refund", "main.work", "main.refund"]
        return ", ".join(await k.parallel_for(0, [0, 1, 2], None, lambda k, at: k.act(0, names[at], (at,) if at != 1 else ())))

    refund = next(iter(program.tools.values()))
    made = unit(tools=[refund, tool("work", None)], nodes=[code("main", main)])
    externs["main.work"] = lambda: done.append("work") or "worked"
    desk = Desk()
    waits = suspended(run(engine(made, journal=desk.store, externs=externs), "main", None, PARK, during=desk.seen))
    assert [wait.detail["arguments"] for wait in waits] == [{"n": 0}, {"n": 2}]
    assert done == ["work"]
    for wait in waits:
        desk.decide(wait, True)
    assert (
        value_of(run(engine(made, journal=desk.store, externs=externs), "main", None, PARK)) == "refunded 0, worked, refunded 2"
    )
    assert done == ["work"], "a finished branch is not run again"
    assert paid == [0, 2]


def test_a_failure_beside_a_parked_branch_is_what_it_fails_with() -> None:
    program, externs, _ = refunding()

    def breaks() -> str:
        raise Fault(FaultKind.UNAVAILABLE, "gone", final=True)

    async def main(k: Any) -> object:
        names = ["main.refund", "main.work"]
        return await k.parallel_for(0, [0, 1], None, lambda k, at: k.act(0, names[at], (at,) if at != 1 else ()))

    made = unit(tools=[next(iter(program.tools.values())), tool("work", None)], nodes=[code("main", main)])
    ending = fault_of(run(engine(made, externs={**externs, "main.work": breaks}), "main", None, PARK))
    assert ending.kind is FaultKind.UNAVAILABLE


@pytest.mark.parametrize("settled", ["value", "failed"])
@pytest.mark.feature("A8.10")
def test_a_call_whose_outcome_is_unknown_waits_for_a_person_where_the_deployment_says_so(settled: str) -> None:
    sent: list[str] = []

    async def send() -> str:
        sent.append("sent")
        raise ConnectionError

    async def main(k: Any) -> object:
        return await k.act(0, "main.send", ())

    made = unit(tools=[tool("send", None, repeat=Repeat.NEVER)], nodes=[code("main", main)])
    desk = Desk()
    bound: dict[str, Any] = {"journal": desk.store, "externs": {"main.send": send}}
    assert isinstance(run(engine(made, **{**bound, "journal": None}), "main", None, PARK), Unsettled)
    sent.clear()
    [wait] = suspended(run(engine(made, **bound, parks_uncertain=True), "main", None, PARK, during=desk.seen))
    assert wait.kind == "uncertain"
    assert wait.detail["operation"] == "send"
    assert suspended(run(engine(made, **bound, parks_uncertain=True), "main", None, PARK)) != ()
    if settled == "value":
        desk.answer(wait, Ending.VALUE, "it arrived")
        assert value_of(run(engine(made, **bound, parks_uncertain=True), "main", None, PARK)) == "it arrived"
    else:
        fault = Fault(FaultKind.TOOL_FAILED, "settled as failed by ann")
        desk.answer(wait, Ending.FAULT, fault.value())
        assert fault_of(run(engine(made, **bound, parks_uncertain=True), "main", None, PARK)).message == fault.message
    assert sent == ["sent"], "nothing is sent twice"


def test_what_asks_to_come_back_much_later_is_given_up_until_then() -> None:
    tries: list[str] = []

    async def send(*, call: Any) -> str:
        tries.append(call.key)
        if len(tries) == 1:
            raise Fault(FaultKind.UNAVAILABLE, "busy", retry_after=600)
        return "sent"

    async def main(k: Any) -> object:
        return await k.act(0, "main.send", ())

    made = unit(tools=[tool("send", None, retry=RetrySpec())], nodes=[code("main", main)])
    desk, clock = Desk(), FakeClock()
    bound: dict[str, Any] = {"journal": desk.store, "externs": {"main.send": send}, "clock": clock}
    long = Options(caller="c", run="r1", park=True, budget=BudgetSpec(time=3_600_000))
    outcome = run(engine(made, **bound), "main", None, long, during=desk.seen)
    [wait] = suspended(outcome)
    assert wait.kind == "time"
    assert isinstance(outcome, Suspended)
    assert outcome.wake is not None
    assert outcome.wake >= clock.now() + 600
    clock.advance(601)
    assert value_of(run(engine(made, **bound), "main", None, long)) == "sent"
    assert tries[0] == tries[1], "one effect, one key"


def test_a_parked_run_journals_nothing_for_what_it_left_open() -> None:
    program, externs, _ = refunding()
    desk = Desk()
    suspended(run(engine(program, model(*turns()), journal=desk.store, externs=externs), "answer", ASK, PARK, during=desk.seen))
    states = [(entry.kind, entry.state) for entry in desk.journal.entries()]
    assert states == [
        (Kind.MODEL, State.STARTED),
        (Kind.MODEL, State.ANSWERED),
        (Kind.TOOL, State.PROPOSED),
        (Kind.APPROVAL, State.PROPOSED),
    ]
