"""The other side goes away and comes back: processes that are killed, servers that start anew over their runs, parents that die."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from ael.run.bindings import Options
from ael.run.outcome import Faulted, Unsettled, Value
from ael.services.workers import Fleet, Workers
from ael.types.fault import FaultKind
from tests.ports import free_port
from tests.transports.places import Placed, Setting, ledger, opened_in, placed, serving
from tests.transports.programs import SHOP
from tests.transports.test_context import until


def alive(pid: int) -> bool:
    """Whether a process runs: a zombie does not."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def fleet(program: Placed) -> Fleet:
    """The processes of a program."""
    places = program.host.bindings.placements["main.Orders"]._places  # type: ignore[attr-defined]
    assert isinstance(places, Workers)
    return places._fleet


@pytest.mark.feature("A11.4", "A8.5", "K26")
def test_a_process_that_dies_in_the_middle(tmp_path: Path) -> None:
    """What may be repeated is asked again and done by the next; what may not is `Uncertain`; it is started again."""

    async def scenario() -> None:
        async with placed("process", tmp_path, SHOP, Setting(workers=1)) as program:
            assert isinstance(await program.run("get", {"id": "A"}), Value)
            [first] = fleet(program).processes
            once = await program.run("pay", {"id": "die:pay"})
            assert isinstance(once, Unsettled)
            assert once.operation == "Orders.pay"
            plain = None
            async with asyncio.timeout(60):
                while not isinstance(plain, Value):
                    plain = await program.run("get", {"id": "B"})
            [second] = fleet(program).processes
            assert first != second
            assert [call["what"] for call in program.ledger].count("die:pay") == 1

    asyncio.run(scenario())


@pytest.mark.feature("K39", "K41", "A11.4")
def test_processes_end_with_their_host_and_get_nothing_that_is_not_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their environment has the secrets of the deployment, and nothing else of this process's; sockets are gone with them."""
    monkeypatch.setenv("NOT_THEIRS", "private-to-the-parent")
    monkeypatch.setenv("SHOP_KEY", "key-of-the-shop")
    monkeypatch.setenv("CALLER_KEY", "token-of-a-caller-0123")
    client = 'secret SHOP = env("SHOP_KEY")\nsecret CALLER = env("CALLER_KEY")\ncaller somebody = bearer(secret("CALLER"))\n'

    async def scenario() -> None:
        async with placed("process", tmp_path, SHOP, Setting(workers=2, client=client)) as program:
            assert isinstance(await program.run("get", {"id": "A"}), Value)
            await until(lambda: len(fleet(program).processes) == 2)
            processes, folder = list(fleet(program).processes), fleet(program)._folder
            assert folder is not None
            assert Path(folder).stat().st_mode & 0o077 == 0
            for process in processes:
                environment = Path(f"/proc/{process}/environ").read_bytes()
                assert b"key-of-the-shop" in environment
                assert b"private-to-the-parent" not in environment
                assert b"token-of-a-caller" not in environment
                assert fleet(program).token.reveal().encode() not in Path(f"/proc/{process}/cmdline").read_bytes()
        assert not any(map(alive, processes))
        assert not Path(folder).exists()

    asyncio.run(scenario())


PARENT = """
import asyncio, sys
from pathlib import Path
from ael.diagnostics.diagnostic import Bag
from ael.host import open_host
from ael.project.program import open_program

async def main():
    async with open_host(open_program(Path(sys.argv[1]), Bag())) as host:
        print(await host.engine.start("get", {"id": "A"}).outcome())
        fleet = host.bindings.placements["main.Orders"]._places._fleet
        while len(fleet.processes) < 2:
            await asyncio.sleep(0.02)
        print("children", *fleet.processes, flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.feature("K39", "A11.4")
def test_processes_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    opened_in(tmp_path, SHOP, "runs = memory\nservice Orders = process(workers: 2)\n")
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path / "main.ael")], stdout=subprocess.PIPE, text=True)
    try:
        assert parent.stdout is not None
        children: list[int] = []
        while not children:
            line = parent.stdout.readline()
            assert line, "it has ended"
            children = [int(word) for word in line.split()[1:]] if line.startswith("children") else []
        assert len(children) == 2
        assert all(map(alive, children))
    finally:
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        parent.stdout.close()
    asyncio.run(until(lambda: not any(map(alive, children))))


@pytest.mark.feature("A11.4", "A8.6", "K26")
def test_a_server_that_starts_anew_knows_its_keyed_calls(tmp_path: Path) -> None:
    """Where the deployment keeps its runs: the same key and the same request give the recorded answer, another request is refused."""
    port = free_port()
    server = 'runs = sqlite("runs.db")\n'
    client = f'host "127.0.0.1"\nsecret T = env("ORDERS_TOKEN")\nservice Orders = https("http://127.0.0.1:{port}", token: secret("T"))\n'

    async def scenario() -> None:
        async with placed("in process", tmp_path / "client", SHOP, Setting(client=client)) as program:
            for time in range(2):
                async with serving(tmp_path / "server", SHOP, server, port=port):
                    for entry, id in (("get", "A"), ("pay", "P"), ("get", "none"), ("pay", "lose")):
                        outcome = await program.run(entry, {"id": id}, run=f"{entry}-{id}")
                        assert not isinstance(outcome, Faulted), (time, outcome)
                        assert isinstance(outcome, Unsettled) == (id == "lose")
                    same = await program.run("get", {"id": "B"}, run="get-A")
                    assert isinstance(same, Faulted)
                    assert same.kind is FaultKind.BAD_ARGUMENTS
                    assert "this key names another call" in same.message
            assert [call["what"] for call in ledger(tmp_path / "server")] == ["A", "P", "lose"], "each once, over both lives"

    asyncio.run(scenario())


@pytest.mark.feature("A11.4", "A8.6")
def test_a_fault_is_not_an_answer_for_ever(tmp_path: Path) -> None:
    """The same key after a fault is another run, whose effects have the keys of the first; kept runs show both."""
    setting = Setting(runs='runs = sqlite("runs.db")\n')

    async def scenario() -> None:
        async with placed("https", tmp_path, SHOP, setting) as program:
            outcome = await program.run("retried", {"id": "once:first"})
            assert isinstance(outcome, Value)
            first, second = program.ledger
            assert first["key"] == second["key"]
            assert program.alone is not None
            store = program.alone.served.host.store
            assert store is not None
            rows = await store.rows()
            assert [(row.ending, "~" in row.header.run) for row in rows] == [("value", True), ("fault", False)]

    asyncio.run(scenario())


@pytest.mark.feature("A11.4", "K39")
def test_a_server_ends_gracefully_under_load(tmp_path: Path) -> None:
    """What it has let in it answers; what comes after is refused or finds nobody; it ends."""

    async def scenario() -> None:
        async with placed("https", tmp_path, SHOP, Setting(server="listen = http(drain: 60s)\n")) as program:
            runs = [
                program.host.engine.start("get", {"id": "wait:go"}, Options(caller="tester", tenant="acme")) for _ in range(8)
            ]
            ended = [asyncio.ensure_future(run.outcome()) for run in runs]
            await until(lambda: len(program.ledger) == 8)
            assert program.alone is not None
            program.stop()
            await until(lambda: program.alone is not None and program.alone.served.dispatch.draining)
            late = await program.run("pay", {"id": "late"})
            assert isinstance(late, Faulted)
            assert late.kind is FaultKind.UNAVAILABLE
            (program.folder / "go").touch()
            assert all([isinstance(await future, Value) for future in ended])

    asyncio.run(scenario())
