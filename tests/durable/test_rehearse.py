"""What models were asked comes back from the journal, to the letter, and nothing is sent for it (feature A16.7)."""

from __future__ import annotations

from typing import Any

import pytest

from ael.data import replace
from ael.durable.execute import Execution, new_owner
from ael.durable.rehearse import requests
from ael.journal.database import DatabaseStore
from ael.journal.entry import Entry, Kind, State
from ael.observe.prompt import added, messages
from ael.observe.shown import Shown
from ael.run.bindings import Options
from ael.run.conversation import Request
from ael.run.masker import Masker
from ael.run.ports import Opaque
from ael.types.spec import NodeSpec
from ael.types.type import IntType
from tests.journal.places import Place
from tests.run.fakes import FakeModel, call, calls, final, model, said
from tests.run.helpers import code, engine, node, parameter, tool, unit

WHOLE = Shown(Masker(()), whole=True)


class World:
    """A node that calls `pay` (Python) and `look_up` (AEL code, which visits another node), twice from code."""

    def __init__(self) -> None:
        self.paid: list[int] = []

        async def pay(n: int) -> int:
            self.paid.append(n)
            return n

        async def look_up(k: Any, q: str) -> str:
            return str(await k.act(0, "main.inner", (f"about {q}",)))

        async def main(k: Any) -> str:
            one = await k.act(0, "main.answer", ("first",))
            return f"{one} {await k.act(1, 'main.answer', ('second',))}"

        self.unit = unit(
            tools=[
                tool("pay", None, parameter("n", IntType()), result=IntType()),
                tool("look_up", look_up, parameter("q")),
            ],
            nodes=[
                code("main", main),
                node("answer", parameter("q"), tools=["pay", "look_up"]),
                node("inner", parameter("q"), instructions="Look it up."),
            ],
        )
        self.externs = {"main.pay": pay}

    def turns(self) -> FakeModel:
        opaque = Opaque("fake", ({"signature": "s"},))
        return model(
            calls(call("look_up", {"q": "tea"}), call("pay", {"n": 5}), text="I look.", opaque=opaque),
            said("tea is hot"),
            calls(call("pay", {"wrong": 1})),
            said("first done"),
            said("second done"),
        )

    def execution(self, store: DatabaseStore, asked: FakeModel) -> Execution:
        return Execution(engine(self.unit, asked, externs=self.externs), store, new_owner(), 60.0)


async def rehearsed(store: DatabaseStore, program: Any, run: str = "r1") -> dict[str, Request]:
    """The requests, from a world in which there is no model to ask and no tool to call."""
    row, given = await store.find(run), await store.given(run)
    assert row is not None
    assert given is not None
    assert isinstance(given[0], dict)
    return await requests(engine(program, model()), row, given[0], given[1], await store.entries(run))


def sent(asked: FakeModel) -> list[list[dict[str, object]]]:
    """What a model was really sent, in the form in which it is shown."""
    found = []
    for one in asked.asked:
        told: list[dict[str, object]] = []
        for role, what in one.messages:
            if role == "user":
                told.append({"role": "user", "text": what})
            elif role == "model":
                turn: Any = what
                shown: dict[str, object] = {"role": "model", "text": turn.text}
                if turn.final is not None:
                    shown["final"] = turn.final
                if turn.calls:
                    shown["calls"] = [{"id": one.id, "name": one.name, "arguments": one.arguments} for one in turn.calls]
                if turn.opaque is not None:
                    shown["opaque"] = f"{len(turn.opaque.blocks)} opaque of {turn.opaque.provider}"
                told.append(shown)
            else:
                answers: Any = what
                told += [
                    {"role": "tool", "id": a.call.id, "name": a.call.name, "content": a.content, "error": a.is_error}
                    for a in answers
                ]
        found.append(told)
    return found


@pytest.mark.feature("A16.7", "K37")
def test_every_request_comes_back_as_it_was_sent_also_from_inside_of_calls(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        world = World()
        asked = world.turns()
        execution = world.execution(store, asked)
        held = execution.fresh("main", {}, Options(run="r1"))
        await execution.conclude(held, execution.start(held))
        found = await rehearsed(store, world.unit)
        entries = await store.entries("r1")
        turns = [entry.path for entry in entries if entry.kind is Kind.MODEL and entry.state is State.STARTED]
        assert [messages(found[path], WHOLE) for path in turns] == sent(asked)
        assert len(turns) == 5
        assert "/call1/inner@0/" in turns[1], "the turn of a node inside of a call whose answer is there"
        assert found[turns[1]].setup.system.endswith("Look it up.")
        assert [offer.name for offer in found[turns[0]].setup.offers] == ["pay", "look_up"]
        assert world.paid == [5]
        assert await store.entries("r1") == entries, "a rehearsal keeps nothing"

    place.run(body)


@pytest.mark.feature("A16.7")
def test_a_turn_without_an_answer_is_shown_and_what_is_bound_otherwise_is_not(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        world = World()
        execution = world.execution(store, model(calls(call("pay", {"n": 5})), RuntimeError("the process is gone")))
        held = execution.fresh("answer", {"q": "x"}, Options(run="r1"))
        await execution.conclude(held, execution.start(held))
        found = await rehearsed(store, world.unit)
        assert list(found) == ["answer/turn1", "answer/turn2"]
        assert messages(found["answer/turn2"], WHOLE)[-1]["content"] == "5"
        other = {**world.unit.nodes, "main.answer": _told(world, "Do something else.")}
        assert await rehearsed(store, replace(world.unit, nodes=other)) == {}, "another prompt does not hash to the recorded one"

    place.run(body)


def _told(world: World, instructions: str) -> Any:
    compiled = world.unit.nodes["main.answer"]
    spec: NodeSpec = replace(compiled.spec, instructions=instructions)
    return replace(compiled, spec=spec)


@pytest.mark.feature("A16.7", "A12.16")
def test_a_trace_tells_each_message_once(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        world = World()
        turns = [calls(call("pay", {"n": number})) for number in range(6)]
        execution = world.execution(store, model(*turns, said("done")))
        held = execution.fresh("answer", {"q": "x"}, Options(run="r1"))
        await execution.conclude(held, execution.start(held))
        found = await rehearsed(store, world.unit)
        ordered = [found[f"answer/turn{number}"] for number in range(1, 8)]
        told = [added(ordered, at, WHOLE) for at in range(7)]
        assert [len(one) for one in told] == [1, *[2] * 6]
        assert [message for one in told for message in one] == messages(ordered[-1], WHOLE)

    place.run(body)


@pytest.mark.feature("A16.7")
def test_a_rehearsal_acts_on_nothing_even_where_a_call_was_under_way(place: Place) -> None:
    """An idempotent call that had started is sent again by whoever goes on with the run, and by nobody who only looks at it."""

    async def body(store: DatabaseStore) -> None:
        world = World()
        execution = world.execution(store, model(calls(call("pay", {"n": 5})), final("x")))
        held = execution.fresh("answer", {"q": "x"}, Options(run="r1"))
        run = execution.start(held)
        await execution.conclude(held, run)
        row, given = await store.find("r1"), await store.given("r1")
        assert row is not None
        assert given is not None
        assert isinstance(given[0], dict)
        entries = await store.entries("r1")
        cut: list[Entry] = entries[: next(i for i, e in enumerate(entries) if e.kind is Kind.TOOL and e.state is State.ANSWERED)]
        assert cut[-1].state is State.STARTED
        # The very world of the run: only the journal stands between it and the call.
        found = await requests(execution.engine, row, given[0], given[1], cut)
        assert list(found) == ["answer/turn1"]
        assert world.paid == [5]

    place.run(body)
