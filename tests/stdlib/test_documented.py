"""The standard library says what it does: each public declaration has a doc comment, each that is called an example, and all run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ael.diagnostics.diagnostic import Bag
from ael.documenting.book import book_of
from ael.documenting.examples import Example, example_text, examples_of, try_examples
from ael.documenting.findings import of_examples
from ael.documenting.pack import Documented, open_documented
from ael.project.pack import OPTIONAL_PACKAGES
from tests.programs import open_files
from tests.stdlib.library import EXEMPLARY, INDENT, Library, modules, parts_of, program
from tests.stdlib.pages import FOLDER, pages

LIBRARIES = {library.name: library for library in modules()}
PAGES = pages()


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Library:
    return LIBRARIES[request.param]


def test_a_module_and_all_that_it_shows_have_a_doc_comment(library: Library) -> None:
    assert library.parts, f"{library.file.name} begins with a `//!` comment that says what it is for"
    silent = [
        f"{library.file.name}:{entry.line} {entry.kind} {entry.name}" for entry in library.entries if not prose(entry.parts)
    ]
    assert silent == []


def test_what_is_called_has_an_example_that_calls_it(library: Library) -> None:
    silent = [
        f"{library.file.name}:{entry.line} {entry.kind} {entry.name}"
        for entry in library.entries
        if entry.kind in EXEMPLARY and not any(re.search(rf"\b{entry.name}\b", example) for example in entry.examples)
    ]
    assert silent == []


@pytest.fixture(scope="module")
def documented() -> Documented:
    """The library as `ael doc` reads it."""
    found = open_documented(Path("std"), Bag())
    assert found is not None
    return found


@pytest.fixture(scope="module")
def examples(documented: Documented) -> dict[str, list[Example]]:
    """Its examples, by module."""
    found: dict[str, list[Example]] = {}
    for example in examples_of(book_of(documented)[0]):
        found.setdefault(example.module, []).append(example)
    return found


@pytest.mark.feature("C8")
def test_the_examples_hold(
    library: Library, documented: Documented, examples: dict[str, list[Example]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tried = try_examples(documented, examples.get(library.name, []))
    assert [(d.code, d.message) for d in of_examples(tried)] == []
    assert [one.example.name for one in tried if one.result is None] == []


def test_the_pages_show_the_programs_that_run(
    library: Library, documented: Documented, examples: dict[str, list[Example]]
) -> None:
    shown = sorted(text for _, text in library.programs())
    assert sorted(example_text(documented, example) for example in examples.get(library.name, [])) == shown


@pytest.mark.parametrize("name", sorted(path.name for path in PAGES))
def test_a_page_is_that_of_the_comments(name: str) -> None:
    made = FOLDER / name
    assert made.is_file(), "`python -m tests.stdlib.pages` writes it anew"
    assert made.read_text(encoding="utf-8") == PAGES[made], "`python -m tests.stdlib.pages` writes it anew"


def test_a_page_is_of_a_module_that_is_there() -> None:
    assert set(FOLDER.glob("*.md")) - set(PAGES) == set(), "`python -m tests.stdlib.pages` removes it"


def test_the_parts_of_a_comment() -> None:
    assert parts_of("One\ntwo.\n\nThree.\n\n    a\n\n      b\n\nFour.\n    c") == (
        "One\ntwo.", "Three.", "    a\n\n      b", "Four.", "    c",
    )  # fmt: skip
    assert parts_of("    a") == ("    a",)


def test_an_example_imports_what_it_names() -> None:
    library = LIBRARIES["std/list"]
    assert program(library, "pairs", "use std/text.{words}\nassert pairs(words(\"a b\")).length() == 1").splitlines() == [
        "use std/list.{pairs}", "use std/text.{words}", "", 'test "pairs" {', '  assert pairs(words("a b")).length() == 1', "}",
    ]  # fmt: skip


def prose(parts: tuple[str, ...]) -> bool:
    return any(not part.startswith(INDENT) for part in parts)


def test_a_model_is_not_sent_the_examples(tmp_path: Path) -> None:
    uses = "".join(f"use {name}\n" for name, one in LIBRARIES.items() if one.names and name not in OPTIONAL_PACKAGES)
    opened, _ = open_files(tmp_path, {"main.ael": f"{uses}\nnode main() -> Int {{\n  1\n}}\n"})
    assert opened is not None
    told = [(spec.name, spec.doc) for spec in opened.program.tools.values()]
    told += [(name, made.doc) for name, made in opened.program.definitions.items() if name.startswith("std/")]
    assert told != []
    assert [name for name, doc in told if f"\n{INDENT}" in doc or doc != doc.strip()] == []
