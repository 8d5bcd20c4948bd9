"""Every block of AEL in the docs and the README checks, and its tests pass; every command they name is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ael.cli.main import COMMANDS
from ael.project.pack import OPTIONAL_PACKAGES
from ael.testing.runner import Settings, run_tests
from ael.types.pin import FILE as LOCK
from tests.error_pages import _file
from tests.programs import blocks, brief, lock_of, open_files

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]

TYPED = ("tutorial.md", "tutorial-mcp.md")
"""Pages whose blocks are steps on one way: `tests/tutorial` and `test_tutorial_mcp.py` do them in their order."""


def programs() -> Iterator[tuple[str, dict[str, str]]]:
    """Programs of the pages: a block whose first line is `// file: NAME` belongs to the program before it.

    So does a block `mcp`, which may stand in a comment: the definitions that servers are pinned with (`tests.programs.lock_of`).
    The pages of the standard library's optional packages have programs that list them.
    """
    for page in PAGES:
        if page.parent.name == "errors" or page.name in TYPED:
            continue
        files: dict[str, str] = {}
        of = f"std/{page.stem}" if page.parent.name == "stdlib" else ""
        beside = {"pack.ael": f"pack example {{\n  uses {of}\n}}\n"} if of in OPTIONAL_PACKAGES else {}
        line = 0
        for block in blocks(page.read_text(encoding="utf-8")):
            if block.language == "mcp":
                files[LOCK] = lock_of(block.text)
            if block.language != "ael":
                continue
            name, text = _file(block.text)
            if name == "main.ael" and files:
                yield f"{page.relative_to(ROOT)}:{line}", files
                files = {}
            if name == "main.ael":
                line = block.line
                files |= beside
            files[name] = text
        if files:
            yield f"{page.relative_to(ROOT)}:{line}", files


PROGRAMS = dict(programs())


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_blocks_of_the_docs_check(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    opened, bag = open_files(tmp_path, PROGRAMS[name])
    assert [brief(d, tmp_path) for d in bag.sorted()] == []
    assert opened is not None
    assert [(r.name, r.problem) for r in run_tests(opened, settings=Settings(ci=False)) if r.problem is not None] == []


def test_the_commands_that_the_docs_name_are_there() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES if page.parent.name != "decisions")
    named = set(re.findall(r"(?:^|`)ael ([a-z]+)\b", text, re.MULTILINE))
    assert named <= set(COMMANDS)
