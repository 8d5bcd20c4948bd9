"""Where requests may go and what goes with them (features A9.13, A9.17, A9.8; fault kind K42)."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ael.mcp.endpoint import HttpEndpoint
from ael.mcp.failure import McpError
from ael.mcp.session import SessionLimits, open_session
from ael.mcp.web import retry_after
from ael.types.fault import FaultKind
from ael.types.value import Secret
from tests.mcp.http_peer import Asked, HttpPeer, Out
from tests.mcp.mcp_peer import HOSTS, McpPeer, endpoint, error, result, text
from tests.mcp.support import Heard, call, failing, opened, run, served, texts

KEY = "very-secret-key-value"


@pytest.mark.feature("A9.13")
@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "10.0.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.200", "0.0.0.0"),
        *("[::1]", "[::ffff:127.0.0.1]", "[fe80::1]", "[fd00:ec2::254]", "[64:ff9b::7f00:1]"),
        *("2130706433", "0177.0.0.1", "127.1", "0x7f.1", "0x7f000001"),
    ],
)
def test_private_and_odd_addresses_are_refused_unless_the_deployment_lists_them(host: str) -> None:
    async def test() -> None:
        where = HttpEndpoint(f"https://{host}:1/mcp")
        await failing(open_session(where, Heard()), FaultKind.DENIED, sent=False)

    run(test())


@pytest.mark.feature("A9.17")
@pytest.mark.parametrize(
    "url",
    [
        *("http://example.com/mcp", "https://user:pass@example.com/mcp", "ftp://example.com"),
        *("https://example.com/#x", "https:///mcp", "no url"),
    ],
)
def test_plain_http_and_credentials_in_a_url_are_refused(url: str) -> None:
    async def test() -> None:
        problem = await failing(open_session(HttpEndpoint(url), Heard()), FaultKind.DENIED, sent=False)
        assert "pass" not in problem.message.replace("password", "")

    run(test())


@pytest.mark.feature("A9.13")
def test_a_listed_loopback_host_is_reached() -> None:
    async def test() -> None:
        async with served(McpPeer()) as (session, _):
            assert texts(await call(session)) == ["ok"]

    run(test())


@pytest.mark.feature("A9.13")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "to",
    [
        *("http://127.0.0.1:1/mcp", "https://127.0.0.1/mcp", "http://169.254.169.254/latest"),
        *("file:///etc/passwd", "//evil.example/", ""),
    ],
)
def test_a_redirect_to_another_place_is_denied_and_takes_nothing_along(status: int, to: str) -> None:
    async def away(asked: Asked, out: Out) -> None:
        await out.reply(status, location=to)

    async def test() -> None:
        peer = McpPeer()
        async with served(peer) as (session, http):
            peer.on["tools/call"] = away
            problem = await failing(call(session), FaultKind.DENIED, sent=status == 303)
            assert problem.status == status
            assert "evil" not in problem.message
            assert http.methods().count("tools/call") == 1

    run(test())


def test_a_redirect_never_takes_a_header_to_another_server() -> None:
    async def test() -> None:
        async with HttpPeer(McpPeer()) as other:

            async def away(asked: Asked, out: Out) -> None:
                await out.reply(307, location=other.url)

            async with HttpPeer(away) as peer:
                where = endpoint(peer, headers={"X-Key": Secret("K", KEY)})
                await failing(open_session(where, Heard()), FaultKind.DENIED)
            assert other.asked == []

    run(test())


def test_a_redirect_within_the_origin_that_keeps_the_method_is_followed() -> None:
    async def test() -> None:
        inner = McpPeer()

        async def respond(asked: Asked, out: Out) -> None:
            if asked.path == "/mcp":
                await out.reply(307, location="/mcp/")
            else:
                await inner(asked, out)

        async with served(respond) as (session, http):
            assert texts(await call(session)) == ["ok"]
            assert {asked.path for asked in http.asked} == {"/mcp", "/mcp/"}

        async def circle(asked: Asked, out: Out) -> None:
            await out.reply(308, location=asked.path)

        async with HttpPeer(circle) as peer:
            await failing(open_session(endpoint(peer), Heard()), FaultKind.DENIED)

    run(test())


@pytest.mark.parametrize("path", ["", "/", "/mcp/", "/a/b?x=1"])
def test_the_path_is_asked_for_as_it_is_written(path: str) -> None:
    async def test() -> None:
        async with HttpPeer(McpPeer()) as peer:
            url = peer.url.removesuffix("/mcp") + path
            async with opened(HttpEndpoint(url, hosts=HOSTS)):
                assert {asked.path for asked in peer.asked} == {path or "/"}

    run(test())


# --- headers and credentials


class Tokens:
    """An authorizer: its tokens one after another, a new one where it was challenged."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)
        self.challenges: list[tuple[int, list[str]]] = []

    async def headers(self, deadline: float, *, method: str = "POST") -> Mapping[str, str | Secret]:
        assert deadline > 0
        assert method in ("POST", "GET", "DELETE")
        return {"Authorization": Secret("token", f"Bearer {self.tokens[0]}")}

    async def challenged(
        self,
        status: int,
        challenges: Sequence[str],
        deadline: float,
        *,
        sent: Mapping[str, str | Secret] | None = None,
        nonce: str = "",
    ) -> bool:
        assert sent is not None
        assert [value.reveal() for value in sent.values() if isinstance(value, Secret)] == [f"Bearer {self.tokens[0]}"]
        self.challenges.append((status, list(challenges)))
        if len(self.tokens) == 1:
            return False
        self.tokens.pop(0)
        return True


def guarded(token: str) -> McpPeer:
    """A server that wants a token."""
    peer = McpPeer()

    class Guarded(McpPeer):
        async def __call__(self, asked: Asked, out: Out) -> None:
            if asked.headers.get("authorization") != f"Bearer {token}":
                await out.reply(401, b"", www_authenticate='Bearer realm="x"')
            else:
                await peer(asked, out)

    return Guarded()


def test_static_headers_and_the_credential_go_with_every_request() -> None:
    async def test() -> None:
        peer = McpPeer(session="s-1")
        async with HttpPeer(peer) as http:
            where = endpoint(http, headers={"X-Key": Secret("K", KEY), "X-Plain": "plain"}, authorizer=Tokens("token-one"))
            async with opened(where) as session:
                await call(session)
            assert {asked.method for asked in http.asked} == {"POST", "GET", "DELETE"}
            for asked in http.asked:
                assert asked.headers["x-key"] == KEY
                assert asked.headers["x-plain"] == "plain"
                assert asked.headers["authorization"] == "Bearer token-one"

    run(test())


@pytest.mark.feature("A9.8")
def test_a_request_answered_401_is_sent_once_more_with_a_new_credential() -> None:
    async def test() -> None:
        tokens = Tokens("token-old", "token-new")
        async with HttpPeer(guarded("token-new")) as http:
            async with opened(endpoint(http, authorizer=tokens)) as session:
                assert texts(await call(session)) == ["ok"]
            assert tokens.challenges == [(401, ['Bearer realm="x"'])]
            assert http.methods().count("server/discover") == 2
            assert http.methods().count("tools/call") == 1

    run(test())


def test_a_call_that_no_credential_gets_through_is_denied_and_was_not_carried_out() -> None:
    async def test() -> None:
        tokens = Tokens("token-good", "token-bad", "token-worse")
        async with HttpPeer(guarded("token-good")) as http, opened(endpoint(http, authorizer=tokens)) as session:
            tokens.tokens.pop(0)
            problem = await failing(call(session), FaultKind.DENIED, sent=False)
            assert problem.status == 401
            assert http.methods().count("tools/call") == 2
            assert len(tokens.challenges) == 2

    run(test())


def test_what_the_authorizer_raises_passes_on() -> None:
    class Broken(Tokens):
        async def headers(self, deadline: float, *, method: str = "POST") -> Mapping[str, str | Secret]:
            raise McpError(FaultKind.DENIED, "no token to be had")

    async def test() -> None:
        async with HttpPeer(McpPeer()) as http:
            problem = await failing(open_session(endpoint(http, authorizer=Broken("x")), Heard()), FaultKind.DENIED)
            assert problem.message == "no token to be had"

    run(test())


@pytest.mark.parametrize("where", ["page", "error", "log", "progress", "media"])
def test_no_credential_comes_back_in_a_text(where: str) -> None:
    """A server, or a proxy before it, quotes the request's headers."""
    quoted = f"you sent X-Key: {KEY} and Authorization: Bearer token-one"

    async def answer(asked: Asked, out: Out) -> None:
        match where:
            case "page":
                await out.reply(502, quoted.encode(), "text/plain")
            case "media":
                await out.reply(200, b"x", f"text/{KEY}")
            case "error":
                await out.reply(200, error(asked, -32000, quoted))
            case "log":
                await out.stream()
                await out.event(
                    {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": quoted}}
                )
            case _:
                await out.stream()
                token = asked.message["params"]["_meta"]["progressToken"]  # type: ignore[index]
                told = {"progressToken": token, "progress": 1, "message": quoted}
                await out.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})
                await out.event(result(asked, text("ok")))

    async def test() -> None:
        heard = Heard()
        said: list[str] = []
        peer = McpPeer()
        peer.on["tools/call"] = answer
        async with HttpPeer(peer) as http:
            where_to = endpoint(http, headers={"X-Key": Secret("K", KEY)}, authorizer=Tokens("token-one"))
            async with opened(where_to, heard) as session:
                try:
                    await call(session, on_progress=lambda _a, _b, message: said.append(message))
                except McpError as problem:
                    said.append(problem.message)
                if where == "log":
                    await heard.something.wait()
                    said += [line for _, line in heard.lines]
        found = " ".join(said)
        assert "[secret]" in found
        assert KEY not in found
        assert "token-one" not in found

    run(test())


def test_a_header_that_http_cannot_carry_is_denied_without_its_value() -> None:
    async def test() -> None:
        async with HttpPeer(McpPeer()) as http:
            where = endpoint(http, headers={"X-Key": Secret("K", "two\r\nlines-secret")})
            problem = await failing(open_session(where, Heard()), FaultKind.DENIED, sent=False)
            assert "lines-secret" not in problem.message
            assert http.asked == []

    run(test())


def test_the_time_that_a_credential_takes_is_no_silence_of_the_server() -> None:
    class Slow(Tokens):
        async def headers(self, deadline: float, *, method: str = "POST") -> Mapping[str, str | Secret]:
            await asyncio.sleep(0.25)
            return await super().headers(deadline, method=method)

        async def challenged(self, status: int, challenges: Sequence[str], deadline: float, **more: Any) -> bool:
            await asyncio.sleep(0.25)
            return await super().challenged(status, challenges, deadline, **more)

    async def test() -> None:
        async with HttpPeer(guarded("token-new")) as http:
            slow = Slow("token-old", "token-new")
            async with opened(endpoint(http, authorizer=slow), limits=SessionLimits(probe=0.2)) as session:
                assert texts(await call(session, idle=0.2)) == ["ok"]

    run(test())


@pytest.mark.feature("A9.13")
@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:127.0.0.1"])
def test_a_name_that_stands_for_a_private_address_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """K42: rebinding. The address is looked at after the name was looked up, and what was looked at is connected to."""

    async def test() -> None:
        loop = asyncio.get_running_loop()

        async def look_up(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            return [(family, socket.SOCK_STREAM, 6, "", (address, port))]

        monkeypatch.setattr(loop, "getaddrinfo", look_up)
        problem = await failing(open_session(HttpEndpoint("https://public.example/mcp"), Heard()), FaultKind.DENIED, sent=False)
        assert "public.example" in problem.message

    run(test())


def test_retry_after_is_read_as_seconds_or_as_a_time() -> None:
    now, later = "Mon, 30 Nov 2026 03:00:00 GMT", "Mon, 30 Nov 2026 03:01:30 GMT"
    assert retry_after("12", "") == 12.0
    assert retry_after(later, now) == 90.0
    assert retry_after(now, later) == 0.0
    for nothing in ("", "soon", "-1", "1e9", "9" * 30, "٣"):
        assert retry_after(nothing, now) is None
    assert retry_after(later, "") is None
