"""What peers tell of a call: events that are none, streams without an end, servers that know no events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ael.run import events as e
from ael.run.outcome import Faulted, Unsettled, Value
from ael.run.progress import crossing, heard
from ael.server.progress import wanted
from ael.services.wire import error
from ael.types.fault import FaultKind
from tests.transports.desk import desk


def test_every_event_comes_back_as_it_went() -> None:
    """Between the processes of one program; to others without what is the operator's."""
    sample: dict[str, Any] = {"str": "s", "int": 3, "float": 1.5, "bool": True, "Decimal": "2.50"}
    for kind in e.Event.__args__:  # type: ignore[attr-defined]
        if kind is e.RunFinished:
            continue
        hints = {name: str(kind.__annotations__[name]) for name in kind.__match_args__}
        values: dict[str, Any] = {name: sample.get(hint.partition(" ")[0]) for name, hint in hints.items()}
        values["run"] = "r"
        if "usage" in values:
            values |= {"usage": e.Usage(1, 2, 3, 4, 5, True), "cost": e.Decimal("2.50")}
        if "value" in values:
            values["value"] = {"a": [1, None]}
        event = kind(**values)
        whole = crossing(event, lambda value: value, inside=True)
        assert whole is not None
        back = heard(whole.name, json.loads(whole.data), "r", lambda path: path)
        if kind is e.RunStarted:
            assert back == e.RunStarted("r", "s", "", "")
        else:
            assert back == event
        public = crossing(event, lambda value: value, inside=False)
        hidden = kind in (e.Logged, e.ServerLogged, e.BudgetReached)
        assert (public is None) == hidden
        assert crossing(e.RunFinished("r", "value", 1.0), lambda value: value, inside=True) is None


@pytest.mark.feature("K20", "K44")
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("nope", {"path": "x"}),
        ("node_started", []),
        ("node_started", {"path": "x"}),
        ("node_started", {"path": "x" * 301, "node": "n"}),
        ("node_started", {"path": 1, "node": "n"}),
        ("text", {"path": "x", "text": "t", "final": "no"}),
        ("tool_finished", {"path": "x", "tool": "t", "ending": "value", "seconds": -1}),
        ("tool_finished", {"path": "x", "tool": "t", "ending": "value", "seconds": True}),
        ("turn_started", {"path": "x", "node": "n", "model": "m", "turn": 10**20}),
        ("turn_finished", {"path": "x", "node": "n", "model": "m", "stop": "s", "seconds": 1, "usage": {"input": "many"}}),
        ("turn_finished", {"path": "x", "node": "n", "model": "m", "stop": "s", "seconds": 1, "cost": "NaN"}),
        ("turn_finished", {"path": "x", "node": "n", "model": "m", "stop": "s", "seconds": 1, "cost": "much"}),
    ],
)
def test_what_is_no_event_is_left_out(name: str, data: object) -> None:
    assert heard(name, data, "r", lambda path: path) is None


@pytest.mark.parametrize(
    ("accept", "streams"),
    [("text/event-stream", True), ("application/json, text/event-stream; q=0.5", True), ("Text/Event-Stream", True),
     ("*/*", False), ("application/json", False), ("text/event-stream;q=0.0", False), ("text/event-stream-not", False)],
)  # fmt: skip
def test_who_accepts_events(accept: str, streams: bool) -> None:
    assert wanted({"accept": [accept]}) == streams
    assert not wanted({})


Respond = Callable[[asyncio.StreamWriter], None]


@asynccontextmanager
async def pretending(respond: Respond) -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server that answers every request with the same bytes, and closes; the heads that it got."""
    heads: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found = await reader.readuntil(b"\r\n\r\n")
        heads.append(found)
        lengths = [int(line.split(b":")[1]) for line in found.lower().split(b"\r\n") if line.startswith(b"content-length")]
        await reader.readexactly(sum(lengths))
        respond(writer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], heads


def stream(*events: bytes) -> Respond:
    """An answer in events, that ends with its connection."""
    return lambda writer: writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + b"".join(events)
    )


def plain(body: bytes) -> Respond:
    """An answer of a server that knows no events."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    return lambda writer: writer.write(head + body)


STARTED = b'event: node_started\ndata: {"path":"once/x#1","node":"x"}\n\n'
END = b'event: end\ndata: {"run":"r1","taint":[],"result":{"result":"fine"}}\n\n'
LOST = [
    stream(),
    stream(STARTED),
    stream(STARTED, END[:-2]),
    stream(b"event: end\ndata: nothing\n\n"),
    stream(b"event: end\ndata: []\n\n"),
    stream(b'event: end\ndata: {"run":"r"}\n\n'),
    stream(b'event: end\ndata: {"status":200,"error":{}}\n\n'),
    stream(b"data: " + b"x" * 6_000_000 + b"\n\n"),
]


@pytest.mark.feature("K26", "A8.5", "K35", "K47")
@pytest.mark.parametrize("respond", LOST)
def test_a_stream_without_an_end_is_a_lost_answer(respond: Respond, tmp_path: Path) -> None:
    """For `never` it is uncertain; what was told before is told."""

    async def scenario() -> None:
        async with pretending(respond) as (port, heads), desk("https", tmp_path, through=port) as program:
            outcome = await program.run("strikes", {"id": "A"}, on_event=lambda event: None)
            assert isinstance(outcome, Unsettled)
            assert len(heads) == 1, "it is sent once"
            assert b"text/event-stream" in heads[0]

    asyncio.run(scenario())


@pytest.mark.feature("A16.5", "K44", "A11.1")
def test_what_other_servers_answer(tmp_path: Path) -> None:
    """No events at all, events that are none, events of places that are not inside of the call, refusals in the stream."""
    refusal = error("permission_denied", "not you")
    ended = b'event: end\ndata: {"run":null,"status":403,"error":%b}\n\n' % refusal
    bad = b"event: node_started\ndata: nothing\n\n: a comment\n\nevent: what\ndata: {}\n\ndata: {}\n\n"
    foreign = b'event: node_started\ndata: {"path":"front/x","node":"x"}\n\nevent: node_started\ndata: {"path":"once","node":"once"}\n\n'

    async def told(respond: Respond, folder: Path) -> tuple[object, list[e.Event]]:
        async with pretending(respond) as (port, _), desk("https", folder, through=port) as program:
            events: list[e.Event] = []
            return await program.run("only", {"id": "A"}, on_event=events.append), events

    async def scenario() -> None:
        for at, respond in enumerate((plain(b'{"result": "fine"}'), stream(bad, foreign, STARTED, END))):
            outcome, events = await told(respond, tmp_path / str(at))
            assert isinstance(outcome, Value)
            assert outcome.plain == "fine"
            inner = [event for event in events if isinstance(event, e.NodeStarted) and event.node == "x"]
            assert [event.path for event in inner] == ([] if at == 0 else ["only/once@0/x#1"])
        refused, _ = await told(stream(STARTED, ended), tmp_path / "refused")
        assert isinstance(refused, Faulted)
        assert refused.kind is FaultKind.DENIED
        large = await told(plain(b'{"result": "' + b"x" * 5_000_000 + b'"}'), tmp_path / "large")
        assert isinstance(large[0], Faulted)
        assert large[0].kind is FaultKind.TOO_LARGE

    asyncio.run(scenario())
