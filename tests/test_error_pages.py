"""Each diagnostic has a page; its wrong example gives exactly its code and message, its right example nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ael.diagnostics.codes import TITLES
from tests.error_pages import FOLDER, read, told

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(FOLDER.glob("AEL*.md"))
EMBEDDED = frozenset({"AEL0890", "AEL0891", "AEL0892", "AEL0893", "AEL0894", "AEL0895"})
"""Codes that Python around a program is told. `tests/embed` has their tests."""
OUTSIDE_OF_PROGRAMS = {
    *EMBEDDED,
    "AEL0801",
    "AEL0805",
    "AEL0828",
    "AEL0829",
    "AEL0830",
    "AEL0831",
    "AEL0832",
    "AEL0833",
    "AEL0834",
    "AEL0840",
    "AEL0841",
    "AEL0855",
    *(f"AEL086{n}" for n in range(7)),
    "AEL0852",
    "AEL0870",
    "AEL0871",
    "AEL0872",
    "AEL0873",
    "AEL0874",
    "AEL0875",
    "AEL0876",
    "AEL0877",
    "AEL0878",
    "AEL0901",
    "AEL0902",
    "AEL0903",
    "AEL0904",
    "AEL0905",
    "AEL0906",
    "AEL0907",
    "AEL0908",
    *(f"AEL095{n}" for n in range(6)),
    "AEL0909",
    *(f"AEL114{n}" for n in range(1, 5)),
    "AEL0911",
    "AEL0912",
}
"""Codes that no program's text can give: they come from files, the environment, the command line or a run. `tests/cli` has their tests."""


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert {page.stem for page in PAGES} == set(TITLES)


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
@pytest.mark.feature("C4", "C13")
def test_page(path: Path) -> None:
    page = read(path)
    assert page.code == path.stem
    assert page.title == TITLES[page.code]
    if page.code in OUTSIDE_OF_PROGRAMS:
        assert page.message is not None
        assert f"[{page.code}]" in page.message
        return
    assert page.wrong, "needs an example under `## Wrong`"
    assert page.right, "needs an example under `## Right`"
    bag, message = told(page.wrong)
    assert {d.code for d in bag.sorted()} == {page.code}
    assert page.message == message, "run `python -m tests.error_pages`"
    bag, message = told(page.right)
    assert message.strip() == ""


def test_every_code_that_is_reported_is_in_the_catalogue() -> None:
    used = {
        code
        for path in (ROOT / "ael").rglob("*.py")
        if path.parent.name != "catalogue"
        for code in re.findall(r'(?:"|error\[)(AEL\d{4})[\]"]', path.read_text(encoding="utf-8"))
    }
    assert used <= set(TITLES)
    unused = set(TITLES) - used - {"AEL0841", "AEL0901", "AEL0902", "AEL0903", "AEL0840"}
    assert not unused, "codes that nothing reports"
