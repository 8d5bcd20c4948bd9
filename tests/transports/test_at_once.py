"""Calls of plain code are answered as they come in, without a task: with the same checks, in the same words, and under the same limits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ael.data import replace
from ael.run.bindings import Options
from ael.run.outcome import Value
from ael.run.run import Run
from ael.server.connection import Idle
from ael.server.dispatch import Dispatch, Incoming, Reply
from ael.server.served import Alone
from ael.types.signature import Effects
from tests.run.helpers import code, engine, unit
from tests.server.support import head
from tests.transports.places import TOKEN, serving
from tests.transports.test_protocol import REFUSED, post
from tests.transports.test_protocol import code as code_of

PLAIN = """\
error Odd { number: Int }

/// The half of an even number.
pub node half(id: Int(0..1_000_000)) -> Int fails Odd {
  if id % 2 == 1 {
    fail Odd(number: id)
  }
  id div 2
}

/// Counts for as long as it may.
pub node count(id: Int) -> Int
  budget time 300ms
{
  var sum = id
  for a in 1..10_000 {
    for b in 1..10_000 {
      sum = sum + b
    }
  }
  sum
}

/// Branches beside each other, also in what is called with a function.
pub node both(id: Int) -> Int {
  let f = fn(x: Int) => x * id
  let all = parallel { list: each(["a", "b", "c"], f), sum: id + 1 }
  let some = parallel x in [1, 2, 3] up to 2 { f(x) }
  all.list.sum() + some.sum() + all.sum
}

fn each(names: List<String>, f: fn(Int) -> Int) -> List<Int> {
  parallel name in names { f(name.length()) }
}

/// The same number, a moment later.
pub node later(id: Int) -> Int {
  let at = now()
  if at.year() > 0 { id } else { 0 }
}
"""
HALF, LATER, BOTH = "/shop.Nodes/Half", "/shop.Nodes/Later", "/shop.Nodes/Both"


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The entries of the runs that get a task of their own."""
    begun: list[str] = []
    begin = Run.begin

    def noted(self: Run, work: Any) -> None:
        begun.append(self.entry)
        begin(self, work)

    monkeypatch.setattr(Run, "begin", noted)
    return begun


@asynccontextmanager
async def served(folder: Path, deploy: str = "") -> AsyncIterator[tuple[Alone, int]]:
    async with serving(folder, PLAIN, deploy) as (alone, port, _):
        yield alone, port


def ask(port: int, path: str, value: object, *, close: bool = False) -> bytes:
    """One request as bytes."""
    body = json.dumps({"id": value}).encode()
    own = {"Host": f"127.0.0.1:{port}", "Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    return head("POST", path, body, {**own, "Connection": "close" if close else "keep-alive"}) + body


async def said(port: int, pieces: Sequence[bytes]) -> list[tuple[int, Any]]:
    """Status and body of every answer on one connection, to which the pieces are sent one after the other."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.01)
        data = await reader.read()
    finally:
        writer.close()
    found: list[tuple[int, Any]] = []
    while data:
        first, _, rest = data.partition(b"\r\n\r\n")
        lines = first.decode("latin-1").lower().split("\r\n")
        length = int(next(line.partition(":")[2] for line in lines if line.startswith("content-length:")))
        found.append((int(lines[0].split()[1]), json.loads(rest[:length])))
        data = rest[length:]
    return found


@pytest.mark.feature("A11.1", "A11.6")
def test_plain_code_is_answered_without_a_task(tmp_path: Path, tasks: list[str]) -> None:
    async def scenario() -> None:
        async with served(tmp_path) as (_, port):
            reply = await post(port, HALF, b'{"id": 84}')
            assert (reply.status, reply.json) == (200, {"result": 42})
            assert reply.headers["ael-run"].startswith("r")
            assert reply.headers["content-type"] == "application/json"
            assert reply.headers["connection"] == "close"
            assert "date" in reply.headers
            odd = await post(port, HALF, b'{"id": 7}')
            assert odd.json["details"][0]["debug"] == {"outcome": "error", "error": "main.Odd", "value": {"number": 7}}
            assert (await post(port, BOTH, b'{"id": 2}')).json == {"result": 2 + 2 + 2 + 12 + 3}
            in_task = {"Content-Encoding": "identity"}
            assert (await post(port, BOTH, b'{"id": 1}', in_task)).json == {"result": 3 + 6 + 2}, "what is served in a task, too"
            assert tasks == []
            assert (await post(port, LATER, b'{"id": 1}')).json == {"result": 1}
            assert tasks == ["main.later"], "what reaches outside may wait"

    asyncio.run(scenario())


@pytest.mark.feature("A11.6", "K42", "K43")
def test_what_is_not_let_in_is_not_answered_at_once_either(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with served(tmp_path) as (_, port):
            for request, status, expected in REFUSED:
                if request.get("body") != b'{"id": 1}':  # it fits here
                    reply = await post(port, **{"path": HALF, "body": b'{"id": 84}', **request})
                    assert (reply.status, code_of(reply)) == (status, expected), (request, reply)

    asyncio.run(scenario())


@pytest.mark.feature("A11.6")
def test_answers_keep_the_order_of_their_requests_on_a_connection(tmp_path: Path) -> None:
    """Also where some are answered at once, some are not, and they come in one piece, or byte by byte."""

    async def scenario() -> None:
        async with served(tmp_path) as (_, port):
            paths = [HALF, LATER, HALF, HALF, LATER, HALF]
            requests = [ask(port, path, 2 * at, close=at == len(paths) - 1) for at, path in enumerate(paths)]
            values = [at if path == HALF else 2 * at for at, path in enumerate(paths)]
            whole = b"".join(requests)
            for pieces in ([whole], requests, [whole[at : at + 60] for at in range(0, len(whole), 60)]):
                assert await said(port, pieces) == [(200, {"result": value}) for value in values]

    asyncio.run(scenario())


@pytest.mark.feature("A11.6", "A8.6")
def test_a_key_and_a_follower_have_their_run_as_always(tmp_path: Path, tasks: list[str]) -> None:
    async def scenario() -> None:
        async with served(tmp_path) as (_, port):
            for _ in range(2):
                assert (await post(port, HALF, b'{"id": 8}', {"Idempotency-Key": "k"})).json == {"result": 4}
            assert tasks == ["main.half"], "the second is the answer of the first"
            again = await post(port, HALF, b'{"id": 10}', {"Idempotency-Key": "k"})
            assert (again.status, code_of(again)) == (400, "invalid_argument")
            events = await post(port, HALF, b'{"id": 8}', {"Accept": "text/event-stream"})
            assert events.body.endswith(b',"taint":[],"result":{"result":4}}\n\n')
            assert tasks == ["main.half", "main.half"]

    asyncio.run(scenario())


@pytest.mark.feature("A8.8", "A11.6")
def test_its_limits_hold(tmp_path: Path) -> None:
    """Pure code that does not end is stopped at its time, and a server without room sheds at once."""

    async def scenario() -> None:
        async with served(tmp_path, "listen = http(concurrent: 1, queue: 0)\n") as (alone, port):
            late = await post(port, "/shop.Nodes/Count", b'{"id": 1}')
            assert late.status == 504, late
            assert (await post(port, HALF, b'{"id": 8}')).json == {"result": 4}, "its place is free again"
            local = alone.served.dispatch
            gate = local._gate
            gate.taken += 1
            shed = await post(port, HALF, b'{"id": 8}')
            assert (shed.status, code_of(shed)) == (503, "unavailable")
            gate.taken -= 1
            assert (local.in_flight, gate.taken) == (0, 0)

    asyncio.run(scenario())


@pytest.mark.feature("A11.6", "K42")
def test_a_body_beyond_its_size_is_refused(tmp_path: Path) -> None:
    """Also where no length says so before it comes, and where it comes with its head in one piece."""

    async def scenario() -> None:
        async with served(tmp_path, "listen = http(body: 4KiB)\n") as (_, port):
            body = b'{"id": 8' + b" " * 5_000 + b"}"
            chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
            own = {"Host": f"127.0.0.1:{port}", "Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
            for sent in (
                head("POST", HALF, body, own) + body,
                head("POST", HALF, None, {**own, "Transfer-Encoding": "chunked"}) + chunks,
            ):
                [(status, answer)] = await said(port, [sent])
                assert (status, answer["code"]) == (413, "resource_exhausted")

    asyncio.run(scenario())


@pytest.mark.feature("A2.11", "K39")
def test_it_can_be_stopped_where_it_runs() -> None:
    """Whoever watches over pure code, from another thread, sees that this run holds the loop; before and after, it does not."""
    seen: list[bool] = []

    async def body(k: Any) -> str:
        seen.append(runs[0].holds_the_loop())
        return "done"

    runs: list[Run] = []
    plain = code("main", body)
    signature = replace(plain.spec.signature, effects=Effects(plain=True))
    made = engine(unit(nodes=[replace(plain, spec=replace(plain.spec, signature=signature))]))
    made.world.observer = runs.append

    async def scenario() -> None:
        run = made.start("main", {}, Options(at_once=True))
        assert run.done
        assert run.holds_the_loop() is False
        assert isinstance(await run.outcome(), Value)

    asyncio.run(scenario())
    assert seen == [True]


@pytest.mark.feature("A11.6")
def test_an_answer_that_fails_here_is_made_as_any_other(
    tmp_path: Path, tasks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of plain code can have been done twice, and the connection is not lost."""

    def fails(self: Dispatch, request: Incoming) -> Reply | None:
        raise RuntimeError("a defect")

    async def scenario() -> None:
        async with served(tmp_path) as (_, port):
            monkeypatch.setattr(Dispatch, "at_once", fails)
            assert (await post(port, HALF, b'{"id": 84}')).json == {"result": 42}

    asyncio.run(scenario())


@pytest.mark.feature("A11.6", "K22")
def test_a_connection_that_nobody_uses_is_closed_and_one_in_use_is_not() -> None:
    """By one timer, however many answers were given."""

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        closed: list[float] = []
        idle = Idle(loop, 0.3, lambda: closed.append(loop.time()))
        for _ in range(5):
            idle.begin()
            await asyncio.sleep(0.1)
            idle.end()
        await asyncio.sleep(0.5)
        assert closed == [], "a request is being answered"
        idle.begin()
        began = loop.time()
        while not closed:
            await asyncio.sleep(0.05)
        assert closed[0] - began >= 0.29
        idle.begin()
        idle.stop()
        await asyncio.sleep(0.5)
        assert len(closed) == 1

    asyncio.run(scenario())
