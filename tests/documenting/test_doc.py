"""`ael doc`, as it is typed: pages, data, what `--check` finds, and the examples that `--test` runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ael.cli import doc as command
from ael.diagnostics.diagnostic import Bag
from ael.documenting.tests import run_documented
from tests.cli.conftest import Ael
from tests.cli.watched import watch_steps
from tests.programs import blocks

GOOD = """\
//! Numbers.

/// Twice as much. Like [half].
///
/// ```ael
/// assert double(2) == 4
/// ```
pub fn double(x: Int) -> Int { x * 2 }

/// Half of it, in the words of [std/math].
///
///     not an example, but indented
///
/// ```ael
/// use std/math.{sqrt}
///
/// assert half(double(3)) == 3
/// assert sqrt(4.0) == 2.0
/// ```
///
/// A whole program:
///
/// ```ael
/// use ./main.{half}
///
/// record Pair { a: Int }
/// test "of a pair" { assert half(Pair(a: 4).a) == 2 }
/// ```
///
/// ```ael no_run
/// assert half(2) == 100
/// ```
pub fn half(x: Int) -> Int { x div 2 }
"""
BAD = """\
//! See [nope] and [the notes](notes.md).

/// Twice as much, see [hlaf].
///
/// ```ael
/// let x: Int = "a"
/// assert double(x) == 5
/// ```
///
/// ```ael
/// let y = 7
///
/// assert double(y) == 15
/// ```
pub fn double(x: Int) -> Int { x * 2 }

pub fn half(x: Int) -> Int { x div 2 }
"""


@pytest.mark.feature("C8")
def test_pages_are_written(ael: Ael) -> None:
    ael.write({"main.ael": GOOD})
    ended = ael("doc")
    assert (ended.code, ended.out, ended.err) == (0, "", "1 module documented in docs-api\n")
    folder = ael.folder / "docs-api"
    assert {"index.html", "index.md", "main.html", "main.md", "llms.txt", "llms-full.txt"} <= {p.name for p in folder.iterdir()}
    assert "<strong" not in (folder / "main.html").read_text()
    assert ael("doc", "--out", "docs-api").code == 0


@pytest.mark.parametrize(("form", "file"), [("markdown", "main.md"), ("llms", "llms.txt"), ("json", "doc.json")])
def test_the_other_forms(ael: Ael, form: str, file: str) -> None:
    ael.write({"main.ael": GOOD})
    assert ael("doc", "main.ael", "--format", form, "--out", "made").code == 0
    names = {path.name for path in (ael.folder / "made").iterdir()}
    assert file in names
    assert not any(name.endswith(".html") for name in names)


def test_data_on_standard_output(ael: Ael) -> None:
    ael.write({"main.ael": GOOD})
    ended = ael("doc", "--format", "json")
    assert json.loads(ended.out)["modules"][0]["declarations"][0]["name"] == "double"


@pytest.mark.feature("C8")
def test_examples_are_tests(ael: Ael) -> None:
    ael.write({"main.ael": GOOD})
    ended = ael("doc", "--test")
    assert ended.code == 0
    assert "4 passed, 0 failed" in ended.err
    assert ended.err.count("ok    example of half") == 3


@pytest.mark.feature("C8")
def test_what_the_check_finds_is_told_at_its_place(ael: Ael) -> None:
    ael.write({"main.ael": BAD})
    ended = ael("doc", "--check", "--report", "json")
    assert ended.code == 1
    found = json.loads(ended.out)["diagnostics"]
    assert [(d["code"], d["line"], d["column"], d["end_column"]) for d in found] == [
        ("AEL1142", 1, 10, 14), ("AEL1143", 1, 32, 40), ("AEL1142", 3, 25, 29), ("AEL0301", 6, 18, 21), ("AEL1144", 11, 5, 14),
        ("AEL1141", 17, 1, 39),
    ]  # fmt: skip
    assert "did you mean `half`?" in found[2]["message"]
    assert found[4]["notes"][:2] == ["assert double(y) == 15", "double(y) = 14"]
    ended = ael("doc", "--test")
    assert ended.code == 1
    assert "0 passed, 2 failed" in ended.err
    ael.write({"main.ael": GOOD})
    assert ael("doc", "--check").code == 0


@pytest.mark.feature("C8")
def test_nothing_in_the_library_leads_nowhere(ael: Ael) -> None:
    from ael.documenting.book import book_of
    from ael.documenting.findings import findings
    from ael.documenting.pack import open_documented

    documented = open_documented(Path("std"), Bag())
    assert documented is not None
    assert [(d.code, d.message) for d in findings(*book_of(documented))] == []


def test_the_page_of_the_documentation_says_what_holds(ael: Ael) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "documenting.md"
    (shown,) = [block.text for block in blocks(page.read_text(encoding="utf-8")) if block.language == "ael"]
    ael.write({"main.ael": shown.replace("permission orders.read", "/// Read orders.\npermission orders.read")})
    ended = ael("doc", "--check")
    assert (ended.code, ended.err) == (0, "nothing is missing, leads nowhere or fails\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("doc", "nowhere.ael"), "no such file"),
        (("doc", "--out", "."), "`.` has other files in it"),
        (("doc", "--format", "pdf"), "invalid choice"),
        (("doc", "empty.ael"), "nothing here to document"),
        (("doc", "empty.ael", "--test"), "no example"),
        (("doc", "broken.ael"), "AEL0301"),
        (("doc", "broken.ael", "--check"), "AEL0301"),
        (("doc", "--check", "--test"), "not allowed with"),
    ],
)
def test_bad_usage(ael: Ael, words: tuple[str, ...], said: str) -> None:
    ael.write({"main.ael": GOOD, "empty.ael": "", "broken.ael": 'fn f() -> Int { "a" }\n'})
    ended = ael(*words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_help(ael: Ael) -> None:
    ended = ael("doc", "--help")
    assert ended.code == 0
    assert "--private" in ended.out


def test_without_its_package(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    ael.write({"main.ael": GOOD})
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    ended = ael("doc")
    assert ended.code == 2
    assert "pip install 'ael-lang[doc]'" in ended.err


def test_watching(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    ael.write({"main.ael": GOOD})
    page = ael.folder / "docs-api" / "main.md"
    seen: list[bool] = []

    def change() -> None:
        seen.append("triple" in page.read_text())
        ael.write({"main.ael": GOOD.replace("double", "triple").replace("x * 2", "x * 3")})

    watch_steps(monkeypatch, [change, lambda: seen.append("triple" in page.read_text())])
    assert ael("doc", "--watch").code == 130
    assert seen[0] is False
    assert "triple" in page.read_text()


def test_a_model_is_not_sent_the_examples(ael: Ael) -> None:
    from ael.project.program import open_program

    ael.write({
        "main.ael": "permission p\n\n/// Read. Call it first.\n///\n/// ```ael\n/// assert t() == 1\n/// ```\n///\n/// More.\n"
        "tool t() -> Int\n  needs p\n  repeat idempotent\n{ 1 }\n"
    })  # fmt: skip
    opened = open_program(ael.folder / "main.ael", Bag())
    assert opened is not None
    assert opened.program.tools["main.t"].doc == "Read. Call it first.\n\nMore."


@pytest.mark.feature("C8")
def test_examples_run_beside_tests(ael: Ael) -> None:
    ael.write({"main.ael": f'{GOOD}\ntest "of the module" {{ assert double(1) == 2 }}\n', "other.ael": BAD})
    ended = ael("test", "main.ael", "--doc")
    assert (ended.code, ended.err.splitlines()[-1]) == (0, "5 passed, 0 failed")
    ended = ael("test", "--doc", "other.ael", "--junit", "out.xml")
    assert (ended.code, ended.err.splitlines()[-1]) == (1, "0 passed, 2 failed")
    assert "FAIL  example of double  (other.ael:11)" in ended.err
    assert 'name="example of double"' in (ael.folder / "out.xml").read_text()
    assert ael("test", "main.ael", "--doc", "--filter", "example of half").err.splitlines()[-1] == "3 passed, 0 failed"
    assert "do not go together" in ael("test", "--doc", "--watch").err


def test_examples_of_several_paths_run_once(ael: Ael) -> None:
    ael.write({"main.ael": GOOD, "bad.ael": BAD})
    told: list[str] = []
    bag = Bag()
    results = run_documented(
        [Path("main.ael"), Path("main.ael"), Path("bad.ael")], bag, told=lambda result: told.append(result.name)
    )
    assert [result.problem is None for result in results] == [True, True, True, True, False, False]
    assert told == [result.name for result in results]
    assert "AEL0301" in str(results[4].problem)
    ael.write({"deep/pack.ael": "pack deep {}\n", "deep/one.ael": GOOD, "deep/main.ael": ""})
    assert len(run_documented([Path()], bag)) == 10
    assert [r.name for r in run_documented([Path("main.ael")], bag, chosen=lambda name: "double" in name)] == [
        "example of double"
    ]
    assert bag.sorted() == []
