"""`docs/features.md`: each row of `tests/features.tsv` with the tests that name it. `python -m tests.features` writes it anew."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "features.tsv"
PAGE = ROOT / "docs" / "features.md"


def rows() -> dict[str, str]:
    """Row -> what must hold."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t", 1) for line in lines if line)


def proofs() -> dict[str, list[str]]:
    """Row -> the tests that say they prove it: Python tests by mark, spec pages by a line `feature: …`."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                for row in _marked(node.decorator_list):
                    found[row].add(f"{file.relative_to(ROOT)}::{node.name}")
            elif isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets):
                values = node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else [node.value]
                for row in _marked(values):
                    found[row].add(str(file.relative_to(ROOT)))
    for page in sorted((ROOT / "tests" / "spec").rglob("*.md")):
        for line in re.findall(r"^feature: (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
            for row in re.split(r"[,\s]+", line.strip()):
                found[row].add(str(page.relative_to(ROOT)))
    return {row: sorted(tests) for row, tests in found.items()}


def _marked(decorators: list[ast.expr]) -> list[str]:
    return [
        argument.value
        for decorator in decorators
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.feature"
        for argument in decorator.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]


def page() -> str:
    """The text of `docs/features.md`."""
    proved = proofs()
    table = rows()
    held = sum(row in proved for row in table)
    lines = [
        "# Features",
        "",
        f"Made by `python -m tests.features`. {held} of {len(table)} rows are proved by tests; a row without a test is not there yet.",
        "",
        "| Row | What must hold | Proved by |",
        "| --- | --- | --- |",
    ]
    for row, text in table.items():
        tests = "<br>".join(f"`{test}`" for test in proved.get(row, [])) or "–"
        lines.append(f"| {row} | {text.replace('|', chr(92) + '|')} | {tests} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
