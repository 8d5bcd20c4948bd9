"""The HTTP client against a real server over loopback."""

from __future__ import annotations

import asyncio
import gzip
import os
import ssl
import tracemalloc
import zlib
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from ael.net.address import parse_endpoint, rules
from ael.net.client import Client, Target, Timeouts, header_line, target
from ael.net.failure import NetError, NetKind
from ael.net.sse import EventStream
from ael.types.value import Secret
from tests.net.loopback import CLOSE, Answer, Asked, Loopback, stream, whole

ALLOWED = rules(["127.0.0.1"])


def at(server: Loopback, path: str = "/x", **options: Any) -> Target:
    return target(parse_endpoint(server.url, ALLOWED), path, **options)


async def ask(client: Client, where: Target, body: bytes = b"{}", **options: Any) -> tuple[int, bytes]:
    response = await client.send(where, (body,), **options)
    try:
        return response.status, await response.read()
    finally:
        response.close()


async def exhausted(events: EventStream) -> None:
    while await events.batch() is not None:
        pass


def run(handler: Callable[[Asked], Answer], test: Callable[[Loopback, Client], Coroutine[Any, Any, None]]) -> None:
    """Run a test, and see that it leaves neither a task nor a connection."""

    async def main() -> None:
        async with Loopback(handler) as server:
            client = Client(ALLOWED)
            await test(server, client)
            await client.close()
            assert client.open_connections == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def failing(kind: NetKind, **facts: bool) -> Callable[[Target, Client], Coroutine[Any, Any, NetError]]:
    async def check(where: Target, client: Client) -> NetError:
        with pytest.raises(NetError) as caught:
            await ask(client, where)
        assert caught.value.kind is kind
        for name, value in facts.items():
            assert getattr(caught.value, name) is value
        return caught.value

    return check


def test_a_request_arrives_as_it_was_made() -> None:
    async def test(server: Loopback, client: Client) -> None:
        where = at(server, "/v1/x", headers={"Authorization": Secret("KEY", "abc"), "x-a": " b "})
        assert await ask(client, where, b"body", headers=[header_line("idempotency-key", "k1")]) == (200, b"ok")
        (asked,) = server.asked
        assert (asked.method, asked.path, asked.body) == ("POST", "/v1/x", b"body")
        assert asked.headers["authorization"] == "abc"
        assert asked.headers["x-a"] == "b"
        assert asked.headers["idempotency-key"] == "k1"
        assert asked.headers["host"] == f"127.0.0.1:{server.port}"

    run(lambda _: whole(b"ok"), test)


def test_connections_are_used_again() -> None:
    async def test(server: Loopback, client: Client) -> None:
        for _ in range(20):
            await ask(client, at(server))
        assert server.connections == 1

    run(lambda _: whole(b"ok"), test)


@pytest.mark.parametrize(
    "pieces",
    [
        [b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"],
        [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\n\r\nhel", b"lo", CLOSE],
        [b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"],
        [*(bytes([byte]) for byte in b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")],
    ],
)
def test_every_framing_of_a_body(pieces: list[bytes]) -> None:
    async def test(server: Loopback, client: Client) -> None:
        assert await ask(client, at(server)) == (200, b"hello")

    run(lambda _: Answer(pieces, raw=True), test)


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!",
        b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    ],
)
def test_an_answer_that_is_not_clean_http_is_malformed(raw: bytes) -> None:
    async def test(server: Loopback, client: Client) -> None:
        await failing(NetKind.MALFORMED)(at(server), client)

    run(lambda _: Answer([raw], raw=True), test)


def test_an_answer_nobody_asked_for_is_never_the_next_answer() -> None:
    """A second answer behind the first closes the connection; the next request gets its own."""

    async def test(server: Loopback, client: Client) -> None:
        where = at(server)
        assert await ask(client, where) == (200, b"first")
        answered.append(1)
        assert await ask(client, where) == (200, b"right")
        assert server.connections == 2

    answered: list[int] = []
    two = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfirst" + b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nwrong"
    run(lambda _: whole(b"right") if answered else Answer([two], raw=True), test)


def test_headers_without_end_are_too_large() -> None:
    async def test(server: Loopback, client: Client) -> None:
        await failing(NetKind.TOO_LARGE)(at(server), client)

    run(lambda _: Answer([b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 400_000], raw=True), test)


def test_a_body_over_its_cap_is_too_large() -> None:
    async def test(server: Loopback, client: Client) -> None:
        await failing(NetKind.TOO_LARGE)(at(server, max_bytes=1000), client)

    run(lambda _: whole(b"x" * 1001), test)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "x-gzip"])
def test_a_compressed_body_is_unpacked(encoding: str) -> None:
    body = b"hello " * 1000
    packed = zlib.compress(body) if encoding == "deflate" else gzip.compress(body)

    async def test(server: Loopback, client: Client) -> None:
        assert await ask(client, at(server, compressed=True)) == (200, body)
        assert server.asked[0].headers["accept-encoding"] == "gzip, deflate"

    run(lambda _: whole(packed, content_encoding=encoding), test)


def test_a_compressed_bomb_stops_at_the_cap_in_flat_memory() -> None:
    """K42: 64 KiB that unpack to 64 MiB, a thousand times as much."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = b"".join([packer.compress(bytes(1 << 20)) for _ in range(64)]) + packer.flush()

    async def test(server: Loopback, client: Client) -> None:
        where = at(server, max_bytes=1 << 20)
        tracemalloc.start()
        await failing(NetKind.TOO_LARGE)(where, client)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
        tracemalloc.stop()

    run(lambda _: whole(packed, content_encoding="gzip"), test)


@pytest.mark.parametrize("packed", [b"not gzip at all", gzip.compress(b"hello")[:-6], gzip.compress(b"hello") + b"more"])
def test_damaged_compression_is_malformed(packed: bytes) -> None:
    async def test(server: Loopback, client: Client) -> None:
        await failing(NetKind.MALFORMED)(at(server), client)

    run(lambda _: whole(packed, content_encoding="gzip"), test)


def test_a_compression_nobody_asked_for_is_malformed() -> None:
    async def test(server: Loopback, client: Client) -> None:
        await failing(NetKind.MALFORMED)(at(server), client)

    run(lambda _: whole(b"xx", content_encoding="br"), test)


def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    """K42: 302 to loopback; the secret goes nowhere else."""

    async def test(server: Loopback, client: Client) -> None:
        where = at(server, headers={"x-key": Secret("KEY", "topsecret")})
        assert (await ask(client, where))[0] == 302
        assert len(server.asked) == 1

    run(lambda _: whole(b"", status=302, location="http://127.0.0.1:1/steal"), test)


def test_an_unreachable_server_is_told() -> None:
    async def test(server: Loopback, client: Client) -> None:
        where = target(parse_endpoint("http://127.0.0.1:1", ALLOWED), "/")
        problem = await failing(NetKind.UNREACHABLE, sent=False, received=False)(where, client)
        assert "127.0.0.1:1" in str(problem)

    run(lambda _: whole(b""), test)


def test_a_name_is_checked_after_it_is_resolved() -> None:
    """K42: `localhost` is a public-looking name for a private address."""

    async def test(server: Loopback, client: Client) -> None:
        where = target(parse_endpoint(f"https://localhost:{server.port}", rules([])), "/")
        await failing(NetKind.ADDRESS, sent=False)(where, Client(rules([])))
        listed = rules(["localhost"])
        assert (await ask(other := Client(listed), target(parse_endpoint(f"http://localhost:{server.port}", listed), "/")))[
            0
        ] == 200
        await other.close()
        assert len(server.asked) == 1

    run(lambda _: whole(b"ok"), test)


def test_tls_proves_who_the_server_is() -> None:
    """A certificate that nobody vouches for, one for another name, and a good one."""
    certificate = Path(__file__).with_name("loopback.pem")

    async def main() -> None:
        own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        own.load_cert_chain(certificate)
        trusting = ssl.create_default_context(cafile=str(certificate))
        async with Loopback(lambda _: whole(b"ok"), own) as server:
            listed = rules(["127.0.0.1", "localhost"])
            for host, context, good in (
                ("localhost", None, False),
                ("127.0.0.1", trusting, False),
                ("localhost", trusting, True),
            ):
                client = Client(listed, tls=context)
                where = target(parse_endpoint(f"https://{host}:{server.port}", listed), "/")
                if good:
                    assert await ask(client, where) == (200, b"ok")
                    assert await ask(client, where) == (200, b"ok")
                else:
                    problem = await failing(NetKind.TLS, sent=False)(where, client)
                    assert "did not prove who it is" in problem.message
                await client.close()
            assert len(server.asked) == 2

    asyncio.run(main())


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

    run(lambda _: stream(*[b"x", 0.01] * 1000), test)


def test_keep_alives_do_not_hold_off_the_idle_limit() -> None:
    """K35: only comments and pings come, for ever."""

    async def test(server: Loopback, client: Client) -> None:
        response = await client.send(at(server, timeouts=Timeouts(idle=0.1)))
        events = EventStream(response)
        with pytest.raises(NetError) as caught:
            await exhausted(events)
        response.close()
        assert caught.value.kind is NetKind.TIMEOUT

    run(lambda _: stream(b"data: 1\n\n", *[b": ping\n\n", 0.01, b"event: ping\ndata: {}\n\n", 0.01] * 400), test)


def test_events_hold_off_the_idle_limit() -> None:
    async def test(server: Loopback, client: Client) -> None:
        response = await client.send(at(server, timeouts=Timeouts(idle=0.5)))
        events = EventStream(response)
        count = 0
        while (batch := await events.batch()) is not None:
            count += len(batch)
        response.close()
        assert count == 40

    run(lambda _: stream(*[b"data: 1\n\n", 0.02] * 40), test)


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
    run(lambda _: stream(*[block] * 256), test)


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

    def handler(asked: Asked) -> Answer:
        return whole(b"ok") if len(server_asked) % 2 == 0 and not server_asked.append(1) else Answer([CLOSE], raw=True)

    server_asked: list[int] = []

    async def test(server: Loopback, client: Client) -> None:
        assert (await ask(client, at(server)))[0] == 200
        problem = await failing(NetKind.DISCONNECTED, sent=True, received=False)(at(server), client)
        assert "closed the connection" in problem.message
        assert len(server.asked) == 2

    run(handler, test)


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


def test_a_body_cut_short_is_a_disconnection() -> None:
    async def test(server: Loopback, client: Client) -> None:
        await failing(NetKind.DISCONNECTED, received=True)(at(server), client)

    run(lambda _: Answer([b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", CLOSE], raw=True), test)


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


def test_secrets_are_masked_in_errors() -> None:
    """K41: a secret that is part of a host or of what a server sends back."""

    async def test(server: Loopback, client: Client) -> None:
        masking = Client(rules(["s3cr3t-token.invalid"]), secrets=[Secret("KEY", "s3cr3t-token")])
        where = target(parse_endpoint("https://s3cr3t-token.invalid", rules([])), "/")
        with pytest.raises(NetError) as caught:
            await ask(masking, where)
        assert "s3cr3t" not in str(caught.value) + caught.value.message
        await masking.close()

    run(lambda _: whole(b""), test)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x y", "1"),
        ("", "1"),
        ("x:", "1"),
        ("Host", "evil"),
        ("content-length", "0"),
        ("x", "a\r\nb: c"),
        ("x", "a\nb"),
        ("x", "\x00"),
        ("x", "€"),
    ],
)
def test_a_header_cannot_break_out(name: str, value: str) -> None:
    with pytest.raises(ValueError, match="header") as caught:
        header_line(name, value)
    if value:
        assert "a\r\nb" not in str(caught.value)
