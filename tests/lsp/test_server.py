"""The server as an editor meets it: text, diagnostics, fixes, formatting, and what must never happen (K51, K49)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.client import WAIT, Editor, Failed

FOX = 'fn a() -> Int {\n  let x = "🦊"\n  "🦊🦊" + y\n}\n'
CODES = {"parse": -32700, "invalid": -32600, "no method": -32601, "parameters": -32602, "not initialized": -32002}
PULLS = {"textDocument": {"diagnostic": {"relatedDocumentSupport": True}}}


def codes(found: list[dict[str, Any]]) -> list[str]:
    return [one["code"] for one in found]


def at(line: int, start: int, end: int | None = None) -> dict[str, Any]:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": start if end is None else end}}


# --- positions and text ----------------------------------------------------------------------------------------------------


@pytest.mark.feature("B21")
def test_an_emoji_before_a_mistake(served: Editor) -> None:
    uri = served.open("untitled:fox", FOX)
    found = {one["code"]: one for one in served.published(uri, 1)}
    assert found["AEL0202"]["range"] == at(2, 11, 12)
    assert found["AEL1101"]["range"] == at(1, 6, 7)
    assert found["AEL1101"]["tags"] == [1]
    assert found["AEL0202"]["codeDescription"]["href"].endswith("AEL0202.md")
    served.close(uri)


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 15), ("utf-16", 11), ("utf-32", 9)])
def test_the_encoding_that_the_editor_asks_for(fresh: Editor, encoding: str, column: int) -> None:
    said = fresh.start(capabilities={"general": {"positionEncodings": [encoding, "utf-16"]}})
    assert said["positionEncoding"] == encoding
    uri = fresh.open("untitled:fox", FOX)
    assert next(one for one in fresh.published(uri, 1) if one["code"] == "AEL0202")["range"]["start"]["character"] == column
    assert fresh.stop() == 0


def test_carriage_returns_and_combining_marks(served: Editor) -> None:
    uri = served.open("untitled:marks", 'fn a() -> Int {\r\n  let x = "e\u0301\u0301" + y\r\n  1\r\n}\r\n')
    assert next(one for one in served.published(uri, 1) if one["code"] == "AEL0202")["range"] == at(1, 18, 19)
    version = served.change(uri, {"range": at(1, 18, 19), "text": '"z"'}, {"range": at(1, 6, 7), "text": "_x"})
    assert codes(served.published(uri, version)) in ([], ["AEL1101"])
    text = served.ask("ael/viewFileText", {"textDocument": {"uri": uri}})
    assert text == 'fn a() -> Int {\r\n  let _x = "e\u0301\u0301" + "z"\r\n  1\r\n}\r\n'
    served.close(uri)


def test_a_byte_order_mark_and_tabs(served: Editor) -> None:
    uri = served.open("untitled:bom", "\ufefffn a() -> Int {\n\t\tb\n}\nfn a() -> Int {\n\tc\n}\n")
    found = {one["code"]: one["range"] for one in served.published(uri, 1)}
    assert found["AEL0202"]["start"]["line"] in (1, 4)
    assert found["AEL0201"] == at(3, 3, 4)
    version = served.change(uri, {"range": at(0, 0, 1), "text": ""})
    assert {one["code"] for one in served.published(uri, version)} == found.keys()
    assert served.ask("ael/viewFileText", {"textDocument": {"uri": uri}}).startswith("fn a()")
    served.close(uri)


@pytest.mark.parametrize("uri", ["file://[", "http://[::1", "file://[x]/a.ael", "::::"])
def test_an_address_that_is_none_is_a_document_all_the_same(served: Editor, uri: str) -> None:
    served.open(uri, "fn a() -> Int {\n  b\n}\n")
    assert served.ask("ael/viewFileText", {"textDocument": {"uri": uri}}).startswith("fn a()")
    assert served.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 3}}) is not None
    served.close(uri)


@pytest.mark.parametrize("params", [None, {"textDocument": 5}, {"textDocument": {"uri": 5}}, []])
def test_a_request_that_names_no_document_says_so(served: Editor, params: Any) -> None:
    with pytest.raises(Failed) as failed:
        served.ask("ael/viewFileText", params)
    assert failed.value.code == CODES["parameters"]


@pytest.mark.feature("B21")
def test_every_prefix_of_a_program(served: Editor, pytestconfig: pytest.Config) -> None:
    text = (pytestconfig.rootpath / "examples" / "triage" / "main.ael").read_text(encoding="utf-8")
    uri = served.open("untitled:prefix", "")
    for end in range(0, len(text) + 1, 7):
        version = served.replace(uri, text[:end])
        served.published(uri, version)
    assert served.published(uri, served.replace(uri, text)) == []
    served.close(uri)


# --- programs ------------------------------------------------------------------------------------------------------------


def test_what_is_not_saved_is_seen_by_other_modules(served: Editor, pack: Path) -> None:
    main, prices = pack / "main.ael", pack / "prices.ael"
    uri = served.open(main, main.read_text())
    assert served.published(uri, 1) == []
    other = served.open(prices, prices.read_text().replace("twice", "thrice"))
    while "AEL0205" not in codes(served.published(uri)):
        served.message()
    assert codes(served.published(other, 1)) == []
    (wrong,) = [one for one in served.published(uri) if one["code"] == "AEL0205"]
    assert "`twice`" in wrong["message"]
    served.close(other)
    while served.published(uri):
        served.message()
    served.close(uri)


def test_related_places_are_in_the_other_file(served: Editor, pack: Path) -> None:
    main, prices = pack / "main.ael", pack / "prices.ael"
    prices.write_text(prices.read_text().replace("pub fn twice", "fn twice"))
    uri = served.open(main, main.read_text())
    (wrong,) = served.published(uri, 1)
    assert wrong["code"] == "AEL0206"
    assert wrong["relatedInformation"][0]["location"]["uri"] == prices.as_uri()
    served.close(uri)


def test_files_that_change_on_the_disk(served: Editor, pack: Path) -> None:
    main, prices = pack / "main.ael", pack / "prices.ael"
    uri = served.open(main, main.read_text())
    assert served.published(uri, 1) == []
    text = prices.read_text()
    prices.unlink()
    served.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": prices.as_uri(), "type": 3}]})
    while "AEL0802" not in codes(served.published(uri)):
        served.message()
    prices.write_text(text)
    served.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": prices.as_uri(), "type": 1}]})
    while served.published(uri):
        served.message()
    served.close(uri)


def test_a_file_that_is_only_in_the_editor(served: Editor, pack: Path) -> None:
    """A new module counts before it is saved, and a mistake in a module that is not open is told of its file."""
    new = served.open(pack / "new.ael", "use ./main.{total}\n\nfn more() -> Int {\n  total(1)\n}\n")
    assert codes(served.published(new, 1)) == ["AEL0206", "AEL0301"]
    served.close(new)
    while served.published(new):
        served.message()


def test_packs_deployments_and_locks(served: Editor, pack: Path) -> None:
    manifest = served.open(pack / "pack.ael", 'pack shop {\n  version "one"\n}\n')
    assert codes(served.published(manifest, 1)) == ["AEL0808"]
    deployment = served.open(pack / "deploy.ael", "model fast = nothing\n")
    assert served.published(manifest, served.replace(manifest, 'pack shop {\n  version "1.0.0"\n}\n')) == []
    while not served.published(deployment):
        served.message()
    assert served.published(deployment, served.replace(deployment, "runs = memory()\n")) == []
    (pack / "ael.lock").write_text("{")
    lock = served.open(pack / "ael.lock", "{")
    served.published(lock, 1)
    for uri in (manifest, deployment, lock):
        served.close(uri)


def test_files_outside_of_packs_do_not_see_each_other(served: Editor, tmp_path: Path) -> None:
    one = served.open(tmp_path / "one.ael", "fn a() -> Int {\n  1\n}\n")
    two = served.open(tmp_path / "two.ael", "fn a() -> Int {\n  b\n}\n")
    assert served.published(one, 1) == []
    assert codes(served.published(two, 1)) == ["AEL0202"]
    served.close(one)
    served.close(two)
    while served.published(two):
        served.message()


def test_what_cannot_be_read(served: Editor, tmp_path: Path) -> None:
    (tmp_path / "binary.ael").write_bytes(b"\xff\xfe\x00")
    uri = served.open(tmp_path / "main.ael", "use ./binary.{x}\n\nfn a() -> Int {\n  x\n}\n")
    (wrong,) = [one for one in served.published(uri, 1) if one["code"] == "AEL0801"]
    assert "UTF-8" in wrong["message"]
    large = served.replace(uri, "// " + "x" * (5 * 1024 * 1024))
    assert codes(served.published(uri, large)) == ["AEL0801"]
    strange = served.replace(uri, 'fn a() -> String {\n  "\0\ud83d"\n}\n')
    assert set(codes(served.published(uri, strange))) == {"AEL0001"}
    served.close(uri)


# --- questions -----------------------------------------------------------------------------------------------------------


def test_diagnostics_on_request(fresh: Editor, pack: Path) -> None:
    said = fresh.start(pack, capabilities=PULLS)
    assert said["diagnosticProvider"]["workspaceDiagnostics"]
    (pack / "prices.ael").write_text("pub record Price { amount: Int }\n")
    uri = fresh.open(pack / "main.ael", (pack / "main.ael").read_text())
    report = fresh.ask("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    assert codes(report["items"]) == ["AEL0205"]
    again = {"textDocument": {"uri": uri}, "previousResultId": report["resultId"]}
    assert fresh.ask("textDocument/diagnostic", again)["kind"] == "unchanged"
    whole = fresh.ask("workspace/diagnostic", {"previousResultIds": []})
    assert {one["uri"]: len(one["items"]) for one in whole["items"]} == {
        uri: 1, (pack / "prices.ael").as_uri(): 0, (pack / "pack.ael").as_uri(): 0,
    }  # fmt: skip
    known = [{"uri": one["uri"], "value": one["resultId"]} for one in whole["items"]]
    assert {one["kind"] for one in fresh.ask("workspace/diagnostic", {"previousResultIds": known})["items"]} == {"unchanged"}
    assert not [note for note in fresh.notes if note["method"] == "textDocument/publishDiagnostics"]
    assert fresh.stop() == 0


def test_a_request_about_an_older_version(served: Editor, pack: Path) -> None:
    uri = served.open(pack / "main.ael", (pack / "main.ael").read_text())
    served.published(uri, 1)
    about = {"textDocument": {"uri": uri}, "range": at(0, 0), "context": {"diagnostics": []}}
    document = {"uri": uri, "version": 2}
    served.at_once(
        {"id": "old", "method": "textDocument/codeAction", "params": about},
        {"method": "textDocument/didChange", "params": {"textDocument": document, "contentChanges": [{"text": "fn"}]}},
        {"id": "new", "method": "textDocument/codeAction", "params": about},
    )
    assert served.error("old") == -32801
    assert served.error("new") is None
    served.close(uri)


def test_a_request_that_is_cancelled(served: Editor, pack: Path) -> None:
    """It is answered, and so is the one behind it."""
    uri = served.open(pack / "main.ael", (pack / "main.ael").read_text())
    about = {"textDocument": {"uri": uri}, "range": at(0, 0), "context": {"diagnostics": []}}
    served.at_once(
        {"id": "first", "method": "textDocument/codeAction", "params": about},
        {"method": "$/cancelRequest", "params": {"id": "first"}},
        {"id": "second", "method": "textDocument/codeAction", "params": about},
    )
    assert served.error("first") == -32800
    assert served.error("second") is None
    served.close(uri)


def test_a_file_that_changes_where_the_editor_does_not_tell(served: Editor, pack: Path) -> None:
    uri = served.open(pack / "main.ael", (pack / "main.ael").read_text())
    assert served.published(uri, 1) == []
    (pack / "prices.ael").write_text("pub record Price { amount: Int }\n")
    while "AEL0205" not in codes(served.published(uri)):
        served.message()
    served.close(uri)


@pytest.mark.feature("C2")
def test_fixes(served: Editor, pack: Path) -> None:
    body = "  let amounts = [price.amount]\n  amounts.revrse().length()\n"
    text = f"use ./prices.{{Price, twice}}\n\nfn total(price: Price) -> Int {{\n{body}}}\n"
    uri = served.open(pack / "main.ael", text)
    served.published(uri, 1)
    where = {"textDocument": {"uri": uri}, "range": at(4, 10), "context": {"diagnostics": []}}
    (meant,) = served.ask("textDocument/codeAction", where)
    assert meant["kind"] == "quickfix"
    assert meant["title"] == "Replace it by `reverse`"
    assert meant["edit"]["changes"][uri] == [{"range": at(4, 10, 16), "newText": "reverse"}]
    only = {**where, "context": {"diagnostics": [], "only": ["source"]}}
    actions = {one["kind"]: one for one in served.ask("textDocument/codeAction", only)}
    assert actions.keys() == {"source.fixAll.ael", "source.organizeImports"}
    (edit,) = actions["source.organizeImports"]["edit"]["changes"][uri]
    assert edit["range"] == {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
    assert edit["newText"] == "use ./prices.{Price}\n"
    served.close(uri)


def test_formatting(served: Editor) -> None:
    uri = served.open("untitled:form", "fn a( ) -> Int {\n  1\n}\n\nfn b() -> Int {\n   2 }\n\nfn c() -> Int {\n    3\n}\n")
    document = {"textDocument": {"uri": uri}, "options": {"tabSize": 2, "insertSpaces": True}}
    edits = served.ask("textDocument/formatting", document)
    assert [one["range"]["start"]["line"] for one in edits] == [0, 5, 8]
    ranged = served.ask("textDocument/rangeFormatting", {**document, "range": at(8, 0)})
    assert [one["range"]["start"]["line"] for one in ranged] == [8]
    typed = served.ask("textDocument/onTypeFormatting", {**document, "position": {"line": 5, "character": 6}, "ch": "}"})
    assert [one["range"]["start"]["line"] for one in typed] == [5]
    served.change(uri, {"range": at(0, 0), "text": "fn broken( {\n\n"})
    assert served.ask("textDocument/formatting", document) is None
    assert served.ask("textDocument/rangeFormatting", {**document, "range": at(10, 0)})
    served.close(uri)


# --- what goes wrong -------------------------------------------------------------------------------------------------------


def error(editor: Editor, data: bytes) -> int:
    editor.send_bytes(b"Content-Length: %d\r\n\r\n" % len(data) + data)
    while True:
        message = editor.message()
        if message.get("error") is not None and "method" not in message:
            return int(message["error"]["code"])


def test_every_wrong_message_is_answered(fresh: Editor) -> None:
    assert (
        error(fresh, b'{"jsonrpc": "2.0", "id": 1001, "method": "textDocument/hover", "params": {}}') == CODES["not initialized"]
    )
    fresh.start()
    assert error(fresh, b"{nonsense") == CODES["parse"]
    assert error(fresh, b"[" * 100_000) == CODES["parse"]
    assert error(fresh, b"\xff\xfe") == CODES["parse"]
    assert error(fresh, b"[]") == CODES["invalid"]
    assert error(fresh, b'{"id": 1004}') == CODES["invalid"]
    assert error(fresh, b'{"jsonrpc": "2.0", "id": 1005, "method": "no/such", "params": {}}') == CODES["no method"]
    assert (
        error(fresh, b'{"jsonrpc": "2.0", "id": 1006, "method": "textDocument/formatting", "params": {"x": 1}}') in CODES.values()
    )
    assert (
        error(fresh, b'{"jsonrpc": "2.0", "id": 1007, "method": "initialize", "params": {"capabilities": {}}}')
        == CODES["invalid"]
    )
    with pytest.raises(Failed):
        fresh.ask("textDocument/diagnostic", {"textDocument": {"uri": "file:///no/such/file.ael"}, "x": "\0"})
    fresh.ask("shutdown")
    assert error(fresh, b'{"jsonrpc": "2.0", "id": 1099, "method": "textDocument/hover", "params": {}}') == CODES["invalid"]
    fresh.tell("exit")
    assert fresh.process.wait(WAIT) == 0


def test_changes_and_closings_of_what_is_not_open(served: Editor) -> None:
    served.versions["untitled:none"] = 1
    served.change("untitled:none", {"text": "fn"})
    served.close("untitled:none")
    assert served.ask("ael/viewFileText", {"textDocument": {"uri": "untitled:none"}}) is None


def test_the_end_of_the_input_ends_the_server(fresh: Editor) -> None:
    fresh.start()
    assert fresh.process.stdin is not None
    fresh.process.stdin.close()
    assert fresh.process.wait(WAIT) == 1


def test_an_exit_without_shutdown(fresh: Editor) -> None:
    fresh.start()
    fresh.tell("exit")
    assert fresh.process.wait(WAIT) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"Content-Length: 999999999999\r\n\r\n",
        b"Nothing: 1\r\n\r\n",
        b"x" * 20_000,
        b"POST /a:b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
def test_bytes_that_are_no_messages(fresh: Editor, data: bytes) -> None:
    fresh.start()
    fresh.send_bytes(data)
    assert fresh.process.wait(WAIT) == 1


@pytest.mark.skipif(os.name != "posix", reason="elsewhere the end of the input tells")
def test_the_editor_dies(fresh: Editor) -> None:
    """The server ends with the process that began it, also where its input stays open."""
    editor = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    fresh.start(process=editor.pid)
    editor.communicate()
    assert fresh.process.wait(WAIT) == 1


def test_a_port_of_this_machine(tmp_path: Path) -> None:
    served = subprocess.Popen([sys.executable, "-m", "ael", "lsp", "--tcp", "0"], stderr=subprocess.PIPE)
    assert served.stderr is not None
    try:
        line = served.stderr.readline().decode()
        assert line.startswith("ael lsp: listening on 127.0.0.1:")
        with socket.create_connection(("127.0.0.1", int(line.rpartition(":")[2])), WAIT) as connection:
            for number, method in enumerate(("initialize", "shutdown")):
                body = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": {"capabilities": {}}}).encode()
                connection.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
                with connection.makefile("rb") as answers:
                    length = int(answers.readline().rpartition(b":")[2])
                    while answers.readline().strip():
                        pass
                    assert json.loads(answers.read(length))["id"] == number
            body = b'{"jsonrpc": "2.0", "method": "exit"}'
            connection.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            assert served.wait(WAIT) == 0
    finally:
        served.kill()
        served.wait()
        served.stderr.close()


def test_typing_is_never_blocked(served: Editor, pack: Path) -> None:
    """However fast changes come, the last one is what is told of, and each version that is told of is the newest of its time."""
    uri = served.open(pack / "main.ael", (pack / "main.ael").read_text())
    begun = len(served.notes)
    for _ in range(200):
        last = served.change(uri, {"range": at(0, 0), "text": " "})
    served.published(uri, last)
    versions = [
        note["params"]["version"] for note in served.notes[begun:]
        if note["method"] == "textDocument/publishDiagnostics" and note["params"]["uri"] == uri
    ]  # fmt: skip
    assert versions == sorted(versions)
    served.close(uri)
