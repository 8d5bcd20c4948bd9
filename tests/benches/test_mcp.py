"""The sides of the benchmark `mcp` meet the same server, and what they ask of it is answered on every way to it."""

from __future__ import annotations

import asyncio
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from benches.crm import NEW, OLD, Way, way
from benches.harness import ROOT, SideFailed, cores, seconds_to_answer
from benches.suite.mcp import AEL, WITHOUT, deployment, pinned, ways


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Way]]:
    """All ways, with the SDK of this environment, which has the version that the benchmark pins."""
    with ways(tmp_path_factory.mktemp("ways"), Path(sys.executable)) as made:
        yield made


def side(monkeypatch: pytest.MonkeyPatch, to: Way, name: str) -> ModuleType:
    """A side's module, as a process of its own that was given this way would load it."""
    for variable, text in to.environment().items():
        monkeypatch.setenv(variable, text)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


def test_there_is_a_way_by_each_transport_in_each_era(found: list[Way]) -> None:
    assert [one.name for one in found] == ["stdio/2026", "http/2026", "stdio/2025", "http/2025"]
    assert [one.protocol for one in found] == [NEW, NEW, OLD, OLD]


def test_a_way_reaches_another_process_whole(monkeypatch: pytest.MonkeyPatch, found: list[Way]) -> None:
    for one in found:
        for variable, text in one.environment().items():
            monkeypatch.setenv(variable, text)
        assert way() == one


@pytest.mark.parametrize("index", range(4))
def test_the_session_and_the_run_time_are_answered_alike(monkeypatch: pytest.MonkeyPatch, found: list[Way], index: int) -> None:
    ours = side(monkeypatch, found[index], "benches.ael_side.mcp")

    async def test() -> None:
        # Each asserts the protocol that was agreed on and the last answer.
        await ours.BARE.open()
        await ours.BARE(3)
        await ours.RUNS.open()
        await asyncio.gather(*(ours.RUNS(2) for _ in range(3)))
        assert ours.BARE.session is not None
        await ours.BARE.session.close()
        await ours.RUNS.host.close()

    asyncio.run(test())


@pytest.mark.parametrize("index", range(4))
def test_the_sdk_meets_the_same_server(found: list[Way], index: int) -> None:
    assert seconds_to_answer((sys.executable, "-m", "benches.peers.mcp_sdk"), ROOT, found[index].environment()) > 0


def test_an_answer_is_waited_for_only_while_its_process_lives() -> None:
    with pytest.raises(SideFailed, match=r"exit 3, its first line is b''"):
        seconds_to_answer((sys.executable, "-c", "raise SystemExit(3)"), ROOT)
    with pytest.raises(SideFailed, match="exit 0"):
        seconds_to_answer((sys.executable, "-c", "print('no end of line', end='')"), ROOT)


@pytest.mark.feature("A9.1")
def test_a_program_without_servers_runs_where_nothing_of_mcp_can_be_imported(tmp_path: Path, found: list[Way]) -> None:
    hello = str(ROOT / "examples" / "hello" / "main.ael")
    cache = {"AEL_CACHE": str(tmp_path)}
    assert seconds_to_answer((*WITHOUT, "run", "-q", hello), ROOT, cache) > 0
    # One that needs a server does not: what is blocked is what speaks to servers.
    with pytest.raises(SideFailed, match="exit 1"):
        seconds_to_answer((*WITHOUT, "run", "-q", found[1].folder), ROOT, cache)
    assert seconds_to_answer((*AEL, "run", "-q", found[1].folder), ROOT, cache) > 0


def test_a_server_that_cannot_be_reached_is_no_figure(tmp_path: Path) -> None:
    with pytest.raises(SideFailed, match=r"exit [12]"):
        pinned(Way("nowhere", NEW, (), str(ROOT), "http://127.0.0.1:9/new", str(tmp_path / "nowhere")))


def test_the_deployment_names_the_command_or_the_host() -> None:
    child = Way("stdio/2026", NEW, ("python", "-m", "x"), "/r", "", "/f")
    assert deployment(child).startswith('command "python"\nmcp crm = stdio("python", "-m", "x", folder: "/r"')
    far = Way("http/2026", NEW, (), "/r", "http://127.0.0.1:1/new", "/f")
    assert deployment(far).startswith('host "127.0.0.1"\nmcp crm = http("http://127.0.0.1:1/new"')


def test_the_server_ends_with_its_standard_input() -> None:
    _, other = cores()
    command = (sys.executable, "-m", "benches.crm_server", str(other), "http")
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert json.loads(server.stdout.readline())["port"] > 0
        server.stdin.close()
        assert server.wait(30) == 0
