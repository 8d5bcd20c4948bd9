"""The coding agent: what it prints, that the tests really ran and came back to it, and that it touched nothing but its copy."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ael.project.entry import choose
from tests.cli.conftest import clean_environment
from tests.examples.test_embed import installed
from tests.programs import open_files

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "coder"


def files_of(folder: Path) -> dict[str, bytes]:
    """The files below a folder by their paths."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


@pytest.mark.feature("A15.1", "A15.2", "A15.5", "A15.8", "B22")
def test_it_makes_the_failing_test_pass(tmp_path: Path) -> None:
    folder = installed(EXAMPLE, tmp_path)
    before = files_of(EXAMPLE / "project")
    done = subprocess.run(
        ["sh", "run.sh"], cwd=folder, env=clean_environment(tmp_path), capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == (EXAMPLE / "expected.txt").read_text(encoding="utf-8")
    assert 'edit refused: no tool "edit"' in done.stderr
    assert '"error": "Stale"' in done.stderr
    assert files_of(folder / "project") == before
    changed = {path for path, data in files_of(folder / "work").items() if before.get(path) != data}
    assert changed == {"pricing.py"}, "and no cache of Python's"


@pytest.mark.feature("A15.5")
def test_a_failing_test_comes_back_with_the_edit(tmp_path: Path) -> None:
    folder = tmp_path / "coder"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("work", "*.db*", "__pycache__"))
    shutil.copytree(EXAMPLE / "project", folder / "work")
    deploy = folder / "deploy.ael"
    deploy.write_text(f'{deploy.read_text()}runs = sqlite("runs.db")\n')

    def command(*words: str) -> str:
        call = [sys.executable, "-m", "ael", *words]
        done = subprocess.run(call, cwd=folder, env=clean_environment(tmp_path), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert json.loads(command("run", ".", "--task", "make it pass", "-q"))["green"] is True
    [row] = json.loads(command("runs", "list", "--format", "json"))
    effects = json.loads(command("runs", "show", row["run"], "--format", "json"))["effects"]
    first, second, third = (effect["value"] for effect in effects if effect["target"] == "std/code.edit")
    assert first["tests"]["passed"] is False
    assert "test_a_rebate_is_never_rounded_up" in first["tests"]["output"]
    assert "AssertionError: 13 != 14" in first["tests"]["output"]
    assert "not what was read" in json.dumps(second)
    assert third["tests"]["passed"] is True


@pytest.mark.feature("A15.8")
def test_with_edit_on_its_list_the_scout_does_not_check(tmp_path: Path) -> None:
    text = (EXAMPLE / "main.ael").read_text(encoding="utf-8")
    wrong = text.replace("  tools read_file, glob, grep\n", "  tools read_file, glob, grep, edit\n")
    assert wrong != text
    pack = (EXAMPLE / "pack.ael").read_text(encoding="utf-8")
    opened, bag = open_files(tmp_path, {"main.ael": wrong, "pack.ael": pack})
    assert opened is None
    refused = [d.message for d in bag.sorted() if d.code == "AEL0508"]
    assert refused == ["the node `explore` is not granted `std.code.write`, which `edit` needs"]


def test_the_real_deployment_asks_for_each_edit(tmp_path: Path) -> None:
    files = {name: (EXAMPLE / name).read_text(encoding="utf-8") for name in ("main.ael", "pack.ael")}
    opened, bag = open_files(tmp_path, {**files, "deploy.ael": (EXAMPLE / "deploy.real.ael").read_text(encoding="utf-8")})
    assert opened is not None, [d.message for d in bag.sorted()]
    assert opened.deployment.tools["std/code.edit"].approval
    assert choose(opened.program, None) == "main.main"
