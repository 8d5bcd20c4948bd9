"""Which file a command is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ael.natives.sandbox_programs import NoProgram, find

pytestmark = pytest.mark.feature("A15.4")


def program(path: Path, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "work"
    root.mkdir()
    return root


def test_a_name_is_looked_for_where_the_system_keeps_its_programs(root: Path) -> None:
    assert find("sh", root) in ("/usr/local/bin/sh", "/usr/bin/sh", "/bin/sh")


def test_folders_that_are_shown_go_first_and_the_path_last(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools, far = root.parent / "tools", root.parent / "far"
    program(tools / "bin" / "sh")
    program(far / "only")
    monkeypatch.setenv("PATH", str(far))
    assert find("sh", root, (tools,)) == str(tools / "bin" / "sh")
    assert find("only", root, (far,)) == str(far / "only")
    assert find("only", root, sandboxed=False) == str(far / "only")
    with pytest.raises(NoProgram, match="which the sandbox does not show"):
        find("only", root)


def test_the_workspace_has_no_programs(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not on the PATH, not by a link from elsewhere, not through a folder that is a link, not by its own path."""
    evil = program(root / "bin" / "evil")
    away = root.parent / "away"
    away.mkdir()
    (away / "evil").symlink_to(evil)
    (root.parent / "folder").symlink_to(root / "bin")
    for path in (f"{root}/bin", str(away), str(root.parent / "folder"), ".", "", "bin"):
        monkeypatch.setenv("PATH", path)
        for sandboxed in (True, False):
            with pytest.raises(NoProgram, match="no such program"):
                find("evil", root, sandboxed=sandboxed)
    for path in (str(evil), str(away / "evil"), str(root.parent / "folder" / "evil")):
        with pytest.raises(NoProgram, match="no such program"):
            find(path, root, sandboxed=False)


@pytest.mark.parametrize("command", ["../bin/sh", "bin/sh", "./sh", "none-such", "", "."])
def test_what_is_none(root: Path, command: str) -> None:
    with pytest.raises(NoProgram):
        find(command, root)


def test_what_everybody_may_write_to_and_what_is_no_program_is_passed_over(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_to_all, plain = root.parent / "open", root.parent / "plain"
    program(open_to_all / "tool")
    open_to_all.chmod(0o777)
    (plain / "tool").mkdir(parents=True)
    program(plain / "other", 0o644)
    monkeypatch.setenv("PATH", f"{open_to_all}{os.pathsep}{plain}")
    for name in ("tool", "other"):
        with pytest.raises(NoProgram, match="no such program"):
            find(name, root, sandboxed=False)


def test_a_link_to_what_is_not_shown_is_told(root: Path) -> None:
    tools = root.parent / "tools" / "bin"
    tools.mkdir(parents=True)
    target = program(root.parent / "real" / "tool")
    (tools / "tool").symlink_to(target)
    with pytest.raises(NoProgram, match=f"it is `{target}`, which the sandbox does not show"):
        find("tool", root, (tools.parent,))
    assert find("tool", root, (tools.parent, target.parent)) == str(tools / "tool")
