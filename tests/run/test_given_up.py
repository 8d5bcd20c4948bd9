"""A run that goes on does what it would have done: after doubts, failures in branches, time limits, cancels and refusals (K26 to K28)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ael.journal.entry import Entry, State
from ael.journal.memory import MemoryJournal
from ael.run.bindings import Options
from ael.run.outcome import Outcome, Suspended, to_json
from ael.types.fault import Fault, FaultKind, Uncertain
from ael.types.signature import Repeat
from ael.types.spec import BudgetSpec
from ael.types.type import IntType
from tests.run.fakes import call, calls, model, said
from tests.run.helpers import code, engine, fault_of, node, parameter, run, tool, uncertain_of, unit, value_of
from tests.run.loops import ASK
from tests.run.test_replay import prefix

RUN = Options(caller="c", run="r1")


def lives(program: Any, entry: str, externs: dict[str, Any], given: Any = None, **bound: Any) -> tuple[Outcome, list[Entry], Any]:
    """The whole run, its journal, and a function that goes on from the first records of it."""
    started: list[Any] = []
    outcome = run(engine(program, journal=MemoryJournal(), externs=externs, **bound), entry, given, RUN, during=started.append)
    entries: list[Entry] = started[0].journal.entries()
    header = started[0].journal.header

    def again(length: int, *models: Any, **other: Any) -> tuple[Outcome, list[Entry]]:
        seen: list[Any] = []
        made = engine(program, *models, journal=prefix(entries, length, header), externs=externs, **{**bound, **other})
        ended = run(made, entry, given, RUN, during=seen.append)
        return ended, seen[0].journal.entries()

    return outcome, entries, again


@pytest.mark.feature("A8.10", "D2")
def test_the_same_act_after_a_doubt_needs_a_person_in_every_life() -> None:
    """K26: the doubt is replayed from the journal, and what it forbids with it."""
    sent: list[int] = []

    async def pay(n: int) -> str:
        sent.append(n)
        raise ConnectionError("the line is dead")

    async def main(k: Any) -> str:
        told = []
        for site in range(2):
            try:
                told.append(await k.act(site, "main.pay", (5,)))
            except Uncertain:
                told.append("unknown")
            except Fault as fault:
                told.append(fault.kind.value)
        return ", ".join(told)

    made = unit(tools=[tool("pay", None, parameter("n", IntType()), repeat=Repeat.NEVER)], nodes=[code("main", main)])
    outcome, entries, again = lives(made, "main", {"main.pay": pay})
    assert value_of(outcome) == "unknown, ApprovalDenied"
    assert sent == [5]
    for length in range(3, len(entries) + 1):
        sent.clear()
        assert value_of(again(length)[0]) == "unknown, ApprovalDenied", length
        assert sent == [], length


@pytest.mark.feature("A12.6")
@pytest.mark.parametrize("first", ["slow", "fails"])
@pytest.mark.parametrize("repeat", [Repeat.IDEMPOTENT, Repeat.NEVER])
def test_a_parallel_fails_with_the_same_failure_in_every_life(first: str, repeat: Repeat) -> None:
    """K28: the branch that failed first is what the whole fails with, also where the journal answers all of them at once."""

    async def slow() -> str:
        await asyncio.sleep(3600)
        return "never"

    async def fails() -> str:
        await asyncio.sleep(0)
        raise Fault(FaultKind.UNAVAILABLE, "gone", final=True)

    async def main(k: Any) -> str:
        names = ["main.slow", "main.fails"] if first == "slow" else ["main.fails", "main.slow"]
        try:
            await k.parallel_for(0, names, None, lambda k, name: k.act(0, name, ()))
        except Fault as fault:
            told = fault.kind.value
        except Uncertain:
            told = "Uncertain"
        return f"{told} {await k.act(1, 'main.after', (told,))}"

    made = unit(
        tools=[tool("slow", None, repeat=repeat), tool("fails", None), tool("after", None, parameter("what"))],
        nodes=[code("main", main)],
    )

    async def after(what: str) -> str:
        return f"after {what}"

    externs = {"main.slow": slow, "main.fails": fails, "main.after": after}
    outcome, entries, again = lives(made, "main", externs)
    whole = to_json(outcome)
    del whole["spent"]
    failed = next(at for at, one in enumerate(entries) if one.state is State.ANSWERED)
    for length in range(failed + 1, len(entries) + 1):
        found = to_json(again(length)[0])
        del found["spent"]
        assert found == whole, length


def test_a_refusal_that_was_interrupted_is_answered() -> None:
    """K27: every proposed call has its one answer, also where a process died between the two records of a refusal."""

    made = unit(tools=[tool("look", None)], nodes=[node("answer", parameter("q"), tools=["look"])])
    started: list[Any] = []
    turns = [calls(call("nope", {}, "1"), call("look", {"x": 1}, "2")), said("done")]
    outcome = run(engine(made, model(*turns), journal=MemoryJournal()), "answer", ASK, RUN, during=started.append)
    assert value_of(outcome) == "done"
    entries, header = started[0].journal.entries(), started[0].journal.header
    for length in range(1, len(entries)):
        answered = sum(1 for one in entries[:length] if one.kind.value == "model" and one.state is State.ANSWERED)
        seen: list[Any] = []
        made_again = engine(made, model(*turns[answered:]), journal=prefix(entries, length, header))
        assert value_of(run(made_again, "answer", ASK, RUN, during=seen.append)) == "done"
        last = {one.path: one for one in seen[0].journal.entries()}
        assert [path for path, one in last.items() if one.state is not State.ANSWERED] == [], length


@pytest.mark.feature("A12.6")
def test_a_node_whose_time_was_up_ends_so_in_every_life() -> None:
    """K46: what a limit cut off is no failure of the call that it cut."""

    async def slow() -> str:
        await asyncio.sleep(3600)
        return "never"

    async def after(what: str) -> str:
        return f"after {what}"

    async def inner(k: Any) -> str:
        return str(await k.act(0, "main.slow", ()))

    async def main(k: Any) -> str:
        try:
            told = await k.act(0, "main.inner", ())
        except Fault as fault:
            told = fault.kind.value
        return f"{told} {await k.act(1, 'main.after', (told,))}"

    made = unit(
        tools=[tool("slow", None), tool("after", None, parameter("what"))],
        nodes=[code("inner", inner, budget=BudgetSpec(time=50)), code("main", main)],
    )
    outcome, entries, again = lives(made, "main", {"main.slow": slow, "main.after": after})
    assert value_of(outcome) == "DeadlineExceeded after DeadlineExceeded"
    cut = next(at for at, one in enumerate(entries) if one.state is State.ANSWERED)
    for length in range(cut + 1, len(entries) + 1):
        assert value_of(again(length)[0]) == "DeadlineExceeded after DeadlineExceeded", length


def slow_parts() -> tuple[list[Any], dict[str, Any]]:
    """Tools: two that never end, one that fails, one that looks after it; and the functions behind them."""

    async def hangs() -> str:
        await asyncio.sleep(3600)
        return "never"

    async def fails() -> str:
        await asyncio.sleep(0.02)
        raise Fault(FaultKind.UNAVAILABLE, "gone", final=True)

    async def after(what: str) -> str:
        return f"after {what}"

    tools = [
        tool("slow", None, parallel=True),
        tool("slower", None, parallel=True),
        tool("fails", None),
        tool("after", None, parameter("what")),
    ]
    return tools, {"main.slow": hangs, "main.slower": hangs, "main.fails": fails, "main.after": after}


async def caught(k: Any, work: Any) -> str:
    """What `work` ended with, and a call after it."""
    try:
        told = str(await work)
    except Fault as fault:
        told = fault.kind.value
    return str(await k.act(9, "main.after", (told,)))


SHORT = BudgetSpec(time=60)


async def beside(k: Any) -> str:
    """A `parallel` in a `parallel`: a failure around it cuts both of its branches."""

    async def inner(k: Any, at: object) -> object:
        if at == 1:
            return await k.act(0, "main.fails", ())
        return await k.parallel_for(0, ["main.slow", "main.slower"], None, lambda k, name: k.act(0, name, ()))

    return await caught(k, k.parallel_for(0, [0, 1], None, inner))


async def in_a_node(k: Any) -> str:
    """A node whose time is up while two calls are under way."""
    return await caught(k, k.act(0, "main.inner", ()))


async def inner(k: Any) -> str:
    names = ["main.slow", "main.slower"]
    return str(await k.parallel_for(0, names, None, lambda k, name: k.act(0, name, ())))


async def in_a_tool(k: Any) -> str:
    """A tool of code whose time is up while it waits for another."""
    return await caught(k, k.act(0, "main.outer", ()))


async def outer(k: Any) -> str:
    return str(await k.act(0, "main.slow", ()))


async def in_a_model(k: Any) -> str:
    """A model's node whose time is up while the calls of a turn are under way."""
    return await caught(k, k.act(0, "main.answer", ("q",)))


@pytest.mark.feature("A12.6", "A12.8")
@pytest.mark.parametrize("main", [beside, in_a_node, in_a_tool, in_a_model])
def test_what_was_cut_off_is_cut_off_in_the_same_place_in_every_life(main: Any) -> None:
    tools, externs = slow_parts()
    made = unit(
        tools=[*tools, tool("outer", outer, timeout=60)],
        nodes=[
            code("inner", inner, budget=SHORT),
            node("answer", parameter("q"), tools=["slow", "slower"], budget=SHORT),
            code("main", main),
        ],
    )
    proposes = calls(call("slow", {}, "1"), call("slower", {}, "2"))
    started: list[Any] = []
    outcome = run(
        engine(made, model(proposes), journal=MemoryJournal(), externs=externs), "main", None, RUN, during=started.append
    )
    assert value_of(outcome) in ("after Unavailable", "after DeadlineExceeded", "after Timeout")
    entries, header = started[0].journal.entries(), started[0].journal.header
    for length in range(len(entries) + 1):
        asked = any(one.kind.value == "model" and one.state is State.ANSWERED for one in entries[:length])
        seen: list[Any] = []
        turns = [] if asked else [proposes]
        bound = engine(made, model(*turns), journal=prefix(entries, length, header), externs=externs)
        assert value_of(run(bound, "main", None, RUN, during=seen.append)) == value_of(outcome), length
        again = seen[0].journal.entries()
        last = {one.path: one.state for one in again}
        assert set(last.values()) == {State.ANSWERED}, length
        if length == len(entries):
            assert again == entries, "nothing is journaled a second time"


def test_a_run_that_was_told_to_end_ends_in_the_next_life() -> None:
    """K39: its process died before the end was recorded; what was given up for it is not taken for an answer."""
    tools, externs = slow_parts()

    async def main(k: Any) -> str:
        return await caught(k, k.act(0, "main.slow", ()))

    made = unit(tools=tools, nodes=[code("main", main)])
    started: list[Any] = []

    async def cancels(running: Any) -> None:
        started.append(running)
        while not any("slow" in one.path for one in running.journal.entries()):
            await asyncio.sleep(0)
        running.cancel("nobody needs it")

    def cancelling(running: Any) -> Any:
        return cancels(running)

    first = run(engine(made, journal=MemoryJournal(), externs=externs), "main", None, RUN, during=cancelling)
    assert (fault_of(first).kind, fault_of(first).message) == (FaultKind.CANCELLED, "nobody needs it")
    entries = started[0].journal.entries()
    again = run(
        engine(made, journal=prefix(entries, len(entries), started[0].journal.header), externs=externs), "main", None, RUN
    )
    assert (fault_of(again).kind, fault_of(again).message) == (FaultKind.CANCELLED, "nobody needs it")


@pytest.mark.feature("A8.10", "D2")
@pytest.mark.parametrize("parks", [False, True])
def test_a_doubt_beside_a_failure_is_what_has_to_be_faced(parks: bool) -> None:
    """K26: two branches end at once, and the first one's failure does not hide that nobody knows what the second one did."""
    gate = asyncio.Event()

    async def fails() -> str:
        gate.set()
        raise Fault(FaultKind.UNAVAILABLE, "gone", final=True)

    async def pay() -> str:
        await gate.wait()
        raise ConnectionError("the line is dead")

    async def main(k: Any) -> str:
        names = ["main.fails", "main.pay"]
        return str(await k.parallel_for(0, names, None, lambda k, name: k.act(0, name, ())))

    made = unit(tools=[tool("fails", None), tool("pay", None, repeat=Repeat.NEVER)], nodes=[code("main", main)])
    started: list[Any] = []
    externs = {"main.fails": fails, "main.pay": pay}
    run(engine(made, journal=MemoryJournal(), externs=externs), "main", None, RUN, during=started.append)
    entries, header = started[0].journal.entries(), started[0].journal.header
    open_at = max(at for at, one in enumerate(entries) if one.state is State.STARTED) + 1
    bound = engine(made, journal=prefix(entries, open_at, header), externs=externs, parks_uncertain=parks)
    options = Options(caller="c", run="r1", park=parks)
    outcome = run(bound, "main", None, options)
    if parks:
        assert isinstance(outcome, Suspended)
        assert [wait.kind for wait in outcome.waits] == ["uncertain"]
    else:
        assert uncertain_of(outcome).operation == "pay"
