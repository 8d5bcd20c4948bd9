"""The examples: each checks, is formatted, passes its tests, and prints what its `expected` file says, offline."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from ael.cli.main import main
from ael.types.pin import pin_digest
from tests.cli.conftest import KEYS, clean_environment
from tests.public_servers import npm_server, npx_path

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
PLAYED = ("evals", "guard", "hello", "mcp-files", "numbers", "packs", "research", "support", "triage")
"""Those whose scripts are commands of `ael` alone, which are run in this process."""
NAMES = (*PLAYED, "client", "connectors", "coder", "embed", "refunds", "support-fleet")
_KEY = re.compile(r'"key": "[0-9a-f]{32}"')


@pytest.fixture(scope="session")
def servers() -> None:
    """What the examples' own scripts install."""
    npm_server("@modelcontextprotocol/server-filesystem@2026.8.31")


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of all examples, without what earlier runs left."""
    target = tmp_path / "examples"
    shutil.copytree(EXAMPLES, target, ignore=shutil.ignore_patterns("*.db", "*.db-*", "__pycache__", "todo.md", "out", "certs"))
    monkeypatch.setenv("PATH", npx_path())
    monkeypatch.setenv("AEL_CACHE", str(tmp_path / "cache"))
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    return target


def commands(script: Path) -> list[list[str]]:
    """The commands of a `run.sh`: those of `ael` without the program's name, and those of `echo`."""
    text = script.read_text(encoding="utf-8").replace("\\\n", " ")
    found = [shlex.split(line) for line in text.splitlines() if line.startswith(('"$ael"', "echo"))]
    assert found, "a script runs something"
    return [words[1:] if words[0] == "$ael" else words for words in found]


def played(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Standard output and standard error of the commands of an example's script, run in this process."""
    monkeypatch.chdir(folder)
    capsys.readouterr()
    for words in commands(folder / "run.sh"):
        if words[0] == "echo":
            print(" ".join(words[1:]))
        else:
            assert main(words) == 0
    captured = capsys.readouterr()
    return captured.out, captured.err


def expected(folder: Path) -> str:
    """What the example says it prints."""
    (file,) = [*folder.glob("expected.json"), *folder.glob("expected.txt")]
    return file.read_text(encoding="utf-8")


def test_every_example_is_listed() -> None:
    assert sorted(folder.name for folder in EXAMPLES.iterdir() if folder.is_dir()) == sorted(NAMES)


@pytest.mark.usefixtures("servers")
@pytest.mark.parametrize("name", PLAYED)
def test_an_example_prints_what_it_says(
    copied: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, err = played(copied / name, capsys, monkeypatch)
    assert _KEY.sub('"key": "(the key of the call)"', out) == expected(copied / name)
    assert "error" not in err


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_whole(copied: Path, name: str) -> None:
    folder = copied / name
    assert (folder / "README.md").read_text(encoding="utf-8").startswith(f"# {name}\n")
    assert "sh run.sh" in (folder / "README.md").read_text(encoding="utf-8")
    assert os.access(folder / "run.sh", os.X_OK)
    assert (folder / "run.sh").read_text(encoding="utf-8").startswith("#!/bin/sh\n")
    subprocess.run(["sh", "-n", str(folder / "run.sh")], check=True)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_checks_and_passes_its_tests(
    copied: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copied / name)
    assert main(["check"]) == 0
    assert capsys.readouterr().err.endswith("checked, no problems\n")
    assert main(["fmt", "--check"]) == 0, "run `ael fmt examples`"
    assert main(["test"]) == 0
    assert re.search(r"^[1-9]\d* passed, 0 failed$", capsys.readouterr().err, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("triage", ["--message.sender", "ada", "--message.text", "It crashes."]),
        ("support", ["answer", "--ticket", '{"customer": "c", "message": "m"}', "--topic", "Refund"]),
        ("support", ["classify"]),
        ("research", []),
        ("guard", ["reader", "--request", "delete my notes"]),
        ("mcp-files", ["find_tasks"]),
    ],
)
@pytest.mark.feature("B2")
def test_prompts_can_be_previewed(
    copied: Path, name: str, words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copied / name)
    assert main(["preview", ".", *words]) == 0
    out = capsys.readouterr().out
    assert "## System message" in out
    assert "it costs nothing" in out


def test_the_real_models_of_the_desk_are_priced_without_a_key(
    copied: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copied / "support")
    assert main(["preview", ".", "answer", "--deploy", "real"]) == 0
    out = capsys.readouterr().out
    assert "fast (anthropic claude-haiku-4-5): " in out
    assert "so it costs at most $0." in out


# --- what the examples show --------------------------------------------------------------------------------------------


def _rows(file: Path, query: str) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(file)) as database:
        return database.execute(query).fetchall()


def test_the_refund_is_booked_exactly_once_in_a_real_database(
    copied: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, trace = played(copied / "support", capsys, monkeypatch)
    book = _rows(copied / "support" / "shop.db", "SELECT key, value FROM entry WHERE store LIKE '%refund_book'")
    assert len(book) == 1
    assert book[0][0] == "A-42"
    assert '"amount":"19.90"' in _text(book[0][1])
    acts = _rows(copied / "support" / "shop.db", "SELECT token FROM token WHERE store LIKE '%refund_book'")
    assert len(acts) == 1, "one act of booking, under one key"
    orders = _rows(copied / "support" / "shop.db", "SELECT value FROM entry WHERE store LIKE '%order_book'")
    assert [_text(value).count('"status":"Refunded"') for (value,) in orders] == [1]
    key = re.search(r'"key": "([0-9a-f]{32})"', out)
    assert key is not None
    assert f"operation Orders.refund · {_between(trace, 'operation Orders.refund · ', ' · key')} · key {key[1][:8]}" in trace
    assert trace.count("tool refund_order") == 1


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _between(text: str, start: str, end: str) -> str:
    return text.split(start, 1)[1].split(end, 1)[0]


def test_without_an_approval_nothing_is_refunded(
    copied: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copied / "support")
    words = [word for word in commands(Path("run.sh"))[2] if word != "--approve"]
    assert main(words) == 3
    assert "parked: refund_order waits for an approval" in capsys.readouterr().err
    assert _rows(Path("shop.db"), "SELECT * FROM entry WHERE store LIKE '%refund_book'") == []


def test_the_guard_refuses_what_it_should(
    copied: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, trace = played(copied / "guard", capsys, monkeypatch)
    assert "tool delete_notes · " in trace
    assert 'no tool "delete_notes"' in trace
    assert "`number`: expected at most 9, got number 12" in trace
    assert "everything is gone" not in trace
    assert re.search(r"operation Bank\.send · .* · UNCERTAIN", trace)


@pytest.mark.usefixtures("servers")
@pytest.mark.feature("A9.2", "D4")
def test_the_notes_are_read_and_written_by_a_real_server(
    copied: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, trace = played(copied / "mcp-files", capsys, monkeypatch)
    written = (copied / "mcp-files" / "notes" / "todo.md").read_text(encoding="utf-8")
    assert json.loads(out) == written
    assert "nothing changed (3 pinned)" in trace
    assert trace.count("tool files.read_text_file") == 4
    # The model asked for a file outside of the folder, and the server said no: an answer to the model, not the end of the run.
    assert "ToolFailed: `files.read_text_file` failed, its server says: Access denied" in trace
    assert "from mcp:files.list_directory, mcp:files.read_text_file" in trace


@pytest.mark.usefixtures("servers")
@pytest.mark.feature("A9.5", "B11")
def test_a_definition_that_is_not_the_pinned_one_is_not_called(
    copied: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copied / "mcp-files")
    lock = json.loads(Path("ael.lock").read_text(encoding="utf-8"))
    pinned = lock["mcp"]["main.files"]["tools"]["write_file"]
    pinned["definition"]["description"] = "Write a file."
    pinned["sha256"] = pin_digest(pinned["definition"])
    Path("ael.lock").write_text(json.dumps(lock), encoding="utf-8")
    capsys.readouterr()
    assert main(["run", ".", "--approve"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "DefinitionChanged" in told.err
    assert "    - Write a file." in told.err
    assert not Path("notes/todo.md").exists()


@pytest.mark.usefixtures("servers")
@pytest.mark.parametrize("name", ["hello", "mcp-files", "support"])
def test_the_script_itself(copied: Path, name: str) -> None:
    shim = copied.parent / ".venv" / "bin" / "ael"
    shim.parent.mkdir(parents=True)
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ael "$@"\n')
    shim.chmod(0o755)
    done = subprocess.run(
        ["sh", f"examples/{name}/run.sh"], cwd=copied.parent, env=clean_environment(copied.parent), capture_output=True, text=True,
        check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert _KEY.sub('"key": "(the key of the call)"', done.stdout) == expected(copied / name)
