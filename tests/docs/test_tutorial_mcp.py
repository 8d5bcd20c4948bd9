"""The MCP tutorial, done as it is written: each file made, each command typed, in an empty folder, with the real server."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import clean_environment
from tests.error_pages import _file
from tests.programs import Block, blocks
from tests.public_servers import python_packages

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial-mcp.md"
SERVER = "mcp-server-time==2026.10.19"


class Reader:
    """Somebody who follows the page: a folder, and what the last commands printed."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = environment
        self.printed = ""
        self.commands = 0

    def take(self, block: Block) -> str | None:
        """Do what a block says. Gives what a `text` block should hold, where it is one."""
        match block.language:
            case "ael":
                name, text = _file(block.text)
                (self.folder / name).write_text(text, encoding="utf-8")
            case "json":
                (self.folder / block.words["file"]).write_text(block.text, encoding="utf-8")
            case "sh":
                self.type(block)
            case "text":
                return self.printed
        return None

    def type(self, block: Block) -> None:
        """Type the commands of a block; the last one ends with the code that the block's `exit=` says."""
        self.printed = ""
        lines = block.text.splitlines()
        for at, line in enumerate(lines):
            if line.startswith("cd "):
                self.folder = self.folder / line.removeprefix("cd ")
                continue
            done = subprocess.run(
                ["sh", "-c", line], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False,
                stdin=subprocess.DEVNULL, timeout=100,
            )  # fmt: skip
            self.commands += 1
            wanted = int(block.words.get("exit", "0")) if at == len(lines) - 1 else 0
            assert done.returncode == wanted, f"line {block.line + at}: `{line}`\n{done.stdout}{done.stderr}"
            self.printed += re.sub(r"\n*\d+ errors?; `ael explain.*\n$", "\n", done.stderr) + done.stdout


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """A reader with AEL and the server's installation on the PATH."""
    ael = tmp_path / "bin" / "ael"
    ael.parent.mkdir()
    ael.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m ael "$@"\n')
    ael.chmod(0o755)
    environment = clean_environment(tmp_path)
    installed = python_packages(SERVER) / "bin"
    environment["PATH"] = os.pathsep.join([str(ael.parent), str(installed), environment["PATH"]])
    empty = tmp_path / "empty"
    empty.mkdir()
    return Reader(empty, environment)


@pytest.mark.timeout(600)
@pytest.mark.feature("A9.2", "A9.5", "B11", "D4")
def test_the_tutorial_is_right_as_it_is_written(reader: Reader) -> None:
    compared = 0
    page = PAGE.read_text(encoding="utf-8")
    assert SERVER in page
    for block in blocks(page):
        expected = reader.take(block)
        if expected is not None:
            assert block.text == expected, f"line {block.line}"
            compared += 1
    assert compared >= 6
    assert reader.commands >= 12
    assert (reader.folder / "ael.lock").is_file()
    final = subprocess.run(
        ["sh", "-c", "ael check && ael mcp diff"],
        cwd=reader.folder,
        env=reader.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert final.stderr == "1 module checked, no problems\nnothing changed (1 pinned)\n"
