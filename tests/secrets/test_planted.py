"""A planted secret is in no byte that leaves: no output, trace, page, journal, store, log, error, export or environment of a child (K41).

Every kind of secret is planted, and every side that is sent one gives it away as well as it can (`leaky.py`, `child.py`, `told.py`). Then
every byte that was written is looked at.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, quote_plus

import keyring
import pytest

from ael.cli import run as run_command
from tests.cli.conftest import Ael, ael
from tests.host.test_secrets import Kept
from tests.secrets.leaky import Leaky, leaking
from tests.secrets.planted import MAIN, PACK, PLANTED, TOLD, deployment

__all__ = ["ael", "run_command"]

IN_FILES = {"MCP": "mcp.key", "LOG": "log.key"}


def searched(value: str) -> set[bytes]:
    """What must be found nowhere, worked out without the code that masks."""
    data = value.encode()
    found = {
        value,
        json.dumps(value)[1:-1],
        quote(value, safe=""),
        quote(value),
        quote_plus(value),
        data.hex(),
        data.hex().upper(),
    }
    for pad in range(3):
        text = b64encode(b"x" * pad + data).decode().rstrip("=")
        whole = text[-(-pad * 4 // 3) + (1 if pad else 0) : len(text) - 2]
        found |= {whole, whole.replace("+", "-").replace("/", "_")}
    return {one.encode() for one in found}


FORMS = {form: name for name, value in PLANTED.items() for form in searched(value)}


def leaks(data: str | bytes) -> list[str]:
    """The secrets whose value, in any form, is in these bytes, with what stands around it."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return [f"{name}: …{raw[max(0, at - 60) : at + 40]!r}…" for form, name in FORMS.items() if (at := raw.find(form)) >= 0]


class Collector:
    """Takes traces, and keeps the bytes."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        self.headers: list[str] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                collector.got.append(gzip.decompress(data) if self.headers.get("Content-Encoding") == "gzip" else data)
                collector.headers.append(self.headers.get("x-api-key", ""))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Nothing is printed."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/v1/traces"


class World:
    """The program in a folder, its servers, and what they were asked."""

    def __init__(self, ael: Ael, leaky: Leaky, collector: Collector) -> None:
        self.ael, self.leaky, self.collector = ael, leaky, collector
        self.said: dict[str, str] = {}

    def __call__(self, *words: str, code: int | None = 0) -> str:
        """A command, whose output is looked at later."""
        ended = self.ael(*words)
        self.said[" ".join(words)] = ended.out + ended.err
        assert code is None or ended.code == code, ended.err + ended.out
        return ended.out

    def look(self) -> None:
        """At all that was printed, written and sent to the collector."""
        found = {command: told for command, text in self.said.items() if (told := leaks(text))}
        for path in self.ael.folder.parent.rglob("*"):
            if path.is_file() and path.suffix != ".key" and (told := leaks(path.read_bytes())):
                found[str(path)] = told
        for data in self.collector.got:
            if told := leaks(data):
                found["collector"] = told
        assert not found, "\n".join(f"{where}\n  " + "\n  ".join(told) for where, told in found.items())


@pytest.fixture
def world(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    before, ring = keyring.get_keyring(), Kept()
    keyring.set_keyring(ring)
    ring.set_password("desk", "child", PLANTED["CHILD"])
    for name in PLANTED.keys() - IN_FILES.keys() - {"CHILD"}:
        monkeypatch.setenv(name if name == "OPENAI_API_KEY" else f"PLANTED_{name}", PLANTED[name])
    sys.modules.pop("told", None)  # the module of the program of another test
    collector = Collector()
    with leaking() as leaky:
        made = World(ael, leaky, collector)
        ael.write(
            {
                "main.ael": MAIN,
                "pack.ael": PACK,
                "told.py": TOLD.read_text(),
                "deploy.ael": deployment(leaky.url, collector.url),
                **{file: PLANTED[name] for name, file in IN_FILES.items()},
            }
        )
        made("mcp", "pin")
        yield made
    collector.server.shutdown()
    collector.server.server_close()
    keyring.set_keyring(before)


def input_with_secrets() -> str:
    """What a careless caller sends."""
    return json.dumps({"q": " ".join(PLANTED.values())})


@pytest.mark.feature("A16.8", "K41")
def test_it_is_in_nothing_that_a_run_prints_keeps_or_sends(world: World) -> None:
    (world.ael.folder / "in.json.key").write_text(input_with_secrets())
    out = world("run", ".", "main", "--input", "in.json.key", "--trace", "--content")
    told = json.loads(out)
    for name in ("far", "far broken", "look", "typed", "broken", "child", "told", "raises", "model"):
        assert "***" in told[name], f"{name} was told nothing: {told[name][:300]}"
    assert {"tools/call look", "tools/call typed", "tools/call broken", "tools/call odd", "model"} <= set(world.leaky.asked)
    assert any(path.endswith("Look") for path in world.leaky.asked)
    world("run", ".", "main", "--input", "in.json.key", "--trace", "--content", "--json")
    world("run", ".", "main", "--q", "x", "--tenant", "acme", "--caller", "ann", "--json")
    world("run", ".", "fails", "--trace", "--content", code=1)
    world("run", ".", "fails", "--json", code=1)
    world.leaky.refuse = True
    world("run", ".", "ask", "--q", "x", "--trace", "--content", code=1)
    assert world.collector.got
    assert set(world.collector.headers) == {PLANTED["LOG"]}
    world.look()


@pytest.mark.feature("A16.8", "K41")
def test_it_is_in_nothing_that_is_shown_of_a_kept_run(world: World) -> None:
    (world.ael.folder / "in.json.key").write_text(input_with_secrets())
    world("run", ".", "main", "--q", "x", "--quiet")
    world("run", ".", "fails", "--quiet", code=1)
    world("run", ".", "main", "--input", "in.json.key", "--detach")
    world("worker", ".", "--once", code=None)
    rows = json.loads(world("runs", "list", "--format", "json"))
    world("runs", "list")
    for row in rows:
        run = str(row["run"])
        for form in ("text", "json"):
            world("runs", "show", run, "--format", form)
            world("trace", run, "--content", "--format", form)
        world("trace", run, "--content", "--format", "html", "--out", f"{run}.html")
        for number in range(1, 30):
            world("runs", "show", run, "--step", str(number), code=None)
            world("runs", "show", run, "--step", str(number), "--format", "json", code=None)
        world("runs", "diff", run, run, code=None)
        world("runs", "fork", run, "--at", "end", code=None)
        world("runs", "resume", run, code=None)
    world.look()


@pytest.mark.feature("A16.8", "K41")
def test_it_is_in_nothing_that_is_said_of_a_program_and_its_servers(world: World) -> None:
    given = '{"q":"a"} --yes'
    codes = {
        "check": 0, "deploy check": 0, "deploy check --format json": 0, "explain-access main": 0, "doctor": 0, "export openapi .": 0,
        "explain-access main --tenant acme --caller ann --json": 0, "preview . ask": 0, "preview . ask --json": 0, "mcp list": 0,
        "mcp list crm": 0, "mcp reconnect": 0, f"mcp call crm.look {given}": 0, f"mcp call crm.typed {given} --json": 0,
        f"mcp call crm.broken {given}": 1, f"mcp call crm.odd {given} --json": 1, "mcp call child.tell {} --yes": 0,
    }  # fmt: skip
    for words, code in codes.items():
        world(*words.split(" "), code=code)
    assert "tools/call look" in world.leaky.asked
    world.leaky.swap = True
    world("mcp", "list", "crm")
    world("mcp", "diff", code=1)
    refused = world.ael("mcp", "pin", "--yes")
    assert refused.code == 1
    assert "crm: tool look repeats a secret that its server is sent" in refused.err
    told = json.loads(world("run", ".", "main", "--q", "x", "--trace", "--content"))
    assert "so nothing was sent" in told["look"], "a tool whose definition changed is not called any more"
    world.look()


@pytest.mark.parametrize("name", sorted({"MODEL", "MCP", "CHILD", "SERVICE", "LOG"}))
@pytest.mark.feature("A16.8")
def test_a_secret_that_is_not_there_says_nothing_of_the_others(world: World, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    if name in IN_FILES:
        (world.ael.folder / IN_FILES[name]).unlink()
    elif name == "CHILD":
        keyring.delete_password("desk", "child")
    else:
        monkeypatch.delenv(f"PLANTED_{name}")
    world("run", ".", "main", "--q", "x", code=2)
    world("deploy", "check", code=None)
    world.look()


def asked(port: int, path: str, body: object = None, *, token: str | None, **headers: str) -> bytes:
    """What a server answers, whatever its status."""
    data = None if body is None else json.dumps(body).encode()
    given = {"content-type": "application/json", "accept": "application/json, text/event-stream", **headers}
    if token is not None:
        given["authorization"] = f"Bearer {token}"
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, given)
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return bytes(reply.read()) + str(reply.headers).encode()
    except urllib.error.HTTPError as refused:
        with refused:
            return bytes(refused.read()) + str(refused.headers).encode()


@pytest.mark.feature("A16.8", "K41")
def test_it_is_in_nothing_that_is_served_and_in_no_log_of_a_server(world: World) -> None:
    """A real process: its answers over two protocols, its events, its figures, its two outputs, and what it leaves behind."""
    folder = world.ael.folder
    (folder / "child.key").write_text(PLANTED["CHILD"])
    world.ael.write({"deploy.ael": deployment(world.leaky.url, world.collector.url, 'file("child.key")')})
    command = [sys.executable, "-m", "ael", "serve", "--connect", "--mcp", "--port", "0"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as server:
        assert server.stderr is not None
        lines: list[bytes] = []
        port = 0
        while port == 0:
            line = server.stderr.readline()
            assert line, b"".join(lines)
            lines.append(line)
            found = re.search(rb"127\.0\.0\.1:(\d+)", line)
            port = int(found[1]) if found is not None else 0
        rest: list[bytes] = []
        reading = threading.Thread(target=lambda: rest.extend(server.stderr or ()), daemon=True)
        reading.start()
        own = PLANTED["SERVE"]
        called = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "main", "arguments": {"q": "x"}}}
        answers = [
            asked(port, "/desk.Nodes/Main", {"q": PLANTED["MODEL"]}, token=own),
            asked(port, "/desk.Nodes/Fails", {}, token=own),
            asked(port, "/desk.Nodes/Main", {"q": 3}, token=own),
            asked(port, "/desk.Nodes/Main", {"q": "x"}, token=PLANTED["UNUSED"]),
            asked(port, "/desk.Nodes/Main", {"q": "x"}, token=None),
            asked(port, f"/{PLANTED['MODEL']}", {}, token=own),
            asked(port, "/mcp", called, token=own),
            asked(port, "/healthz", token=None),
            asked(port, "/metrics", token=own),
        ]
        server.send_signal(signal.SIGINT)
        assert server.stdout is not None
        out = server.stdout.read()
        server.wait(timeout=60)
        reading.join(timeout=60)
    assert b"***" in answers[0], answers[0].decode()
    assert b"something inside the program failed" in answers[1], answers[1].decode()
    world.said = {**world.said, **{f"answer {at}": answer.decode("latin-1") for at, answer in enumerate(answers)}}
    world.said["serve"] = (out + b"".join(lines) + b"".join(rest)).decode("latin-1")
    world.look()
