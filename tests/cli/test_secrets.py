"""A key or another secret never reaches standard output, standard error, a trace or a store, whatever is asked for."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.cli.conftest import Ael

KEY = "sk-proj-Zq8vT3mK7xW2"

PROGRAM = """
model clerk {
  provider openai
  name "gpt-5-mini"
}

node main(question: String(max: 200)) -> String(max: 80)
  model clerk
  policy one_call
  budget tokens 2_000, time 20s
{
  instructions "Answer."
}
"""


@pytest.fixture
def echoing() -> Iterator[int]:
    """A server that refuses every request and repeats its headers: what a careless proxy does."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", "0")))
            said = json.dumps({"error": {"message": f"not allowed: {dict(self.headers.items())}"}}).encode()
            self.send_response(401)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *args: object) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("words", [(), ("--json",), ("--trace", "--content"), ("--trace", "--content", "--json")])
def test_a_key_that_a_server_repeats_is_masked(
    ael: Ael, echoing: int, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    deploy = f'model clerk = openai("m", endpoint: "http://127.0.0.1:{echoing}/v1", key: secret("K"))\nsecret K = env("MY_KEY")\n'
    ael.write({"main.ael": PROGRAM, "deploy.ael": f'{deploy}host "127.0.0.1"\n'})
    ended = ael("run", ".", "--question", "q", *words)
    assert ended.code == 1
    assert "not allowed" in ended.err + ended.out, "the server was asked"
    assert KEY not in ended.err + ended.out


def test_a_secret_in_a_file_is_read_and_not_shown(ael: Ael, echoing: int) -> None:
    deploy = (
        f'model clerk = openai("m", endpoint: "http://127.0.0.1:{echoing}/v1", key: secret("K"))\nsecret K = file("key.txt")\n'
    )
    ael.write({"main.ael": PROGRAM, "deploy.ael": f'{deploy}host "127.0.0.1"\n', "key.txt": f"{KEY}\n"})
    ended = ael("run", ".", "--question", "q", "--json")
    assert ended.code == 1
    assert "not allowed" in ended.out
    assert KEY not in ended.err + ended.out


@pytest.mark.parametrize(
    ("deploy", "said"),
    [
        ('secret K = env("NOT_SET_AT_ALL")', "the secret `K` is the environment variable NOT_SET_AT_ALL, which is not set"),
        ('secret K = file("nowhere.txt")', "nowhere.txt: No such file or directory"),
        ("", "the deployment has no secret `K`"),
    ],
)
def test_a_secret_that_is_not_there(ael: Ael, deploy: str, said: str) -> None:
    ael.write({"main.ael": PROGRAM, "deploy.ael": f'model clerk = openai("m", key: secret("K"))\n{deploy}\n'})
    ended = ael("run", ".", "--question", "q")
    assert ended.code == 2
    assert "error[AEL0831]" in ended.err
    assert said in ended.err


def test_a_key_in_the_deployment_is_refused(ael: Ael) -> None:
    ael.write({"main.ael": PROGRAM, "deploy.ael": f'model clerk = openai("m", key: "{KEY}")\n'})
    ended = ael("run", ".", "--question", "q")
    assert ended.code == 2
    assert "error[AEL0815]: a key is a named secret, never text in a file" in ended.err


@pytest.mark.parametrize(
    ("provider", "variable", "line"),
    [
        ('anthropic, name "claude-haiku-4-5"', "ANTHROPIC_API_KEY", 'anthropic("claude-haiku-4-5")'),
        ('openai, name "gpt-5-mini"', "OPENAI_API_KEY", 'openai("gpt-5-mini")'),
        ('groq, name "llama"', "GROQ_API_KEY", 'groq("llama")'),
    ],
)
def test_a_missing_key_says_three_ways_out(ael: Ael, provider: str, variable: str, line: str) -> None:
    ael.write({"main.ael": PROGRAM.replace('provider openai\n  name "gpt-5-mini"', f"provider {provider}")})
    ended = ael("run", "main.ael", "--question", "q")
    assert ended.code == 2
    assert f"with a key: `model clerk = {line}`, and set {variable}" in ended.err
    assert '`model clerk = local("smollm2")`, after `ael model get smollm2`' in ended.err
    assert '`model clerk = scripted("script.json")`' in ended.err


def test_the_three_lines_are_lines_of_a_deployment(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    ael.write({"main.ael": PROGRAM, "script.json": '[{"final": "yes"}]'})
    said = ael("run", "main.ael", "--question", "q").err
    lines = [part for part in said.split("`") if part.startswith("model clerk = ")]
    assert len(lines) == 3
    for line in lines:
        ael.write({"deploy.ael": f"{line}\n"})
        assert ael("check").code == 0
    assert ael("run", "main.ael", "--question", "q").out == '"yes"\n', "the last one is the script"
