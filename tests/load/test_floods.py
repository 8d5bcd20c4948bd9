"""Clients that take more than their share: too many connections, heads and bodies that do not end, answers that nobody takes. Beside them
whoever asks properly is served, in a server of its own process, and nothing of them is left."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from ael.run.outcome import Faulted, Value
from ael.types.fault import FaultKind
from tests.load.clients import Connect
from tests.load.served import Command, command
from tests.load.test_shedding import LISTEN
from tests.server.support import head
from tests.transports.places import TOKEN, Setting, placed
from tests.transports.programs import SHOP
from tests.transports.test_context import until

MOST_MEMORY = 64 * 1024 * 1024
OWN = {"Host": "127.0.0.1", "Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
FLOODS = {
    "a head without end": b"POST /shop.Nodes/Score HTTP/1.1\r\nHost: 127.0.0.1\r\nx: " + b"y" * 200_000,
    "headers without end": b"POST /shop.Nodes/Score HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"x: y\r\n" * 40_000,
    "a body without end": head("POST", "/shop.Nodes/Score", None, {**OWN, "Transfer-Encoding": "chunked"})
    + b"10000\r\n" + b" " * 65_536 + b"\r\n",
    "half a head": b"POST /shop.Nodes/Score HTT",
    "half a body": head("POST", "/shop.Nodes/Score", None, {**OWN, "Content-Length": "1000"}) + b'{"n": ',
    "nobody": head("POST", "/shop.Nodes/Score", None, {"Host": "127.0.0.1", "Content-Length": "9"}) + b'{"n": 12}',
    "no HTTP": b"\x16\x03\x01" * 1_000,
}  # fmt: skip
EACH = 40


async def flood(port: int, data: bytes, over: asyncio.Event) -> None:
    """Send, and again what the server still takes, and stay until it closes or all is over."""
    with suppress(ConnectionError, TimeoutError):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            for _ in range(20):
                writer.write(data)
                await asyncio.wait_for(writer.drain(), 1)
            waiting = [asyncio.ensure_future(one) for one in (reader.read(), over.wait())]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for one in waiting:
                one.cancel()
        finally:
            writer.transport.abort()


@pytest.mark.feature("A11.4", "K39", "K42", "K45")
def test_floods(tmp_path: Path) -> None:
    async def scenario(served: Command) -> None:
        files, memory, over = served.files, served.memory, asyncio.Event()
        floods = [asyncio.ensure_future(flood(served.port, data, over)) for data in FLOODS.values() for _ in range(EACH)]
        proper = Connect(served)
        ends = [await proper.score(n) for n in range(1, 51)]
        assert [end.value for end in ends] == [2 * n + 1 for n in range(1, 51)]
        assert served.memory - memory < MOST_MEMORY
        over.set()
        await asyncio.gather(*floods)
        await proper.close()
        await until(lambda: served.files <= files + 1)
        assert served.did("begin") == list(range(1, 51)), "nothing of the floods was done"

    with command(tmp_path, LISTEN) as served:
        asyncio.run(scenario(served))
        assert "Traceback" not in served.said


@pytest.mark.feature("A11.4", "A8.5", "K26", "K45")
def test_a_server_with_too_many_connections_says_that_nothing_was_done(tmp_path: Path) -> None:
    """So that a call which must not be done twice is not in doubt."""
    setting = Setting(server="listen = http(connections: 4)\n")

    async def scenario() -> None:
        async with placed("https", tmp_path, SHOP, setting) as program:
            others = [await asyncio.open_connection("127.0.0.1", program.port) for _ in range(5)]
            outcome = await program.run("pay", {"id": "P"})
            assert isinstance(outcome, Faulted), outcome
            assert outcome.kind is FaultKind.UNAVAILABLE
            assert "connections are open, more than the server takes" in outcome.message
            assert outcome.details["retry_after"] == 1.0
            for _, writer in others:
                writer.close()
            async with asyncio.timeout(60):
                while not isinstance(await program.run("pay", {"id": "P"}), Value):
                    await asyncio.sleep(0.05)
            assert [call["what"] for call in program.ledger] == ["P"]

    asyncio.run(scenario())
