"""The session from inside: what a mistake of AEL's own does, and that what is typed is never answered by what was there before."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from ael.editor.analysis import Program, Superseded
from ael.editor.feature import Asked, Refused
from ael.editor.server import Server
from ael.editor.session import ARRIVED, Modified, Session, Unknown
from ael.editor.snapshot import Snapshot
from ael.editor.workspace import programs

GOOD = "fn a() -> Int {\n  1\n}\n"
BAD = "fn a() -> Int {\n  b\n}\n"


class Told:
    """What a session told."""

    def __init__(self) -> None:
        self.said: list[tuple[str, int | None, list[str]]] = []
        self.changes = 0

    def publish(self, uri: str, version: int | None, diagnostics: list[lsp.Diagnostic]) -> None:
        self.said.append((uri, version, [str(one.code) for one in diagnostics]))

    def changed(self) -> None:
        self.changes += 1


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def text_of(asked: Asked) -> str:
    return asked.file.source.text


def test_an_answer_is_of_the_newest_version(tmp_path: Path) -> None:
    async def work() -> None:
        session, uri = Session(Told()), (tmp_path / "a.ael").as_uri()
        session.open(uri, 1, GOOD)
        assert await session.ask(uri, text_of) == GOOD
        session.change(uri, 2, [lsp.TextDocumentContentChangeWholeDocument(BAD)])
        assert await session.ask(uri, text_of) == BAD
        ARRIVED.set(session.clock)
        session.change(uri, 3, [lsp.TextDocumentContentChangeWholeDocument(GOOD)])
        with pytest.raises(Modified):
            await session.ask(uri, text_of)
        session.stop()

    run(work())


def test_what_is_typed_while_an_answer_is_computed_makes_it_old(tmp_path: Path) -> None:
    async def work() -> None:
        session, uri = Session(Told()), (tmp_path / "a.ael").as_uri()
        session.open(uri, 1, GOOD)
        loop = asyncio.get_running_loop()

        def slow(asked: Asked) -> str:
            typed = asyncio.run_coroutine_threadsafe(type_(), loop)
            typed.result()
            return text_of(asked)

        async def type_() -> None:
            session.change(uri, 2, [lsp.TextDocumentContentChangeWholeDocument(BAD)])

        with pytest.raises(Modified):
            await session.ask(uri, slow)
        assert await session.ask(uri, text_of) == BAD
        session.stop()

    run(work())


def test_an_analysis_of_what_has_changed_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it is published, and what it had begun to learn does no harm."""
    told, stops = Told(), 0

    async def work() -> None:
        nonlocal stops
        session, uri = Session(told), (tmp_path / "a.ael").as_uri()
        session.open(uri, 1, GOOD)
        await session.ask(uri, text_of)
        loop, whole = asyncio.get_running_loop(), Program.analyse

        def interrupted(self: Program, documents: Any, stop: Any) -> Snapshot:
            nonlocal stops
            monkeypatch.setattr(Program, "analyse", whole)
            asyncio.run_coroutine_threadsafe(type_(), loop).result()
            try:
                return whole(self, documents, stop)
            except Superseded:
                stops += 1
                raise

        async def type_() -> None:
            session.change(uri, 3, [lsp.TextDocumentContentChangeWholeDocument(GOOD)])

        monkeypatch.setattr(Program, "analyse", interrupted)
        session.change(uri, 2, [lsp.TextDocumentContentChangeWholeDocument(BAD)])
        with pytest.raises(Modified):
            await session.ask(uri, text_of)
        assert await session.ask(uri, text_of) == GOOD
        session.stop()

    run(work())
    assert stops == 1
    assert [(version, codes) for _, version, codes in told.said] == [(1, []), (3, [])]


def test_a_mistake_of_the_analysis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is logged, the question is refused, and the next edit is analysed again."""

    def broken(self: Program, documents: Any, stop: Any) -> Snapshot:
        raise KeyError("a mistake")

    async def work() -> None:
        session, uri = Session(Told()), (tmp_path / "a.ael").as_uri()
        with monkeypatch.context() as patch:
            patch.setattr(Program, "analyse", broken)
            session.open(uri, 1, GOOD)
            with pytest.raises(Unknown):
                await session.ask(uri, text_of)
        session.change(uri, 2, [lsp.TextDocumentContentChangeWholeDocument(BAD)])
        assert await session.ask(uri, text_of) == BAD
        session.stop()

    run(work())


def test_a_long_analysis_waits_for_a_pause_in_the_typing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless somebody asks."""
    told, analyses = Told(), 0
    whole = Program.analyse

    def counted(self: Program, documents: Any, stop: Any) -> Snapshot:
        nonlocal analyses
        analyses += 1
        return whole(self, documents, stop)

    async def work() -> None:
        session, uri = Session(told), (tmp_path / "a.ael").as_uri()
        session.open(uri, 1, GOOD)
        await session.ask(uri, text_of)
        next(iter(session._active.values())).seconds = 1_000.0
        monkeypatch.setattr(Program, "analyse", counted)
        monkeypatch.setattr("ael.editor.session.MAX_PAUSE", 1_000.0)
        for version in range(2, 20):
            session.change(uri, version, [lsp.TextDocumentContentChangeWholeDocument(BAD)])
            await asyncio.sleep(0)
        assert analyses == 0
        assert await session.ask(uri, text_of) == BAD
        assert analyses == 1
        session.stop()

    run(work())


def test_the_programs_of_a_folder(tmp_path: Path) -> None:
    for name in (
        "pack/pack.ael",
        "pack/a.ael",
        "pack/inner/b.ael",
        "loose/c.ael",
        "loose/deploy.ael",
        ".hidden/d.ael",
        "node_modules/e.ael",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    found = [
        (place.root.relative_to(tmp_path).as_posix(), place.main and place.main.name)
        for place in programs([tmp_path, tmp_path / "pack"])
    ]
    assert found == [("loose", "c.ael"), ("pack", None)]


def test_questions_about_the_whole_workspace(tmp_path: Path) -> None:
    async def work() -> None:
        session = Session(Told())
        (tmp_path / "a.ael").write_text(GOOD)
        (tmp_path / "b.ael").write_text(BAD)
        session.folders = [tmp_path]
        assert sorted(await session.ask_all(text_of)) == sorted([GOOD, BAD])
        uri = (tmp_path / "a.ael").as_uri()
        assert await session.ask(uri, lambda asked: [one.main for one in asked.others()]) == ["b"]
        session.stop()

    run(work())


class Written:
    """The messages that a server writes."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def write(self, data: bytes) -> None:
        self.messages.append(json.loads(data.partition(b"\r\n\r\n")[2]))

    def close(self) -> None:
        raise AssertionError("the server closes nothing")


def test_a_mistake_of_a_feature(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request is answered with an error, and so is one that the feature refuses; the server lives on."""
    answers: list[Any] = [KeyError("a mistake"), RecursionError(), Refused("it cannot be renamed"), None]

    def feature(asked: Asked, params: Any) -> None:
        answer = answers.pop(0)
        if answer is not None:
            raise answer

    async def work() -> None:
        server, written = Server(), Written()
        server.protocol.set_writer(written)
        monkeypatch.setattr("ael.editor.server._function", lambda named: feature)
        uri = (tmp_path / "a.ael").as_uri()

        def send(**message: Any) -> None:
            server.protocol.receive(json.dumps({"jsonrpc": "2.0", **message}).encode())

        send(id=0, method="initialize", params={"capabilities": {}})
        document = {"uri": uri, "languageId": "ael", "version": 1, "text": GOOD}
        send(method="textDocument/didOpen", params={"textDocument": document})
        about = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}
        for number in range(1, 5):
            send(id=number, method="textDocument/hover", params=about)
        while not any(message.get("id") == 4 for message in written.messages):
            await asyncio.sleep(0.01)
        codes = {message["id"]: message.get("error", {}).get("code") for message in written.messages if "id" in message}
        assert codes == {0: None, 1: -32603, 2: -32603, 3: -32803, 4: None}
        assert "it cannot be renamed" in [message.get("error", {}).get("message") for message in written.messages]
        server.session.stop()

    run(work())
