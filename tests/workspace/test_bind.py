"""The lines `files = …` and `code = …` of a deployment: what they become, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ael.project.bind_files import CodeBinding, FilesBinding
from tests.programs import open_files, rendered
from tests.workspace.programs import PACK

MAIN = "node main() -> Int {\n  1\n}\n"


def natives(folder: Path, deploy: str) -> dict[str, object]:
    """What a deployment says of the folder and the commands."""
    opened, bag = open_files(folder, {"main.ael": MAIN, "pack.ael": PACK, "deploy.ael": deploy})
    assert opened is not None, [f"{d.code} {d.message}" for d in bag.sorted()]
    return dict(opened.deployment.natives)


@pytest.mark.feature("A15.1", "A15.5")
def test_what_the_lines_become(tmp_path: Path) -> None:
    assert natives(tmp_path / "none", "") == {}
    assert natives(tmp_path / "one", 'files = folder("./ws")\n') == {"files": FilesBinding("./ws")}
    deploy = 'files = folder("/srv/ws", write: true, allow: [".ENV.test"], limit: 4MiB)\n'
    deploy += 'code = commands(test: ["pytest", "-q"], after_edit: false, shell: true)\n'
    assert natives(tmp_path / "two", deploy) == {
        "files": FilesBinding("/srv/ws", True, (".env.test",), 4 << 20), "code": CodeBinding(("pytest", "-q"), False, True),
    }  # fmt: skip
    assert natives(tmp_path / "three", "code = commands()\n") == {"code": CodeBinding()}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("files = folder()", "AEL0814"), ('files = folder("a", "b")', "AEL0814"), ('files = folder("")', "AEL0814"),
        ('files = folder("a", write: 1)', "AEL0814"), ('files = folder("a", limit: 0)', "AEL0814"),
        ('files = folder("a", limit: 1GiB)', "AEL0814"), ('files = folder("a", allow: "x")', "AEL0814"),
        ('files = folder("a", allow: [1])', "AEL0814"), ('files = folder("a", read: true)', "AEL0814"),
        ('files = folder(".", write: true)', "AEL0814"), ('files = folder("ws/..", write: true)', "AEL0814"),
        ('files = folder("/", write: true)', "AEL0814"), ('files = bucket("a")', "AEL0814"), ("files = 1", "AEL0814"),
        ('files notes = folder("a")', "AEL0814"),
        ('files = folder("a")\nfiles = folder("b")', "AEL0813"),
        ("code = commands(1)", "AEL0814"), ("code = commands(test: [])", "AEL0814"), ('code = commands(test: "pytest -q")', "AEL0814"),
        ("code = commands(shell: 1)", "AEL0814"), ("code = commands(network: true)", "AEL0814"), ("code = commander()", "AEL0814"),
        ("code = commands()\ncode = commands()", "AEL0813"), ("code x = commands()", "AEL0814"),
    ],
)  # fmt: skip
def test_a_line_that_is_refused(tmp_path: Path, line: str, told: str) -> None:
    opened, bag = open_files(tmp_path, {"main.ael": MAIN, "pack.ael": PACK, "deploy.ael": f"{line}\n"})
    assert opened is None
    assert [d.code for d in bag.sorted()] == [told]


def test_a_code_line_without_the_package(tmp_path: Path) -> None:
    files = {"main.ael": MAIN, "pack.ael": "pack p {\n}\n", "deploy.ael": "code = commands(shell: true)\n"}
    opened, bag = open_files(tmp_path, files)
    assert opened is None
    [diagnostic] = bag.sorted()
    assert "AEL0845" in rendered(diagnostic, tmp_path)
    assert "add `uses std/code` to `pack.ael`" in rendered(diagnostic, tmp_path)
