"""Forks: from a step on, nothing that once took effect takes effect again (features B7, A12.16, D7)."""

from __future__ import annotations

from typing import Any

import pytest

from ael.data import replace
from ael.durable.execute import Execution
from ael.durable.fork import Changes, Doers, Fork, ForkJournal, fork_of
from ael.durable.forking import forked
from ael.durable.pinned import Bound
from ael.journal.database import DatabaseStore
from ael.journal.entry import Ending, Entry, Header, Kind, State
from ael.journal.memory import MemoryJournal
from ael.types.fault import Fault
from ael.types.signature import Repeat, Signature
from ael.types.spec import OperationSpec
from tests.durable.forks import INT, World, gone_on, original, step, total
from tests.journal.places import Place
from tests.run.fakes import call, calls, model, said
from tests.run.helpers import engine, fault_of, node, parameter, value_of


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
