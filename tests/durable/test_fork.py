"""Forks: from a step on, nothing that once took effect takes effect again (features B7, A12.16, D7)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from ael.data import replace
from ael.durable.change import ChangeError
from ael.durable.execute import Execution, new_owner
from ael.durable.fork import Answer, Changes, Doers, Fork, ForkJournal, fork_of
from ael.durable.forking import forked
from ael.durable.pinned import Bound
from ael.journal.database import DatabaseStore
from ael.journal.durable import RunRow
from ael.journal.entry import Ending, Entry, Header, Kind, State
from ael.journal.memory import MemoryJournal
from ael.run.bindings import Options
from ael.run.outcome import Outcome
from ael.run.ports import Decision
from ael.run.store import MemoryStore
from ael.types.fault import Fault
from ael.types.signature import Repeat, Signature
from ael.types.spec import ApprovalSpec, BudgetSpec, OperationSpec, StoreSpec
from ael.types.type import IntType
from tests.journal.places import Place
from tests.run.fakes import FakeApprover, call, calls, model, said
from tests.run.helpers import code, engine, fault_of, node, parameter, tool, unit, value_of

INT = IntType()


class World:
    """Three calls: `rate` only reads (it is `parallel`), `pay` is `never`, `mail` may be sent again; what each was called with is kept."""

    def __init__(self, main: Callable[..., Coroutine[Any, Any, Any]], *, approval: bool = False, digest: str = "program") -> None:
        self.seen: dict[str, list[int]] = {"rate": [], "pay": [], "mail": []}
        self.rate = 2
        self.notes = MemoryStore()

        async def rate(n: int) -> int:
            self.seen["rate"].append(n)
            return n * self.rate

        async def pay(n: int) -> int:
            self.seen["pay"].append(n)
            return n + 100

        async def mail(n: int) -> int:
            self.seen["mail"].append(n)
            return n

        boss = ApprovalSpec("boss") if approval else None
        tools = [
            tool("rate", None, parameter("n", INT), result=INT, parallel=True),
            tool("pay", None, parameter("n", INT), result=INT, repeat=Repeat.NEVER, approval=boss),
            tool("mail", None, parameter("n", INT), result=INT, repeat=Repeat.IDEMPOTENT),
        ]
        nodes = [code("main", main, parameter("n", INT), result=INT), node("answer", parameter("q"), tools=["pay"])]
        self.unit = unit(tools=tools, nodes=nodes, stores=[StoreSpec("main.notes", INT, None)], digest=digest)
        self.externs = {"main.rate": rate, "main.pay": pay, "main.mail": mail}

    def execution(self, store: DatabaseStore, *models: Any, **bound: Any) -> Execution:
        made = engine(self.unit, *models, externs=self.externs, stores={"main.notes": self.notes}, **bound)
        return Execution(made, store, new_owner(), 60.0)


async def total(k: Any, n: int) -> int:
    """A rate, a payment of it, a mail."""
    rated = await k.act(0, "main.rate", (n,))
    paid = await k.act(1, "main.pay", (rated,))
    await k.act(2, "main.mail", (paid,))
    return int(paid)


async def original(execution: Execution, given: dict[str, object] | None = None, entry: str = "main") -> RunRow:
    held = execution.fresh(entry, given or {"n": 1}, Options(run="r1", caller="ann"))
    await execution.conclude(held, execution.start(held))
    row = await execution.store.find("r1")
    assert row is not None
    return row


async def gone_on(execution: Execution, run: str) -> tuple[Outcome, ForkJournal]:
    held = await execution.store.hold(run, execution.owner, 60.0)
    assert held is not None
    started = execution.start(held)
    outcome = await execution.conclude(held, started)
    assert isinstance(started.journal, ForkJournal)
    return outcome, started.journal


async def step(store: DatabaseStore, name: str) -> str:
    return next(entry.path for entry in await store.entries("r1") if entry.target == f"main.{name}")


@pytest.mark.feature("B7", "A12.16", "D7")
def test_reads_are_made_anew_and_what_acted_is_served_from_the_record(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        world = World(total)
        execution = world.execution(store)
        row = await original(execution)
        outcome, journal = await gone_on(execution, await forked(execution, row, await step(store, "rate")))
        assert value_of(outcome) == 102
        assert world.seen == {"rate": [1, 1], "pay": [2], "mail": [102]}
        assert (len(journal.served), journal.blocked) == (2, [])

    place.run(body)


@pytest.mark.feature("B7", "A12.16", "D7")
def test_a_call_that_the_original_did_not_make_is_blocked_with_a_typed_fault(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        world = World(total)
        execution = world.execution(store)
        row = await original(execution)
        world.rate = 3
        outcome, journal = await gone_on(execution, await forked(execution, row, await step(store, "rate")))
        fault = fault_of(outcome)
        assert fault.kind.value == "Denied"
        assert fault.details["blocked"] is True
        assert fault.details["target"] == "main.pay"
        assert "`pay` is blocked in a fork: the run r1 did not make this call" in fault.message
        assert world.seen["pay"] == [2]
        assert len(journal.blocked) == 1

    place.run(body)


@pytest.mark.feature("B7", "A12.16")
def test_what_is_allowed_by_name_is_made_for_real_under_a_key_of_its_own(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        world = World(total)
        execution = world.execution(store)
        row = await original(execution)
        world.rate = 3
        run = await forked(execution, row, await step(store, "rate"), allow=["pay", "main.mail"])
        outcome, _ = await gone_on(execution, run)
        assert value_of(outcome) == 103
        assert world.seen == {"rate": [1, 1], "pay": [2, 3], "mail": [102, 103]}
        keys = {one: {e.key for e in await store.entries(one) if e.target == "main.pay"} for one in ("r1", run)}
        assert not keys["r1"] & keys[run], "another run, another logical effect"

    place.run(body)


@pytest.mark.feature("A12.16")
def test_an_answer_can_be_replaced_and_everything_before_it_is_replayed(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        world = World(total)
        execution = world.execution(store)
        row = await original(execution)
        pay = await step(store, "pay")
        outcome, journal = await gone_on(
            execution, await forked(execution, row, pay, changes=Changes({pay: Answer(Ending.VALUE, 777)}), allow=["mail"])
        )
        assert value_of(outcome) == 777
        assert world.seen == {"rate": [1], "pay": [2], "mail": [102, 777]}
        assert journal.unseen == set()

    place.run(body)


@pytest.mark.feature("B7")
def test_each_recorded_call_serves_once(place: Place) -> None:
    async def twice(k: Any, n: int) -> int:
        first = int(await k.act(0, "main.pay", (n,)))
        if (await k.act(1, "main.rate", (n,))) == 3 * n:
            await k.act(2, "main.pay", (n,))
        return first

    async def body(store: DatabaseStore) -> None:
        world = World(twice)
        execution = world.execution(store)
        row = await original(execution)
        world.rate = 3
        outcome, journal = await gone_on(execution, await forked(execution, row, await step(store, "pay")))
        assert fault_of(outcome).details["blocked"] is True
        assert (len(journal.served), len(journal.blocked)) == (1, 1)
        assert world.seen["pay"] == [1]

    place.run(body)


@pytest.mark.feature("B7", "A12.16")
def test_a_changed_program_may_fork_and_its_beginning_is_checked(place: Place) -> None:
    async def other(k: Any, n: int) -> int:
        rated = await k.act(0, "main.rate", (n,))
        return int(await k.act(1, "main.pay", (rated + 1,)))

    async def shorter(k: Any, n: int) -> int:
        return int(await k.act(0, "main.rate", (n,)))

    async def body(store: DatabaseStore) -> None:
        before = World(total)
        row = await original(before.execution(store))
        changed = World(other, digest="changed").execution(store)
        outcome, _ = await gone_on(changed, await forked(changed, row, ""))
        fault = fault_of(outcome)
        assert fault.kind.value == "Diverged"
        assert "the journal holds `main.pay` with another request" in fault.message
        assert fault.details["recorded"] != fault.details["requested"]
        less = World(shorter, digest="shorter").execution(store)
        outcome, journal = await gone_on(less, await forked(less, row, ""))
        assert value_of(outcome) == 2
        assert journal.unseen == {await step(store, "pay"), await step(store, "mail")}, "what it did not come to is told"

    place.run(body)


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


@pytest.mark.feature("A12.16")
def test_turns_are_asked_anew_from_the_step_on(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        world = World(total)
        first = model(calls(call("pay", {"n": 5})), said("paid 5"))
        execution = world.execution(store, first)
        row = await original(execution, {"q": "pay"}, "answer")
        turns = [entry.path for entry in await store.entries("r1") if entry.kind is Kind.MODEL]
        again = model(said("other words"))
        other = world.execution(store, again)
        outcome, _ = await gone_on(other, await forked(other, row, turns[-1], changes=Changes(models={"main.fast": "x"})))
        assert value_of(outcome) == "other words"
        assert len(again.asked) == 1, "the first turn is replayed"
        assert world.seen["pay"] == [5]
        newer = model(calls(call("pay", {"n": 5}), text="again"), calls(call("pay", {"n": 6})), said("done"))
        other = world.execution(store, newer)
        outcome, journal = await gone_on(other, await forked(other, row, next(iter(dict.fromkeys(turns)))))
        assert value_of(outcome) == "done"
        assert (len(journal.served), len(journal.blocked)) == (1, 1), "the model reads that the second call is blocked"
        assert "blocked in a fork" in str(newer.asked[-1].messages)
        assert world.seen["pay"] == [5]

    place.run(body)


@pytest.mark.feature("B7")
def test_a_fork_that_is_interrupted_goes_on_as_it_was(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        world = World(total)
        execution = world.execution(store)
        row = await original(execution)
        run = await forked(execution, row, await step(store, "rate"))
        held = await store.hold(run, execution.owner, 60.0)
        assert held is not None
        started = execution.start(held)
        started.draining = True
        await execution.conclude(held, started)
        outcome, _ = await gone_on(execution, run)
        assert value_of(outcome) == 102
        assert world.seen["pay"] == [2]
        given = await store.given(run)
        assert given is not None
        fork = fork_of(given[1])
        assert fork is not None
        assert (fork.of, len(fork.record)) == ("r1", 2)
        assert fork_of({"fork": fork.kept()}) == fork

    place.run(body)


@pytest.mark.feature("D7")
def test_what_acts_is_known_from_its_declaration() -> None:
    program = World(total).unit
    known = Doers(program)
    assert not known.act(Kind.TOOL, "main.rate"), "`parallel`: declared to be idempotent, and only to read"
    assert known.act(Kind.TOOL, "main.pay")
    assert known.act(Kind.TOOL, "main.mail"), "`idempotent` alone may write, under a key"
    assert not Doers(program, frozenset({"main.mail"})).act(Kind.TOOL, "main.mail"), "an MCP tool that only reads, by its pin"
    assert known.act(Kind.TOOL, "main.unknown")
    for operation, changes in (("get", False), ("has", False), ("entries", False), ("put", True), ("remove", True)):
        assert known.act(Kind.STORE, f"main.notes.{operation}") is changes
    assert not known.act(Kind.MODEL, "main.fast")
    inner = replace(program.tools["main.mail"], body=total)
    assert not Doers(replace(program, tools={"main.mail": inner})).act(Kind.TOOL, "main.mail"), "its body is looked at"


@pytest.mark.feature("B7", "D7", "D9")
def test_what_runs_elsewhere_acts_since_nothing_of_it_comes_by_this_journal() -> None:
    """An operation that may be repeated is run anew where AEL code provides it here, and is served or blocked where something else does."""
    reads = OperationSpec("main.Orders.get", Signature("main.Orders.get", (), INT), "", None, Repeat.IDEMPOTENT)
    program = replace(World(total).unit, operations={"main.Orders.get": reads})
    assert not Doers(program).act(Kind.OPERATION, "main.Orders.get")
    assert not Doers(program).act(Kind.TOOL, "main.answer")
    for elsewhere in ("main.Orders", "main.Orders.get"):
        assert Doers(program, frozenset(), frozenset({elsewhere})).act(Kind.OPERATION, "main.Orders.get")
    assert Doers(program, frozenset(), frozenset({"main.answer"})).act(Kind.TOOL, "main.answer")
    host = Execution(engine(program, operations={"main.Orders.get": total}), DatabaseStore(_nowhere), "w", 60.0)
    assert host.doers.act(Kind.OPERATION, "main.Orders.get"), "a Python function of the host"
    placed = Execution(engine(program), DatabaseStore(_nowhere), "w", 60.0, Bound(elsewhere=frozenset({"main.Orders"})))
    assert placed.doers.act(Kind.OPERATION, "main.Orders.get"), "a placement of the deployment"


def _nowhere() -> Any:
    raise AssertionError("no store is opened")


@pytest.mark.feature("B7", "K26")
def test_a_refused_call_is_answered_so_and_takes_no_record(place: Place) -> None:
    """A name that is not there, and arguments that do not fit: what refuses a call answers it, in this execution and the next."""

    async def body(store: DatabaseStore) -> None:
        world = World(total)
        execution = world.execution(store, model(calls(call("pay", {"n": 5})), said("paid")))
        row = await original(execution, {"q": "pay"}, "answer")
        wrong = calls(call("steal", {"n": 5}, id="a"), call("pay", {"m": 5}, id="b"), call("pay", {"n": 5}, id="c"))
        again = model(wrong, said("done"))
        other = world.execution(store, again)
        run = await forked(other, row, "answer/turn1")
        outcome, journal = await gone_on(other, run)
        assert value_of(outcome) == "done"
        answers = again.asked[-1].messages[-1][1]
        assert isinstance(answers, tuple)
        assert [(one.is_error, one.content[:12]) for one in answers] == [
            (True, 'no tool "ste'),
            (True, "`m`: is not "),
            (False, "105"),
        ]
        assert (len(journal.served), journal.blocked) == (1, [])
        assert world.seen["pay"] == [5]
        endings = [entry.ending for entry in await store.entries(run) if "/call" in entry.path and entry.ending is not None]
        assert endings == [Ending.REFUSED, Ending.REFUSED, Ending.VALUE]

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


@pytest.mark.feature("B7", "K26")
def test_a_call_that_is_held_back_never_begins_whatever_led_there() -> None:
    """The last guard: even a call that nothing answered is not started."""
    world = World(total)
    header = Header("r2", "program", "main.main", "", "local", "ann", 0.0, None)
    journal = ForkJournal(MemoryJournal().open(header), Fork("r1", ""), Doers(world.unit))
    entry = Entry("main/pay@0", State.PROPOSED, Kind.TOOL, "main.pay", "", "k", {"n": 1}, None, 0.0, 0.0)
    journal.append(entry)
    with pytest.raises(Fault, match="is blocked in a fork") as fault:
        journal.append(entry._replace(state=State.STARTED, value=None))
    assert fault.value.kind.value == "Denied"


@pytest.mark.feature("B7", "A13.6", "D7")
def test_a_node_that_a_model_is_offered_runs_anew_and_its_calls_are_served(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        world = World(total)
        outer = node("ask", parameter("q"), tools=["answer"])
        world.unit = replace(world.unit, nodes={**world.unit.nodes, "main.ask": outer})
        turns = (calls(call("delegate__answer", {"q": "pay"})), calls(call("pay", {"n": 5})), said("paid"), said("done"))
        execution = world.execution(store, model(*turns))
        row = await original(execution, {"q": "pay"}, "ask")
        other = world.execution(store, model(*turns))
        outcome, journal = await gone_on(other, await forked(other, row, "ask/turn1"))
        assert value_of(outcome) == "done"
        assert (len(journal.served), journal.blocked) == (1, [])
        assert world.seen["pay"] == [5]

    place.run(body)


@pytest.mark.feature("A12.16", "B7")
def test_a_fork_of_a_fork_serves_what_was_served(place: Place) -> None:
    async def crossed(k: Any, n: int) -> int:
        rated = int(await k.act(0, "main.rate", (n,)))
        for place, number in enumerate((rated, 5 - rated)):
            await k.act(place, "main.pay", (number,))
        return int(await k.act(9, "main.mail", (rated,))) if rated == 2 else 0

    async def body(store: DatabaseStore) -> None:
        world = World(crossed)
        execution = world.execution(store)
        row = await original(execution)
        assert world.seen == {"rate": [1], "pay": [2, 3], "mail": [2]}
        world.rate = 3
        first = await forked(execution, row, await step(store, "rate"))
        outcome, journal = await gone_on(execution, first)
        assert (value_of(outcome), len(journal.served), journal.blocked) == (0, 2, []), (
            "in another order, each served by the other's record"
        )
        again = await store.find(first)
        assert again is not None
        pays = [
            entry.path for entry in await store.entries(first) if entry.target == "main.pay" and entry.state is State.ANSWERED
        ]
        second = await forked(execution, again, pays[1])
        outcome, journal = await gone_on(execution, second)
        assert (value_of(outcome), journal.served, journal.blocked) == (0, [pays[1]], [])
        assert world.seen["pay"] == [2, 3]

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


@pytest.mark.feature("A12.16", "A12.10")
def test_a_fork_that_its_maker_keeps_is_taken_by_no_worker(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        world = World(total)
        execution = world.execution(store)
        row = await original(execution)
        run = await forked(execution, row, await step(store, "rate"), keep=True)
        programs = [world.unit.digest]
        assert await store.claim("another", programs, 5, 60.0) == []
        assert await store.hold(run, "another", 60.0) is None
        outcome, _ = await gone_on(execution, run)
        assert value_of(outcome) == 102
        left = await forked(execution, row, await step(store, "rate"))
        assert [held.row.header.run for held in await store.claim("another", programs, 5, 60.0)] == [left]

    place.run(body)


@pytest.mark.feature("A12.16", "B7")
def test_an_answer_inside_of_a_call_is_replaced_where_the_call_is_run_anew_and_nowhere_else(place: Place) -> None:
    async def quote(k: Any, n: int) -> int:
        return 10 * int(await k.act(0, "main.rate", (n,)))

    async def main(k: Any, n: int) -> int:
        return int(await k.act(0, "main.quote", (n,))) + int(await k.act(1, "main.order", (n,)))

    async def body(store: DatabaseStore) -> None:
        world = World(main)
        inner = [
            tool("quote", quote, parameter("n", INT), result=INT, repeat=Repeat.IDEMPOTENT),
            tool("order", quote, parameter("n", INT), result=INT, repeat=Repeat.NEVER),
        ]
        world.unit = replace(world.unit, tools={**world.unit.tools, **{one.spec.name: one for one in inner}})
        execution = world.execution(store)
        row = await original(execution)
        rates = [
            entry.path for entry in await store.entries("r1") if entry.target == "main.rate" and entry.state is State.ANSWERED
        ]
        assert len(rates) == 2
        run = await forked(execution, row, "", changes=Changes({rates[0]: Answer(Ending.VALUE, 7)}))
        outcome, journal = await gone_on(execution, run)
        assert value_of(outcome) == 70 + 20, "`quote` has its answer in the record, and is run again for what changed in it"
        assert (journal.served, journal.blocked, journal.unseen) == ([], [], set())
        changed = Changes({rates[1]: Answer(Ending.VALUE, 7)})
        with pytest.raises(ChangeError, match="is inside of a call of `order`, which is served or blocked as a whole"):
            await forked(execution, row, "", changes=changed)
        run = await forked(execution, row, "", changes=changed, allow=["order"])
        assert value_of((await gone_on(execution, run))[0]) == 20 + 70
        assert world.seen["rate"] == [1, 1]

    place.run(body)


@pytest.mark.feature("A12.16")
def test_the_input_and_the_budget_of_a_fork_are_its_own(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        world = World(total)
        execution = world.execution(store)
        row = await original(execution)
        first = await step(store, "rate")
        more = await forked(
            execution, row, first, changes=Changes(input={"n": 4}, budget=BudgetSpec(tool_calls=1)), allow=["pay"]
        )
        assert fault_of((await gone_on(execution, more))[0]).kind.value == "BudgetExhausted"
        given = await store.given(more)
        assert given is not None
        assert (given[0], given[1]["budget"]) == ({"n": 4}, {"tool_calls": 1})
        assert world.seen == {"rate": [1, 4], "pay": [2], "mail": [102]}
        with pytest.raises(ChangeError, match="does not fit the parameters"):
            await forked(execution, row, first, changes=Changes(input={"n": "four"}))

    place.run(body)
