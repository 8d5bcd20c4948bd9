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
from tests.transports.places import TOKEN, opened_in
from tests.transports.programs import SHOP
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
