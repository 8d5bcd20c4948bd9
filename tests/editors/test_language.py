"""The language as data says what the compiler goes by, and editors' files are made from the same."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ael.cli.main import main
from ael.diagnostics.codes import TITLES
from ael.diagnostics.diagnostic import Bag
from ael.editor.language import language, typescript
from ael.source import Source
from ael.syntax import nodes as n
from ael.syntax.parse import parse_module
from ael.syntax.tables import RESERVED, SOFT
from ael.syntax.tree import Node, walk
from editors.generate import generated
from tests.external.node_tools import node, npm_packages
from tests.lsp.client import Editor
from tests.programs import brief, open_files

pytestmark = pytest.mark.feature("A17.2")
ROOT = Path(__file__).resolve().parents[2]
HEADS = {
    "tool": 'tool t() -> Int {clause} extern "x:y"',
    "node": 'node t() -> String {clause} {{ instructions "x" }}',
    "agent": "agent t() -> Int {clause} {{ edge start -> finish }}",
    "skill": 'skill t {clause} {{ instructions "x" }}',
    "store": "store t: Map<String, Int> {clause}",
    "table": "table t(a: Int) -> Int {clause} {{ otherwise => 1 }}",
    "provide": "service S {{}}\nprovide S as t {clause} {{}}",
    "operation": "service S {{ t() -> Int {clause} }}",
}
"""A declaration of each kind that has clauses."""
EXAMPLES = {
    "needs": "needs a.b", "repeat": "repeat never", "timeout": "timeout 5s", "limit": "limit input 1KiB", "approval": "approval required",
    "taints": "taints", "parallel": "parallel", "retry": "retry 3", "model": "model m", "policy": "policy loop", "grants": "grants a.b",
    "tools": "tools x", "skills": "skills x", "budget": "budget tokens 10", "attempts": "attempts 2", "tool_choice": "tool_choice any",
    "history": "history summarize", "version": 'version "1.0"',
}  # fmt: skip


def made(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["language", *words]) == 0
    return capsys.readouterr().out


def test_the_command_prints_it_the_same_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    text = made(capsys)
    assert text == made(capsys)
    assert json.loads(text) == language()
    with pytest.raises(SystemExit):
        main(["language", "--format", "xml"])


def test_words_diagnostics_and_forms_are_those_of_the_compiler() -> None:
    found: Any = language()
    words = found["words"]
    assert {w for kind in ("declaration", "statement", "operator", "literal") for w in words[kind]} == set(RESERVED)
    assert {*words["soft"], *words["clause"]} == set(SOFT)
    assert {one["code"]: one["title"] for one in found["diagnostics"]} == TITLES
    assert {*RESERVED, *SOFT} <= set(found["help"])
    classes = {name: one for name, one in vars(n).items() if isinstance(one, type) and issubclass(one, Node) and one is not Node}
    assert set(found["tree"]) == set(classes)
    for name, fields in found["tree"].items():
        assert [field["name"] for field in fields] == [field for field in classes[name].__match_args__ if field != "span"]


@pytest.mark.parametrize("place", HEADS)
def test_a_clause_that_is_listed_has_a_meaning_there_and_another_has_none(place: str, tmp_path: Path) -> None:
    found: Any = language()
    for word, text in EXAMPLES.items():
        _, bag = open_files(tmp_path, {"main.ael": HEADS[place].format(clause=text) + "\n"})
        refused = [
            line
            for line in (brief(d, tmp_path) for d in bag.sorted())
            if "has no meaning on" in line or "has no clause but" in line
        ]
        assert bool(refused) == (word not in found["clauses"][place]), (place, word, [brief(d, tmp_path) for d in bag.sorted()])


def test_the_types_of_the_document_fit_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A TypeScript compiler that nobody here wrote reads the one as the other."""
    packages = npm_packages("the types of the language as data", "typescript@5.9", "@types/node@22")
    (tmp_path / "language.ts").write_text(made(capsys, "--format", "typescript"))
    (tmp_path / "value.ts").write_text(
        f'import type {{ Language }} from "./language.ts";\nexport const value: Language = {made(capsys)};\n'
    )
    (tmp_path / "wrong.ts").write_text(
        'import type { DiagnosticCode } from "./language.ts";\nexport const code: DiagnosticCode = "AEL9999";\n'
    )
    command = [
        node("types"), str(packages / "node_modules/typescript/bin/tsc"), "--noEmit", "--strict", "--allowImportingTsExtensions",
        "--module", "esnext", "--moduleResolution", "bundler", "value.ts", "wrong.ts",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=200)
    errors = [line for line in done.stdout.splitlines() if "error TS" in line]
    assert [line.partition("(")[0] for line in errors] == ["wrong.ts"], done.stdout


def test_the_types_in_the_editor_are_made_from_it() -> None:
    file = ROOT / "editors/vscode/src/language.ts"
    assert generated()[file] == typescript()
    assert file.read_text(encoding="utf-8") == typescript(), "run `python -m editors.generate`"


def test_a_tree_has_the_forms_and_fields_that_are_told() -> None:
    found: Any = language()
    text = (ROOT / "examples/support/main.ael").read_text(encoding="utf-8")
    for one in walk(parse_module(Source("main.ael", text), Bag())):
        assert [field["name"] for field in found["tree"][type(one).__name__]] == [f for f in one.__match_args__ if f != "span"]


def test_the_language_server_answers_with_it() -> None:
    editor = Editor()
    try:
        editor.start()
        assert editor.ask("ael/language", {}) == language()
        assert editor.stop() == 0
    finally:
        editor.kill()
