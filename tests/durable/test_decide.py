"""What people decide about runs that wait: who may, until when, with which words, and that it counts once (A4.5 to A4.12, B9, K30)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ael.durable.decide import DecideError, Open, decide, find, open_in, settle, waiting
from ael.durable.execute import Execution, new_owner
from ael.durable.worker import Worker
from ael.journal.database import DatabaseStore
from ael.journal.durable import RunState
from ael.journal.entry import Kind
from ael.run.bindings import Options
from ael.run.outcome import Outcome, Suspended
from ael.types.signature import Repeat
from ael.types.spec import ApprovalSpec
from ael.types.type import IntType
from tests.journal.places import Place
from tests.run.fakes import FakeClock, FakeModel, call, calls, model, said
from tests.run.helpers import code, engine, node, parameter, tool, unit, value_of

MEMBERS: Mapping[str, Sequence[str]] = {"boss": ("ann", "bob")}
NOW = 1_000_000.0


class Desk:
    """A model that proposes refunds which a boss approves; `paid` is what was paid, by key."""

    def __init__(self, store: DatabaseStore, *turns: Any, limit: float | None = None) -> None:
        self.paid: list[tuple[str, int]] = []
        self.store = store
        self.clock = FakeClock()

        async def refund(n: int, *, call: Any) -> str:
            self.paid.append((call.key, n))
            return f"refunded {n}"

        number = parameter("n", IntType())
        tools = [
            tool("refund", None, number, repeat=Repeat.NEVER, approval=ApprovalSpec("boss")),
            tool("look", None, number),
        ]

        async def look(n: int) -> str:
            return f"order {n}"

        async def parent(k: Any, q: str) -> str:
            return str(await k.act(0, "main.answer", (q,)))

        nodes = [node("answer", parameter("q"), tools=["refund", "look"]), code("parent", parent, parameter("q"))]
        self.unit = unit(tools=tools, nodes=nodes)
        self.externs = {"main.refund": refund, "main.look": look}
        self.limit = limit
        self.model: FakeModel = model(*turns)

    def execution(self, *turns: Any) -> Execution:
        """A worker of its own: another process would have such a one."""
        if turns:
            self.model = model(*turns)
        made = engine(self.unit, self.model, externs=self.externs, approval_timeout=self.limit, clock=self.clock)
        return Execution(made, self.store, new_owner(), 60.0)

    async def begun(self, entry: str = "answer") -> Outcome:
        execution = self.execution()
        held = execution.fresh(entry, {"q": "pay"}, Options(run="r1", caller="cay"))
        return await execution.conclude(held, execution.start(held))

    async def gone_on(self, *turns: Any) -> Outcome:
        execution = self.execution(*turns)
        held = await self.store.hold("r1", execution.owner, 60.0)
        assert held is not None
        return await execution.conclude(held, execution.start(held))

    async def asked(self, step: str | None = None) -> Open:
        return await find(self.store, "r1", step, "approval", self.limit)

    async def says(
        self, by: str = "ann", *, approved: bool = True, reason: str = "", step: str | None = None, **more: Any
    ) -> None:
        arguments = more.pop("arguments", None)
        await decide(
            self.store, await self.asked(step), approved=approved, by=by, reason=reason, arguments=arguments,
            members=MEMBERS, now=more.pop("now", self.clock.now()), **more,
        )  # fmt: skip


PROPOSES = calls(call("refund", {"n": 5}, "1"))


@pytest.mark.feature("A4.5", "A4.6", "A4.11", "B9")
def test_the_call_is_proposed_the_run_parks_without_a_lease_and_runs_once_when_it_is_approved(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        desk = Desk(store, PROPOSES)
        assert isinstance(await desk.begun(), Suspended)
        row = await store.find("r1")
        assert row is not None
        assert (row.state, row.owner, row.lease, desk.paid) == (RunState.PARKED, "", 0.0, [])
        states = [(entry.kind, entry.state.value) for entry in await store.entries("r1")]
        assert states[-2:] == [(Kind.TOOL, "proposed"), (Kind.APPROVAL, "proposed")]
        asked = await desk.asked()
        assert (asked.target, asked.arguments, asked.role) == ("main.refund", {"n": 5}, "boss")
        await desk.says()
        assert value_of(await desk.gone_on(said("done"))) == "done"
        assert [(key == asked.key, n) for key, n in desk.paid] == [(True, 5)]
        assert len(desk.model.asked) == 1, "the proposing turn is not paid again"

    place.run(body)


@pytest.mark.feature("A4.7", "B9")
def test_a_no_needs_a_reason_which_the_model_reads(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        desk = Desk(store, PROPOSES)
        await desk.begun()
        with pytest.raises(DecideError, match="a no needs a reason"):
            await desk.says(approved=False, reason="  ")
        await desk.says(approved=False, reason="paid last week already")
        assert value_of(await desk.gone_on(said("sorry"))) == "sorry"
        assert "paid last week already" in str(desk.model.asked[0].messages)
        assert desk.paid == []

    place.run(body)


@pytest.mark.feature("A4.8")
def test_only_members_of_the_role_decide_and_a_worker_never_does(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        desk = Desk(store, PROPOSES)
        await desk.begun()
        for stranger in ("cay", new_owner(), "local", "boss"):
            with pytest.raises(DecideError, match="is no member of it"):
                await desk.says(stranger)
        worker = Worker({"program": desk.execution()}, 1)
        await worker.until_idle()
        assert worker.counts.claimed == 0, "a worker does not even take it"
        await desk.says("bob")

    place.run(body)


@pytest.mark.feature("A4.8")
def test_local_in_a_role_means_who_sits_at_the_machine(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        desk = Desk(store, PROPOSES)
        await desk.begun()
        asked = await desk.asked()
        yes: dict[str, Any] = {"approved": True, "by": "cay", "reason": "", "arguments": None}
        yes |= {"members": {"boss": ("local",)}, "now": NOW}
        with pytest.raises(DecideError):
            await decide(store, asked, here=False, **yes)
        await decide(store, asked, **yes)

    place.run(body)


@pytest.mark.feature("A4.10")
def test_after_its_time_a_late_answer_is_refused_and_the_run_goes_on_with_a_no(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        desk = Desk(store, PROPOSES, limit=3_600.0)
        await desk.begun()
        asked = await desk.asked()
        assert asked.due == asked.asked + 3_600
        row = await store.find("r1")
        assert row is not None
        assert row.wake is not None
        assert 3_000 < row.wake - place.look(lambda db: db.now()) <= 3_600, (
            "it is woken when its time is over, by the store's clock"
        )
        with pytest.raises(DecideError, match="the time for this decision is over"):
            await desk.says(now=asked.due)
        desk.clock.advance(3_601)
        await _due(store)
        assert value_of(await desk.gone_on(said("nobody said so"))) == "nobody said so"
        assert "no decision within 3600 s" in str(desk.model.asked[0].messages)
        assert desk.paid == []

    place.run(body)


async def _due(store: DatabaseStore) -> None:
    """The clock of the store is not the test's: the run is woken here as its time would."""
    row = await store.find("r1")
    assert row is not None
    changed = await store._writer.submit(lambda db: db.change("UPDATE ael_run SET wake = 1 WHERE run = 'r1'"))
    assert changed == 1


@pytest.mark.feature("A4.12", "A4.6", "B9")
def test_a_decision_is_yes_no_or_yes_with_other_arguments_and_nothing_else(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        desk = Desk(store, PROPOSES)
        await desk.begun()
        await desk.says("bob", arguments={"n": 3}, reason="half of it")
        decision = [entry for entry in await store.entries("r1") if entry.kind is Kind.APPROVAL]
        assert len(decision) == 1, "the answer is in the journal with the next claim"
        assert value_of(await desk.gone_on(said("ok"))) == "ok"
        answer = [entry for entry in await store.entries("r1") if entry.kind is Kind.APPROVAL][-1]
        assert answer.value == {"approved": True, "by": "bob", "reason": "half of it", "arguments": {"n": 3}}
        assert [n for _, n in desk.paid] == [3]

    place.run(body)


@pytest.mark.feature("A4.12", "B9")
def test_edited_arguments_are_checked_like_those_of_a_new_call(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        desk = Desk(store, PROPOSES)
        await desk.begun()
        await desk.says(arguments={"n": "many"})
        assert value_of(await desk.gone_on(said("hm"))) == "hm"
        assert "the arguments as ann edited them do not fit" in str(desk.model.asked[0].messages)
        assert desk.paid == []

    place.run(body)


@pytest.mark.feature("B9")
def test_a_decision_counts_once(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        desk = Desk(store, PROPOSES)
        await desk.begun()
        asked = await desk.asked()
        await desk.says()
        with pytest.raises(DecideError, match="somebody else has answered"):
            await decide(
                store, asked, approved=False, by="bob", reason="no", arguments=None, members=MEMBERS, now=desk.clock.now()
            )
        assert value_of(await desk.gone_on(said("done"))) == "done"
        assert [n for _, n in desk.paid] == [5]
        with pytest.raises(DecideError, match="has ended"):
            await desk.asked()

    place.run(body)


@pytest.mark.feature("A4.6", "B9")
def test_of_several_that_wait_each_is_decided_by_itself_and_the_free_one_runs(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        desk = Desk(store, calls(call("look", {"n": 1}, "0"), call("refund", {"n": 5}, "1"), call("refund", {"n": 6}, "2")))
        await desk.begun()
        [first] = await waiting(store)
        assert first.arguments == {"n": 5}
        await desk.says(approved=False, reason="not this one")
        assert isinstance(await desk.gone_on(said("-")), Suspended)
        [second] = await waiting(store)
        assert second.arguments == {"n": 6}
        assert second.step != first.step
        with pytest.raises(DecideError, match="does not wait for an approval at"):
            await desk.asked(first.step)
        await desk.says(step=second.step)
        assert value_of(await desk.gone_on(said("done"))) == "done"
        assert [n for _, n in desk.paid] == [6]
        answers = str(desk.model.asked[0].messages)
        assert answers.index("order 1") < answers.index("not this one") < answers.index("refunded 6")

    place.run(body)


@pytest.mark.feature("A12.14")
def test_what_a_child_waits_for_pauses_its_parent_and_it_goes_on_there(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        desk = Desk(store, PROPOSES)
        assert isinstance(await desk.begun("parent"), Suspended)
        assert (await desk.asked()).step.startswith("parent/answer@0")
        await desk.says()
        assert value_of(await desk.gone_on(said("done"))) == "done"
        assert [n for _, n in desk.paid] == [5]

    place.run(body)


def test_what_is_not_there_is_told(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        with pytest.raises(DecideError, match="there is no run r9"):
            await find(store, "r9", None, "approval")
        desk = Desk(store, PROPOSES)
        await desk.begun()
        with pytest.raises(DecideError, match="does not wait for a person to settle a call"):
            await find(store, "r1", None, "uncertain")

    place.run(body)


@pytest.mark.feature("A8.10")
@pytest.mark.parametrize("failed", [False, True])
def test_a_call_whose_outcome_nobody_knows_is_settled_by_a_person(place: Place, failed: bool) -> None:
    async def body(store: DatabaseStore) -> None:
        sent: list[int] = []

        async def pay(n: int) -> str:
            sent.append(n)
            raise ConnectionError("the line is dead")

        async def main(k: Any) -> str:
            return str(await k.act(0, "main.pay", (5,)))

        made = tool("pay", None, parameter("n", IntType()), repeat=Repeat.NEVER)
        bound = engine(unit(tools=[made], nodes=[code("main", main)]), externs={"main.pay": pay}, parks_uncertain=True)
        execution = Execution(bound, store, new_owner(), 60.0)
        held = execution.fresh("main", {}, Options(run="r1"))
        assert isinstance(await execution.conclude(held, execution.start(held)), Suspended)
        row = await store.find("r1")
        assert row is not None
        [call_] = open_in(row, await store.entries("r1"))
        assert (call_.kind, call_.arguments) == ("uncertain", {"n": 5})
        await settle(store, call_, result="paid as P-7", failed=failed, by="ann", now=NOW)
        held_again = await store.hold("r1", execution.owner, 60.0)
        assert held_again is not None
        outcome = await execution.conclude(held_again, execution.start(held_again))
        assert sent == [5], "nothing is sent again"
        if failed:
            assert "ann settled it: it did not take effect" in str(outcome)
        else:
            assert value_of(outcome) == "paid as P-7"

    place.run(body)
