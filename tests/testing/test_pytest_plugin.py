"""The pytest plugin: AEL tests beside Python ones, in real runs of pytest."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.programs import write

MAIN = """record Order {
  id: String
  total: Int
}

test "it adds" {
  assert 1 + 1 == 2
}

test "it fails" {
  let order = Order(id: "A-1", total: 3)
  assert order.total == 4
}

test "it keeps" {
  snapshot("order", Order(id: "A-1", total: 3))
}
"""
PYTHON = "def test_in_python():\n    assert True\n"
FILES = {
    "agents/main.ael": MAIN, "agents/pack.ael": 'pack agents {\n  version "1"\n}\n', "agents/deploy.ael": "default steps 3\n",
    "agents/more.ael": 'test "another" {\n  assert true\n}\n', "test_here.py": PYTHON, "other/broken.ael": 'test "x" {\n  nope\n}\n',
}  # fmt: skip


def run(folder: Path, *words: str, ci: bool = False) -> subprocess.CompletedProcess[str]:
    """pytest in a process of its own, with no plugin but this and those that are named."""
    kept = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "ael.testing.pytest_plugin", "-p", "no:cacheprovider", "--color=no", *words],
        cwd=folder, capture_output=True, text=True, timeout=100, check=False,
        env={**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **({"CI": "1"} if ci else {})},
    )  # fmt: skip


@pytest.mark.feature("C7")
def test_nothing_is_collected_unless_it_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    done = run(tmp_path, "--collect-only", "-q")
    assert done.stdout.splitlines()[0] == "test_here.py::test_in_python"
    assert ".ael" not in done.stdout
    write(tmp_path, {"pytest.ini": "[pytest]\nael_tests = agents\n"})
    listed = run(tmp_path, "--collect-only", "-q").stdout.splitlines()
    titles = ["agents/main.ael::it adds", "agents/main.ael::it fails", "agents/main.ael::it keeps", "agents/more.ael::another"]
    assert listed[:5] == [*titles, "test_here.py::test_in_python"]


@pytest.mark.feature("C7")
def test_failures_are_those_of_ael_and_filters_work(tmp_path: Path) -> None:
    write(tmp_path, {**FILES, "pytest.ini": "[pytest]\nael_tests = agents\n"})
    done = run(tmp_path, "-q")
    assert done.returncode == 1
    assert "4 passed" in done.stdout
    assert "FAILED agents/main.ael::it fails - assertion failed" in done.stdout
    assert "assert order.total == 4" in done.stdout
    assert "order.total = 3" in done.stdout
    assert "main.ael:10: test failed" in done.stdout
    assert "Traceback" not in done.stdout
    assert (tmp_path / "agents" / "__snapshots__" / "main.ael.snap").is_file()
    assert "1 passed, 4 deselected" in run(tmp_path, "-k", "adds").stdout
    assert "3 passed" in run(tmp_path, "-m", "ael", "-k", "not fails").stdout


def test_one_file_is_named_and_a_program_that_does_not_check_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    assert "1 passed" in run(tmp_path, "agents/main.ael::it adds").stdout
    broken = run(tmp_path, "other/broken.ael")
    assert broken.returncode == 2
    assert "error[AEL0202]" in broken.stdout
    assert "Traceback" not in broken.stdout
    assert run(tmp_path, "--ael").returncode == 2, "the broken one is collected too"


def test_workers_of_xdist_run_them_and_a_build_machine_makes_no_snapshot(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    done = run(tmp_path, "-p", "xdist", "-n", "2", "--ael", "agents", ci=True)
    assert "2 failed, 2 passed" in done.stdout
    assert "there is no snapshot `order`" in done.stdout


def test_pytest_finds_the_plugin_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"ael.testing.pytest_plugin": "ael.testing.pytest_plugin"}


def test_the_plugin_loads_nothing_of_ael_until_there_is_a_file() -> None:
    code = (
        "import sys, ael.testing.pytest_plugin\n"
        "print(sorted(m for m in sys.modules if m.startswith('ael.') and m not in ('ael.testing', 'ael.testing.pytest_plugin')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
