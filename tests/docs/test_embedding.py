"""`docs/embedding.md`, run as it is written: its program, its Python from top to bottom in one process, and what that prints."""

from __future__ import annotations

import ast
import asyncio
import inspect
import io
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

import pytest

from ael.diagnostics.diagnostic import Bag
from ael.project.program import open_program
from ael.run.bindings import system_user
from tests.embed.serving import served_in_a_thread
from tests.error_pages import _file
from tests.programs import Block, blocks, write

PAGE = Path(__file__).resolve().parents[2] / "docs" / "embedding.md"


@pytest.mark.feature("B22", "D4")
def test_the_page_is_right_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", page)
    printed, compared = "", 0
    for block in blocks(PAGE.read_text(encoding="utf-8")):
        match block.language:
            case "ael":
                name, text = _file(block.text)
                write(tmp_path, {name: text})
            case "json":
                write(tmp_path, {block.words["file"]: block.text})
            case "python":
                printed = served(tmp_path, page, block) if "served" in block.words else run(page, block.text)
            case "text":
                assert printed.replace(f"`{system_user()}`", "`root`") == block.text, f"line {block.line}"
                compared += 1
    assert compared == 5


def served(folder: Path, page: ModuleType, block: Block) -> str:
    """What a block prints that asks a server: the program that stands before it, on this machine."""
    opened = open_program(folder / "main.ael", Bag())
    assert opened is not None
    with served_in_a_thread(opened) as address:
        return run(page, block.text.replace(block.words["served"], address))


def run(page: ModuleType, text: str) -> str:
    """What a block prints; `await` stands at its top level, as in a notebook."""
    code = compile(text, str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    out = io.StringIO()

    async def go() -> None:
        found = eval(code, vars(page))
        if inspect.isawaitable(found):
            await found

    with redirect_stdout(out):
        asyncio.run(go())
    return out.getvalue()
