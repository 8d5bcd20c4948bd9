"""Recorded sessions of real models in tests: recorded with a key, played without, and what differs is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.cli.conftest import Ael, ael  # noqa: F401  # a fixture

KEY = "sk-very-secret-1234567890"
MAIN = """permission math.use

/// Double a number. Call it for every number.
tool double(n: Int) -> Int
  needs math.use
  repeat idempotent
{{
  n * 2
}}

model fast {{
  provider openai
  name "gpt-5-mini"
}}

node ask(n: Int) -> String
  model fast
  policy loop(steps: 4, tool_calls: 4)
  grants math.use
  tools double
  budget cost $1.00
{{
  instructions \"\"\"
    {text}
    Say the key if you know it.
  \"\"\"
}}

test "a real session" {{
  script fast [recorded("doubled")]
  assert ask(4) == "It is 8."
  assert calls(double, n: 4) == 1
}}
"""


@pytest.fixture
def model() -> Iterator[HTTPServer]:
    """A provider of chat completions that doubles, and repeats what no log should hold."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            server.asked.append(self.headers["authorization"])  # type: ignore[attr-defined]
            message: dict[str, object]
            if any(one["role"] == "tool" for one in asked["messages"]):
                message = {"content": "It is 8."}
            else:
                function = {"name": "double", "arguments": '{"n": 4}'}
                message = {"content": f"My key is {KEY}.", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
            reason = "tool_calls" if "tool_calls" in message else "stop"
            choices = [{"index": 0, "message": message, "finish_reason": reason}]
            said = json.dumps({"model": "m", "choices": choices, "usage": {"prompt_tokens": 9, "completion_tokens": 3}}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *args: object) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.asked = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def desk(ael: Ael, model: HTTPServer) -> Ael:  # noqa: F811
    place = f"127.0.0.1:{model.server_port}"
    bound = f'openai("m", endpoint: "http://{place}/v1", key: secret("K"), stream: false)'
    deploy = f'host "{place}"\nsecret K = env("MY_KEY")\nmodel fast = {bound}\n'
    ael.write({"main.ael": MAIN.format(text="Double the number."), "deploy.ael": deploy})
    return ael


def recording(desk: Ael) -> Path:
    return desk.folder / "__recordings__" / "doubled.jsonl"


@pytest.mark.feature("B4")
def test_a_session_is_recorded_with_a_key_and_played_without(
    desk: Ael, model: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = model.asked  # type: ignore[attr-defined]
    missing = desk("test")
    assert missing.code == 1
    assert "there is no recording `doubled`: `ael test --record` makes it" in missing.err
    monkeypatch.setenv("MY_KEY", KEY)
    recorded = desk("test", "--record")
    assert (recorded.code, asked) == (0, [f"Bearer {KEY}"] * 2), recorded.err
    assert KEY not in recording(desk).read_text()
    monkeypatch.delenv("MY_KEY")
    assert desk("test").code == 0
    assert desk("test").code == 0
    assert len(asked) == 2, "played back, nobody is asked"


@pytest.mark.feature("B4")
def test_a_request_that_is_not_the_recorded_one_is_told_with_its_difference(desk: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    assert desk("test", "--record").code == 0
    desk.write({"main.ael": MAIN.format(text="Double what you get.")})
    ended = desk("test")
    lines = [line.strip() for line in ended.err.splitlines()]
    assert ended.code == 1
    assert any(
        "diverges from the recording doubled.jsonl: the instructions, tools or output type (part 1) changed" in line
        for line in lines
    )
    assert "-Double the number." in lines
    assert "+Double what you get." in lines


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ('[recorded("a"), final("x")]', "a recorded session stands alone"),
        ('[recorded("../a")]', "the name of a recording is letters"),
        ('[recorded("a/b")]', "the name of a recording is letters"),
    ],
)
def test_what_is_no_recording_is_said(desk: Ael, script: str, said: str) -> None:
    desk.write({"main.ael": MAIN.format(text="x").replace('[recorded("doubled")]', script)})
    assert said in desk("test").err


def test_a_file_that_is_no_recording_is_told(desk: Ael) -> None:
    desk.write({"__recordings__/doubled.jsonl": "{}\n"})
    assert "this is no recording that this version of AEL reads" in desk("test").err


@pytest.mark.parametrize(
    ("deploy", "said"), [('model fast = scripted("s.json")\n', "there is no session of a real model"), ("", "cannot be recorded")]
)
def test_without_a_real_model_nothing_is_recorded(desk: Ael, deploy: str, said: str) -> None:
    desk.write({"deploy.ael": deploy, "s.json": "[]"})
    ended = desk("test", "--record")
    assert ended.code == 1
    assert said in ended.err
    assert not recording(desk).exists()
