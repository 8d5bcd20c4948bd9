"""The desk whose orders service moves: one source in four places, with the same answers, traces, books, and end of each fault."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import clean_environment
from tests.ports import free_port

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "support-fleet"
PLACES = ("in-process", "process", "https", "grpc")
WIRED = ("process", "https", "grpc")
LONG = 900
"""Seconds that a script may take here."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the example at ports of its own, and an installation as its scripts expect it."""
    folder = tmp_path / "examples" / "support-fleet"
    left = shutil.ignore_patterns("*.db", "*.db-*", "__pycache__", "out", "certs", ".ael")
    shutil.copytree(EXAMPLE, folder, ignore=left)
    shutil.copy(EXAMPLE.parent / "setup.sh", folder.parent)
    for name, port in (("https", "28443"), ("grpc", "25051")):
        deployment = folder / f"deploy.{name}.ael"
        text = deployment.read_text(encoding="utf-8")
        assert port in text
        deployment.write_text(text.replace(port, str(free_port())), encoding="utf-8")
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name, words in (("ael", "-m ael "), ("python", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n')
        (programs / name).chmod(0o755)
    return folder


def environment(folder: Path) -> dict[str, str]:
    """That of a person who has no key."""
    kept = clean_environment(folder.parents[1])
    return {name: value for name, value in kept.items() if name != "DESK_TOKEN"}


def script(folder: Path, name: str) -> str:
    """What a script prints."""
    done = subprocess.run(
        ["sh", name], cwd=folder, env=environment(folder), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=LONG
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout


def sources(folder: Path) -> dict[str, bytes]:
    """All that is not the deployment's."""
    files = [*folder.glob("*.ael"), *folder.glob("*.py"), folder / "script.json"]
    return {file.name: file.read_bytes() for file in files if not file.name.startswith("deploy.")}


def out(folder: Path, name: str) -> dict[str, bytes]:
    """A file that a script wrote for each place."""
    return {place: (folder / "out" / place / name).read_bytes() for place in PLACES}


@pytest.mark.timeout(LONG)
@pytest.mark.feature("A11.1", "A11.2", "D9")
def test_the_service_moves_and_nothing_else_changes(folder: Path) -> None:
    before = sources(folder)
    assert before == sources(EXAMPLE)
    said = re.sub(r"localhost:\d+", "localhost:(port)", script(folder, "run.sh"))
    assert said == re.sub(r"localhost:\d+", "localhost:(port)", (EXAMPLE / "expected.txt").read_text(encoding="utf-8"))
    for name in ("answer.json", "trace.txt"):
        assert len(set(out(folder, name).values())) == 1, name
    assert b"operation Orders.refund" in out(folder, "trace.txt")["grpc"]
    assert sources(folder) == before


@pytest.mark.timeout(LONG)
@pytest.mark.feature("A11.1", "A11.2", "A11.4", "A8.5", "A8.6", "A13.6", "D9", "K26", "K34")
def test_each_fault_ends_in_the_same_way_in_each_place(folder: Path) -> None:
    before = sources(folder)
    table = script(folder, "faults.sh")
    shown = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    assert table == re.search(r"```text\n(.*?)```", shown, re.DOTALL)[1]  # type: ignore[index]
    names = sorted(file.name for file in (folder / "out" / "grpc").iterdir())
    assert len(names) == 14
    for name in names:
        ended = out(folder, name)
        if name == "books.json":
            # Each courier went once, and each refund was booked once; what died before it was booked was booked where it could go on.
            counts = {"B-901": 1, "C-505": 1, "C-901": 1}
            assert json.loads(ended["in-process"]) == {"B-900": 1, **counts}
            assert all(json.loads(ended[place]) == counts for place in WIRED), ended
        elif name == "dies-before.json":
            assert len({ended[place] for place in WIRED}) == 1
            assert [json.loads(ended[place])["outcome"] for place in PLACES] == ["value", *["uncertain"] * 3]
        elif name == "breaks.json":
            # Why it broke is told where it broke; that it broke is known everywhere.
            assert ended["in-process"] == ended["process"]
            assert ended["https"] == ended["grpc"]
            assert {json.loads(text)["kind"] for text in ended.values()} == {"Crashed"}
            assert b"torn" not in ended["https"]
        else:
            assert len(set(ended.values())) == 1, (name, ended)
    assert sources(folder) == before


# --- what only a wire can do ---------------------------------------------------------------------------------------------


@contextmanager
def serving(folder: Path, place: str) -> Iterator[None]:
    """The orders service where `place` needs it, started again whenever it ends."""
    text = (folder / f"deploy.{place}.ael").read_text(encoding="utf-8")
    port = re.search(r"localhost:(\d+)", text)
    if port is None:
        yield
        return
    subprocess.run([sys.executable, "certs.py"], cwd=folder, check=True)
    words = ["--connect", "--port", port[1]] if place == "https" else ["--grpc", "--grpc-port", port[1]]
    over, up = threading.Event(), threading.Event()
    processes: list[subprocess.Popen[str]] = []

    def keep() -> None:
        while not over.is_set():
            with subprocess.Popen(
                [sys.executable, "-m", "ael", "serve", ".", "--deploy", "orders", *words],
                cwd=folder, env=told(folder), stderr=subprocess.PIPE, text=True,
            ) as process:  # fmt: skip
                processes.append(process)
                assert process.stderr is not None
                for line in process.stderr:
                    if "listening" in line:
                        up.set()

    thread = threading.Thread(target=keep)
    thread.start()
    try:
        assert up.wait(LONG)
        yield
    finally:
        over.set()
        while thread.is_alive():
            processes[-1].terminate()
            thread.join(1)


def told(folder: Path) -> dict[str, str]:
    """With the token of the desk."""
    return {**environment(folder), "DESK_TOKEN": "desk-token-0123456789"}


def ran(folder: Path, place: str, *words: str) -> dict[str, Any]:
    """The outcome of a run with the service at `place`."""
    done = subprocess.run(
        [sys.executable, "-m", "ael", "run", ".", *words, "--deploy", place, "--json", "-q"],
        cwd=folder, env=told(folder), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=LONG,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout or "{}")
    assert found, done.stderr
    return found


def said_of_the_service(folder: Path, place: str, more: str) -> None:
    """Add options to the line of the service."""
    file = folder / f"deploy.{place}.ael"
    text = file.read_text(encoding="utf-8")
    at = text.rindex(")")
    file.write_text(f"{text[:at].rstrip().rstrip(',')}, {more}{text[at:]}", encoding="utf-8")


@pytest.mark.timeout(LONG)
@pytest.mark.feature("A11.2", "A11.4", "D9", "K45")
def test_a_circuit_opens_in_the_same_way(folder: Path) -> None:
    """A service that dies with each call: after two failures nothing is sent any more, and the run is told so in the same words."""
    ended = {}
    for place in WIRED:
        said_of_the_service(folder, place, "failures: 2")
        with serving(folder, place):
            outcome = ran(folder, place, "look", "--id", "A-909")
        with closing(sqlite3.connect(folder / "warehouse.db")) as books:
            asked = books.execute("SELECT COUNT(*), COUNT(DISTINCT key) FROM asked").fetchone()
            books.execute("DELETE FROM asked")
            books.commit()
        # One of the two may have found nobody: the process was being started.
        assert asked[0] in (1, 2)
        assert asked[1] == 1
        ended[place] = outcome["kind"], re.sub(r"again in [\d.]+ s", "again in (time) s", outcome["message"])
    assert set(ended.values()) == {
        ("Unavailable", "`shop.Orders.get`: its circuit is open after 2 failures in a row; again in (time) s")
    }


class Cut:
    """Stands before a server, and once cuts the connections when `acted` says that the server has acted: its answer never arrives."""

    def __init__(self, server: int, acted: Callable[[], bool]) -> None:
        self.port = 0
        self._server, self._acted = server, acted
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),))
        self._up, self._over = threading.Event(), asyncio.Event()
        self.cuts = 0

    def __enter__(self) -> Cut:
        self._thread.start()
        assert self._up.wait(LONG)
        return self

    def __exit__(self, *ended: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        self._loop.close()

    async def _run(self) -> None:
        async with await asyncio.start_server(self._handle, "127.0.0.1", 0) as server:
            self.port = server.sockets[0].getsockname()[1]
            self._up.set()
            await self._over.wait()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._server)
        pumps = [asyncio.ensure_future(self._pump(*pair)) for pair in ((reader, back), (there, writer))]
        watch = asyncio.ensure_future(self._watch())
        await asyncio.wait([*pumps, watch], return_when=asyncio.FIRST_COMPLETED)
        for task in (*pumps, watch):
            task.cancel()
        await asyncio.gather(*pumps, watch, return_exceptions=True)
        for end in (writer, back):
            end.close()

    async def _watch(self) -> None:
        while self.cuts or not self._acted():
            await asyncio.sleep(0.05)
        self.cuts += 1

    async def _pump(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(65_536):
                target.write(data)
                await target.drain()


@pytest.mark.timeout(LONG)
@pytest.mark.feature("A11.2", "A11.4", "A8.5", "D9", "K26", "K34")
def test_an_answer_that_is_lost_on_the_wire(folder: Path) -> None:
    """The refund is booked, and the connection is cut before anybody hears of it: it is looked for under its key, and not made again."""

    def booked() -> list[tuple[str, str]]:
        if not (folder / "warehouse.db").exists():
            return []
        with (
            closing(sqlite3.connect(folder / "warehouse.db", timeout=60)) as books,
            contextlib.suppress(sqlite3.OperationalError),
        ):
            return books.execute("SELECT key, id FROM refund").fetchall()
        return []

    for place in ("https", "grpc"):
        (folder / "warehouse.db").unlink(missing_ok=True)
        file = folder / f"deploy.{place}.ael"
        text = file.read_text(encoding="utf-8")
        port = re.search(r"localhost:(\d+)", text)
        assert port is not None
        with serving(folder, place), Cut(int(port[1]), lambda: bool(booked())) as cut:
            file.write_text(text.replace(port[1], str(cut.port)), encoding="utf-8")
            outcome = ran(folder, place, "refund", "--id", "B-506")
        [(key, id)] = booked()
        assert outcome["value"] == {"order": "B-506", "amount": "19.90", "key": key}, (place, outcome)
        assert (id, cut.cuts) == ("B-506", 1)
        with closing(sqlite3.connect(folder / "warehouse.db")) as books:
            assert books.execute("SELECT COUNT(*) FROM asked WHERE what = 'B'").fetchone() == (1,)


@pytest.mark.timeout(LONG)
@pytest.mark.feature("A11.2", "A11.4", "A13.6", "D9")
def test_a_machine_that_lets_nobody_in(folder: Path) -> None:
    """Another token than the machine knows: the same fault over both wires, and nothing is asked of the warehouse."""
    ended = {}
    for place in ("https", "grpc"):
        with serving(folder, place):
            file = folder / f"deploy.{place}.ael"
            file.write_text(file.read_text(encoding="utf-8").replace('env("DESK_TOKEN")', 'file("other")'), encoding="utf-8")
            (folder / "other").write_text("another-token-0123456789\n")
            ended[place] = ran(folder, place, "fetch", "--id", "A-42")
    told = {(outcome["kind"], outcome["message"]) for outcome in ended.values()}
    assert len(told) == 1, ended
    assert {kind for kind, _ in told} == {"Denied"}
    assert not (folder / "warehouse.db").exists()


# --- the deployment is changed while a call is open ----------------------------------------------------------------------


def killed_in_the_middle(folder: Path, place: str, entry: str, id: str) -> None:
    """Begin a run under the deployment of `place`, and kill its worker while the warehouse is at work on it."""
    words = [sys.executable, "-m", "ael"]
    more = [] if place == "in-process" else ["--deploy", place]
    begun = [*words, "run", ".", entry, "--id", id, *more, "--detach", "--run-id", "moved"]
    subprocess.run(begun, cwd=folder, env=told(folder), check=True, capture_output=True)
    with subprocess.Popen([*words, "worker", ".", *more], cwd=folder, env=told(folder), stdout=subprocess.DEVNULL) as worker:
        until(lambda: bool(asked(folder, id)) or worker.poll() is not None)
        worker.kill()


def asked(folder: Path, id: str) -> list[tuple[str, str]]:
    """What the warehouse was asked to act on, and under which keys."""
    if not (folder / "warehouse.db").exists():
        return []
    with closing(sqlite3.connect(folder / "warehouse.db", timeout=60)) as books, contextlib.suppress(sqlite3.OperationalError):
        return books.execute("SELECT what, key FROM asked WHERE id = ? AND what = ?", (id, id[0])).fetchall()
    return []


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    last = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < last
        time.sleep(0.05)


def gone_on(folder: Path, place: str) -> dict[str, Any]:
    """The outcome of that run, with which a worker goes on under another deployment."""
    words = [sys.executable, "-m", "ael"]
    more = [] if place == "in-process" else ["--deploy", place]
    with subprocess.Popen([*words, "worker", ".", *more], cwd=folder, env=told(folder), stdout=subprocess.DEVNULL) as worker:
        done = subprocess.run(
            [*words, "runs", "wait", "moved", ".", *more, "--json"],
            cwd=folder, env=told(folder), capture_output=True, text=True, timeout=LONG,
        )  # fmt: skip
        worker.terminate()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.timeout(LONG)
@pytest.mark.feature("A11.2", "A8.5", "A8.6", "K26")
def test_what_was_sent_to_another_machine_is_not_done_here_when_the_service_moves(folder: Path) -> None:
    """A courier is on the way when the desk is killed; the service moves into the process: he is not sent again."""
    with serving(folder, "https"):
        killed_in_the_middle(folder, "https", "fetch", "C-506")
    outcome = gone_on(folder, "in-process")
    assert (outcome["outcome"], outcome.get("operation")) == ("uncertain", "Orders.fetch"), outcome
    assert len(asked(folder, "C-506")) == 1


@pytest.mark.timeout(LONG)
@pytest.mark.feature("A11.2", "A8.6", "K26")
def test_what_began_in_the_process_goes_on_there_when_the_service_moves(folder: Path) -> None:
    """Another machine would not know its keys. What begins after that is there."""
    killed_in_the_middle(folder, "in-process", "look", "A-900")
    with serving(folder, "grpc"):
        assert gone_on(folder, "grpc")["outcome"] == "value"
        made = asked(folder, "A-900")
        assert len(made) == 2
        assert len(set(made)) == 1
        assert ran(folder, "grpc", "look", "--id", "A-42")["value"]["id"] == "A-42"


@pytest.mark.timeout(LONG)
@pytest.mark.feature("A11.2")
def test_a_run_that_began_with_the_service_elsewhere_calls_it_here(folder: Path) -> None:
    begun = ["run", ".", "look", "--id", "A-42", "--deploy", "https", "--detach", "--run-id", "moved"]
    subprocess.run([sys.executable, "-m", "ael", *begun], cwd=folder, env=told(folder), check=True, capture_output=True)
    assert gone_on(folder, "in-process")["value"]["id"] == "A-42"
