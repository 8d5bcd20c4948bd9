"""What a queue does, over a real NATS and a real PostgreSQL: puts once, gives in order, keeps to its bounds, takes back, gives again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from ael.services.line import Line, Taken
from ael.services.queue import Another, Away, Entered, Full, Item, OtherStore, Sizes, TooLong
from tests.transports.queues import QUEUES, Queue, queue

PROGRAM, OTHER = "a" * 64, "b" * 64
STORE = "0000002a"
Make = Callable[..., Line]


def item(name: str, **changes: Any) -> Item:
    """A call with the key `name`."""
    return replace(Item(PROGRAM, "get", b'{"id":"A"}', name, "acme", "tester", 600.0), **changes)


def over(kind: str, body: Callable[[Make, Queue], Coroutine[Any, Any, None]]) -> None:
    """Run a body over a queue of its own; `make` opens it, as another process would."""

    async def scenario() -> None:
        opened: list[Line] = []

        def make(program: str = PROGRAM, **sizes: Any) -> Line:
            opened.append(found.open("shop-orders", program, Sizes(**sizes)))
            return opened[-1]

        with queue(kind) as found:
            try:
                await body(make, found)
            finally:
                for line in opened:
                    await line.close()

    asyncio.run(scenario())


async def taken(line: Line, most: int = 1) -> list[Taken]:
    """What can be taken, waited for a while."""
    async with asyncio.timeout(60):
        while not (found := list(await line.take(most, 1.0))):
            pass
    return found


@pytest.mark.feature("A16.1", "A11.4", "K35")
@pytest.mark.parametrize("kind", QUEUES)
def test_an_item_is_put_once_and_its_answer_is_kept(kind: str) -> None:
    """However often and by whomever: a word that was lost, a sender that came back. And when the answer is there, it is found."""

    async def body(make: Make, found: Queue) -> None:
        sender, again, worker = make(), make(), make()
        assert [await line.enter(item("k"), 0) for line in (sender, sender, again)] == [Entered(1)] * 3
        [one] = await taken(worker, 8)
        assert one.item is not None
        assert replace(one.item, left=600.0) == item("k")
        assert 0 < one.item.left <= 600
        assert await one.begin(STORE) == 1
        assert await again.enter(item("k"), 0) == Entered(1), "it is under way"
        waiting = asyncio.ensure_future(sender.answered(item("k")))
        await one.answer(b'{"value":"1"}')
        assert await waiting == b'{"value":"1"}'
        assert await make().enter(item("k"), 0) == Entered(1, b'{"value":"1"}')
        assert await worker.take(8, 0.5) == []
        # Who has had that answer, and asks again, asks anew.
        assert await sender.enter(item("k"), 1) == Entered(2)
        [two] = await taken(worker, 8)
        assert two.item is not None
        assert two.item.turn == 2

    over(kind, body)


@pytest.mark.feature("A16.1", "A11.3")
@pytest.mark.parametrize("kind", QUEUES)
def test_items_are_taken_in_the_order_in_which_they_were_put(kind: str) -> None:
    async def body(make: Make, found: Queue) -> None:
        sender, workers = make(), (make(), make())
        for number in range(20):
            await sender.enter(item(f"k{number}"), 0)
        order: list[str] = []
        while len(order) < 20:
            for worker in workers:
                for one in await worker.take(3, 1.0):
                    assert one.item is not None
                    order.append(one.item.key)
                    await one.begin(STORE)
        assert order == [f"k{number}" for number in range(20)]

    over(kind, body)


@pytest.mark.feature("A11.4", "A16.1", "K34")
@pytest.mark.parametrize("kind", QUEUES)
def test_a_queue_is_bounded(kind: str) -> None:
    """So many wait, and not more; all workers together have so many."""

    async def body(make: Make, found: Queue) -> None:
        sizes = {"room": 4, "in_flight": 2}
        sender, workers = make(**sizes), (make(**sizes), make(**sizes))
        put = 0
        with suppress(Full):
            while put < 10:
                await sender.enter(item(f"k{put}"), 0)
                put += 1
        assert 4 <= put <= 6, "those that are taken may have room of their own"
        assert await sender.enter(item("k0"), 0) == Entered(1), "what is there already needs none"
        first = [*(await taken(workers[0], 10)), *(await workers[1].take(10, 0.5))]
        assert len(first) == 2
        for one in first:
            await one.begin(STORE)
            await one.answer(b'{"value":"1"}')
        await sender.enter(item("late"), 0)
        assert len([*(await workers[1].take(10, 1.0)), *(await workers[0].take(10, 0.5))]) == 2

    over(kind, body)


@pytest.mark.feature("A11.4", "A12.2", "K36")
@pytest.mark.parametrize("kind", QUEUES)
def test_an_item_comes_again_when_its_worker_is_gone(kind: str) -> None:
    """After the lease. Each that begins it is counted; one that gives it back is not."""

    async def body(make: Make, found: Queue) -> None:
        sender, dead, worker = make(lease=4.0), make(lease=4.0), make(lease=4.0)
        await sender.enter(item("k"), 0)
        [one] = await taken(dead)
        assert await one.begin(STORE) == 1
        [two] = await taken(worker)
        assert await two.begin(STORE) == 2
        await two.give_back(0.0)
        [three] = await taken(worker)
        assert await three.begin(STORE) == 2, "what was given back does not count"
        # One that keeps it has it.
        end = asyncio.get_running_loop().time() + 5.0
        while asyncio.get_running_loop().time() < end:
            assert await three.extend()
            assert await dead.take(1, 0.25) == []
        await three.answer(b'{"value":"1"}')
        assert await sender.answered(item("k")) == b'{"value":"1"}'

    over(kind, body)


@pytest.mark.feature("A16.1", "A8.5", "K26", "K39")
@pytest.mark.parametrize("kind", QUEUES)
def test_what_nobody_had_is_taken_back_for_sure(kind: str) -> None:
    """Of a sender that takes back and a worker that begins, exactly one wins, however they meet."""

    async def body(make: Make, found: Queue) -> None:
        sender, worker = make(), make()
        await sender.enter(item("back"), 0)
        assert await sender.withdraw(item("back"))
        assert await sender.withdraw(item("back")), "saying it twice is saying it once"
        assert await sender.enter(item("back"), 0) == Entered(2), "asked again, it is another turn"
        for one in await taken(worker, 8):
            assert one.item is not None
            assert await one.begin(STORE) == (1 if one.item.turn == 2 else None)
        won = {True: 0, False: 0}
        for number in range(24):
            asked = item(f"k{number}")
            await sender.enter(asked, 0)
            found_here = await worker.take(1, 1.0) if number % 2 else []
            withdrawing = asyncio.ensure_future(sender.withdraw(asked))
            [one] = found_here or await worker.take(1, 1.0) or [None]
            begun = None if one is None else await one.begin(STORE)
            withdrawn = await withdrawing
            assert withdrawn == (begun is None)
            won[withdrawn] += 1
        assert won[True] > 0

    over(kind, body)


@pytest.mark.feature("K39", "A16.1")
@pytest.mark.parametrize("kind", QUEUES)
def test_a_worker_hears_that_its_item_is_given_up(kind: str) -> None:
    async def body(make: Make, found: Queue) -> None:
        sender, worker = make(), make()
        await sender.enter(item("k"), 0)
        [one] = await taken(worker)
        await one.begin(STORE)
        assert not one.cancelled
        assert not await sender.withdraw(item("k"))
        assert await one.extend()
        assert one.cancelled

    over(kind, body)


@pytest.mark.feature("K46", "A16.1")
@pytest.mark.parametrize("kind", QUEUES)
def test_an_item_whose_time_is_over_is_not_taken(kind: str) -> None:
    async def body(make: Make, found: Queue) -> None:
        sender, worker = make(), make()
        await sender.enter(item("k", left=1.0), 0)
        await asyncio.sleep(2.5)
        found_late = await worker.take(1, 0.5)
        # A stream that lets it go a little later says at least that nothing is left.
        assert kind == "nats" or not found_late
        assert all(one.item is not None and one.item.left <= 0 for one in found_late)

    over(kind, body)


@pytest.mark.feature("A8.6", "A12.2")
@pytest.mark.parametrize("kind", QUEUES)
def test_a_turn_goes_on_only_where_its_run_is(kind: str) -> None:
    """A worker over another store of runs would do it a second time."""

    async def body(make: Make, found: Queue) -> None:
        sender, worker, other = make(lease=2.0), make(lease=2.0), make(lease=2.0)
        await sender.enter(item("k"), 0)
        [one] = await taken(worker)
        await one.begin(STORE)
        [two] = await taken(other)
        with pytest.raises(OtherStore):
            await two.begin("00000001")
        await two.give_back(0.0)
        [three] = await taken(worker)
        assert await three.begin(STORE) == 2

    over(kind, body)


@pytest.mark.feature("A11.4", "A8.6")
@pytest.mark.parametrize("kind", QUEUES)
def test_a_key_is_for_one_request_alone(kind: str) -> None:
    async def body(make: Make, found: Queue) -> None:
        sender, worker = make(), make()
        await sender.enter(item("k"), 0)
        [one] = await taken(worker)
        await one.begin(STORE)
        with pytest.raises(Another):
            await sender.enter(item("k", body=b'{"id":"B"}'), 0)
        assert await sender.enter(item("k", tenant="other", body=b'{"id":"B"}'), 0) == Entered(1), "each tenant has its own"

    over(kind, body)


@pytest.mark.feature("A12.2", "A16.6")
@pytest.mark.parametrize("kind", QUEUES)
def test_items_of_another_program_stay_where_they_are(kind: str) -> None:
    async def body(make: Make, found: Queue) -> None:
        sender, worker = make(), make(OTHER)
        await sender.enter(item("k"), 0)
        assert await worker.take(1, 0.5) == []
        [(program, count)] = (await worker.waiting()).items()
        assert PROGRAM.startswith(program)
        assert count == 1
        assert len(await taken(make())) == 1

    over(kind, body)


@pytest.mark.feature("K42", "A16.1")
@pytest.mark.parametrize("kind", QUEUES)
def test_an_item_that_nobody_can_read_is_answered(kind: str) -> None:
    """Whoever waits for it hears; and its key is free for the call that was meant."""

    async def body(make: Make, found: Queue) -> None:
        sender, worker = make(), make()
        for number, text in enumerate((b"\xff\x00", b"{}", b'{"turn":1e9}', b"[" * 200, item("other").text())):
            asked = item(f"k{number}")
            await sender.enter(asked, 0)
            await found.overwrite("shop-orders", asked, text)
            [one] = await taken(worker)
            assert one.item is None
            await one.answer(b'{"value":"1"}')
            assert await sender.answered(asked) == b'{"value":"1"}'
            assert await sender.enter(asked, 1) == Entered(2)
            [two] = await taken(worker)
            assert two.item is not None
            await two.begin(STORE)
            await two.answer(b'{"value":"2"}')

    over(kind, body)


@pytest.mark.feature("K42")
def test_what_is_too_long_for_a_broker_is_not_put() -> None:
    async def body(make: Make, found: Queue) -> None:
        sender = make()
        with pytest.raises(TooLong, match="1,048,576 bytes"):
            await sender.enter(item("k", body=b'{"id":"' + b"x" * 1_100_000 + b'"}'), 0)
        assert await sender.enter(item("k"), 0) == Entered(1)

    over("nats", body)


@pytest.mark.feature("A11.4", "K35")
def test_a_queue_that_is_not_there_took_nothing() -> None:
    async def body(make: Make, found: Queue) -> None:
        found.server.stop()
        with pytest.raises(Away) as away:
            await make().enter(item("k"), 0)
        assert not away.value.put

    over("nats", body)
