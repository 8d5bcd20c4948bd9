"""`ael fmt`."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Ael

UGLY = "node   main( )->Int{\n1 // one\n}\n"
NICE = "node main() -> Int {\n  1  // one\n}\n"


@pytest.mark.feature("C1")
def test_files_are_formatted_in_place_and_once(ael: Ael) -> None:
    ael.write(
        {"main.ael": UGLY, "sub/other.ael": NICE, "pack.ael": 'pack  a{version "1.0"}\n', "deploy.ael": "default   steps 3\n"}
    )
    ended = ael("fmt")
    assert (ended.code, ended.out) == (0, "")
    assert sorted(ended.err.splitlines()) == ["formatted deploy.ael", "formatted main.ael", "formatted pack.ael"]
    assert (ael.folder / "main.ael").read_text() == NICE
    again = ael("fmt", ".")
    assert (again.code, again.err) == (0, "")


@pytest.mark.feature("C1")
def test_check_says_what_would_change(ael: Ael) -> None:
    ael.write({"main.ael": UGLY, "other.ael": NICE})
    ended = ael("fmt", "--check")
    assert (ended.code, ended.err) == (1, "would format main.ael\n")
    assert (ael.folder / "main.ael").read_text() == UGLY
    assert ael("fmt", "--check", "other.ael").code == 0


def test_diff_prints_what_would_change(ael: Ael) -> None:
    ael.write({"main.ael": UGLY})
    ended = ael("fmt", "--diff")
    assert ended.code == 1
    assert ended.out.startswith("--- main.ael\n+++ main.ael\n")
    assert "+node main() -> Int {\n" in ended.out
    assert (ael.folder / "main.ael").read_text() == UGLY


def test_standard_input(ael: Ael) -> None:
    assert ael("fmt", "-", stdin=UGLY).out == NICE
    broken = ael("fmt", "-", stdin="node main( {")
    assert (broken.code, broken.out) == (2, "")
    assert "<stdin>:1:" in broken.err
    assert "`<stdin>` cannot be read: not valid UTF-8" in ael("fmt", "-", stdin=b"\xff").err


@pytest.mark.parametrize("name", ["main.ael", "pack.ael", "deploy.ael"])
def test_a_file_that_does_not_parse_is_left_alone(ael: Ael, name: str) -> None:
    ael.write({name: "??? {", "good.ael": UGLY})
    ended = ael("fmt")
    assert ended.code == 2
    assert f"--> {name}:1:" in ended.err
    assert (ael.folder / name).read_text() == "??? {"
    assert (ael.folder / "good.ael").read_text() == NICE, "one broken file does not keep the others"


def test_a_missing_file(ael: Ael) -> None:
    ended = ael("fmt", "nowhere.ael")
    assert ended.code == 2
    assert "error[AEL0801]: `nowhere.ael` cannot be read: no such file or directory" in ended.err


def test_hidden_folders_are_not_the_projects_own(ael: Ael) -> None:
    ael.write({".venv/lib/x.ael": UGLY, "node_modules/a/y.ael": UGLY})
    assert ael("fmt").err == ""
    assert (ael.folder / ".venv/lib/x.ael").read_text() == UGLY


def test_windows_line_ends_become_plain_ones_or_stay(ael: Ael) -> None:
    (ael.folder / "main.ael").write_bytes(UGLY.replace("\n", "\r\n").encode())
    ael("fmt")
    once = (ael.folder / "main.ael").read_bytes()
    ael("fmt")
    assert (ael.folder / "main.ael").read_bytes() == once
    assert once.replace(b"\r\n", b"\n").decode() == NICE
