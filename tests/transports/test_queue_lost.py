"""Queues when something dies: the worker in the middle of an item, its sender, the broker; and items that end every worker."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from ael.hosting.queues import queue_name
from ael.journal.database import DatabaseStore
from ael.journal.durable import RunState
from ael.journal.sqlite import SqliteDatabase
from ael.run.bindings import Options
from ael.run.outcome import Faulted, Outcome, Unsettled, Value
from ael.services.queue import Sizes
from ael.types.fault import FaultKind
from tests.transports.places import Placed, Setting, ledger, opened_in, placed
from tests.transports.programs import SHOP
from tests.transports.queues import QUEUES, Queue, queue, working
from tests.transports.test_context import until

RUNS = 'runs = sqlite("runs.db", lease: 2s, drain: 0s)\n'
LEASE = "lease: 2s"


@contextmanager
def worker(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """`ael worker` in a process of its own, which is killed at the end of the block."""
    command = [sys.executable, "-m", "ael", "worker", str(folder), *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        process.communicate(timeout=60)


def server(folder: Path, found: Queue, options: str = LEASE, main: str = SHOP) -> Path:
    """The folder of a worker that takes items of the queue."""
    opened_in(folder, main, RUNS + found.lines + found.line("service Orders", options))
    return folder


@asynccontextmanager
async def sender(
    tmp_path: Path, found: Queue, options: str = "slots: 0", main: str = SHOP, place: str = "service Orders"
) -> AsyncIterator[Placed]:
    """A program that only sends; `folder` is where the worker acts."""
    lines = found.lines + found.line(place, options)
    async with placed("in process", tmp_path / "client", main, Setting(client=lines)) as program:
        program.folder = tmp_path / "server"
        yield program


def begun(program: Placed, entry: str, id: str) -> asyncio.Task[Outcome]:
    """A run that has begun."""
    run = program.host.engine.start(entry, {"id": id}, Options(caller="tester", tenant="acme", run=f"{entry}-{id}"))
    return asyncio.ensure_future(run.outcome())


def go(scenario: Coroutine[Any, Any, None]) -> None:
    """Run it; what hangs is ended by the test's own limit."""
    asyncio.run(scenario)


@pytest.mark.feature("A12.3", "A16.1", "A8.5", "A8.6", "K26", "K36")
@pytest.mark.parametrize("kind", QUEUES)
def test_a_worker_that_is_killed_in_the_middle(kind: str, tmp_path: Path) -> None:
    """The next one goes on with the same run: the same key for what may be repeated, `Uncertain` for what may not."""

    async def scenario(found: Queue) -> None:
        folder = server(tmp_path / "server", found)
        async with sender(tmp_path, found) as program:
            with worker(folder) as first:
                ended = [begun(program, "get", "wait:go"), begun(program, "pay", "wait:on")]
                await until(lambda: len(program.ledger) == 2)
                first.kill()
                first.wait()
            (folder / "go").touch()
            with worker(folder):
                found_again, open_end = await asyncio.gather(*ended)
            assert isinstance(found_again, Value), found_again
            assert isinstance(open_end, Unsettled), open_end
            made = program.ledger
            gets = [call for call in made if call["what"] == "wait:go"]
            assert len(gets) == 2
            assert len({call["key"] for call in gets}) == 1
            assert len(made) == 3, "what must not be done twice was not"

    with queue(kind) as found:
        go(scenario(found))


@pytest.mark.feature("A12.3", "A16.1", "K26", "K35")
@pytest.mark.parametrize("kind", QUEUES)
def test_a_sender_that_is_killed_finds_the_answer(kind: str, tmp_path: Path) -> None:
    """It came while nobody waited. What must not be done twice is not even asked twice."""

    async def scenario(found: Queue) -> None:
        folder = server(tmp_path / "server", found)
        client = tmp_path / "client"
        opened_in(client, SHOP, RUNS + found.lines + found.line("service Orders", "slots: 0"))
        ids = [started(client, "pay", "wait:go"), started(client, "caught", "none")]
        with worker(folder):
            with worker(client) as first:
                await until(lambda: len(ledger(folder)) == 1)
                first.send_signal(signal.SIGKILL)
                first.wait()
            (folder / "go").touch()
            store = DatabaseStore(lambda: SqliteDatabase(folder / "runs.db"))
            async with asyncio.timeout(60):
                while not [row for row in await store.rows() if row.state is RunState.ENDED and row.header.entry.endswith("pay")]:
                    await asyncio.sleep(0.05)
            await store.close()
        with worker(client):
            outcomes = {run: await ended(client, run) for run in ids}
        assert outcomes[ids[0]] == {"outcome": "value", "value": "wait:go"}
        assert outcomes[ids[1]]["value"] == "not found: none A-1,ä\n"
        assert [call["what"] for call in ledger(folder)] == ["wait:go"]

    with queue(kind) as found:
        go(scenario(found))


def started(folder: Path, entry: str, id: str) -> str:
    """A run that is left to the workers; its id."""
    command = [sys.executable, "-m", "ael", "run", str(folder), entry, "--detach", "--id", id]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


async def ended(folder: Path, run: str) -> dict[str, Any]:
    """How a run ended, without what it took."""
    store = DatabaseStore(lambda: SqliteDatabase(folder / "runs.db"))
    try:
        async with asyncio.timeout(90):
            while True:
                row = await store.find(run)
                if row is not None and row.state is RunState.ENDED:
                    assert isinstance(row.outcome, dict)
                    return {name: value for name, value in row.outcome.items() if name in ("outcome", "value", "kind")}
                await asyncio.sleep(0.1)
    finally:
        await store.close()


@pytest.mark.feature("A16.1", "A11.4", "K35", "K36")
@pytest.mark.parametrize("kind", QUEUES)
def test_a_broker_that_is_killed_in_the_middle(kind: str, tmp_path: Path) -> None:
    """What waits and what is under way is there when it comes back; nobody does anything twice."""

    async def scenario(found: Queue) -> None:
        folder = server(tmp_path / "server", found, "lease: 2s, slots: 1")
        opened = opened_in(folder, SHOP, (folder / "deploy.ael").read_text())
        async with working(opened), sender(tmp_path, found) as program:
            calls = [begun(program, "get", "wait:go")]
            await until(lambda: len(program.ledger) == 1)
            calls.append(begun(program, "pay", "later"))
            line = found.open(queue_name(program.host.opened, "main.Orders"), program.host.unit.digest, Sizes())
            async with asyncio.timeout(60):
                # What is taken stays in a stream until it is answered.
                while sum((await line.waiting()).values()) < (2 if kind == "nats" else 1):
                    await asyncio.sleep(0.02)
            await line.close()
            found.server.kill()
            (folder / "go").touch()
            await asyncio.sleep(1.0)
            found.server.start()
            outcomes = await asyncio.gather(*calls)
            assert all(isinstance(outcome, Value) for outcome in outcomes), outcomes
            assert [call["what"] for call in program.ledger] == ["wait:go", "later"]

    with queue(kind, own=True) as found:
        go(scenario(found))


@pytest.mark.feature("A11.4", "A8.5", "K26", "K36")
@pytest.mark.parametrize("kind", QUEUES)
def test_a_broker_that_does_not_come_back(kind: str, tmp_path: Path) -> None:
    """What may have been taken is uncertain; what never got there is not."""

    async def scenario(found: Queue) -> None:
        async with sender(tmp_path, found, "slots: 0, connect: 1s") as program:
            run = program.host.engine.start("pay", {"id": "B"}, Options(caller="tester", tenant="acme"))
            ending = asyncio.ensure_future(run.outcome())
            line = found.open(queue_name(program.host.opened, "main.Orders"), program.host.unit.digest, Sizes())
            async with asyncio.timeout(60):
                while not await line.waiting():
                    await asyncio.sleep(0.02)
            found.server.kill()
            run.cancel()
            lost = await ending
            assert isinstance(lost, Faulted)
            assert lost.details["uncertain"], "whether somebody had it cannot be asked"
            away = await program.run("pay", {"id": "C"})
            assert isinstance(away, Faulted)
            assert away.kind is FaultKind.UNAVAILABLE
            assert away.details["sent"] is False
            await line.close()

    with queue(kind, own=True) as found:
        go(scenario(found))


@pytest.mark.feature("A12.11", "A11.4", "K26", "K36")
@pytest.mark.parametrize("kind", QUEUES)
def test_an_item_that_ends_every_worker_is_given_up(kind: str, tmp_path: Path) -> None:
    """After so many: a fault that is told for what may be repeated, `Uncertain` for what may not."""

    async def scenario(found: Queue) -> None:
        folder = server(tmp_path / "server", found, "lease: 1s, deliveries: 2")
        async with sender(tmp_path, found) as program:
            for entry, how in (("get", Faulted), ("pay", Unsettled)):
                call, starts = begun(program, entry, "end:it"), 0
                while not call.done():
                    assert starts < 8, "it would go on for ever"
                    with worker(folder) as process:
                        starts += 1
                        while process.poll() is None and not call.done():
                            await asyncio.sleep(0.05)
                outcome = await call
                assert isinstance(outcome, how), outcome
                if isinstance(outcome, Faulted):
                    assert outcome.kind is FaultKind.UNAVAILABLE
                    assert "2 workers that took it, one after the other, stopped before it ended" in outcome.message
                    assert outcome.details["final"] is True
            made = [call["key"] for call in program.ledger]
            assert made.count(made[0]) == 2, "what may be repeated, so often and not more"
            assert made.count(made[-1]) == 1, "what may not, once"

    with queue(kind) as found:
        go(scenario(found))


@pytest.mark.feature("A12.2", "A12.12", "A16.1")
@pytest.mark.parametrize("kind", QUEUES)
def test_two_workers_share_a_queue_and_one_that_ends_gives_back(kind: str, tmp_path: Path) -> None:
    """Each item is done by one of them; what a worker has in hand when it is told to end is another's."""

    async def scenario(found: Queue) -> None:
        folder = server(tmp_path / "server", found, "lease: 10s, slots: 2")
        async with sender(tmp_path, found) as program:
            with worker(folder) as first, worker(folder) as second:
                calls = [begun(program, "get", f"wait:{number}") for number in range(4)]
                await until(lambda: len(program.ledger) == 4)
                by = {call["what"]: call["pid"] for call in program.ledger}
                assert {list(by.values()).count(process.pid) for process in (first, second)} == {2}
                first.send_signal(signal.SIGTERM)
                first.wait(timeout=60)
                for number in range(4):
                    (folder / f"{number}").touch()
                outcomes = await asyncio.gather(*calls)
            assert all(isinstance(outcome, Value) for outcome in outcomes), outcomes
            again = [call for call in program.ledger if by[call["what"]] == first.pid]
            assert [call["pid"] for call in again] == [first.pid] * 2 + [second.pid] * 2
            assert len({call["key"] for call in program.ledger}) == 4

    with queue(kind) as found:
        go(scenario(found))
