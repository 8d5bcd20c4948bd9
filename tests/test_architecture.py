"""The code is laid out as `docs/architecture.md` says: layers, sizes, links, and nothing unfinished."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GENERATED = {Path("ael/syntax/tables.py"), Path("ael/syntax/reductions.py"), Path("ael/syntax/make.py")}
"""Files that are made by a program; a test of their own shows that they are fresh."""


def tracked(pattern: str) -> list[Path]:
    """Files of the project that match, from git where this is a checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", pattern],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [path for line in listed.stdout.splitlines() if (ROOT / (path := Path(line))).is_file()]


def test_no_file_is_over_500_lines() -> None:
    long = {
        str(path): lines
        for path in tracked("*.py")
        if path not in GENERATED and (lines := len((ROOT / path).read_text(encoding="utf-8").splitlines())) > 500
    }
    assert not long


def test_the_code_has_nothing_unfinished() -> None:
    words = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")
    found = [
        f"{path}:{number}"
        for path in tracked("ael/*.py")
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1)
        if words.search(line)
    ]
    assert not found


def test_only_the_table_builder_imports_lark() -> None:
    importers = {
        str(path)
        for path in tracked("*.py")
        if re.search(r"^\s*(from|import) lark\b", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert {name for name in importers if name.startswith("ael/")} <= {"ael/syntax/build_tables.py"}


HEAVY = (
    "lark",
    "pydantic",
    "aiohttp",
    "httpx2",
    "mcp",
    "rich",
    "jiter",
    "asyncio",
    "genai_prices",
    "pygments",
    "json_repair",
    "grpc",
)


@pytest.mark.parametrize("command", [["check", "examples/numbers/main.ael"], ["explain"], ["--version"]])
def test_the_check_imports_nothing_heavy(command: list[str]) -> None:
    code = (
        "import sys; from ael.cli.main import main\n"
        f"code = main({command!r})\n"
        f"print(code, sorted(m for m in {HEAVY!r} if m in sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "0 []"


def test_every_module_says_what_it_is() -> None:
    silent = [
        str(path)
        for path in tracked("ael/*.py")
        if (text := (ROOT / path).read_text(encoding="utf-8")).strip() and ast.get_docstring(ast.parse(text)) is None
    ]
    assert not silent


def test_links_in_the_docs_lead_somewhere() -> None:
    dead = []
    for path in tracked("*.md"):
        text = re.sub(r"```.*?```", "", (ROOT / path).read_text(encoding="utf-8"), flags=re.DOTALL)
        targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
        inside = [target for target in targets if not target.startswith(("http://", "https://", "mailto:"))]
        dead += [f"{path}: {target}" for target in inside if not (ROOT / path.parent / target).exists()]
    assert not dead
