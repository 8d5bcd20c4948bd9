"""The wheel, installed alone in an empty environment, runs programs from another folder.

What it depends on is linked in from this environment, as far as the wheel's own metadata names it: nothing is fetched, and a
dependency that is not declared is missing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from ael import __version__
from ael.diagnostics.codes import TITLES
from tests.cli.conftest import clean_environment
from tests.programs import write
from tests.project import test_packs_installed as packs

pytestmark = pytest.mark.xdist_group("wheel")
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds the wheel and what it declares to need."""
    folder = tmp_path_factory.mktemp("installed") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, "--disable-pip-version-check", str(wheel)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    link(requirements(wheel), site)
    return folder


def requirements(wheel: Path) -> list[Requirement]:
    """What the wheel's metadata says it needs, without extras."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        lines = archive.read(name).decode().split("\n\n")[0].splitlines()
    found = [Requirement(line.partition(": ")[2]) for line in lines if line.startswith("Requires-Dist: ")]
    return [one for one in found if one.marker is None or one.marker.evaluate({"extra": ""})]


def link(wanted: Iterable[Requirement], site: Path) -> None:
    """Link the distributions, and all that they need, from this environment into another."""
    waiting, seen = list(wanted), set[str]()
    while waiting:
        name = waiting.pop().name.lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue
        for top in {Path(str(file)).parts[0] for file in found.files or () if not str(file).startswith("..")}:
            source, target = Path(str(found.locate_file(top))), site / top
            if source.exists() and not target.exists() and top != "__pycache__":
                target.symlink_to(source)
        needs = [Requirement(text) for text in found.requires or ()]
        waiting += [one for one in needs if one.marker is None or one.marker.evaluate({"extra": ""})]


def ael(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The installed command, in a folder that is not the checkout."""
    environment = {name: value for name, value in clean_environment(folder).items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [str(installed / "bin" / "ael"), *words], cwd=folder, env=environment, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_what_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    shipped = {name.removeprefix("ael/_shipped/") for name in names if name.startswith("ael/_shipped/")}
    assert {f"errors/{code}.md" for code in TITLES} <= shipped
    assert {str(file.relative_to(ROOT)) for file in (ROOT / "stdlib").rglob("*.ael")} <= shipped
    assert {"grammar/words.toml", "grammar/ael.lark"} <= shipped
    templates = {str(file.relative_to(ROOT)) for file in (ROOT / "ael" / "project" / "templates").rglob("*") if file.is_file()}
    assert templates
    assert templates <= names
    assert {"ael/py.typed", "ael/__init__.pyi"} <= names
    assert {name.split("/")[0] for name in names} == {"ael", f"ael_lang-{__version__}.dist-info"}
    assert not [name for name in names if "__pycache__" in name or name.endswith((".db", ".pyc"))]
    metadata = f"ael_lang-{__version__}.dist-info/"
    assert {f"{metadata}licenses/LICENSE", f"{metadata}entry_points.txt"} <= names


def test_a_program_runs_from_another_folder(installed: Path, tmp_path: Path) -> None:
    program = """
use std/text.{shorten}

/// Greet somebody, briefly.
node main(name: String(max: 80)) -> String {
  shorten("Hello, ${name}!", 10)
}
"""
    write(tmp_path, {"main.ael": program})
    ran = ael(installed, tmp_path, "run", "main.ael", "--name", "Ada Lovelace", "--quiet")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout).startswith("Hello, ")
    told = ael(installed, tmp_path, "doctor")
    assert told.returncode == 0, told.stdout
    assert f"ael {__version__}, from {installed}" in told.stdout


def test_a_new_pack_is_made_checked_tested_and_run(installed: Path, tmp_path: Path) -> None:
    assert ael(installed, tmp_path, "new", "desk").returncode == 0
    desk = tmp_path / "desk"
    for words in (("check",), ("fmt", "--check"), ("test",)):
        done = ael(installed, desk, *words)
        assert done.returncode == 0, done.stderr
    ran = ael(installed, desk, "run", ".", "--trace")
    assert (ran.returncode, json.loads(ran.stdout)) == (0, "Yes, take one: it rains in Berlin today, at 12 degrees.")


@pytest.mark.feature("B22")
def test_a_python_program_runs_one_with_what_is_always_installed(installed: Path, tmp_path: Path) -> None:
    write(tmp_path, {"main.ael": "node main(n: Int) -> Int {\n  n + 1\n}\n"})
    code = "import ael; print(ael.load('main.ael').run_sync('main', {'n': 1}, result_type=int).unwrap())"
    done = subprocess.run(
        [str(installed / "bin" / "python"), "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("2\n", "")


def test_pages_and_versions(installed: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "errors" / "AEL0301.md").read_text(encoding="utf-8")
    assert ael(installed, tmp_path, "explain", "AEL0301").stdout == page
    assert ael(installed, tmp_path, "--version").stdout == f"ael {__version__}\n"
    lexer = "from pygments.lexers import get_lexer_by_name as g; print(type(g('ael')).__module__)"
    done = subprocess.run(
        [str(installed / "bin" / "python"), "-I", "-c", lexer], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "ael.editor.pygments\n"


@pytest.mark.feature("C14")
def test_the_guide_for_coding_agents_ships_with_the_version(installed: Path, tmp_path: Path) -> None:
    told = ael(installed, tmp_path, "guide", "--skill")
    assert (told.returncode, told.stderr) == (0, "")
    assert f'version: "{__version__}"' in told.stdout
    assert "# AEL for agents that write it\n" in told.stdout


@pytest.mark.feature("C9")
def test_a_pack_that_is_installed_beside_it_is_found(installed: Path, tmp_path: Path) -> None:
    made = packs.wheel(tmp_path / "wheels", "acme-refunds", "3.0", packs.REFUNDS, packs.entry("refunds", "acme_refunds"))
    install = [sys.executable, "-m", "pip", "--python", str(installed / "bin" / "python"), "install", "--quiet", "--no-deps"]
    subprocess.run([*install, "--no-index", "--disable-pip-version-check", str(made)], check=True)
    write(tmp_path, packs.DESK)
    ran = ael(installed, tmp_path / "desk", "run", ".", "--n", "4", "--quiet")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "8\n", "")
    told = ael(installed, tmp_path / "desk", "deps")
    assert told.stdout == 'desk 1\n└─ refunds 1.2.3 (asked for "1.2"), distribution acme-refunds 3.0, not locked\n'
