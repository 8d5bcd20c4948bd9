"""A served program, called from Python over the network: typed outcomes, keys, what is sent again and what is not."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, assert_never

import pytest

import ael
from ael.embed.line import Line
from ael.services.wire import error
from tests.embed.serving import served_in_a_thread
from tests.ports import free_port
from tests.transports import desk
from tests.transports.desk import served, written
from tests.transports.places import SERVER, TOKEN, ledger, opened_in, serving
from tests.transports.programs import ECHO, KINDS
from tests.transports.proxy import Proxy, between
from tests.transports.test_context import until
from tests.transports.test_progress_outside import LOST, Respond, plain, pretending

MAIN = """\
permission world.act

error NotFound { id: String, price: Decimal }

enum Status { Open, Paid }

record Order {
  id: String
  total: Decimal
  status: Status
  placed?: Timestamp
  note?: String(max: 100)
}

/// Act outside.
tool act(what: String) -> String
  needs world.act
  repeat idempotent
  timeout 60s
  extern "outside:act"

/// Strike outside.
tool strike(what: String) -> String
  needs world.act
  repeat never
  timeout 60s
  extern "outside:act"

pub service Orders {
  get(id: String(max: 100), more: Int = 3) -> Order fails NotFound
    needs world.act
    repeat idempotent
    timeout 60s

  pay(id: String(max: 100)) -> String
    needs world.act
    repeat never
    timeout 60s

  nothing() -> Unit
    needs world.act
    repeat idempotent
}

provide Orders as real
  grants world.act
{
  fn get(id: String(max: 100), more: Int = 3) -> Order fails NotFound {
    if id == "none" { fail NotFound(id: id, price: 1.50) }
    let done = act(id)
    Order(id: done, total: 19.90, status: Status.Paid)
  }

  fn pay(id: String(max: 100)) -> String fails Uncertain { try strike(id) }

  fn nothing() -> Unit { let _done = act("nothing") }
}

pub node echo(order: Order) -> Order { order }
"""


class Status(Enum):
    Open = "open"
    Paid = "paid"


@dataclass
class Order:
    id: str
    total: Decimal
    status: Status
    placed: datetime | None = None
    note: str | None = None


PLACED = datetime(2026, 11, 30, 12, tzinfo=UTC)


@asynccontextmanager
async def shop(folder: Path, deploy: str = "runs = memory\n", **named: Any) -> AsyncIterator[int]:
    """The program, served; gives its port."""
    async with serving(folder, MAIN, deploy, **named) as (_, port, _):
        yield port


def url(port: int) -> str:
    """Where a server on this machine is."""
    return f"http://127.0.0.1:{port}"


@pytest.mark.feature("B22", "A11.1", "D2")
def test_outcomes_are_typed(tmp_path: Path) -> None:
    """Values as the Python types that are asked for, declared errors with their fields, faults; an example of a `match` over all."""

    def told(outcome: ael.Outcome[Order]) -> str:
        match outcome:
            case ael.Value(value=order):
                return f"{order.id} {order.total} {order.status.name}"
            case ael.DeclaredError(error=error, fields=fields):
                return f"{error} {fields['price']!r}"
            case ael.Faulted(kind=kind):
                return kind.value
            case ael.Uncertain(operation=operation):
                return operation
            case ael.Suspended():
                return "waits"
            case _:
                assert_never(outcome)

    async def scenario() -> None:
        async with shop(tmp_path) as port, ael.connect(url(port), token=TOKEN) as client:
            assert client.methods == ("Orders.get", "Orders.nothing", "Orders.pay", "echo")
            first = await client.call("Orders.get", {"id": "A-1"}, result_type=Order)
            assert first.unwrap() == Order("A-1", Decimal("19.90"), Status.Paid)
            assert told(first) == "A-1 19.90 Paid"
            for name in ("main.Orders.get", "shop.Orders/Get", "/shop.Orders/Get"):
                assert (await client.call(name, {"id": "A-1", "more": 4})).unwrap()["total"] == Decimal("19.90")
            assert told(await client.call("Orders.get", {"id": "none"}, result_type=Order)) == "NotFound Decimal('1.50')"
            assert told(await client.call("Orders.get", {"id": 7}, result_type=Order)) == "BadArguments"
            assert told(await client.call("Orders.get", {"id": "break:x"}, result_type=Order)) == "Crashed"
            sent = Order("A-2", Decimal("0.10"), Status.Open, PLACED, "a note")
            assert (await client.call("echo", {"order": sent}, result_type=Order)).unwrap() == sent
            assert (await client.call("Orders.nothing")).unwrap() is None
            lost = await client.call("Orders.pay", {"id": "lose"}, key="pay-1")
            assert isinstance(lost, ael.Uncertain)
            with pytest.raises(ael.OutcomeError):
                lost.unwrap()
            with pytest.raises(ael.BindError) as bound:
                await client.call("Orders.get", {"id": "A"}, result_type=int)
            assert bound.value.code == "AEL0892"
            with pytest.raises(ael.RequestError) as data:
                await client.call("Orders.get", {"id": object()})
            assert data.value.code == "AEL0841"
            assert await client.ready()

    asyncio.run(scenario())


@pytest.mark.feature("A11.1", "A11.6")
def test_values_of_every_type_cross(tmp_path: Path) -> None:
    """What comes back is what a session of the program itself gives."""
    everything = {
        "text": "ä", "whole": 10**30, "number": 0.5, "money": Decimal("1.10"), "flag": True, "bytes": b"\x00\xff", "at": PLACED,
        "day": PLACED.date(), "length": timedelta(seconds=3), "any": {"a": [1, None]}, "list": [Decimal("2.5")],
        "map": {"k": {"deep": [{"a": 1}]}}, "inner": {"deep": []}, "topic": "Refund", "shape": {"kind": "Circle", "radius": 1.5},
        "choice": 3, "nothing": None, "As-Is": True, "file": ael.File("text/plain", data=b"hi"),
    }  # fmt: skip

    async def scenario() -> None:
        deploy = "runs = memory\nserve = [Echo]\n"
        async with serving(tmp_path, ECHO, deploy) as (_, port, _), ael.connect(url(port), token=TOKEN) as client:
            for name in KINDS:
                assert f"Echo.{name}" in client.methods
            back = (await client.call("Echo.all", {"value": everything})).unwrap()
            assert back == everything
            for value in ("", "x" * 60_000):
                assert (await client.call("Echo.text", {"value": value})).unwrap() == value

    asyncio.run(scenario())


@pytest.mark.feature("A11.4", "A8.4", "A8.5", "K26")
def test_a_lost_answer_is_asked_for_again_only_where_that_does_no_harm(tmp_path: Path) -> None:
    """`idempotent` with the same key, so that it is done once; `never` is `Uncertain`, and its key tells later what became of it."""

    async def scenario() -> None:
        proxies: list[Proxy] = []
        async with shop(tmp_path) as port, between(proxies)(port) as outer, ael.connect(url(outer), token=TOKEN) as client:

            async def call(plan: list[str], method: str, id: str, **named: Any) -> ael.Outcome[Any]:
                # The proxy closes each connection after one answer: what it has closed is not used again.
                await until(lambda: client._line._client.open_connections == 0)
                proxies[0].plan[:] = plan
                proxies[0].requests.clear()
                return await client.call(method, {"id": id}, **named)

            def done(what: str) -> int:
                return [call["what"] for call in ledger(tmp_path)].count(what)

            assert isinstance(await call(["lose", "lose", "pass"], "Orders.get", "A"), ael.Value)
            assert (len(proxies[0].requests), done("A")) == (3, 1)
            given_up = await call(["lose"] * 3, "Orders.get", "B")
            assert isinstance(given_up, ael.Faulted)
            assert given_up.kind is ael.FaultKind.DISCONNECTED
            lost = await call(["lose"], "Orders.pay", "P")
            assert isinstance(lost, ael.Uncertain)
            assert lost.operation == "Orders.pay"
            assert len(proxies[0].requests) == 1
            assert (await call([], "Orders.pay", "P", key=lost.key)).unwrap() == "P"
            assert done("P") == 1
            other = await call([], "Orders.pay", "Q", key=lost.key)
            assert isinstance(other, ael.Faulted)
            assert other.kind is ael.FaultKind.BAD_ARGUMENTS
            assert (await call(["duplicate"], "Orders.pay", "twice")).unwrap() == "twice"
            assert done("twice") == 1

    asyncio.run(scenario())


@pytest.mark.feature("A11.4", "K26", "K34")
def test_what_never_began_is_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that is refused, and a server that finds no room: also for `never`, since nothing was done. Not beyond the deadline."""
    monkeypatch.setattr("ael.embed.line._BASE", 0.01)

    async def scenario() -> None:
        port = free_port()
        full = "runs = memory\nlisten = http(concurrent: 1, queue: 0)\n"
        async with shop(tmp_path, full, port=port), ael.connect(url(port), token=TOKEN, attempts=50) as client:
            held = asyncio.ensure_future(client.call("Orders.get", {"id": "wait:go"}))
            await until(lambda: len(ledger(tmp_path)) == 1)
            late = await client.call("Orders.pay", {"id": "P"}, deadline=0.3)
            assert isinstance(late, ael.Faulted)
            assert late.kind is ael.FaultKind.UNAVAILABLE
            waiting = asyncio.ensure_future(client.call("Orders.pay", {"id": "P"}))
            await asyncio.sleep(0)
            (tmp_path / "go").touch()
            assert isinstance(await held, ael.Value)
            assert isinstance(await waiting, ael.Value)
        async with shop(tmp_path, port=port):
            client = ael.connect(url(port), token=TOKEN, attempts=50)
            await client.__aenter__()
        down = asyncio.ensure_future(client.call("Orders.pay", {"id": "R"}))
        done, _ = await asyncio.wait({down}, timeout=0.05)
        assert not done
        async with shop(tmp_path, port=port):
            assert (await down).unwrap() == "R"
            await client.close()
        assert [call["what"] for call in ledger(tmp_path)].count("P") == 1

    asyncio.run(scenario())


@pytest.mark.feature("K26", "K35", "K47", "A8.5")
@pytest.mark.parametrize("respond", [*LOST, plain(b'{"result": 3}'), plain(b"nothing"), plain(b'{"result": "x", "more": 1}')])
def test_an_answer_that_is_none_leaves_open_what_was_done(
    respond: Respond, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ael.embed.line._BASE", 0.01)

    async def scenario() -> None:
        async with (
            shop(tmp_path) as port,
            ael.connect(url(port), token=TOKEN, attempts=2) as client,
            pretending(respond) as (other, heads),
        ):
            client._line.endpoint = Line(url(other), TOKEN, None, plain=False, attempts=1, connect=9).endpoint
            lost = await client.start("Orders.pay", {"id": "P"})
            assert isinstance(lost, ael.Uncertain)
            assert len(heads) == 1
            again = await client.start("Orders.get", {"id": "P"})
            assert isinstance(again, ael.Faulted)
            assert again.kind.value in ("Disconnected", "Malformed", "TooLarge")

    asyncio.run(scenario())


@pytest.mark.feature("A11.4", "K42")
def test_what_is_refused_is_not_repeated(tmp_path: Path) -> None:
    """A permission, a token that is nobody's any more; a proxy's own error of an `idempotent` call is asked again."""
    answers = {
        "permission_denied": ("HTTP/1.1 403 No", error("permission_denied", "not you"), ael.FaultKind.DENIED, 1),
        "proxy": ("HTTP/1.1 502 Bad Gateway", b"<html>", ael.FaultKind.UNAVAILABLE, 2),
    }

    async def scenario() -> None:
        async with shop(tmp_path) as port:
            for line, body, kind, times in answers.values():
                text = f"{line}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
                async with (
                    ael.connect(url(port), token=TOKEN, attempts=2) as client,
                    pretending(lambda writer, text=text: writer.write(text)) as (other, heads),
                ):
                    client._line.endpoint = Line(url(other), TOKEN, None, plain=False, attempts=1, connect=9).endpoint
                    outcome = await client.call("Orders.get", {"id": "P"})
                    assert isinstance(outcome, ael.Faulted)
                    assert (outcome.kind, len(heads)) == (kind, times)

    asyncio.run(scenario())


@pytest.mark.feature("A16.5", "B25", "A16.1")
def test_events_stream(tmp_path: Path) -> None:
    """Typed, as of a session; the outcome after them; also for a callback beside a plain call."""

    async def scenario() -> None:
        async with served(tmp_path) as (_, port, _), ael.connect(url(port), token=TOKEN) as client:
            call = client.stream("worker", {"id": "A"}, result_type=str)
            said, names, runs = "", [], set()
            async for event in call:
                names.append(type(event).__name__)
                runs.add(event.run)
                match event:
                    case ael.events.Text(text=text):
                        said += text
                    case ael.events.ToolFinished(tool=tool, seconds=took):
                        assert (tool, took > 0) == ("act", True)
            outcome = await call
            assert isinstance(outcome, ael.Value)
            assert (said, outcome.value) == ("I look at it, and then I know. done", "DONE")
            assert (names[0], names[-1]) == ("RunStarted", "NodeFinished")
            assert runs == {outcome.run}
            assert call.done
            heard: list[ael.events.Event] = []
            await client.call("once", {"id": "B"}, on_event=heard.append)
            assert [type(event).__name__ for event in heard] == ["RunStarted", "NodeStarted", "NodeFinished"]

    asyncio.run(scenario())


@pytest.mark.feature("A16.1", "K39", "B15")
def test_giving_up_reaches_the_server(tmp_path: Path) -> None:
    """A task that is cancelled, a call that is, a client that is closed, a deadline: what was under way there is told to stop."""

    async def scenario() -> None:
        async with shop(tmp_path) as port, ael.connect(url(port), token=TOKEN, attempts=1) as client:

            def cancelled() -> int:
                file = tmp_path / "cancelled"
                return len(file.read_text().splitlines()) if file.exists() else 0

            async def under_way(count: int) -> None:
                await until(lambda: len(ledger(tmp_path)) == count)

            task = asyncio.ensure_future(client.call("Orders.get", {"id": "wait:1"}))
            await under_way(1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(lambda: cancelled() == 1)
            call = client.start("Orders.pay", {"id": "wait:2"})
            await under_way(2)
            call.cancel()
            given_up = await call
            assert isinstance(given_up, ael.Uncertain)
            await until(lambda: cancelled() == 2)
            call = client.start("Orders.get", {"id": "wait:3"})
            call.cancel()
            never_begun = await call
            assert isinstance(never_begun, ael.Faulted)
            assert never_begun.kind is ael.FaultKind.CANCELLED
            late = await client.call("Orders.get", {"id": "wait:4"}, deadline=timedelta(seconds=1))
            assert isinstance(late, ael.Faulted)
            assert late.kind is ael.FaultKind.TIMEOUT
            await until(lambda: cancelled() == 3)
            call = client.start("Orders.pay", {"id": "wait:5"})
            await under_way(4)
            await client.close()
            assert isinstance(await call, ael.Uncertain)
            await until(lambda: cancelled() == 4)
            assert client._line._client.open_connections == 0

    asyncio.run(scenario())


@pytest.mark.feature("B22")
def test_without_an_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sys.modules.pop("outside", None)
    monkeypatch.setenv("ORDERS_TOKEN", TOKEN)
    opened = opened_in(written(tmp_path), desk.MAIN, SERVER + desk.LINES + desk.SERVE)
    with served_in_a_thread(opened) as address:
        with ael.connect_sync(address, token=TOKEN) as client:
            assert client.ready()
            assert client.methods == ("hit", "once", "worker")
            assert client.call("once", {"id": "A"}, result_type=str).unwrap() == "A"
            call = client.stream("worker", {"id": "A"})
            assert type(next(iter(call))).__name__ == "RunStarted"
            assert call.outcome().unwrap() == "DONE"
            assert call.done
            waits = client.start("hit", {"id": "wait:never"}, key="mine")
            next(iter(waits.events()))
            waits.cancel()
            assert isinstance(waits.outcome(), ael.Uncertain)
            assert waits.key == "mine"
        with pytest.raises(ael.RequestError, match="this client is not open"):
            client.call("once", {"id": "A"})
        client.close()
        with pytest.raises(ael.OpenError), ael.connect_sync(url(free_port())):
            pass
        assert "ael-client" not in [thread.name for thread in threading.enumerate()]


async def opening(where: str, **named: Any) -> ael.OpenError:
    """The error with which a client does not open."""
    with pytest.raises(ael.OpenError) as raised:
        async with ael.connect(where, **named):
            pass
    assert raised.value.code == "AEL0894"
    return raised.value


@pytest.mark.feature("K41", "K42", "K43")
def test_what_cannot_be_opened(tmp_path: Path) -> None:
    """No token, another's, no address, no TLS, nobody there, no server of AEL; the token is in no text."""

    async def scenario() -> None:
        async with shop(tmp_path) as port:
            assert "it does not know the token" in str(await opening(url(port)))
            wrong = await opening(url(port), token="a-token-of-nobody-at-all")
            assert "a-token-of-nobody" not in f"{wrong} {wrong!r}"
        assert "reached" in str(await opening(url(port), token=TOKEN)) or "refused" in str(await opening(url(port), token=TOKEN))
        for where in (
            "ftp://x",
            "nowhere",
            "http://",
            "https://user:word@example.com",
            "https://example.com/#a",
            "http://example.com",
        ):
            assert "no address of a server" in str(await opening(where)), where
        assert "would be asked without TLS" in str(await opening("http://agents.example.com", token=TOKEN))
        with pytest.raises(ael.OpenError):
            ael.connect("http://169.254.169.254@example.com")
        async with pretending(plain(b"{}")) as (port, _):
            assert "its contract is of no use" in str(await opening(url(port)))
        async with pretending(plain(b"x" * 9_000_000)) as (port, _):
            await opening(url(port))
        client = ael.connect("https://agents.example.com", token=TOKEN)
        assert TOKEN not in repr(vars(client)) + repr(vars(client._line))
        with pytest.raises(ael.RequestError):
            await client.call("Orders.get")
        for named in ({"attempts": 0}, {"timeout": -1}, {"connect": "soon"}):
            with pytest.raises(ael.RequestError):
                ael.connect("https://agents.example.com", **named)

    asyncio.run(scenario())


@pytest.mark.feature("B22")
def test_what_cannot_be_asked_for(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with shop(tmp_path) as port, ael.connect(url(port), token=TOKEN) as client:
            with pytest.raises(ael.RequestError, match=r"the server offers no `Orders\.nope`") as raised:
                await client.call("Orders.nope")
            assert raised.value.code == "AEL0895"
            for named in ({"key": "a b"}, {"key": "x" * 513}, {"key": "ä"}, {"deadline": datetime(2030, 1, 1)}, {"deadline": -1}):
                with pytest.raises(ael.RequestError) as wrong:
                    await client.call("Orders.get", {"id": "A"}, **named)
                assert wrong.value.code == "AEL0893"
            past = await client.call("Orders.get", {"id": "A"}, deadline=datetime(2020, 1, 1, tzinfo=UTC))
            assert isinstance(past, ael.Faulted)
            assert past.kind is ael.FaultKind.TIMEOUT
            with pytest.raises(ael.RequestError):
                await client.__aenter__()
        assert not ledger(tmp_path)

    asyncio.run(scenario())
