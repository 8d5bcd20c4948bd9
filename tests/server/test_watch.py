"""`ael serve --watch`: a change is served to new calls, calls under way end as they began, and nobody is turned away."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from ael.cli.main import main
from tests.ports import free_port
from tests.programs import write

MAIN = """permission world.wait

/// Wait until told to go on. Call it once.
tool hold(name: String) -> String
  needs world.wait
  repeat idempotent
  timeout 60s
  extern "outside:hold"

pub node quick() -> String {
  "VERSION"
}

pub node slow(name: String) -> String
  grants world.wait
{
  let held = hold(name)
  "VERSION ${held}"
}
"""
OUTSIDE = """import time
from pathlib import Path


def hold(name):
    Path(name + ".began").touch()
    while not Path(name + ".go").exists():
        time.sleep(0.02)
    return "WORD"
"""
PACK = 'pack shop {\n  version "1.0.0"\n  uses server/connect\n  extern "outside"\n}\n'


def until(done: Callable[[], bool]) -> None:
    for _ in range(3_000):
        if done():
            return
        time.sleep(0.02)
    raise AssertionError("it never came")


class Server:
    """`ael serve --watch` in a process, its lines on standard error read as they come."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ael", "serve", str(folder), "--port", "0", "--watch", *words],
            stderr=subprocess.PIPE, text=True, cwd=folder, env={**os.environ, "AEL_CACHE": str(folder / ".cache")},
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        until(lambda: self.listening(1) or self.process.poll() is not None)
        self.port = int(re.findall(r"listening on http://127\.0\.0\.1:(\d+)", self.text)[0])

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr:
            for line in self.process.stderr:
                self.lines.append(line)

    def end(self) -> None:
        """Interrupt it as the keyboard does, and wait for its last word."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        self._reader.join(60)

    @property
    def text(self) -> str:
        return "".join(self.lines)

    def listening(self, times: int) -> bool:
        """Whether so many processes have said that they take calls."""
        return self.text.count("listening on") >= times

    def call(self, node: str, **given: str) -> str:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/shop.Nodes/{node}", json.dumps(given).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return str(json.loads(answer.read())["result"])

    def later(self, node: str, **given: str) -> Future[str]:
        """The same in a thread."""
        found: Future[str] = Future()
        threading.Thread(target=lambda: found.set_result(self.call(node, **given)), daemon=True).start()
        return found


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[Server]:
    server = Server(folder, *words)
    try:
        yield server
    finally:
        server.end()


def files(version: str, word: str = "held") -> dict[str, str]:
    return {"main.ael": MAIN.replace("VERSION", version), "outside.py": OUTSIDE.replace("WORD", word), "pack.ael": PACK}


@pytest.mark.feature("B24")
def test_new_calls_see_the_new_program_and_calls_under_way_the_old_one(tmp_path: Path) -> None:
    write(tmp_path, files("one"))
    with serving(tmp_path) as server:
        assert server.call("Quick") == "one"
        first = server.later("Slow", name="first")
        until((tmp_path / "first.began").exists)
        write(tmp_path, files("two", "kept"))
        until(lambda: server.listening(2))
        until(lambda: server.call("Quick") == "two")
        second = server.later("Slow", name="second")
        until((tmp_path / "second.began").exists)
        for name in ("first", "second"):
            (tmp_path / f"{name}.go").touch()
        assert first.result(60) == "one held"
        assert second.result(60) == "two kept", "the Python functions are those of now, too"
        write(tmp_path, {"main.ael": "pub node quick() -> String {\n  2\n}\n"})
        until(lambda: "is served on" in server.text)
        assert "error[AEL0301]" in server.text
        assert server.call("Quick") == "two"
        write(tmp_path, files("three"))
        until(lambda: server.listening(3))
        until(lambda: server.call("Quick") == "three")
    assert server.process.returncode == 0
    assert "Traceback" not in server.text


@pytest.mark.feature("B24")
def test_an_end_lets_calls_end_and_what_cannot_be_watched_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, files("one"))
    with serving(tmp_path) as server:
        call = server.later("Slow", name="a")
        until((tmp_path / "a.began").exists)
        server.process.send_signal(signal.SIGTERM)
        until(lambda: "ending" in server.text)
        (tmp_path / "a.go").touch()
        assert call.result(60) == "one held"
        assert server.process.wait(60) == 0
    capsys.readouterr()
    assert main(["serve", str(tmp_path), "--mcp", "--stdio", "--watch"]) == 2
    assert "`--watch` keeps a socket" in capsys.readouterr().err


@pytest.mark.feature("B24")
def test_over_grpc_the_next_process_has_the_same_port(tmp_path: Path) -> None:
    more = {"pack.ael": PACK.replace("server/connect", "server/connect, server/grpc")}
    write(tmp_path, {**files("one"), **more})
    port = free_port()

    def call(method: str, body: bytes = b"") -> bytes:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            answer: bytes = channel.unary_unary(f"/shop.Nodes/{method}")(body, timeout=60)
            return answer

    def begun() -> bytes:
        try:
            return call("Quick")
        except grpc.RpcError as error:
            # It came to the process that ends, which has not begun it: the client asks again.
            if error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
                raise
            return b""

    with serving(tmp_path, "--connect", "--grpc", "--grpc-port", str(port)) as server, ThreadPoolExecutor(1) as threads:
        assert b"one" in call("Quick")
        first = threads.submit(call, "Slow", b"\x0a\x05first")
        until((tmp_path / "first.began").exists)
        write(tmp_path, {**files("two", "kept"), **more})
        until(lambda: server.text.count("listening on http") == 2)
        until(lambda: b"two" in begun())
        (tmp_path / "first.go").touch()
        assert b"one held" in first.result(60)
    assert server.process.returncode == 0
