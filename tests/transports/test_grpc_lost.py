"""Between the two sides of gRPC: connections that break, replies that are none, statuses of others; what is left open, and what is not."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc import aio

from ael.hosting.summary import summary
from ael.run.outcome import Faulted, Unsettled, Value
from ael.services.status import TRAILER, details_of
from ael.types.fault import FaultKind
from ael.types.proto_wire import framed
from tests.ports import free_port
from tests.transports.authority import Authority
from tests.transports.places import Placed, Setting, ledger, opened_in, placed, serving_grpc
from tests.transports.programs import SHOP
from tests.transports.test_context import until


@dataclass
class Wire:
    """A connection through which everything goes. `mute`: what the server says is held back; `cut` ends what is open."""

    server: int
    mute: bool = False
    port: int = 0
    open: set[asyncio.StreamWriter] = field(default_factory=set)
    made: int = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.made += 1
        try:
            theirs, ours = await asyncio.open_connection("127.0.0.1", self.server)
        except OSError:
            writer.close()
            return
        self.open |= {writer, ours}
        try:
            await asyncio.gather(self._through(reader, ours, False), self._through(theirs, writer, True))
        finally:
            for one in (writer, ours):
                self.open.discard(one)
                one.close()
                with contextlib.suppress(OSError):
                    await one.wait_closed()

    async def _through(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65_536):
                if not (answers and self.mute):
                    target.write(data)
                    await target.drain()
        target.close()

    def cut(self) -> None:
        """End every connection that is open."""
        for one in self.open:
            one.transport.abort()


def between(wires: list[Wire]) -> Callable[[int], contextlib.AbstractAsyncContextManager[int]]:
    """For `Setting.through`: puts a wire before the server, and adds it to `wires`."""

    @asynccontextmanager
    async def through(port: int) -> AsyncIterator[int]:
        wire = Wire(port)
        wires.append(wire)
        server = await asyncio.start_server(wire.handle, "127.0.0.1", 0)
        wire.port = server.sockets[0].getsockname()[1]
        try:
            yield wire.port
        finally:
            server.close()
            wire.cut()
            await server.wait_closed()

    return through


@pytest.mark.feature("A11.4", "A8.5", "K34", "K26")
def test_a_lost_answer(tmp_path: Path) -> None:
    """Done there and not told here: asked again where that does no harm, and the recorded answer comes; else `Uncertain`, asked once."""
    wires: list[Wire] = []

    async def lost(program: Placed, wire: Wire, entry: str, what: str) -> Any:
        running = asyncio.ensure_future(program.run(entry, {"id": what}))
        await until(lambda: any(call["what"] == what for call in program.ledger))
        wire.cut()
        wire.mute = False
        return await running

    async def scenario() -> None:
        setting = Setting(through=between(wires), options="failures: 1_000")
        async with placed("grpc", tmp_path, SHOP, setting) as program:
            [wire] = wires
            for entry, kind in (("retried", Value), ("get", Faulted), ("pay", Unsettled), ("book", Unsettled)):
                # One that was cut may be found out by the next call only, which is lost with it.
                async with asyncio.timeout(60):
                    while not isinstance(await program.run("get", {"id": "A"}), Value):
                        await asyncio.sleep(0.02)
                wire.mute = True
                outcome = await lost(program, wire, entry, entry)
                assert isinstance(outcome, kind), (entry, outcome)
                assert [call["what"] for call in program.ledger].count(entry) == 1

    asyncio.run(scenario())


@pytest.mark.feature("A11.4", "A8.5", "A16.1")
def test_connections_are_kept_and_made_anew(tmp_path: Path) -> None:
    """One carries many calls at once; one that was cut is followed by another; a server that is gone is known to have done nothing."""
    wires: list[Wire] = []

    async def scenario() -> None:
        async with placed("grpc", tmp_path, SHOP, Setting(through=between(wires), options="failures: 1_000")) as program:
            [wire] = wires
            ended = await asyncio.gather(*(program.run("get", {"id": f"A-{n}"}) for n in range(50)))
            assert all(isinstance(outcome, Value) for outcome in ended)
            assert wire.made == 1
            wire.cut()
            await until(lambda: not wire.open)
            assert isinstance(await program.run("retried", {"id": "B"}), Value)
            assert wire.made >= 2
            program.stop()
            wire.server = free_port()
            wire.cut()
            async with asyncio.timeout(60):
                while (
                    not isinstance(outcome := await program.run("pay", {"id": "P"}), Faulted) or "reached" not in outcome.message
                ):
                    await asyncio.sleep(0.05)
            assert outcome.kind is FaultKind.UNAVAILABLE
            assert outcome.details["sent"] is False

    asyncio.run(scenario())


@asynccontextmanager
async def answering(answer: Callable[[bytes, Any], Awaitable[bytes]], compression: Any = None) -> AsyncIterator[int]:
    """A server of gRPC that nobody of AEL wrote, which answers every call so."""

    class Handler(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, handler_call_details: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(answer)

    server = aio.server(compression=compression, options=[("grpc.so_reuseport", 0), ("grpc.max_send_message_length", -1)])
    server.add_generic_rpc_handlers((Handler(),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield port
    finally:
        await server.stop(0)


def ends(code: grpc.StatusCode, *trailers: tuple[str, str | bytes]) -> Callable[[bytes, Any], Awaitable[bytes]]:
    """Ends a call with a status."""

    async def answer(_: bytes, context: Any) -> bytes:
        await context.abort(code, "because", trailers)
        return b""

    return answer


def says(data: bytes) -> Callable[[bytes, Any], Awaitable[bytes]]:
    """Answers a call with bytes."""

    async def answer(_: bytes, context: Any) -> bytes:
        return data

    return answer


ORDER = framed(1, b"A") + framed(2, b"3")
ENDED = details_of("internal", "x", {"outcome": "fault", "kind": "ToolFailed", "message": "x", "details": {}})
STRANGE: list[tuple[str, Callable[[bytes, Any], Awaitable[bytes]], Any, FaultKind, bool]] = [
    ("no message", says(b"\xff"), None, FaultKind.MALFORMED, True),
    ("another field", says(framed(9, b"x")), None, FaultKind.MALFORMED, True),
    ("another type", says(framed(1, b"A") + framed(2, b"many")), None, FaultKind.MALFORMED, True),
    ("too large", says(framed(1, b"x" * 1_000_000)), None, FaultKind.TOO_LARGE, True),
    ("far too large", says(framed(1, b"x" * 20_000_000)), None, FaultKind.TOO_LARGE, True),
    ("compressed", says(framed(1, b"x" * 10_000)), grpc.Compression.Gzip, FaultKind.DISCONNECTED, True),
    ("internal", ends(grpc.StatusCode.INTERNAL), None, FaultKind.DISCONNECTED, True),
    ("unknown", ends(grpc.StatusCode.UNKNOWN), None, FaultKind.DISCONNECTED, True),
    ("unavailable", ends(grpc.StatusCode.UNAVAILABLE), None, FaultKind.DISCONNECTED, True),
    ("late", ends(grpc.StatusCode.DEADLINE_EXCEEDED), None, FaultKind.TIMEOUT, True),
    ("denied", ends(grpc.StatusCode.PERMISSION_DENIED), None, FaultKind.DENIED, False),
    ("nobody", ends(grpc.StatusCode.UNAUTHENTICATED), None, FaultKind.DENIED, False),
    ("not there", ends(grpc.StatusCode.UNIMPLEMENTED), None, FaultKind.UNAVAILABLE, False),
    ("exhausted", ends(grpc.StatusCode.RESOURCE_EXHAUSTED), None, FaultKind.TOO_LARGE, True),
    ("an ending", ends(grpc.StatusCode.INTERNAL, (TRAILER, ENDED)), None, FaultKind.TOOL_FAILED, False),
    ("no ending", ends(grpc.StatusCode.INTERNAL, (TRAILER, b"\xff")), None, FaultKind.DISCONNECTED, True),
    ("half an ending", ends(grpc.StatusCode.INTERNAL, (TRAILER, ENDED[:-9])), None, FaultKind.DISCONNECTED, True),
]


@pytest.mark.feature("K21", "K36", "K42", "A11.4", "A8.5")
def test_answers_of_others(tmp_path: Path) -> None:
    """Each is a typed fault for what may be repeated; for `never` it leaves open what happened, but where the other side refused."""

    async def scenario() -> None:
        for name, answer, compression, kind, lost in STRANGE:
            async with answering(answer, compression) as port:
                lines = f'host "127.0.0.1"\nservice Orders = grpc("127.0.0.1:{port}")\n'
                async with placed("in process", tmp_path / name.replace(" ", "-"), SHOP, Setting(client=lines)) as program:
                    outcome = await program.run("get", {"id": "A"})
                    assert isinstance(outcome, Faulted), (name, outcome)
                    assert outcome.kind is kind, (name, outcome)
                    once = await program.run("pay", {"id": "A"})
                    assert isinstance(once, Unsettled if lost else Faulted), (name, once)
        async with answering(says(ORDER)) as port:
            lines = f'host "127.0.0.1"\nservice Orders = grpc("127.0.0.1:{port}")\n'
            async with placed("in process", tmp_path / "good", SHOP, Setting(client=lines)) as program:
                good = await program.run("get", {"id": "A"})
                assert isinstance(good, Value), good
                assert good.plain == {"id": "A", "total": 3}

    asyncio.run(scenario())


@pytest.mark.feature("K42", "A11.4")
def test_what_is_no_grpc_at_all(tmp_path: Path) -> None:
    """A server of another protocol, and a host that may not be reached: nothing was sent, and that is known."""

    async def web(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async def scenario() -> None:
        server = await asyncio.start_server(web, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        lines = f'host "127.0.0.1"\nservice Orders = grpc("127.0.0.1:{port}", connect: 5s)\n'
        async with server, placed("in process", tmp_path, SHOP, Setting(client=lines)) as program:
            outcome = await program.run("pay", {"id": "A"})
            assert isinstance(outcome, Faulted), outcome
            assert outcome.kind is FaultKind.UNAVAILABLE
            assert outcome.details["sent"] is False

    asyncio.run(scenario())


@pytest.mark.feature("K42", "A11.4")
def test_a_name_that_stands_for_this_machine_is_not_connected_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a name resolves to is looked at before anything connects; the deployment does not list it, so nothing is sent."""

    async def scenario() -> None:
        async def rebound(host: str, port: int, **_: object) -> list[Any]:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", rebound)
        lines = 'service Orders = grpc("orders.example.com:443")\n'
        async with placed("in process", tmp_path, SHOP, Setting(client=lines)) as program:
            assert [row.bound for row in summary(opened_in(tmp_path, SHOP, lines)) if row.kind == "service"] == [
                "grpc orders.example.com:443"
            ]
            outcome = await program.run("pay", {"id": "A"})
            assert isinstance(outcome, Faulted), outcome
            assert outcome.kind is FaultKind.UNAVAILABLE
            assert "stands for a private or loopback address" in outcome.message
            assert outcome.details["sent"] is False

    asyncio.run(scenario())


@pytest.mark.feature("A11.1", "A11.4", "K42")
def test_both_sides_prove_who_they_are(tmp_path: Path) -> None:
    """Over TLS with the deployment's certificates: a server of another authority is not spoken to, a client without one not let in."""
    ours, others = Authority(tmp_path / "ours", "ours"), Authority(tmp_path / "others", "others")
    server, client, stranger = ours.sign("server"), ours.sign("client"), others.sign("stranger")
    listen = f'listen = http(certificate: "{server[0]}", key: "{server[1]}", clients: "{ours.file}")\nruns = memory\n'

    async def scenario() -> None:
        async with serving_grpc(tmp_path / "server", SHOP, listen) as (_, port, _stop):
            for name, authority, own in (
                ("good", ours, client), ("none", ours, None), ("stranger", ours, stranger), ("other", others, client),
            ):  # fmt: skip
                shown = "" if own is None else f', certificate: "{own[0]}", key: "{own[1]}"'
                where = f'"127.0.0.1:{port}", token: secret("T"), authority: "{authority.file}"{shown}, connect: 20s'
                lines = f'host "127.0.0.1"\nsecret T = env("ORDERS_TOKEN")\nservice Orders = grpc({where})\n'
                async with placed("in process", tmp_path / name, SHOP, Setting(client=lines)) as program:
                    outcome = await program.run("get", {"id": "A"})
                    assert isinstance(outcome, Value if name == "good" else Faulted), (name, outcome)
                    if isinstance(outcome, Faulted):
                        assert outcome.kind in (FaultKind.UNAVAILABLE, FaultKind.DISCONNECTED), (name, outcome)
            assert len(ledger(tmp_path / "server")) == 1

    asyncio.run(scenario())


@pytest.mark.feature("A11.4", "A8.6", "K26")
def test_a_server_that_starts_anew_knows_its_keyed_calls(tmp_path: Path) -> None:
    port = free_port()
    client = f'host "127.0.0.1"\nsecret T = env("ORDERS_TOKEN")\nservice Orders = grpc("127.0.0.1:{port}", token: secret("T"))\n'

    async def scenario() -> None:
        async with placed("in process", tmp_path / "client", SHOP, Setting(client=client)) as program:
            for time in range(2):
                async with serving_grpc(tmp_path / "server", SHOP, 'runs = sqlite("runs.db")\n', port=port):
                    for entry, id in (("retried", "A"), ("pay", "P"), ("pay", "lose")):
                        outcome = await program.run(entry, {"id": id}, run=f"{entry}-{id}")
                        assert not isinstance(outcome, Faulted), (time, outcome)
                        assert isinstance(outcome, Unsettled) == (id == "lose")
            assert [call["what"] for call in ledger(tmp_path / "server")] == ["A", "P", "lose"], "each once, over both lives"

    asyncio.run(scenario())
