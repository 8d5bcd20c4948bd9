"""`ael check`: every problem, in each format; fixes; watching."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from ael.diagnostics.codes import TITLES
from tests.cli.conftest import Ael, clean_environment
from tests.cli.watched import watch_steps

GOOD = "node main() -> Int {\n  1\n}\n"
BAD = 'node main() -> Int {\n  let name = "x"\n  nme\n}\n\nfn f() -> Bool {\n  1\n}\n'
WARNS = "node main() -> Int {\n  let unused = 3\n  1\n}\n"

SARIF = {
    "type": "object",
    "required": ["version", "$schema", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name", "version", "rules"],
                                "properties": {
                                    "rules": {
                                        "type": "array",
                                        "items": {
                                            "type": "object",
                                            "required": ["id", "shortDescription"],
                                            "properties": {
                                                "shortDescription": {"type": "object", "required": ["text"]},
                                            },
                                        },
                                    }
                                },
                            }
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["ruleId", "ruleIndex", "level", "message", "locations"],
                            "properties": {
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "message": {"type": "object", "required": ["text"]},
                                "locations": {
                                    "type": "array",
                                    "minItems": 1,
                                    "items": {
                                        "type": "object",
                                        "required": ["physicalLocation"],
                                        "properties": {
                                            "physicalLocation": {
                                                "type": "object",
                                                "required": ["artifactLocation", "region"],
                                                "properties": {
                                                    "artifactLocation": {"type": "object", "required": ["uri"]},
                                                    "region": {
                                                        "type": "object",
                                                        "required": ["startLine", "startColumn", "endLine", "endColumn"],
                                                        "additionalProperties": {"type": "integer", "minimum": 1},
                                                    },
                                                },
                                            }
                                        },
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}
"""The parts of the SARIF 2.1.0 schema that readers of it rely on (OASIS, sections 3.13 to 3.30)."""


@pytest.mark.feature("C11")
def test_a_good_program(ael: Ael) -> None:
    ael.write({"main.ael": GOOD})
    ended = ael("check")
    assert (ended.code, ended.out, ended.err) == (0, "", "1 module checked, no problems\n")
    assert ael("check", "main.ael").code == 0


@pytest.mark.feature("A17.1", "C3")
def test_every_problem_of_every_file_is_told_in_source_order(ael: Ael) -> None:
    ael.write({"a.ael": BAD, "b.ael": BAD.replace("nme", "nmae"), "sub/c.ael": "node main( -> Int { 1 }\n"})
    ended = ael("check", "--no-cache")
    assert ended.code == 2
    found = json.loads(ael("check", "--format", "json").out)["diagnostics"]
    places = [(one["file"], one["line"], one["column"]) for one in found]
    assert [file for file, *_ in places] == ["a.ael", "a.ael", "b.ael", "b.ael", os.path.join("sub", "c.ael")]
    assert places[:2] == [("a.ael", 3, 3), ("a.ael", 7, 3)]
    assert "5 errors; `ael explain CODE` says more" in ended.err


@pytest.mark.feature("C5", "A17.1")
def test_json(ael: Ael) -> None:
    ael.write({"main.ael": BAD})
    ended = ael("check", "--format", "json")
    assert (ended.code, ended.err) == (2, "")
    found = json.loads(ended.out)["diagnostics"]
    assert len(found) == 2
    first = found[0]
    assert TITLES[first["code"]]
    assert first["severity"] == "error"
    assert (first["file"], first["line"], first["column"], first["end_line"], first["end_column"]) == ("main.ael", 3, 3, 3, 6)
    assert first["suggested_resolution"]["edits"] == [
        {"file": "main.ael", "line": 3, "column": 3, "end_line": 3, "end_column": 6, "text": "name"}
    ]
    assert json.loads(ael("check", "--format", "json", "nowhere.ael").out)["diagnostics"][0]["code"] == "AEL0801"


@pytest.mark.feature("C5")
def test_sarif(ael: Ael) -> None:
    ael.write({"main.ael": BAD, "other.ael": WARNS})
    ended = ael("check", "--format", "sarif")
    assert ended.code == 2
    log = json.loads(ended.out)
    jsonschema.validate(log, SARIF)
    results = log["runs"][0]["results"]
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    assert {result["level"] for result in results} == {"error", "warning"}
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in results)
    assert {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results} == {
        "main.ael",
        "other.ael",
    }
    jsonschema.validate(json.loads(ael("check", "--format", "sarif", "other.ael").out), SARIF)


@pytest.mark.feature("C5")
def test_github(ael: Ael) -> None:
    ael.write({"main.ael": BAD, "other.ael": WARNS})
    ended = ael("check", "--format", "github")
    assert ended.code == 2
    lines = ended.out.splitlines()
    assert lines[0].startswith("::error file=main.ael,line=3,col=3,endLine=3,endColumn=6,title=AEL0")
    assert any(line.startswith("::warning file=other.ael,line=2,") for line in lines)


def test_warnings_stop_nothing(ael: Ael) -> None:
    ael.write({"main.ael": WARNS})
    ended = ael("check")
    assert ended.code == 0
    assert "warning[AEL11" in ended.err
    assert "1 warning; `ael explain AEL11" in ended.err


def test_nothing_to_check(ael: Ael) -> None:
    ended = ael("check")
    assert (ended.code, ended.err) == (2, "there is no `.ael` file here\n")
    missing = ael("check", "nowhere.ael")
    assert missing.code == 2
    assert "error[AEL0801]: `nowhere.ael` cannot be read: no such file or directory" in missing.err


def test_deployments_are_checked_with_their_program(ael: Ael) -> None:
    ael.write({"main.ael": GOOD, "deploy.ael": 'modle fast = scripted("x")\n', "deploy.eu.ael": "default steps $3\n"})
    ended = ael("check")
    assert ended.code == 2
    assert "error[AEL0811]" in ended.err
    assert "deploy.eu.ael:1:9" in ended.err


METHODS = 'node main() -> Int {\n  let name = " a "\n  name.trim.length\n}\n'
MENDED = METHODS.replace("name.trim.length", "name.trim().length()")


@pytest.mark.feature("C6")
def test_fixes_are_applied_until_nothing_changes(ael: Ael) -> None:
    ael.write({"main.ael": METHODS})
    ended = ael("check", "--fix")
    assert ended.code == 0, ended.err
    assert (ael.folder / "main.ael").read_text() == MENDED
    assert ended.err.count("fixed main.ael") == 1, (
        "a file is written once, though the second fix shows only when the first is made"
    )
    assert "fixed" not in ael("check", "--fix").err
    assert (ael.folder / "main.ael").read_text() == MENDED


@pytest.mark.feature("C6")
def test_the_plan_of_the_fixes_changes_nothing(ael: Ael) -> None:
    ael.write({"main.ael": METHODS})
    ended = ael("check", "--plan")
    assert ended.code == 2
    assert "-  name.trim.length\n+  name.trim().length()\n" in ended.out
    assert (ael.folder / "main.ael").read_text() == METHODS
    ael.write({"main.ael": MENDED})
    assert ael("check", "--plan").out == ""


@pytest.mark.feature("C6")
def test_a_guess_is_not_applied(ael: Ael) -> None:
    ael.write({"main.ael": BAD})
    ended = ael("check", "--fix")
    assert ended.code == 2
    assert "= fix: replace it by `name`" in ended.err
    assert (ael.folder / "main.ael").read_text() == BAD


@pytest.mark.feature("C6")
def test_a_fix_keeps_line_ends_and_what_it_does_not_touch(ael: Ael) -> None:
    text = 'node main() -> Int {\r\n\tlet name = "\u00e4\u6f22\U0001f600"\r\n\tname.length // \u6f22\u5b57\r\n}\r\n'.encode()
    (ael.folder / "main.ael").write_bytes(text)
    assert ael("check", "--fix").code == 0
    assert (ael.folder / "main.ael").read_bytes() == text.replace(b".length ", b".length() ")


def test_a_file_that_cannot_be_written_is_a_sentence(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    ael.write({"main.ael": METHODS})

    def refuse(self: Path, *args: object, **kwargs: object) -> int:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "write_bytes", refuse)
    ended = ael("check", "--fix", "--no-cache")
    assert ended.code == 2
    assert "main.ael`: permission denied" in ended.err


def test_watch_sees_a_change(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    ael.write({"main.ael": GOOD})
    watch_steps(monkeypatch, [lambda: None, lambda: ael.write({"main.ael": BAD}), lambda: (ael.folder / "main.ael").unlink()])
    ended = ael("check", "--watch")
    assert ended.code == 130
    assert ended.err.count("changed, checking again ---") == 2
    first, second, third = ended.err.split("changed, checking again ---")
    assert "1 module checked, no problems" in first
    assert "main.ael:3:3" in second
    assert "there is no `.ael` file here" in third


def test_watch_in_a_real_process(tmp_path: Path) -> None:
    main = tmp_path / "main.ael"
    main.write_text(GOOD)
    with subprocess.Popen(
        [sys.executable, "-m", "ael", "check", "--watch"], cwd=tmp_path, env=clean_environment(tmp_path),
        stderr=subprocess.PIPE, text=True,
    ) as watching:  # fmt: skip
        assert watching.stderr is not None
        try:
            assert watching.stderr.readline() == "1 module checked, no problems\n"
            time.sleep(0.01)
            main.write_text(BAD)
            seen = [watching.stderr.readline() for _ in range(4)]
            assert "--- main.ael changed, checking again ---\n" in seen
            watching.send_signal(signal.SIGINT)
            assert watching.wait(20) == 130
        finally:
            watching.kill()


WRONG = {
    "syntax": {"main.ael": "node main( -> Int { 1 }\n"},
    "names": {"main.ael": BAD},
    "types": {"main.ael": 'node main() -> Int {\n  "x"\n}\n'},
    "modules": {"main.ael": "use ./nowhere.{a}\n\nnode main() -> Int {\n  a()\n}\n"},
    "pack": {"main.ael": GOOD, "pack.ael": "pack a {\n  uses std/nowhere\n}\n"},
    "deployment": {"main.ael": GOOD, "deploy.ael": 'modle a = 3\nmodel b = openai("m")\ndefault steps $3\n'},
    "warning": {"main.ael": WARNS},
    "good": {"main.ael": GOOD, "deploy.ael": "default steps 3\n"},
}


@pytest.mark.feature("A17.3")
@pytest.mark.parametrize("what", WRONG)
def test_check_says_exactly_what_run_says_and_runs_nothing(ael: Ael, what: str) -> None:
    ael.write(WRONG[what])
    before = sorted(ael.folder.rglob("*"))
    checked = ael("check", "main.ael", "--no-cache")
    assert sorted(ael.folder.rglob("*")) == before, "checking leaves nothing behind"
    ran = ael("run", "main.ael", "-q")
    assert checked.code == ran.code
    assert ran.err == checked.err.removesuffix("1 module checked, no problems\n")
    assert (ran.out == "1\n") == (checked.code == 0)


def test_what_did_not_change_is_remembered_and_told_all_the_same(ael: Ael) -> None:
    ael.write({"main.ael": WARNS, "deploy.ael": "default steps 3\n"})
    first, second = ael("check"), ael("check")
    assert first.err == second.err
    assert "warning[AEL11" in second.err
    ael.write({"deploy.ael": "default steps $3\n"})
    assert ael("check").code == 2, "a deployment that changed is checked again"
    ael.write({"deploy.ael": "default steps 3\n", "deploy.eu.ael": "nonsense = 3\n"})
    assert ael("check").code == 2, "one that came is checked too"
