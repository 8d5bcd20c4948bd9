"""Public MCP servers from the registries: listed, pinned, checked, called from a node, over stdio and over HTTP (D4, A9.2, A9.10)."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ael.cli.main import main
from tests.external.real_servers import SERVERS, Listening, RealServer, Use, over_stdio, pack
from tests.ports import free_port

pytestmark = pytest.mark.timeout(400)


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = (
            b"<html><body><main><h1>Title</h1><p>This is a page of this machine, with some words on it.</p></main></body></html>"
        )
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""


@pytest.fixture
def page() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()
    thread.join(5)


def uses(folder: Path, server: RealServer, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole way of a user: list, pin, check, run; each tool gives what is expected of it."""
    where = str(folder / "main.ael")
    assert main(["mcp", "list", "--format", "json", where]) == 0, capsys.readouterr().err
    listed = capsys.readouterr().out
    assert all(wire(use) in listed for use in server.uses)
    assert main(["check", where]) == 2, "nothing is pinned yet"
    assert "AEL1203" in capsys.readouterr().err
    assert main(["mcp", "pin", "--yes", where]) == 0, capsys.readouterr().err
    capsys.readouterr()
    lock = json.loads((folder / "ael.lock").read_text())
    assert {wire(use) for use in server.uses} == set(lock["mcp"]["main.s"]["tools"])
    assert main(["check", where]) == 0, capsys.readouterr().err
    assert main(["mcp", "diff", where]) == 0
    capsys.readouterr()
    code = main(["run", where, "--trace", "--json", "--content"])
    told = capsys.readouterr()
    assert code == 0, told.err
    assert json.loads(told.out)["value"] == "done"
    spans = [json.loads(line) for line in told.err.splitlines() if line.startswith("{")]
    results = [span for span in spans if span["kind"] == "tool"]
    assert [span["outcome"] for span in results] == ["fault" if use.fails else "value" for use in server.uses], told.err
    for use, span in zip(server.uses, results, strict=True):
        given = span["content"]["error" if use.fails else "result"]
        assert use.expected in json.dumps(given, ensure_ascii=False)
        assert not use.fails or given["fault"] == "ToolFailed"


def wire(use: Use) -> str:
    """The name of the tool at its server."""
    words = use.declared.split()
    return words[3].strip('"') if words[2] == "as" else words[1]


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
@pytest.mark.feature("A9.2", "A9.3", "A9.10", "D4")
def test_over_stdio(server: RealServer, tmp_path: Path, page: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data").mkdir()
    if server.name == "git":
        subprocess.run(["git", "init", "-q", str(tmp_path / "data")], check=True)
    binding, lines = over_stdio(tmp_path, server)
    pack(tmp_path, server, binding, lines, page)
    uses(tmp_path, server, capsys)


@pytest.mark.parametrize(("name", "words", "kind", "path"), [
    ("everything", ["streamableHttp"], "http", "/mcp"),
    ("everything", ["sse"], "sse", "/sse"),
    ("pdf", [], "http", "/mcp"),
])  # fmt: skip
@pytest.mark.feature("A9.2", "A9.10")
def test_over_the_network(
    name: str, words: list[str], kind: str, path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = next(server for server in SERVERS if server.name == name)
    with Listening(name, words, free_port()) as listening:
        pack(tmp_path, server, f'{kind}("http://localhost:{listening.port}{path}")', [f'host "localhost:{listening.port}"'])
        uses(tmp_path, server, capsys)
