"""A call that is put off again and again: it uses up no attempt, and yet comes to an end (A7.11)."""

from __future__ import annotations

from typing import Any

import pytest

from ael.journal.entry import State
from ael.journal.memory import MemoryJournal
from ael.run.bindings import Options
from ael.run.outcome import Suspended
from ael.run.park import DEFERRALS
from ael.types.fault import Fault, FaultKind
from ael.types.spec import BudgetSpec, RetrySpec
from tests.run.fakes import FakeClock
from tests.run.helpers import code, engine, fault_of, run, tool, unit, value_of

PARK = Options(caller="c", run="r1", park=True)


@pytest.mark.feature("A7.11")
@pytest.mark.parametrize("ready", [1_000, 5])
def test_who_always_says_later_is_asked_a_bounded_number_of_times(ready: int) -> None:
    keys: list[str] = []

    async def send(*, call: Any) -> str:
        keys.append(call.key)
        if len(keys) < ready:
            raise Fault(FaultKind.UNAVAILABLE, "busy", retry_after=600)
        return "sent"

    async def main(k: Any) -> object:
        return await k.act(0, "main.send", ())

    made = unit(tools=[tool("send", None, retry=RetrySpec(attempts=2))], nodes=[code("main", main)])
    journal, clock = MemoryJournal(), FakeClock()
    seen: list[Any] = []
    for _ in range(DEFERRALS + 9):
        bound = engine(made, journal=journal, externs={"main.send": send}, clock=clock)
        outcome = run(bound, "main", None, PARK, during=seen.append)
        if not isinstance(outcome, Suspended):
            break
        clock.advance(601)
    assert len(set(keys)) == 1, "one effect, one key"
    if ready == 5:
        assert value_of(outcome) == "sent"
        assert len(keys) == 5
    else:
        assert fault_of(outcome).kind is FaultKind.UNAVAILABLE
        assert len(keys) == DEFERRALS + 2 + 1
    last = {one.path: one.state for one in seen[-1].journal.entries()}
    assert set(last.values()) == {State.ANSWERED}


@pytest.mark.parametrize(("deadline", "waits"), [(500.0, False), (900.0, True)])
def test_only_the_deadline_goes_on_while_a_call_is_put_off(deadline: float, waits: bool) -> None:
    """K46: what waits in no task uses no time of the run, which has five minutes."""

    async def send() -> str:
        raise Fault(FaultKind.UNAVAILABLE, "busy", retry_after=600)

    async def main(k: Any) -> object:
        return await k.act(0, "main.send", ())

    made = unit(tools=[tool("send", None, retry=RetrySpec())], nodes=[code("main", main)])
    clock = FakeClock()
    options = Options(caller="c", run="r1", park=True, deadline=clock.now() + deadline, budget=BudgetSpec(time=300_000))
    outcome = run(engine(made, externs={"main.send": send}, clock=clock), "main", None, options)
    assert isinstance(outcome, Suspended) is waits
