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

from ael.run.bindings import system_user
from tests.error_pages import _file
from tests.programs import blocks, write

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
                printed = run(page, block.text)
            case "text":
                assert printed.replace(f"`{system_user()}`", "`root`") == block.text, f"line {block.line}"
                compared += 1
    assert compared == 4


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
