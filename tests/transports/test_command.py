"""`ael serve` and `ael test` as a person uses them, with services placed elsewhere."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ael.cli.main import main
from ael.host import HostError
from ael.run.bindings import Options
from ael.run.outcome import Faulted, Unsettled, Value
from ael.server.served import prepare
from tests.ports import free_port
from tests.transports.places import TOKEN, Setting, ledger, opened_in, placed
from tests.transports.programs import SHOP
from tests.transports.test_context import until
from tests.transports.test_protocol import post

PACK = 'pack shop {\n  version "1.0.0"\n  uses server/connect, server/mcp\n  extern "outside"\n}\n'
DEPLOY = 'secret T = env("ORDERS_TOKEN")\ncaller client = bearer(secret("T"), tenant: "acme")\nserve = [Orders, caught]\nruns = memory\n'


def started(folder: Path, *words: str) -> tuple[subprocess.Popen[str], int, list[str]]:
    """`ael serve` in a process of its own: the process, its port, and what it said before it listened."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ael", "serve", str(folder), "--port", "0", *words],
        stderr=subprocess.PIPE, text=True, env={**os.environ, "ORDERS_TOKEN": TOKEN},
    )  # fmt: skip
    assert process.stderr is not None
    said: list[str] = []
    while True:
        line = process.stderr.readline()
        assert line, said
        said.append(line)
        if found := re.search(r"listening on http://127\.0\.0\.1:(\d+)", line):
            return process, int(found[1]), said


@pytest.mark.feature("A11.1", "K39")
@pytest.mark.parametrize("words", [[], ["--connect"]])
def test_serve(words: list[str], tmp_path: Path) -> None:
    """Every protocol that the pack uses on one port, or the one that is chosen; the first signal ends it."""
    opened_in(tmp_path, SHOP, DEPLOY)
    (tmp_path / "pack.ael").write_text(PACK)
    process, port, said = started(tmp_path, *words)
    try:
        assert any("/shop.Orders/Get(id: String) -> Order" in line for line in said)
        assert any("/shop.Nodes/Caught(id: String) -> String" in line for line in said)
        assert asyncio.run(post(port)).json == {"id": "A", "total": 3}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
        mcp = asyncio.run(post(port, "/mcp", body, {"Accept": "application/json, text/event-stream"}))
        assert (mcp.status == 404) == bool(words), mcp
        assert asyncio.run(post(port, "/readyz", b"", method="GET")).status == 200
    finally:
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=60)
    assert process.returncode == 0, rest
    assert "Traceback" not in rest


def test_a_programs_tests_call_its_own_providers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    test = (
        '\ntest "one order" {\n  let order = try Orders.get("none") catch { NotFound e => Order(id: e.id, total: 0) }\n'
        '  assert order.id == "none"\n}\n'
    )
    opened_in(tmp_path, SHOP + test, 'service Orders = https("https://orders.example.com")\n')
    assert main(["test", str(tmp_path)]) == 0, capsys.readouterr()


ASKS = """
model fast {
  provider anthropic
  name "claude-haiku-4-5"
}

pub node asks(question: String) -> String
  model fast
  policy one_call
{
  instructions "Answer."
}
"""


@pytest.mark.feature("A11.1", "A11.2")
def test_a_server_needs_nothing_for_what_it_does_not_serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine of a service has no key of a model that only the desk asks."""
    monkeypatch.setenv("ORDERS_TOKEN", TOKEN)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delitem(sys.modules, "outside", raising=False)
    opened = opened_in(tmp_path, SHOP + ASKS, DEPLOY)
    assert "/shop.Orders/Get" in prepare(opened).served.methods
    with pytest.raises(HostError, match="the model `fast` cannot be used"):
        prepare(opened, ["asks"])


@pytest.mark.feature("A11.4", "A8.5", "A8.6", "K26")
def test_a_server_that_is_killed_in_the_middle(tmp_path: Path) -> None:
    """The next one goes on with the call when it is asked again: the same keys for what may be repeated, `Uncertain` for what may not."""
    folder, port = tmp_path / "server", free_port()
    opened_in(folder, SHOP, DEPLOY.replace("runs = memory", 'runs = sqlite("runs.db", lease: 2s)'))
    client = f'host "127.0.0.1"\nsecret T = env("ORDERS_TOKEN")\nservice Orders = https("http://127.0.0.1:{port}", token: secret("T"))\n'
    process = started(folder, "--connect", "--port", str(port))[0]

    async def scenario() -> None:
        nonlocal process
        async with placed("in process", tmp_path / "client", SHOP, Setting(client=client)) as program:
            runs = []
            for entry in ("get", "pay"):
                options = Options(caller="tester", tenant="acme", run=entry)
                runs.append(program.host.engine.start(entry, {"id": f"wait:{entry}"}, options))
            await until(lambda: len(ledger(folder)) == 2)
            process.kill()
            first = [await run.outcome() for run in runs]
            assert isinstance(first[0], Faulted)
            assert isinstance(first[1], Unsettled)
            process.communicate()
            for name in ("get", "pay"):
                (folder / name).touch()
            process = started(folder, "--connect", "--port", str(port))[0]
            assert isinstance(await program.run("get", {"id": "wait:get"}, run="get"), Value)
            assert isinstance(await program.run("pay", {"id": "wait:pay"}, run="pay"), Unsettled)
        made = [(call["what"], call["key"]) for call in ledger(folder)]
        assert [what for what, _ in made].count("wait:pay") == 1
        assert [what for what, _ in made].count("wait:get") == 2
        assert len({key for what, key in made if what == "wait:get"}) == 1

    try:
        asyncio.run(scenario())
    finally:
        process.kill()
        process.communicate()
