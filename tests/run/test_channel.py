"""Channels of edges: an item that comes again under its key is not acted on again (K26)."""

from __future__ import annotations

import asyncio

import pytest

from ael.run.agent import AgentPlan
from ael.run.channel import Channel, Item, LocalChannel, Receiver
from ael.run.park import Parked
from ael.types.fault import Failure, Fault, FaultKind
from tests.run.agents import compiled
from tests.run.helpers import engine, run, value_of
from tests.run.test_agent import EACH, FORK, NESTED, outside


class Twice:
    """A channel that delivers each item twice: the first, beside it the second, and once more when both have their answer."""

    room = 4

    def __init__(self) -> None:
        self._inner = LocalChannel()
        self.delivered: list[str] = []

    async def deliver(self, item: Item, receiver: Receiver) -> object:
        self.delivered += [item.key] * 3
        first, second = await asyncio.gather(self._inner.deliver(item, receiver), self._inner.deliver(item, receiver))
        third = await self._inner.deliver(item, receiver)
        assert first == second == third
        return third


@pytest.mark.feature("K26")
@pytest.mark.parametrize(
    ("text", "given", "acted"), [(EACH, {"items": [3, 1, 2]}, 3), (FORK, {"n": 1}, 3), (NESTED, {"n": 1}, 3)]
)
def test_a_receiver_acts_once_for_each_key(
    text: str, given: dict[str, object], acted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    channels: list[Twice] = []

    async def act(n: int) -> int:
        calls.append(n)
        await asyncio.sleep(0)
        return n

    def channel(plan: AgentPlan, edge: int) -> Channel:
        channels.append(Twice())
        return channels[-1]

    plain = value_of(run(engine(compiled(text), externs=outside(act)), "main", given))
    once = list(calls)
    calls.clear()
    monkeypatch.setattr(AgentPlan, "channel", channel)
    assert value_of(run(engine(compiled(text), externs=outside(act)), "main", given)) == plain
    assert sorted(calls) == sorted(once)
    assert len(calls) == acted
    keys = [key for one in channels for key in one.delivered]
    assert len(keys) == 3 * len(set(keys)), "each key is that of one visit"


def test_an_item_that_failed_fails_again_without_being_acted_on() -> None:
    acted: list[str] = []

    async def receiver(item: Item) -> object:
        acted.append(item.key)
        if item.key == "a":
            raise Failure("main.Odd", {"n": 1})
        raise Fault(FaultKind.UNAVAILABLE, "gone")

    async def whole() -> None:
        channel = LocalChannel()
        for key, kind in (("a", Failure), ("b", Fault)):
            for _ in range(3):
                with pytest.raises(kind):
                    await channel.deliver(Item(key, ()), receiver)

    asyncio.run(whole())
    assert acted == ["a", "b"]


@pytest.mark.parametrize("error", [asyncio.CancelledError(), Parked()])
def test_an_item_without_an_answer_may_come_again(error: BaseException) -> None:
    acted: list[str] = []

    async def receiver(item: Item) -> object:
        acted.append(item.key)
        if len(acted) == 1:
            raise error
        return "answered"

    async def whole() -> object:
        channel = LocalChannel()
        with pytest.raises(type(error)):
            await channel.deliver(Item("a", ()), receiver)
        return await channel.deliver(Item("a", ()), receiver)

    assert asyncio.run(whole()) == "answered"
    assert acted == ["a", "a"]
