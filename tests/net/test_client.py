"""The HTTP client against a real server over loopback."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import tracemalloc
import zlib
from pathlib import Path

import pytest

from ael.net.address import parse_endpoint, rules
from ael.net.client import Client, header_line, target
from ael.net.failure import NetError, NetKind
from ael.types.value import Secret
from tests.net.loopback import CLOSE, Answer, Loopback, whole
from tests.net.support import ALLOWED, ask, at, failing, run


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
    packed = zlib.compress(body) if encoding == "deflate" else gzip.compress(body, mtime=0)

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


@pytest.mark.parametrize(
    "packed", [b"not gzip at all", gzip.compress(b"hello", mtime=0)[:-6], gzip.compress(b"hello", mtime=0) + b"more"]
)
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
        other = Client(listed)
        assert await ask(other, target(parse_endpoint(f"http://localhost:{server.port}", listed), "/")) == (200, b"ok")
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


def test_a_body_cut_short_is_a_disconnection() -> None:
    async def test(server: Loopback, client: Client) -> None:
        await failing(NetKind.DISCONNECTED, received=True)(at(server), client)

    run(lambda _: Answer([b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", CLOSE], raw=True), test)


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
