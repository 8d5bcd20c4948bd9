"""Calls that wait in a queue, as a program sees them: a full one, a late worker, answers of no use, people who decide, other programs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ael.cli.main import main
from ael.durable.decide import decide, find
from ael.hosting.queues import queue_name
from ael.journal.database import DatabaseStore
from ael.journal.sqlite import SqliteDatabase
from ael.project.queues import QueueBinding
from ael.run.bindings import Options
from ael.run.outcome import Faulted, Unsettled, Value
from ael.run.permission import Layer
from ael.services.line import Line
from ael.services.queue import Sizes
from ael.types.fault import FaultKind
from tests.nats import NatsServer
from tests.transports.authority import Authority
from tests.transports.places import Placed, opened_in
from tests.transports.programs import SHOP
from tests.transports.queues import QUEUES, Queue, queue, working
from tests.transports.test_context import until
from tests.transports.test_queue_lost import RUNS, begun, ended, go, sender, server, started

TIGHT = "slots: 0, room: 1, in_flight: 1"


def line_of(program: Placed, found: Queue, sizes: Sizes | None = None) -> Line:
    """The queue of a program's service, as a worker opens it that is not there."""
    return found.open(queue_name(program.host.opened, "main.Orders"), program.host.unit.digest, sizes or Sizes())


async def waits(line: Line, count: int) -> None:
    """Until so many items are in the queue."""
    async with asyncio.timeout(60):
        while sum((await line.waiting()).values()) < count:
            await asyncio.sleep(0.02)


@pytest.mark.feature("A11.4", "A16.1", "A8.5", "K34")
@pytest.mark.parametrize("kind", QUEUES)
def test_a_full_queue_holds_its_sender(kind: str, tmp_path: Path) -> None:
    """As long as that has time; then nothing was sent, of whatever repeat safety. With room, it goes on."""

    async def scenario(found: Queue) -> None:
        async with sender(tmp_path, found, TIGHT) as program:
            line = line_of(program, found, Sizes(1, 1))
            fill = [begun(program, "get", f"first{number}") for number in range(1 if kind == "postgres" else 2)]
            await waits(line, len(fill))
            for entry in ("pay_briefly", "brief"):
                refused = await program.run(entry, {"id": "none"})
                assert isinstance(refused, Faulted), refused
                assert refused.kind in (FaultKind.UNAVAILABLE, FaultKind.TIMEOUT)
                if refused.kind is FaultKind.UNAVAILABLE:
                    assert "the queue is full" in refused.message
                    assert refused.details["retry_after"] == 1.0
                    assert refused.details["sent"] is False
            held = begun(program, "pay", "held")
            folder = server(tmp_path / "server", found, "room: 1, in_flight: 1, slots: 1")
            async with working(opened_in(folder, SHOP, (folder / "deploy.ael").read_text())):
                outcomes = await asyncio.gather(*fill, held)
            assert all(isinstance(outcome, Value) for outcome in outcomes), outcomes
            assert [call["what"] for call in program.ledger] == [*(f"first{number}" for number in range(len(fill))), "held"]
            await line.close()

    with queue(kind) as found:
        go(scenario(found))


@pytest.mark.feature("K46", "A8.5", "K26", "A16.1")
@pytest.mark.parametrize("kind", QUEUES)
def test_what_no_worker_took_in_time_was_not_done(kind: str, tmp_path: Path) -> None:
    """It is taken back: a time limit and no doubt, and a worker that comes later finds nothing. A cancel is the same."""

    async def scenario(found: Queue) -> None:
        async with sender(tmp_path, found) as program:
            late = await program.run("pay_briefly", {"id": "late"})
            assert isinstance(late, Faulted), late
            assert late.kind is FaultKind.TIMEOUT
            run = program.host.engine.start("pay", {"id": "given up"}, Options(caller="tester", tenant="acme"))
            ending = asyncio.ensure_future(run.outcome())
            line = line_of(program, found)
            await waits(line, 1)
            run.cancel()
            given_up = await ending
            assert isinstance(given_up, Faulted)
            assert given_up.kind is FaultKind.CANCELLED
            assert not given_up.details.get("uncertain")
            folder = server(tmp_path / "server", found)
            async with working(opened_in(folder, SHOP, (folder / "deploy.ael").read_text())):
                assert isinstance(await program.run("pay", {"id": "A"}), Value)
            assert [call["what"] for call in program.ledger] == ["A"]
            await line.close()

    with queue(kind) as found:
        go(scenario(found))


@pytest.mark.feature("K42", "A8.5", "K26", "A16.1")
@pytest.mark.parametrize("kind", QUEUES)
def test_answers_of_no_use(kind: str, tmp_path: Path) -> None:
    """What cannot be read leaves open what was done; an ending that is told is the other side's word."""
    answers: list[tuple[bytes, type, str]] = [
        (b"\xff\xfe", Unsettled, ""),
        (b"{}", Unsettled, "neither a value nor an ending"),
        (b'{"value":{"no":"text"}}', Unsettled, ""),
        (b'{"value":"{\\"result\\": 7}"}', Unsettled, "does not fit its type"),
        (b'{"value":"' + b"x" * 900_000 + b'"}', Unsettled, "the answer cannot be read: it has 900,012 bytes"),
        (b'{"ending":{"outcome":"nonsense"}}', Unsettled, ""),
        (b'{"ending":{"outcome":"fault","kind":"Denied","message":"no"}}', Faulted, "no"),
    ]

    async def scenario(found: Queue) -> None:
        async with sender(tmp_path, found) as program:
            line = line_of(program, found)
            for number, (text, kind_of, told) in enumerate(answers):
                call = begun(program, "pay", f"{number}")
                async with asyncio.timeout(60):
                    while not (taken := await line.take(1, 1.0)):
                        pass
                await taken[0].begin("0000002a")
                await taken[0].answer(text)
                outcome = await call
                assert isinstance(outcome, kind_of), (text[:60], outcome)
                said = outcome.message if isinstance(outcome, Faulted) else str(outcome.details)
                assert told in said
            await line.close()

    with queue(kind) as found:
        go(scenario(found))


@pytest.mark.feature("A12.11", "K26", "K36")
@pytest.mark.parametrize("kind", QUEUES)
def test_an_item_that_ended_others_is_given_up(kind: str, tmp_path: Path) -> None:
    """Two workers had it, and nothing was heard of them; the third answers, and does not begin."""

    async def scenario(found: Queue) -> None:
        folder = server(tmp_path / "server", found, "lease: 1s, deliveries: 2")
        opened = opened_in(folder, SHOP, (folder / "deploy.ael").read_text())
        store = DatabaseStore(lambda: SqliteDatabase(folder / "runs.db"))
        identity = await store.identity()
        async with sender(tmp_path, found) as program:
            call, line = begun(program, "get", "A"), line_of(program, found, Sizes(lease=1.0))
            for count in (1, 2):
                async with asyncio.timeout(60):
                    while not (taken := await line.take(1, 1.0)):
                        pass
                assert await taken[0].begin(identity) == count
            async with working(opened) as there:
                outcome = await call
                assert isinstance(outcome, Faulted), outcome
                assert "2 workers that took it, one after the other, stopped before it ended" in outcome.message
                assert any(code == "AEL0909" and "is given up" in text for code, text in there.said)
            assert program.ledger == []
            await line.close()
        await store.close()

    with queue(kind) as found:
        go(scenario(found))


ASKING = SHOP.replace(
    "  repeat never\n  timeout 60s\n  extern", "  repeat never\n  timeout 60s\n  approval required by boss\n  extern"
).replace("permission orders.read\n", "permission orders.read\nrole boss\n", 1)


@pytest.mark.feature("A12.7", "A16.1", "A11.3")
def test_an_item_waits_for_a_person_as_long_as_its_sender_does(tmp_path: Path) -> None:
    """Its run is parked, and holds no place at the worker; when somebody has decided, it goes on, and is answered."""

    async def scenario(found: Queue) -> None:
        folder = server(tmp_path / "server", found, "slots: 1")
        deploy = (folder / "deploy.ael").read_text() + 'role boss = ["ann"]\n'
        async with working(opened_in(folder, ASKING, deploy)) as there, sender(tmp_path, found, main=ASKING) as program:
            asked = begun(program, "pay", "A")
            store = there.host.store
            assert store is not None
            async with asyncio.timeout(60):
                while not (rows := [row for row in await store.rows() if row.state.value == "parked"]):
                    await asyncio.sleep(0.05)
            assert isinstance(await program.run("get", {"id": "B"}), Value), "the place is free meanwhile"
            question = await find(store, rows[0].header.run, None, "approval")
            await decide(
                store,
                question,
                approved=True,
                by="ann",
                reason="",
                arguments=None,
                members={"boss": ("ann",)},
                now=question.asked,
            )
            outcome = await asked
            assert isinstance(outcome, Value), outcome
            assert sorted(call["what"] for call in program.ledger) == ["A", "B"]

    with queue("postgres") as found:
        go(scenario(found))


@pytest.mark.feature("A12.2", "A16.6", "K43")
@pytest.mark.parametrize("kind", QUEUES)
def test_items_that_no_worker_takes_are_reported(kind: str, tmp_path: Path) -> None:
    """A worker takes only what belongs to its own program, and says what waits for another."""

    async def scenario(found: Queue) -> None:
        async with sender(tmp_path, found) as program:
            waiting = begun(program, "get", "A")
            line = line_of(program, found)
            await waits(line, 1)
            folder = server(tmp_path / "server", found, main=SHOP + "\nnode more() -> Int { 1 }\n")
            changed = opened_in(folder, SHOP + "\nnode more() -> Int { 1 }\n", (folder / "deploy.ael").read_text())
            async with working(changed) as there:
                await until(lambda: bool(there.said))
                [(code, text)] = there.said
                assert code == "AEL0909"
                assert "1 items of the queue shop-main-Orders" in text
                assert f"of the program {program.host.unit.digest[:12]}" in text
            assert program.ledger == []
            waiting.cancel()
            await line.close()

    with queue(kind) as found:
        go(scenario(found))


@pytest.mark.feature("A4.2", "A4.3", "A4.14", "K43", "A16.1")
@pytest.mark.parametrize("kind", QUEUES)
def test_rights_go_along_with_a_node(kind: str, tmp_path: Path) -> None:
    """A node has no more at the worker than whoever sent it has left, whatever the worker's own deployment says of callers."""
    node = "\nnode direct(id: String) -> String\n  grants world.act, orders.read\n{\n  act(id)\n}\n"
    node += "\nnode front(id: String) -> String\n  grants world.act, orders.read\n{\n  direct(id)\n}\n"

    async def scenario(found: Queue) -> None:
        lines, text = found.lines, 'secret K = env("ORDERS_TOKEN")\ncaller somebody = bearer(secret("K"), tenant: "acme")\n'
        folder = tmp_path / "server"
        opened = opened_in(folder, SHOP + node, RUNS + lines + found.line("node direct") + text)
        async with working(opened), sender(tmp_path, found, main=SHOP + node, place="node direct") as program:
            assert isinstance(await program.run("front", {"id": "A"}), Value)
            for number, entry in enumerate(("front", "direct")):
                less = Layer("the caller `tester`", frozenset({"orders.read"}))
                denied = await program.run(entry, {"id": f"{number}"}, caller_layer=less)
                assert isinstance(denied, Faulted)
                assert denied.kind is FaultKind.DENIED
            assert [(call["what"], call["tenant"], call["caller"]) for call in program.ledger] == [("A", "acme", "tester")]

    with queue(kind) as found:
        go(scenario(found))


@pytest.mark.feature("A12.2", "A11.3")
@pytest.mark.parametrize("kind", QUEUES)
def test_the_command_does_what_is_there(kind: str, tmp_path: Path) -> None:
    """`ael worker --once` of a program that sends to itself: its runs, and the items that they wait for."""
    with queue(kind) as found:
        opened_in(tmp_path, SHOP, RUNS + found.lines + found.line("service Orders"))
        ids = [started(tmp_path, "get", "A"), started(tmp_path, "pay", "B")]
        command = [sys.executable, "-m", "ael", "worker", str(tmp_path), "--once"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=dict(os.environ))
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        outcomes = [asyncio.run(ended(tmp_path, run)) for run in ids]
        assert outcomes == [{"outcome": "value", "value": {"id": "A", "total": 3}}, {"outcome": "value", "value": "B"}]


@pytest.mark.feature("A11.2", "C13")
@pytest.mark.parametrize(("kind", "package", "extra"), [("nats", "nats-py", "nats"), ("postgres", "psycopg", "postgres")])
def test_a_package_that_is_not_installed(
    kind: str, package: str, extra: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ael.hosting.queues.find_spec", lambda name: None)
    monkeypatch.setenv("QUEUE", "postgresql://localhost/none")
    form = 'nats("nats://127.0.0.1:4222"' if kind == "nats" else 'postgres(secret("Q")'
    opened_in(tmp_path, SHOP, f'host "127.0.0.1"\nsecret Q = env("QUEUE")\nservice Orders = {form})\nruns = memory\n')
    assert main(["run", str(tmp_path), "get", "--id", "A"]) == 2
    told = capsys.readouterr().err
    assert "error[AEL0852]" in told
    assert f"packages that are not installed: {package}" in told
    assert f"pip install 'ael-lang[{extra}]'" in told


@pytest.mark.feature("A11.2", "B17")
def test_a_check_loads_nothing_of_queues(tmp_path: Path) -> None:
    lines = 'host "127.0.0.1"\nsecret Q = env("QUEUE")\n'
    opened_in(
        tmp_path, SHOP, lines + 'service Orders = nats("nats://127.0.0.1:4222", slots: 2)\nnode pay = postgres(secret("Q"))\n'
    )
    code = (
        "import sys\nfrom ael.cli.main import main\n"
        f"assert main(['check', {str(tmp_path)!r}]) == 0\n"
        "print([name for name in ('nats', 'psycopg', 'ael.services.line', 'ael.run.run') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.stdout.strip().endswith("[]"), done.stdout + done.stderr


@pytest.mark.feature("C13", "K41")
def test_deploy_check_says_where_calls_wait(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUE", "postgresql://ann:hunter2@db.example.com/none")
    lines = 'host "127.0.0.1"\nsecret Q = env("QUEUE")\n'
    opened_in(
        tmp_path,
        SHOP,
        lines + 'service Orders = nats("nats://127.0.0.1:4222", slots: 2)\nnode pay = postgres(secret("Q"), slots: 0)\n',
    )
    assert main(["deploy", "check", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "a queue, nats nats://127.0.0.1:4222, 2 slots" in said
    assert "a queue, postgres secret Q, only sent to" in said
    assert "hunter2" not in said


@pytest.mark.feature("A11.2", "K41", "K44")
def test_a_token_lets_in_and_is_told_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The right one works; without it, or with another, nothing was sent, and the reason says so without it."""

    async def scenario() -> None:
        broker = NatsServer("--auth", "queue-token-0123456789")
        monkeypatch.setenv("RIGHT", "queue-token-0123456789")
        monkeypatch.setenv("WRONG", "other-token-0123456789")
        try:
            broker.start()
            form = f'nats("{broker.address}", connect: 3s, token: secret('
            lines = 'host "127.0.0.1"\nsecret R = env("RIGHT")\nsecret W = env("WRONG")\n'
            found = Queue("nats", broker, f'{form}"R")', lines, broker.address)
            folder = server(tmp_path / "server", found)
            async with working(opened_in(folder, SHOP, (folder / "deploy.ael").read_text())):
                async with sender(tmp_path, found) as program:
                    assert isinstance(await program.run("pay", {"id": "A"}), Value)
                async with sender(tmp_path, Queue("nats", broker, f'{form}"W")', lines, broker.address)) as program:
                    refused = await program.run("pay", {"id": "B"})
            assert isinstance(refused, Faulted), refused
            assert refused.kind is FaultKind.UNAVAILABLE
            assert "it does not let this deployment in" in refused.message
        finally:
            broker.remove()
        captured = capsys.readouterr()
        assert "token-0123456789" not in refused.message + captured.out + captured.err

    go(scenario())


@pytest.mark.feature("A11.2", "A11.4", "K42")
def test_a_broker_and_its_clients_prove_who_they_are(tmp_path: Path) -> None:
    """A broker of another authority is not spoken to, and one that asks for certificates lets in nobody without."""
    ours, others = Authority(tmp_path / "ours", "ours"), Authority(tmp_path / "others", "others")
    own, client = ours.sign("server"), ours.sign("client")
    tls = ("--tls", "--tlscert", str(own[0]), "--tlskey", str(own[1]), "--tlscacert", str(ours.file), "--tlsverify")

    def at(broker: NatsServer, authority: Authority, *, shown: bool) -> Queue:
        proof = f', certificate: "{client[0]}", key: "{client[1]}"' if shown else ""
        form = f'nats("tls://127.0.0.1:{broker.port}", connect: 3s, failures: 1_000, authority: "{authority.file}"{proof}'
        return Queue("nats", broker, form, 'host "127.0.0.1"\n')

    async def scenario() -> None:
        broker = NatsServer(*tls)
        try:
            broker.start()
            folder = server(tmp_path / "server", at(broker, ours, shown=True))
            async with working(opened_in(folder, SHOP, (folder / "deploy.ael").read_text())):
                for authority, shown in ((ours, True), (ours, False), (others, True)):
                    async with sender(tmp_path, at(broker, authority, shown=shown)) as program:
                        outcome = await program.run("pay", {"id": "A"})
                        assert isinstance(outcome, Value if authority is ours and shown else Faulted), outcome
                        if isinstance(outcome, Faulted):
                            assert outcome.kind is FaultKind.UNAVAILABLE
                            assert outcome.details["sent"] is False
            assert len(program.ledger) == 1
        finally:
            broker.remove()

    go(scenario())


@pytest.mark.feature("A11.2", "K41", "K42")
def test_a_token_does_not_go_out_in_the_clear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether TLS is spoken is told in the clear, by whoever answers: a deployment that says `tls` takes no other word."""
    heard: list[bytes] = []

    async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_id":"x","version":"2.15.0","headers":true,"max_payload":1048576,"auth_required":true}\r\n')
        with suppress(OSError):
            while part := await reader.read(4096):
                heard.append(part)
        writer.close()

    async def scenario() -> None:
        monkeypatch.setenv("RIGHT", "queue-token-0123456789")
        bound = await asyncio.start_server(answers, "127.0.0.1", 0)
        port = bound.sockets[0].getsockname()[1]
        form = f'nats("tls://127.0.0.1:{port}", connect: 3s, token: secret("R")'
        broker = NatsServer()
        try:
            async with sender(tmp_path, Queue("nats", broker, form, 'host "127.0.0.1"\nsecret R = env("RIGHT")\n')) as program:
                refused = await program.run("pay", {"id": "A"})
        finally:
            bound.close()
            await bound.wait_closed()
            broker.remove()
        assert isinstance(refused, Faulted), refused
        assert refused.kind is FaultKind.UNAVAILABLE
        assert "it does not speak TLS" in refused.message
        assert b"".join(heard) == b""

    go(scenario())


def test_what_a_deployment_says_of_a_queue(tmp_path: Path) -> None:
    lines = (
        'secret T = env("T")\nsecret Q = env("Q")\n'
        'service Orders = nats("tls://queue.example.com:4222", token: secret("T"), room: 5, in_flight: 6, slots: 2, deliveries: 3,'
        " lease: 10s, keep: 2h, connect: 3s, concurrent: 7)\n"
        'node pay = postgres(secret("Q"))\n'
    )
    found: Any = opened_in(tmp_path, SHOP, lines).deployment.placements
    assert found["main.Orders"] == QueueBinding(
        "nats", "tls://queue.example.com:4222", "T", provider="main.real", connect=3_000, concurrent=7, room=5, in_flight=6,
        slots=2, deliveries=3, lease=10_000, keep=7_200_000,
    )  # fmt: skip
    assert found["main.pay"] == QueueBinding("postgres", secret="Q")
