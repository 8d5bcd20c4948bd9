"""Approvals: bound to tool, arguments, run, position and tenant, used once, enforced where the tool acts (K30)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ael.journal.entry import Ending, Kind
from ael.journal.memory import MemoryJournal
from ael.project.deployment import ToolBinding
from ael.run.approval import Approved
from ael.run.bindings import Options
from ael.run.events import ApprovalAsked, ApprovalDecided
from ael.run.ports import ApprovalRequest, Decision
from ael.types.fault import FaultKind
from ael.types.spec import ApprovalSpec, BudgetSpec
from ael.types.type import IntType
from tests.run.fakes import FakeApprover, FakeClock, FakeModel, call, calls, model, said
from tests.run.helpers import Collected, code, engine, fault_of, node, parameter, run, tool, unit, value_of
from tests.run.loops import ASK, Body, answers

BOSS = ApprovalSpec("boss")


def paying(*replies: Any, approver: FakeApprover | None, body: Any = None, **settings: Any) -> tuple[Any, FakeModel]:
    fake = model(*replies)
    settings.setdefault("approval", BOSS)
    pay = tool("pay", body or Body("paid"), parameter("amount", IntType(0, 100)), **settings)
    made = unit(tools=[pay, tool("look", Body("seen"))], nodes=[node("answer", parameter("q"), tools=["pay", "look"])])
    return engine(made, fake, approver=approver, journal=MemoryJournal()), fake


def pay(amount: object, id: str = "") -> Any:
    return call("pay", {"amount": amount}, id)


@pytest.mark.feature("A4.6")
def test_an_approved_call_runs_once_with_exactly_its_arguments() -> None:
    body, approver = Body("paid"), FakeApprover(Decision(True, "ann"))
    events = Collected()
    made, fake = paying(calls(pay(5)), said("done"), approver=approver, body=body)
    options = Options(caller="c", tenant="acme", run="r7", on_event=events)
    assert value_of(run(made, "answer", ASK, options)) == "done"
    assert body.got == [(5,)]
    assert len(fake.asked) == 2, "the turn that proposed it is not asked for again"
    [request] = approver.requests
    assert (request.run, request.step, request.tenant, request.tool, request.role) == (
        "r7",
        "answer/turn1/call1",
        "acme",
        "main.pay",
        "boss",
    )
    assert request.arguments == {"amount": 5}
    assert len(events.of(ApprovalAsked)) == len(events.of(ApprovalDecided)) == 1


@pytest.mark.feature("A4.7")
def test_a_denial_reaches_the_model_with_its_reason_as_data() -> None:
    body = Body("paid")
    made, fake = paying(
        calls(pay(5)), said("I cannot."), approver=FakeApprover(Decision(False, "ann", "too much; ask Bob")), body=body
    )
    assert value_of(run(made, "answer", ASK)) == "I cannot."
    assert body.got == []
    assert answers(fake)[0].content == "ann did not approve `main.pay`: too much; ask Bob"


def test_an_edit_is_recorded_checked_and_told() -> None:
    """What was really run stands in the result; the proposal stays as proposed."""
    body = Body("paid")
    started: list[Any] = []
    made, fake = paying(calls(pay(50)), said("done"), approver=FakeApprover(Decision(True, "ann", "", {"amount": 5})), body=body)
    assert value_of(run(made, "answer", ASK, during=started.append)) == "done"
    assert body.got == [(5,)]
    assert answers(fake)[0].content == 'ann changed the arguments; what ran was {"amount":5}\npaid'
    proposed = next(entry for entry in started[0].journal.entries() if entry.kind is Kind.TOOL)
    assert proposed.value == {"amount": 50}


@pytest.mark.parametrize("edited", [{"amount": 500}, {"amount": "5"}, {}, {"amount": 5, "extra": 1}])
def test_an_edit_that_does_not_fit_is_refused_like_a_new_call(edited: dict[str, object]) -> None:
    body = Body("paid")
    made, fake = paying(calls(pay(5)), said("done"), approver=FakeApprover(Decision(True, "ann", "", edited)), body=body)
    assert value_of(run(made, "answer", ASK)) == "done"
    assert body.got == []
    assert "as ann edited them do not fit" in answers(fake)[0].content


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_several_pending_approvals_are_independent(order: tuple[int, ...]) -> None:
    """Approve one, edit one, reject one: each as decided, whichever comes first, answers in the order of the calls."""
    body = Body("paid")
    decisions = [Decision(True, "ann"), Decision(True, "ann", "", {"amount": 2}), Decision(False, "ann", "no")]
    done = [asyncio.Event() for _ in decisions]

    async def decide(request: ApprovalRequest) -> Decision:
        at = int(request.step[-1]) - 1
        before = order.index(at)
        if before:
            await done[order[before - 1]].wait()
        done[at].set()
        return decisions[at]

    made, fake = paying(
        calls(pay(10, "a"), pay(20, "b"), pay(30, "c")),
        said("done"),
        approver=FakeApprover(decide, decide, decide),
        body=body,
        parallel=True,
    )
    assert value_of(run(made, "answer", ASK)) == "done"
    assert sorted(body.got) == [(2,), (10,)]
    contents = [answer.content for answer in answers(fake)]
    assert contents[0] == "paid"
    assert "what ran was" in contents[1]
    assert contents[2] == "ann did not approve `main.pay`: no"


def test_what_needs_none_runs_while_others_wait() -> None:
    """Two need an approval, one does not: the free one runs, and the turn waits for all."""
    body = Body("paid")
    made, fake = paying(
        calls(pay(1), call("look", {}), pay(2)),
        said("done"),
        approver=FakeApprover(Decision(True, "ann"), Decision(True, "ann")),
        body=body,
    )
    assert value_of(run(made, "answer", ASK)) == "done"
    assert [answer.content for answer in answers(fake)] == ["paid", "seen", "paid"]


def test_without_anybody_to_ask_nothing_runs() -> None:
    body = Body("paid")
    made, fake = paying(calls(pay(5)), said("done"), approver=None, body=body)
    assert value_of(run(made, "answer", ASK)) == "done"
    assert body.got == []
    assert "needs an approval by boss, and nobody is there to give one" in answers(fake)[0].content


def test_from_code_a_denial_is_a_fault_and_cannot_be_passed_by() -> None:
    body = Body("paid")

    async def main(k: Any) -> object:
        return await k.act(0, "main.pay", ())

    made = unit(tools=[tool("pay", body, approval=BOSS)], nodes=[code("main", main)])
    fault = fault_of(run(engine(made, approver=FakeApprover(Decision(False, "ann", "no"))), "main"))
    assert fault.kind is FaultKind.APPROVAL_DENIED
    assert body.got == []


def test_an_approval_fits_one_call_only() -> None:
    from ael.run.codec import digest

    approved = Approved("main.pay", "a/call1", digest({"amount": 5}), "ann", {"amount": 5}, False)
    assert approved.fits("main.pay", "a/call1", {"amount": 5})
    assert not approved.fits("main.pay", "a/call2", {"amount": 5})
    assert not approved.fits("main.other", "a/call1", {"amount": 5})
    assert not approved.fits("main.pay", "a/call1", {"amount": 6})


def test_the_execution_edge_refuses_without_an_approval() -> None:
    """Whoever comes to the place where the tool acts without the approval of this very call is refused there."""
    body = Body("paid")
    seen: list[Any] = []

    async def main(k: Any) -> object:
        plan = k.scope.run.world.plans["main.pay"]
        for approved in (None, Approved("main.pay", "x", "y", "mallory", {}, False)):
            step = plan.step(k.scope, f"main/pay{len(seen)}", {})
            step.propose({})
            try:
                await plan.perform(k.scope, 1, step, {}, approved, True)
            except Exception as error:
                seen.append(error)
        return "x"

    made = unit(tools=[tool("pay", body, approval=BOSS)], nodes=[code("main", main)])
    run(engine(made), "main")
    assert [error.kind for error in seen] == [FaultKind.APPROVAL_DENIED] * 2
    assert body.got == []


@pytest.mark.parametrize(("amount", "asked"), [(10, 0), (11, 1)])
def test_a_conditional_approval_asks_when_its_condition_holds(amount: int, asked: int) -> None:
    approver = FakeApprover(Decision(True, "ann"))
    made, _ = paying(
        calls(pay(amount)),
        said("done"),
        approver=approver,
        approval=ApprovalSpec("boss", True),
        approval_when=lambda amount: amount > 10,
    )
    assert value_of(run(made, "answer", ASK)) == "done"
    assert len(approver.requests) == asked


@pytest.mark.feature("A4.3", "A2.4")
def test_a_deployment_can_add_an_approval_and_a_time_limit_but_take_none_away() -> None:
    from ael.run.tool import time_limit

    approver = FakeApprover(Decision(True, "ann"))
    fake = model(calls(call("look", {})), said("done"))
    made = unit(tools=[tool("look", Body("x"))], nodes=[node("answer", parameter("q"), tools=["look"])])
    bound = {"main.look": ToolBinding(approval=True, role="ops")}
    assert value_of(run(engine(made, fake, approver=approver, tools=bound), "answer", ASK)) == "done"
    assert approver.requests[0].role == "ops"
    assert time_limit(5_000, 30_000, 20_000) == 5
    assert time_limit(50_000, 30_000, 20_000) == 20
    assert time_limit(-1, 30_000, 20_000) == 20
    assert time_limit(-1, 30_000, None) is None
    assert time_limit(None, 30_000, None) == 30


def test_the_time_of_a_wait_for_a_person_is_not_work() -> None:
    """K46: a pause of an hour does not use up a budget of one minute; the absolute deadline does not stand still."""
    clock = FakeClock()

    async def slow(request: ApprovalRequest) -> Decision:
        clock.advance(3600)
        return Decision(True, "ann")

    body = Body("paid")
    for deadline in (None, clock.now() + 1800):
        fake = model(calls(call("pay", {})), said("done"))
        made = unit(
            tools=[tool("pay", body, approval=BOSS)],
            nodes=[node("answer", parameter("q"), tools=["pay"], budget=BudgetSpec(time=60_000))],
        )
        outcome = run(
            engine(made, fake, approver=FakeApprover(slow), clock=clock), "answer", ASK, Options(caller="c", deadline=deadline)
        )
        if deadline is None:
            assert value_of(outcome) == "done"
        else:
            assert fault_of(outcome).kind is FaultKind.DEADLINE_EXCEEDED
    assert len(body.got) == 1


def test_a_refused_approval_is_journaled_as_the_one_answer_of_the_call() -> None:
    started: list[Any] = []
    made, _ = paying(calls(pay(5)), said("done"), approver=FakeApprover(Decision(False, "ann", "no")))
    run(made, "answer", ASK, during=started.append)
    ended = [entry for entry in started[0].journal.entries() if entry.path == "answer/turn1/call1" and entry.ending is not None]
    assert [entry.ending for entry in ended] == [Ending.REFUSED]
