"""Forks and people: no approval is taken over, and none is given (features A4.6, B7)."""

from __future__ import annotations

from typing import Any

import pytest

from ael.data import replace
from ael.durable.change import ChangeError
from ael.durable.fork import Answer, Changes
from ael.durable.forking import forked
from ael.journal.database import DatabaseStore
from ael.journal.entry import Ending
from ael.run.ports import Decision
from ael.types.signature import Repeat
from ael.types.spec import ApprovalSpec
from tests.durable.forks import INT, World, gone_on, original, step, total
from tests.journal.places import Place
from tests.run.fakes import FakeApprover
from tests.run.helpers import fault_of, parameter, tool, value_of


@pytest.mark.feature("B7", "A4.6")
def test_nobody_is_asked_about_a_call_that_is_served_or_blocked_and_no_approval_is_taken_over(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        world = World(total, approval=True)
        asked = FakeApprover(*[Decision(True, "ann")] * 2)
        execution = world.execution(store, approver=asked)
        row = await original(execution)
        assert len(asked.requests) == 1
        rate = await step(store, "rate")
        served, _ = await gone_on(execution, await forked(execution, row, rate))
        assert value_of(served) == 102
        world.rate = 3
        blocked, _ = await gone_on(execution, await forked(execution, row, rate))
        assert fault_of(blocked).details["blocked"] is True
        assert len(asked.requests) == 1
        world.rate = 2
        real, _ = await gone_on(execution, await forked(execution, row, await step(store, "pay"), allow=["pay"]))
        assert value_of(real) == 102
        assert len(asked.requests) == 2, "the approval of one run is not that of another"

    place.run(body)


@pytest.mark.feature("B7", "A4.6", "K30")
def test_a_fork_decides_no_and_never_yes_for_what_is_made(place: Place) -> None:
    def decided(approved: bool, **arguments: object) -> Answer:
        return Answer(Ending.VALUE, {"approved": approved, "by": "the fork", "reason": "why", "arguments": arguments or None})

    async def body(store: DatabaseStore) -> None:
        world = World(total, approval=True)
        execution = world.execution(store, approver=FakeApprover(Decision(True, "ann")))
        row = await original(execution)
        asked = f"{await step(store, 'pay')}/approval"
        for allow in ((), ("pay",)):
            no = await forked(execution, row, asked, changes=Changes({asked: decided(False)}), allow=allow)
            outcome, journal = await gone_on(execution, no)
            assert fault_of(outcome).kind.value == "ApprovalDenied"
            assert (journal.served, journal.blocked) == ([], [])
        edited = await forked(execution, row, asked, changes=Changes({asked: decided(True, n=9)}))
        outcome, _ = await gone_on(execution, edited)
        assert fault_of(outcome).details["blocked"] is True, "the record has no call with these arguments"
        yes = await forked(execution, row, asked, changes=Changes({asked: decided(True, n=2)}))
        assert value_of((await gone_on(execution, yes))[0]) == 102
        for name in ("pay", "main.pay"):
            with pytest.raises(ChangeError, match=r"cannot approve a call of `main\.pay` that it makes for real"):
                await forked(execution, row, asked, changes=Changes({asked: decided(True)}), allow=[name])
        assert world.seen["pay"] == [2]

    place.run(body)


@pytest.mark.feature("B7", "A4.6")
def test_an_approval_that_nobody_gave_is_decided_in_a_fork(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        world = World(total, approval=True)
        execution = world.execution(store)
        row = await original(execution)
        assert row.state.value == "parked"
        asked = f"{await step(store, 'pay')}/approval"
        no = Answer(Ending.VALUE, {"approved": False, "by": "the fork", "reason": "", "arguments": None})
        outcome, _ = await gone_on(execution, await forked(execution, row, asked, changes=Changes({asked: no})))
        assert fault_of(outcome).kind.value == "ApprovalDenied"
        assert world.seen["pay"] == []

    place.run(body)


@pytest.mark.feature("B7", "A4.6", "K30")
def test_an_approval_that_was_given_before_the_step_counts_only_with_its_call(place: Place) -> None:
    """The step is inside of the call that was approved: the call is made again, so its role is asked again."""

    async def order(k: Any, n: int) -> int:
        return int(await k.act(0, "main.rate", (n,)))

    async def main(k: Any, n: int) -> int:
        return int(await k.act(0, "main.order", (n,)))

    async def body(store: DatabaseStore) -> None:
        world = World(main)
        made = tool("order", order, parameter("n", INT), result=INT, repeat=Repeat.NEVER, approval=ApprovalSpec("boss"))
        world.unit = replace(world.unit, tools={**world.unit.tools, "main.order": made})
        asked = FakeApprover(*[Decision(True, "ann")] * 2)
        execution = world.execution(store, approver=asked)
        row = await original(execution)
        run = await forked(execution, row, await step(store, "rate"), allow=["order"])
        assert value_of((await gone_on(execution, run))[0]) == 2
        assert (len(asked.requests), world.seen["rate"]) == (2, [1, 1])

    place.run(body)
