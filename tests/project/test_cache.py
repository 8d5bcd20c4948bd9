"""A program is checked again exactly when something that its check read has changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ael.cli.main import main
from ael.diagnostics.diagnostic import Bag
from ael.project import program
from ael.project.cache import CheckCache
from ael.project.program import check_paths
from tests.programs import lock_of

MAIN = "use ./other.{word}\n\nnode main() -> String {\n  let unused = 1\n  word()\n}\n"
OTHER = 'pub fn word() -> String {\n  "word"\n}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AEL_CACHE", str(tmp_path / "cache"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    (work / "main.ael").write_text(MAIN)
    (work / "other.ael").write_text(OTHER)
    return work


class Count:
    """How many programs were really checked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.checked = 0
        original = program.check

        def counting(project: program.Project, bag: Bag) -> object:
            self.checked += 1
            return original(project, bag)

        monkeypatch.setattr(program, "check", counting)

    def look(self, folder: Path) -> tuple[int, list[str]]:
        """Check with a fresh cache object: (programs checked, what was said)."""
        self.checked = 0
        bag = Bag()
        check_paths([folder], bag, CheckCache(folder.parent / "cache"))
        return self.checked, [f"{d.code} {d.place.source.position(d.place.span.start)}" for d in bag.sorted()]


def test_what_did_not_change_is_not_checked_and_its_warnings_are_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = Count(monkeypatch)
    first = count.look(folder)
    assert first == (1, ["AEL1101 Position(line=4, column=7)"])
    assert count.look(folder) == (0, first[1])


@pytest.mark.parametrize("name", ["main.ael", "other.ael"])
def test_a_change_of_any_of_its_files_checks_it_again(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    count = Count(monkeypatch)
    count.look(folder)
    path = folder / name
    path.write_text(path.read_text() + "\nfn more() -> Int {\n  1\n}\n")
    assert count.look(folder)[0] == 1
    assert count.look(folder)[0] == 0


def test_a_deployment_that_comes_or_changes_checks_it_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = Count(monkeypatch)
    count.look(folder)
    (folder / "deploy.ael").write_text("default steps 3\n")
    assert count.look(folder)[0] == 1
    assert count.look(folder)[0] == 0
    (folder / "deploy.ael").write_text("default stepss 3\n")
    assert count.look(folder) == (1, ["AEL0814 Position(line=1, column=9)", "AEL1101 Position(line=4, column=7)"])


SERVER = "permission a.b\n\nmcp crm {\n  tool find needs a.b repeat idempotent\n}\n"
FIND = '{"main.crm": {"tools": [{"name": "find", "inputSchema": {"type": "object"}}]}}'


@pytest.mark.feature("D4")
@pytest.mark.parametrize("pack", [False, True])
def test_a_lock_that_changes_comes_or_goes_checks_it_again(folder: Path, monkeypatch: pytest.MonkeyPatch, pack: bool) -> None:
    count = Count(monkeypatch)
    (folder / "main.ael").write_text(SERVER)
    if pack:
        (folder / "pack.ael").write_text("pack work {\n}\n")
    lock = folder / "ael.lock"
    not_pinned = ["AEL1203 Position(line=3, column=5)"]
    assert count.look(folder)[1] == not_pinned
    assert count.look(folder)[0] > 0, "an error is never remembered"
    lock.write_text(lock_of(FIND))
    count.look(folder)
    assert count.look(folder) == (0, [])
    lock.write_text(lock_of(FIND.replace('"inputSchema"', '"annotations": {"idempotentHint": false}, "inputSchema"')))
    assert count.look(folder)[1] == ["AEL1220 Position(line=4, column=23)"]
    assert count.look(folder) == (0, ["AEL1220 Position(line=4, column=23)"])
    lock.unlink()
    assert count.look(folder)[1] == not_pinned
    (folder / "main.ael").write_text("mcp crm {\n}\n")
    assert count.look(folder)[1] == []
    assert count.look(folder)[0] == 0
    lock.write_text("{")
    assert count.look(folder)[1] == ["AEL1201 Position(line=1, column=1)"]


def test_a_program_with_an_error_is_never_remembered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = Count(monkeypatch)
    (folder / "other.ael").write_text(OTHER.replace('"word"', "1"))
    assert count.look(folder)[0] == 1
    assert count.look(folder)[0] == 1


@pytest.mark.parametrize("text", ["", "{", "[]", '{"files": 3}', json.dumps({"files": {}, "around": [], "said": [1]})])
def test_a_damaged_record_means_that_the_program_is_checked(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    count = Count(monkeypatch)
    count.look(folder)
    for record in (folder.parent / "cache" / "check").iterdir():
        record.write_text(text)
    assert count.look(folder)[0] == 1


def test_fixes_are_applied_once_and_seen(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "main.ael").write_text(MAIN.replace("  let unused = 1\n", "").replace("{word}", "{word, wordd}"))
    main(["check", "."])
    (folder / "other.ael").write_text(OTHER + "\npub fn wordd() -> Int {\n  1\n}\n")
    assert main(["check", "."]) == 0
    assert main(["check", "--fix", "."]) == 0
    assert "wordd" not in (folder / "main.ael").read_text()
    capsys.readouterr()
    assert main(["check", "."]) == 0
    assert "no problems" in capsys.readouterr().err
