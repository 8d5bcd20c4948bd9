"""`ael fix`: plans and applies what `ael check` knows how to mend, all of a file or nothing of it."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ael.diagnostics.diagnostic import Bag, Diagnostic, Edit, Fix, Place
from ael.project import mend as engine
from ael.project.mend import Change, Changed, mend, write
from ael.project.program import check_paths
from ael.source import Span, read
from tests.cli.conftest import Ael
from tests.cli.terminal import Terminal

METHODS = 'node main() -> Int {\n  let name = " a "\n  name.trim.length\n}\n'
MENDED = METHODS.replace("name.trim.length", "name.trim().length()")
GUESS = "node main(name: String) -> Int {\n  nmae.length()\n}\n"
UNUSED = 'use std/text.{words}\n\nnode main() -> Int {\n  "a".length\n}\n'


@pytest.mark.feature("C6")
def test_fixes_are_applied(ael: Ael) -> None:
    ael.write({"main.ael": METHODS, "other.ael": UNUSED})
    ended = ael("fix")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.endswith("4 fixes applied in 2 files\n")
    assert (ael.folder / "main.ael").read_text() == MENDED
    assert "use" not in (ael.folder / "other.ael").read_text()
    assert ael("fix").err == "nothing to fix\n"
    assert ael("check").code == 0


@pytest.mark.feature("C6")
def test_a_plan_is_a_difference_and_changes_nothing(ael: Ael) -> None:
    ael.write({"main.ael": METHODS})
    ended = ael("fix", "--plan")
    assert ended.code == 0
    assert ended.out == (
        '--- main.ael\n+++ main.ael\n@@ -1,4 +1,4 @@\n node main() -> Int {\n   let name = " a "\n-  name.trim.length\n'
        "+  name.trim().length()\n }\n"
    )
    assert ended.err == "2 fixes to apply in 1 file\n"
    assert (ael.folder / "main.ael").read_text() == METHODS
    assert ael("fix", "--check").code == 1
    assert ael("fix", "--check", "--plan").out == ended.out
    assert ael("fix").code == 0
    assert ael("fix", "--check").code == 0
    assert ael("fix", "--plan").out == ""


@pytest.mark.feature("C6")
def test_a_plan_as_data_is_what_is_done(ael: Ael) -> None:
    ael.write({"main.ael": UNUSED})
    plan = json.loads(ael("fix", "--plan", "--format", "json").out)
    assert [(one["code"], one["line"], one["safe"]) for one in plan["fixes"]] == [("AEL1102", 1, True), ("AEL0305", 4, True)]
    assert plan["left"] == []
    ael("fix")
    assert (ael.folder / "main.ael").read_text() == plan["changes"][0]["text"]


@pytest.mark.feature("C6")
def test_guesses_wait_for_somebody(ael: Ael) -> None:
    ael.write({"main.ael": GUESS})
    ended = ael("fix")
    assert (ended.code, ended.err) == (2, "nothing to fix; 1 error left, which `ael check` tells\n")
    assert "+  name.length()" in ael("fix", "--unsafe", "--plan").out
    assert "needs somebody at a terminal" in ael("fix", "--ask").err
    with Terminal(["fix", "--ask"], ael.folder) as terminal:
        terminal.until("replace it by `name`? [y]es, [n]o: ")
        terminal.type("n")
        assert terminal.end()[0] == 2
    assert (ael.folder / "main.ael").read_text() == GUESS
    with Terminal(["fix", "--ask"], ael.folder) as terminal:
        terminal.until("replace it by `name`? [y]es, [n]o: ")
        terminal.type("y")
        assert terminal.end()[0] == 0
    assert (ael.folder / "main.ael").read_text() == GUESS.replace("nmae", "name")


def test_of_one_code(ael: Ael) -> None:
    ael.write({"main.ael": UNUSED})
    ended = ael("fix", "--code", "ael1102")
    assert ended.code == 2, "an error is left"
    assert (ael.folder / "main.ael").read_text().lstrip() == UNUSED.partition("\n\n")[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("fix", "--code", "AEL9999"), "there is no code `AEL9999`"),
        (("fix", "nowhere.ael"), "AEL0801"),
        (("fix", "--unsafe", "--ask"), "not allowed with"),
        (("fix", "--format", "sarif"), "invalid choice"),
    ],
)
def test_bad_usage(ael: Ael, words: tuple[str, ...], said: str) -> None:
    ael.write({"main.ael": MENDED})
    ended = ael(*words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err or "left, which `ael check` tells" in ended.err


def test_an_empty_folder_and_help(ael: Ael) -> None:
    assert (ael("fix").code, ael("fix").err) == (2, "there is no `.ael` file here\n")
    assert "--plan" in ael("fix", "--help").out


def test_what_is_not_touched_stays(ael: Ael) -> None:
    text = '\ufeffnode main() -> Int {\r\n\tlet name = "\u00e4\U0001f600"\r\n\tname.length // \u6f22\r\n}'.encode()
    file = ael.folder / "main.ael"
    file.write_bytes(text)
    file.chmod(0o640)
    assert ael("fix").code == 0
    assert file.read_bytes() == text.replace(b".length ", b".length() ")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [path.name for path in ael.folder.iterdir()] == ["main.ael"]


def test_a_link_is_followed(ael: Ael) -> None:
    (ael.folder / "real").mkdir()
    (ael.folder / "real" / "one.ael").write_text(METHODS)
    os.symlink(ael.folder / "real" / "one.ael", ael.folder / "main.ael")
    assert ael("fix", "main.ael").code == 0
    assert (ael.folder / "main.ael").is_symlink()
    assert (ael.folder / "real" / "one.ael").read_text() == MENDED


# --- the engine ----------------------------------------------------------------------------------------------------------


def _look(path: Path) -> Sequence[Diagnostic]:
    bag = Bag()
    check_paths([path], bag)
    return bag.sorted()


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    one, two = tmp_path / "one.ael", tmp_path / "two.ael"
    for file in (one, two):
        file.write_text("a")
    changes = [Change(read(file), "b") for file in (one, two)]
    two.write_text("c")
    with pytest.raises(Changed):
        write(changes)
    assert (one.read_text(), two.read_text()) == ("a", "c")


def test_a_fix_that_breaks_the_syntax_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "main.ael"
    file.write_text("node main() -> Int { 1 }\n")

    def look() -> Sequence[Diagnostic]:
        source = read(file)
        found = _look(file)
        if source.text.startswith("node"):
            good = Fix("g", (Edit(Place(source, Span(0, 0)), "// x\n"),))
            bad = Fix("b", (Edit(Place(source, Span(len(source.text) - 3, len(source.text))), "{{"),))
            found = [
                Diagnostic("AEL1102", "g", Place(source, Span(0, 1)), fix=good),
                Diagnostic("AEL1106", "b", Place(source, Span(1, 2)), fix=bad),
                *found,
            ]
        return found

    mended = mend(look)
    assert [one.message for one in mended.applied] == ["g"]
    assert [one.text for one in mended.changes] == ["// x\nnode main() -> Int { 1 }\n"]


def test_fixes_that_undo_each_other_end(tmp_path: Path) -> None:
    file = tmp_path / "main.ael"
    file.write_text("a")
    rounds = 0

    def look() -> Sequence[Diagnostic]:
        nonlocal rounds
        rounds += 1
        source = read(file)
        place = Place(source, Span(0, 1))
        return [Diagnostic("AEL1102", "m", place, fix=Fix("f", (Edit(place, "b" if source.text == "a" else "a"),)))]

    mended = mend(look)
    assert rounds <= engine.ROUNDS + 1
    assert [one.text for one in mended.changes] in ([], ["b"])
    assert file.read_text() == "a"


_LINES = st.sampled_from(
    [
        "use std/text.{words}",
        "use std/text",
        "fn f(x: String) -> Int { x.length }",
        'fn g() -> String { "a".trim }',
        "fn h() -> Int { try 1 }",
        "const low: Int = 1",
        "tool t() -> Int { 1 }",
        "fn k() -> Int { nope }",
        "fn broken( {",
    ]
)


@settings(max_examples=25, deadline=None)
@given(st.lists(_LINES, max_size=6), st.booleans())
def test_fixes_come_to_an_end_and_leave_nothing_to_fix(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], unsafe: bool
) -> None:
    file = tmp_path_factory.mktemp("fix") / "main.ael"
    file.write_text("\n".join(lines) + "\n")
    wanted = (lambda found, fix: True) if unsafe else engine.safe
    mended = mend(lambda: _look(file), wanted)
    write(mended.changes)
    assert mend(lambda: _look(file), wanted).changes == []


@pytest.mark.parametrize("option", ["--plan", "--check"])
def test_what_cannot_be_fixed_is_no_success(ael: Ael, option: str) -> None:
    assert ael("fix", option, "nothere.ael").code == 2
    ael.write({"main.ael": 'node main() -> Int { "a" }\n'})
    ended = ael("fix", option)
    assert (ended.code, ended.err) == (2, "nothing to fix; 1 error left, which `ael check` tells\n")
