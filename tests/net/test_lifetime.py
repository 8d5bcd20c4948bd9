"""Time limits, cancellation, and the life of connections, against a real server over loopback."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import tracemalloc

import pytest

from ael.net.address import parse_endpoint
from ael.net.client import Client, Timeouts, target
from ael.net.failure import NetError, NetKind
from ael.net.sse import EventStream
from tests.net.loopback import CLOSE, Answer, Asked, Loopback, repeated, stream, whole
from tests.net.support import ALLOWED, ask, at, exhausted, failing, run


def test_silence_before_an_answer_times_out() -> None:
    async def test(server: Loopback, client: Client) -> None:
        where = at(server, timeouts=Timeouts(first=0.05))
        await failing(NetKind.TIMEOUT, sent=True, received=False)(where, client)

    run(lambda _: Answer([5.0], raw=True), test)


def test_silence_within_an_answer_times_out() -> None:
    """K35: the idle limit."""

    async def test(server: Loopback, client: Client) -> None:
        where = at(server, timeouts=Timeouts(idle=0.05))
        await failing(NetKind.TIMEOUT, received=True)(where, client)

    run(lambda _: Answer([b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", 5.0], raw=True), test)


def test_a_slow_answer_that_goes_on_does_not_time_out() -> None:
    async def test(server: Loopback, client: Client) -> None:
        assert await ask(client, at(server, timeouts=Timeouts(first=2, idle=2))) == (200, b"abc")

    run(lambda _: Answer([0.02, b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\na", 0.02, b"b", 0.02, b"c"], raw=True), test)


def test_the_deadline_holds_whatever_comes() -> None:
    async def test(server: Loopback, client: Client) -> None:
        with pytest.raises(NetError, match="deadline") as caught:
            await ask(client, at(server), deadline=0.1)
        assert caught.value.kind is NetKind.TIMEOUT

    run(lambda _: stream(*repeated(1000, b"x", 0.01)), test)


def test_keep_alives_do_not_hold_off_the_idle_limit() -> None:
    """K35: only comments and pings come, for ever: far closer together than the limit, on a busy machine too."""

    async def test(server: Loopback, client: Client) -> None:
        response = await client.send(at(server, timeouts=Timeouts(idle=1.0)))
        events = EventStream(response)
        with pytest.raises(NetError) as caught:
            await exhausted(events)
        response.close()
        assert caught.value.kind is NetKind.TIMEOUT

    run(lambda _: stream(b"data: 1\n\n", *repeated(400, b": ping\n\n", 0.01, b"event: ping\ndata: {}\n\n", 0.01)), test)


def test_keep_alives_do_not_begin_an_answer() -> None:
    """K35: comments from the start, for ever."""

    async def test(server: Loopback, client: Client) -> None:
        response = await client.send(at(server, timeouts=Timeouts(first=0.2)))
        with pytest.raises(NetError, match="no event came") as caught:
            await exhausted(EventStream(response))
        response.close()
        assert caught.value.kind is NetKind.TIMEOUT

    run(lambda _: stream(*repeated(400, b": ping\n\n", 0.01)), test)


def test_a_stale_connection_is_replaced_though_all_are_in_use() -> None:
    """At the limit a fresh connection takes the place of an idle one."""

    async def test(server: Loopback, client: Client) -> None:
        small = Client(ALLOWED, max_connections=2)
        await asyncio.gather(*(ask(small, at(server)) for _ in range(2)))
        broken.append(1)
        assert (await asyncio.wait_for(ask(small, at(server, resend=True)), 5))[0] == 200
        await small.close()

    broken: list[int] = []

    def handler(_: Asked) -> Answer:
        if broken == [1]:
            broken.append(2)
            return Answer([CLOSE], raw=True)
        return Answer([0.05, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"], raw=True)

    run(handler, test)


def test_events_hold_off_the_idle_limit() -> None:
    async def test(server: Loopback, client: Client) -> None:
        response = await client.send(at(server, timeouts=Timeouts(idle=0.5)))
        events = EventStream(response)
        count = 0
        while (batch := await events.batch()) is not None:
            count += len(batch)
        response.close()
        assert count == 40

    run(lambda _: stream(*repeated(40, b"data: 1\n\n", 0.02)), test)


def test_work_on_what_came_is_not_silence() -> None:
    async def test(server: Loopback, client: Client) -> None:
        response = await client.send(at(server, timeouts=Timeouts(idle=0.05)))
        events = EventStream(response)
        await events.batch()
        await asyncio.sleep(0.2)
        assert [event.data for event in await events.batch() or []] == [b"2"]
        response.close()

    run(lambda _: stream(b"data: 1\n\n", 0.02, b"data: 2\n\n"), test)


def test_a_slow_reader_stops_the_sender() -> None:
    """What is not read is not held in memory without limit."""

    async def test(server: Loopback, client: Client) -> None:
        response = await client.send(at(server, max_bytes=1 << 30))
        await response.chunk()
        tracemalloc.start()
        await asyncio.sleep(0.1)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
        tracemalloc.stop()
        size = 0
        while (data := await response.chunk()) is not None:
            size += len(data)
        response.close()
        assert size > 15 << 20

    block = bytes(1 << 16)
    run(lambda _: stream(*repeated(256, block)), test)


def test_cancelling_closes_the_request() -> None:
    async def test(server: Loopback, client: Client) -> None:
        task = asyncio.create_task(ask(client, at(server)))
        while not server.asked:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.broken.wait(), 5)

    run(lambda _: Answer([30.0], raw=True), test)


def test_cancelling_within_a_stream_closes_it() -> None:
    async def test(server: Loopback, client: Client) -> None:
        task = asyncio.create_task(ask(client, at(server)))
        while not server.asked:
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.broken.wait(), 5)

    run(lambda _: stream(b"data: 1\n\n", 30.0), test)


def test_a_connection_closed_while_idle_is_replaced_once() -> None:
    """A stale connection: the request is sent once more, because nothing came and it may be."""

    async def test(server: Loopback, client: Client) -> None:
        for _ in range(5):
            assert (await ask(client, at(server, resend=True)))[0] == 200
        assert len(server.asked) == 5

    closing = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
    run(lambda _: Answer([closing, CLOSE], raw=True), test)


def test_a_request_with_an_effect_is_never_sent_twice() -> None:
    """The server takes the second request on the connection and closes it without a word: with an effect that stays open."""

    answers = iter([whole(b"ok"), Answer([CLOSE], raw=True)])

    async def test(server: Loopback, client: Client) -> None:
        assert (await ask(client, at(server)))[0] == 200
        problem = await failing(NetKind.DISCONNECTED, sent=True, received=False)(at(server), client)
        assert "closed the connection" in problem.message
        assert len(server.asked) == 2

    run(lambda _: next(answers), test)


@pytest.mark.parametrize("rested", [0.0, 3600.0])
def test_a_connection_that_ended_while_the_loop_was_held_up_is_not_used_again(
    monkeypatch: pytest.MonkeyPatch, rested: float
) -> None:
    """A request with an effect: on the old connection nobody could tell whether it was carried out (K26)."""
    monkeypatch.setattr("ael.net.pool.RESTED_SECONDS", rested)
    closed = threading.Event()

    def serve(listening: socket.socket) -> None:
        for _ in range(2):
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
            closed.set()

    async def test(address: str) -> None:
        client = Client(ALLOWED)
        where = target(parse_endpoint(address, ALLOWED), "/x")
        assert await ask(client, where) == (200, b"ok")
        # The loop does not run meanwhile, as when code of the program's own holds it up.
        assert closed.wait(10)
        if rested:
            await failing(NetKind.DISCONNECTED, sent=True, received=False)(where, client)
        assert await ask(client, where) == (200, b"ok")
        await client.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = threading.Thread(target=serve, args=(listening,))
        serving.start()
        asyncio.run(test(f"http://127.0.0.1:{listening.getsockname()[1]}"))
        serving.join(10)


def test_a_new_connection_that_breaks_is_not_tried_again() -> None:
    async def test(server: Loopback, client: Client) -> None:
        await failing(NetKind.DISCONNECTED, received=False)(at(server, resend=True), client)
        assert len(server.asked) == 1

    run(lambda _: Answer([CLOSE], raw=True), test)


def test_a_break_after_the_first_byte_is_not_tried_again() -> None:
    async def test(server: Loopback, client: Client) -> None:
        await ask(client, at(server))
        partial.append(1)
        await failing(NetKind.DISCONNECTED, received=True)(at(server, resend=True), client)
        assert len(server.asked) == 2

    partial: list[int] = []
    run(lambda _: Answer([b"HTTP/1.1 2", CLOSE], raw=True) if partial else whole(b"ok"), test)


def test_a_stream_left_at_its_end_gives_the_connection_back() -> None:
    async def test(server: Loopback, client: Client) -> None:
        for _ in range(10):
            response = await client.send(at(server))
            events = EventStream(response)
            assert await events.batch()
            response.close(drain=True)
            await asyncio.sleep(0.01)
        assert server.connections == 1

    run(lambda _: stream(b"data: [DONE]\n\n"), test)


def test_a_stream_left_in_the_middle_closes_the_connection() -> None:
    async def test(server: Loopback, client: Client) -> None:
        response = await client.send(at(server))
        assert await EventStream(response).batch()
        response.close()
        await asyncio.wait_for(server.broken.wait(), 5)

    run(lambda _: stream(b"data: 1\n\n", 30.0), test)


def test_two_event_loops_in_one_process_both_work() -> None:
    """K40: a client that outlives a loop, closed or not."""
    client = Client(ALLOWED)

    async def main() -> None:
        async with Loopback(lambda _: whole(b"ok")) as server:
            for _ in range(3):
                assert (await ask(client, at(server)))[0] == 200

    asyncio.run(main())
    asyncio.run(main())


def test_a_fork_after_use_works() -> None:
    """K40: the child has connections of its own."""
    client = Client(ALLOWED)

    async def main() -> int:
        async with Loopback(lambda _: whole(b"ok")) as server:
            status, _ = await ask(client, at(server))
            await client.close()
            return status

    assert asyncio.run(main()) == 200
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if asyncio.run(main()) == 200 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_no_connection_or_task_is_left_over_200_cycles() -> None:
    """Good answers, broken ones, refused ones and cancelled ones, in turn."""
    answers = [
        whole(b"ok"),
        Answer([CLOSE], raw=True),
        stream(b"data: 1\n\n", 30.0),
        Answer([b"garbage\r\n\r\n"], raw=True),
        stream(b"data: 1\n\n", keep=False),
    ]

    async def test(server: Loopback, client: Client) -> None:
        for cycle in range(200):
            try:
                async with asyncio.timeout(0.02 if cycle % 5 == 2 else 10):
                    await ask(client, at(server))
            except (NetError, TimeoutError):
                pass
        assert client.open_connections <= 2
        assert len(asyncio.all_tasks()) <= 4
        await client.close()
        for _ in range(100):
            if server.closed == server.connections:
                break
            await asyncio.sleep(0.01)
        assert server.closed == server.connections

    counter = iter(range(10_000))
    run(lambda _: answers[next(counter) % 5], test)


def test_more_requests_than_connections_wait_their_turn() -> None:
    async def test(server: Loopback, client: Client) -> None:
        small = Client(ALLOWED, max_connections=3)
        results = await asyncio.gather(*(ask(small, at(server)) for _ in range(40)))
        assert [status for status, _ in results] == [200] * 40
        assert server.connections <= 3
        await small.close()

    run(lambda _: whole(b"ok"), test)


def test_a_wait_for_a_connection_ends_with_the_deadline() -> None:
    async def test(server: Loopback, client: Client) -> None:
        small = Client(ALLOWED, max_connections=1)
        first = asyncio.create_task(ask(small, at(server)))
        while not server.asked:
            await asyncio.sleep(0.005)
        with pytest.raises(NetError) as caught:
            await ask(small, at(server), deadline=0.05)
        assert caught.value.kind is NetKind.TIMEOUT
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await small.close()

    run(lambda _: Answer([30.0], raw=True), test)
