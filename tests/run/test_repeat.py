"""Retries by repeat safety, keys, uncertainty: what a lost reply means, and who tries again (runtime.md, section 4)."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.journal.entry import Ending, Kind, State
from ael.journal.memory import MemoryJournal
from ael.run.bindings import Options
from ael.run.events import Retried
from ael.run.repeat import key_of, retryable, wait_before
from ael.types.fault import Failure, Fault, FaultKind, Uncertain
from ael.types.signature import Repeat
from ael.types.spec import RetrySpec
from tests.run.fakes import FakeApprover, FakeClock, call, calls, model, said
from tests.run.helpers import (
    Collected,
    code,
    engine,
    fault_of,
    node,
    operation,
    parameter,
    run,
    tool,
    uncertain_of,
    unit,
    value_of,
)
from tests.run.loops import ASK, Body, answers

TEMPORARY = Fault(FaultKind.UNAVAILABLE, "try later")
THREE = RetrySpec(attempts=3, backoff="fixed", base=100, cap=1000)


def calling(
    body: Any, *, repeat: Repeat = Repeat.IDEMPOTENT, clock: Any = None, options: Options | None = None, **settings: Any
) -> Any:
    """Run a deterministic node that calls one tool from code."""

    async def main(k: Any) -> object:
        return await k.act(0, "main.act", ())

    made = unit(tools=[tool("act", body, repeat=repeat, **settings)], nodes=[code("main", main)])
    return run(engine(made, clock=clock or FakeClock(), random=lambda: 1.0), "main", options=options)


@pytest.mark.feature("A8.2", "A8.12")
def test_something_idempotent_is_tried_again_after_a_temporary_failure_with_the_same_key() -> None:
    keys: list[str] = []
    left = [TEMPORARY, Fault(FaultKind.DISCONNECTED, "gone")]

    async def body(k: Any) -> str:
        keys.append(k.key)
        if left:
            raise left.pop(0)
        return "done"

    clock, events = FakeClock(), Collected()
    outcome = calling(body, retry=THREE, clock=clock, options=Options(caller="c", on_event=events))
    assert value_of(outcome) == "done"
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert clock.slept == [0.05, 0.05]
    assert [event.attempt for event in events.of(Retried)] == [1, 2]


def test_attempts_are_as_declared() -> None:
    """K34: attempts 3 are three, and then the failure is what it is."""
    body = Body(TEMPORARY)
    assert fault_of(calling(body, retry=THREE)).kind is FaultKind.UNAVAILABLE
    assert len(body.got) == 3


@pytest.mark.feature("A8.12")
@pytest.mark.parametrize(
    "kind", [k for k in FaultKind if k not in (FaultKind.TIMEOUT, FaultKind.UNAVAILABLE, FaultKind.DISCONNECTED)]
)
def test_what_is_not_temporary_is_not_tried_again(kind: FaultKind) -> None:
    body = Body(Fault(kind, "no"))
    assert fault_of(calling(body, retry=THREE)).kind is kind
    assert len(body.got) == 1


def test_a_declared_error_is_an_answer_and_not_tried_again() -> None:
    """K26: an error text that mentions a connection is no lost connection."""
    body = Body(Failure("main.NotFound", {"id": "connection reset"}))
    calling(body, retry=THREE, fails=frozenset({"main.NotFound"}))
    assert len(body.got) == 1


@pytest.mark.feature("A8.1", "A8.3")
@pytest.mark.parametrize("repeat", [Repeat.NEVER, Repeat.RECONCILE])
def test_never_and_reconcile_are_never_tried_again(repeat: Repeat) -> None:
    """Not even where a retry is declared (the check refuses that) and the failure is temporary."""
    body = Body(TEMPORARY)
    assert fault_of(calling(body, repeat=repeat, retry=THREE)).kind is FaultKind.UNAVAILABLE
    assert len(body.got) == 1


async def hanging(k: Any) -> str:
    await asyncio.sleep(60)
    return "late"


def stuck(clock: FakeClock, seconds: float = 0.05) -> Any:
    """A body during which `seconds` pass, and which would never come back."""

    async def body(k: Any, *arguments: object) -> str:
        clock.advance(seconds)
        return await hanging(k)

    return body


@pytest.mark.feature("A8.5", "A8.3", "D2")
@pytest.mark.parametrize("repeat", [Repeat.NEVER, Repeat.RECONCILE])
def test_a_timed_out_call_is_uncertain_where_it_may_have_acted(repeat: Repeat) -> None:
    async def main(k: Any) -> object:
        return await k.act(0, "main.act", ())

    clock = FakeClock()
    made = unit(tools=[tool("act", stuck(clock), repeat=repeat, timeout=20)], nodes=[code("main", main)])
    ending = uncertain_of(run(engine(made, clock=clock), "main"))
    assert ending.operation == "act"
    assert ending.step == "main/act@0"
    assert len(ending.key) == 32


@pytest.mark.feature("A1.13")
def test_a_timed_out_idempotent_call_is_a_timeout() -> None:
    async def main(k: Any) -> object:
        return await k.act(0, "main.act", ())

    clock = FakeClock()
    made = unit(tools=[tool("act", stuck(clock), timeout=20)], nodes=[code("main", main)])
    fault = fault_of(run(engine(made, clock=clock), "main"))
    assert fault.kind is FaultKind.TIMEOUT
    assert "0.02 s" in fault.message


@pytest.mark.feature("A1.13")
def test_a_timeout_of_zero_never_runs_and_none_lifts_it() -> None:
    body = Body("x")
    assert fault_of(calling(body, timeout=0, repeat=Repeat.NEVER)).kind is FaultKind.TIMEOUT
    assert body.got == []
    assert value_of(calling(body, timeout=-1)) == "x"


@pytest.mark.feature("A8.3")
def test_code_can_reconcile_with_the_key() -> None:
    """K26: the user's code gets the key, and looks before doing anything again."""
    sent: list[str] = []
    clock = FakeClock()

    async def pay(k: Any) -> str:
        sent.append(k.key)
        clock.advance(1)
        return await hanging(k)

    async def main(k: Any) -> object:
        try:
            return await k.act(0, "main.pay", ())
        except Uncertain as open_:
            return f"found {open_.key}" if open_.key in sent else "not there"

    made = unit(tools=[tool("pay", pay, repeat=Repeat.RECONCILE, timeout=20)], nodes=[code("main", main)])
    assert value_of(run(engine(made, clock=clock), "main")) == f"found {sent[0]}"


def test_the_same_act_planned_anew_after_uncertain_needs_a_person() -> None:
    """K26: equal arguments after an uncertain call never act silently a second time."""
    acted: list[str] = []
    clock = FakeClock()

    async def pay(k: Any, amount: str) -> str:
        acted.append(amount)
        if len(acted) == 1:
            clock.advance(1)
            await hanging(k)
        return "paid"

    async def main(k: Any) -> object:
        for site, amount in enumerate(("5", "6", "5")):
            try:
                await k.act(site, "main.pay", (amount,))
            except Uncertain:
                continue
        return "done"

    made = unit(tools=[tool("pay", pay, parameter("amount"), repeat=Repeat.RECONCILE, timeout=20)], nodes=[code("main", main)])
    assert fault_of(run(engine(made, clock=clock), "main")).kind is FaultKind.APPROVAL_DENIED
    assert acted == ["5", "6"]
    acted.clear()
    approver = FakeApprover()
    from ael.run.ports import Decision

    approver.decisions.append(Decision(True, "boss"))
    assert value_of(run(engine(made, approver=approver, clock=clock), "main")) == "done"
    assert acted == ["5", "6", "5"]
    assert "outcome is unknown" in approver.requests[0].reason


def test_a_cancel_during_the_call_is_as_unknown_as_a_timeout() -> None:
    """K26: the outcome says which calls nobody knows about."""

    async def main(k: Any) -> object:
        return await k.act(0, "main.act", ())

    store = MemoryJournal()
    made = unit(tools=[tool("act", hanging, repeat=Repeat.NEVER)], nodes=[code("main", main)])
    started: list[Any] = []

    async def stop(run: Any) -> None:
        started.append(run)
        await asyncio.sleep(0.01)
        run.cancel()

    fault = fault_of(run(engine(made, journal=store), "main", during=stop))
    assert fault.kind is FaultKind.CANCELLED
    lost: Any = fault.details["uncertain"]
    assert [one["operation"] for one in lost] == ["act"]
    assert [entry.ending for entry in started[0].journal.entries() if entry.path == "main/act@0"] == [
        None,
        None,
        Ending.UNCERTAIN,
    ]


def test_a_deadline_of_a_node_that_cuts_such_a_call_ends_uncertain() -> None:
    """A node's time limit is caught as a fault in code: what it cut off must not be swallowed with it."""
    from ael.types.spec import BudgetSpec

    async def inner(k: Any) -> object:
        return await k.act(0, "main.act", ())

    clock = FakeClock()
    made = unit(
        tools=[tool("act", stuck(clock), repeat=Repeat.RECONCILE)], nodes=[code("main", inner, budget=BudgetSpec(time=20))]
    )
    assert uncertain_of(run(engine(made, clock=clock), "main")).operation == "act"


# --- one owner -------------------------------------------------------------------------------------------------------------


def test_nested_retries_do_not_multiply() -> None:
    """K34: three attempts around three attempts are at most three requests more than one, not nine."""
    body = Body(TEMPORARY)

    async def outer(k: Any) -> object:
        return await k.act(0, "main.Orders.get", ())

    async def main(k: Any) -> object:
        return await k.act(0, "main.act", ())

    made = unit(
        tools=[tool("act", outer, retry=THREE)], nodes=[code("main", main)], operations={operation("get", retry=THREE): body}
    )
    assert fault_of(run(engine(made, clock=FakeClock()), "main")).kind is FaultKind.UNAVAILABLE
    assert len(body.got) == 3


def test_what_the_other_side_asks_for_is_kept_to() -> None:
    clock = FakeClock()
    left = [Fault(FaultKind.UNAVAILABLE, "busy", retry_after=7)]

    async def body(k: Any) -> str:
        if left:
            raise left.pop()
        return "ok"

    assert value_of(calling(body, retry=THREE, clock=clock)) == "ok"
    assert clock.slept == [7]


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    """K34: waits are capped by the deadline: there is nothing to wait for."""
    clock = FakeClock()
    body = Body(Fault(FaultKind.UNAVAILABLE, "busy", retry_after=7_000))
    assert fault_of(calling(body, retry=THREE, clock=clock)).kind is FaultKind.UNAVAILABLE
    assert clock.slept == []
    assert len(body.got) == 1


@pytest.mark.feature("A8.15")
@pytest.mark.parametrize(
    ("backoff", "waits"),
    [("fixed", [0.1, 0.1, 0.1, 0.1]), ("linear", [0.1, 0.2, 0.3, 0.3]), ("exponential", [0.1, 0.2, 0.3, 0.3])],
)
def test_backoff_is_fixed_linear_or_exponential_with_a_cap(
    backoff: Literal["fixed", "linear", "exponential"], waits: list[float]
) -> None:
    retry = RetrySpec(5, backoff, 100, 300)
    assert [wait_before(attempt, retry, lambda: 0.0) for attempt in range(1, 5)] == pytest.approx(waits)


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True), st.sampled_from(["fixed", "linear", "exponential"]))
def test_a_wait_is_within_its_bounds(attempt: int, random: float, backoff: Literal["fixed", "linear", "exponential"]) -> None:
    retry = RetrySpec(5, backoff, 100, 300)
    assert 0.05 <= wait_before(attempt, retry, lambda: random) <= 0.3


def test_only_temporary_faults_of_repeatable_things_are_retryable() -> None:
    for kind in FaultKind:
        for repeat in Repeat:
            expected = kind in (FaultKind.TIMEOUT, FaultKind.DISCONNECTED, FaultKind.UNAVAILABLE) and not repeat.can_be_uncertain
            assert retryable(Fault(kind, ""), repeat) == expected


# --- write ahead -------------------------------------------------------------------------------------------------------------


@pytest.mark.feature("A8.8")
def test_a_call_is_proposed_and_started_before_its_body_runs_and_answered_after() -> None:
    store = MemoryJournal()
    seen: list[list[State]] = []
    started: list[Any] = []

    async def body(k: Any) -> str:
        seen.append([entry.state for entry in started[0].journal.entries()])
        return "x"

    async def main(k: Any) -> object:
        return await k.act(0, "main.act", ())

    made = unit(tools=[tool("act", body, repeat=Repeat.NEVER)], nodes=[code("main", main)])
    run(engine(made, journal=store), "main", during=started.append)
    assert seen == [[State.PROPOSED, State.STARTED]]
    entries = started[0].journal.entries()
    assert [entry.state for entry in entries] == [State.PROPOSED, State.STARTED, State.ANSWERED]
    assert {entry.key for entry in entries} == {key_of(started[0].id, "main/act@0", "main.act")}


@pytest.mark.feature("A8.8")
def test_nothing_is_sent_without_its_started_record() -> None:
    """The step refuses to act, and the store refuses records out of order."""
    from ael.journal.entry import Entry, Header
    from ael.journal.store import WriteAheadRequired

    journal = MemoryJournal().open(Header("r", "p", "e", "", "t", "c", 0.0, None))

    def entry(state: State, kind: Kind = Kind.TOOL) -> Entry:
        return Entry("a", state, kind, "t", "", "", None, None, 0.0, 0.0)

    for state in (State.STARTED, State.ANSWERED):
        with pytest.raises(WriteAheadRequired):
            journal.append(entry(state))
    journal.append(entry(State.PROPOSED))
    with pytest.raises(WriteAheadRequired):
        journal.append(entry(State.PROPOSED))
    journal.append(entry(State.STARTED))
    journal.append(entry(State.ANSWERED))
    with pytest.raises(WriteAheadRequired):
        journal.append(entry(State.ANSWERED))


def test_a_result_that_nobody_can_read_leaves_an_outside_effect_open() -> None:
    """K26, K47: the Python function acted, and what it gave cannot be used: not a plain failure that invites doing it again."""

    def pay() -> object:
        return {1, 2}

    async def main(k: Any) -> object:
        return await k.act(0, "main.pay", ())

    for repeat in (Repeat.NEVER, Repeat.IDEMPOTENT):
        made = unit(tools=[tool("pay", None, repeat=repeat)], nodes=[code("main", main)])
        outcome = run(engine(made, externs={"main.pay": pay}), "main")
        if repeat is Repeat.NEVER:
            assert "does not fit its type" in str(uncertain_of(outcome).details["why"])
        else:
            assert fault_of(outcome).kind is FaultKind.MALFORMED


def test_a_model_is_told_of_a_failure_and_its_next_call_has_a_key_of_its_own() -> None:
    keys: list[str] = []

    async def act(k: Any) -> str:
        keys.append(k.key)
        if len(keys) == 1:
            raise Fault(FaultKind.UNAVAILABLE, "busy")
        return "ok"

    fake = model(calls(call("act", {})), calls(call("act", {})), said("done"))
    made = unit(tools=[tool("act", act)], nodes=[node("answer", parameter("q"), tools=["act"])])
    assert value_of(run(engine(made, fake), "answer", ASK)) == "done"
    assert len(set(keys)) == 2
    assert [answer.content for answer in answers(fake)] == ["Unavailable: busy", "ok"]


@pytest.mark.parametrize("fails_at", ["before", "after"])
def test_a_fault_after_an_effect_is_no_plain_failure(fails_at: str) -> None:
    """K26: a body that had paid and then broke: a plain failure would invite paying again. One that broke before is a plain failure."""
    paid = Body("paid")

    async def body(k: Any) -> object:
        if fails_at == "before":
            raise Fault(FaultKind.OUT_OF_RANGE, "index 3 of a list of 2")
        await k.act(0, "main.inner", ())
        raise Fault(FaultKind.OUT_OF_RANGE, "index 3 of a list of 2")

    async def inner(k: Any) -> object:
        return await k.act(0, "main.pay", ())

    async def main(k: Any) -> object:
        return await k.act(0, "main.act", ())

    made = unit(
        tools=[tool("act", body, repeat=Repeat.RECONCILE), tool("pay", paid, repeat=Repeat.NEVER)],
        nodes=[code("inner", inner), code("main", main)],
    )
    outcome = run(engine(made), "main")
    if fails_at == "before":
        assert fault_of(outcome).kind is FaultKind.OUT_OF_RANGE
    else:
        assert uncertain_of(outcome).details["why"] == "index 3 of a list of 2"
        assert len(paid.got) == 1


def test_a_read_that_times_out_in_a_body_that_did_nothing_yet_is_a_plain_timeout() -> None:
    clock = FakeClock()

    async def body(k: Any) -> object:
        return await k.act(0, "main.read", ())

    async def main(k: Any) -> object:
        return await k.act(0, "main.act", ())

    made = unit(
        tools=[tool("act", body, repeat=Repeat.RECONCILE), tool("read", stuck(clock), timeout=20)], nodes=[code("main", main)]
    )
    assert fault_of(run(engine(made, clock=clock), "main")).kind is FaultKind.TIMEOUT


def test_a_fault_that_a_function_raises_of_its_own_will_is_its_word() -> None:
    def refuse() -> str:
        raise Fault(FaultKind.DENIED, "not today")

    async def main(k: Any) -> object:
        return await k.act(0, "main.act", ())

    made = unit(tools=[tool("act", None, repeat=Repeat.NEVER)], nodes=[code("main", main)])
    assert fault_of(run(engine(made, externs={"main.act": refuse}), "main")).kind is FaultKind.DENIED
