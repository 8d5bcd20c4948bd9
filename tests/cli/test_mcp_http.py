"""`ael mcp` against a server over HTTP: credentials, listed hosts, redirects, what is no server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.cli.conftest import Ael
from tests.cli.mcp_desk import MAIN, STATE
from tests.cli.mcp_server import answer

TOKEN = "tok-0123456789abcdef"
FILE = '{"path": "a.txt"}'


@dataclass
class Web:
    """A server on a loopback port: `state` as for the little server; `token` is asked for, where there is one."""

    port: int = 0
    state: dict[str, object] = field(default_factory=lambda: dict(STATE))
    token: str | None = None
    page: tuple[int, dict[str, str], bytes] | None = None
    """Another answer to everything: status, headers, body."""
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """Methods and headers that came."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"


@pytest.fixture
def web() -> Iterator[Web]:
    """A running server."""
    here = Web()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            self.give(405)

        do_DELETE = do_GET

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            message = json.loads(body)
            here.asked.append((str(message.get("method")), {k.lower(): v for k, v in self.headers.items()}))
            if here.page is not None:
                status, headers, data = here.page
                self.give(status, data, **headers)
            elif here.token is not None and self.headers.get("authorization") != f"Bearer {here.token}":
                self.give(401, b"who are you?")
            elif "id" not in message:
                self.give(202)
            else:
                result = answer(here.state, message["method"], message.get("params", {}))
                end = result if isinstance(result, dict) and set(result) == {"error"} else {"result": result}
                self.give(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], **end}).encode())

        def give(self, status: int, data: bytes = b"", **headers: str) -> None:
            self.send_response(status)
            for name, value in {"content-type": "application/json", "content-length": str(len(data)), **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(data)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        here.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield here
        server.shutdown()
        thread.join()


def bound(ael: Ael, line: str, *more: str) -> None:
    """Write the program, and a deployment with these lines."""
    ael.write({"main.ael": MAIN, "deploy.ael": "\n".join([line, *more, ""])})


@pytest.mark.feature("A9.1", "A9.10")
def test_the_whole_way_over_http(ael: Ael, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """No pack and no package is needed for a server over the network."""
    web.token = TOKEN
    monkeypatch.setenv("FILES_TOKEN", TOKEN)
    bound(ael, f'mcp files = http("{web.url}", bearer: secret("T"))', 'secret T = env("FILES_TOKEN")', 'host "127.0.0.1"')
    assert ael("mcp", "list").out.startswith(f"main.files: little 1.0, MCP 2025-11-25 (http {web.url})\n")
    assert ael("mcp", "pin").code == 0
    assert ael("mcp", "diff").code == 0
    assert ael("mcp", "call", "files.read_file", FILE).out == '{\n  "content": "hello"\n}\n'
    ran = ael("run", "main.ael")
    assert (ran.code, ran.out) == (0, '"hello"\n')
    assert {headers.get("authorization") for _, headers in web.asked} == {f"Bearer {TOKEN}"}


def test_a_wrong_credential_is_told_and_not_shown(ael: Ael, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fault kind K41."""
    web.token = "another"
    monkeypatch.setenv("FILES_TOKEN", TOKEN)
    line = f'mcp files = http("{web.url}", bearer: secret("T"))'
    bound(ael, line, 'secret T = env("FILES_TOKEN")', 'host "127.0.0.1"')
    ended = ael("mcp", "list")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"error[AEL0861]: the MCP server `files` cannot be reached (http {web.url}): Denied: ")
    assert TOKEN not in ended.err
    monkeypatch.delenv("FILES_TOKEN")
    missing = ael("mcp", "list")
    assert missing.code == 2
    assert "AEL0831" in missing.err
    bound(ael, line, 'host "127.0.0.1"')
    assert ael("mcp", "list").code == 2


@pytest.mark.feature("A9.13")
def test_a_private_address_has_to_be_listed(ael: Ael, web: Web) -> None:
    """Fault kind K42."""
    for url in (
        web.url,
        f"http://localhost:{web.port}/mcp",
        f"https://127.0.0.1:{web.port}/mcp",
        f"https://localhost:{web.port}/mcp",
    ):
        bound(ael, f'mcp files = http("{url}")')
        ended = ael("mcp", "list")
        assert ended.code in (1, 2)
        assert "AEL0861" in ended.err or "AEL0843" in ended.err
    assert web.asked == []


@pytest.mark.feature("A9.8")
@pytest.mark.parametrize(
    ("page", "kind"),
    [
        ((200, {"content_type": "text/html"}, b"<html>\x1b[2JWelcome</html>"), "Malformed"),
        ((502, {"content_type": "text/html"}, b"<html>bad gateway</html>"), "Unavailable"),
        ((302, {"location": "http://169.254.169.254/latest"}, b""), ""),
        ((200, {}, b'{"jsonrpc": "2.0", "id": 1, "result": NaN}'), "Malformed"),
        ((204, {}, b""), "Malformed"),
    ],
)
def test_what_is_no_server_is_told(ael: Ael, web: Web, page: tuple[int, dict[str, str], bytes], kind: str) -> None:
    """Fault kinds K24, K42."""
    web.page = page
    bound(ael, f'mcp files = http("{web.url}", connect: 5s)', 'host "127.0.0.1"')
    ended = ael("mcp", "list")
    assert (ended.code, ended.out) == (1, "")
    assert f"cannot be reached (http {web.url}): {kind}" in ended.err
    assert not {c for c in ended.err if c != "\n" and not c.isprintable()}
