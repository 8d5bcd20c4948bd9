"""Somebody who follows a page in a real shell: each file made, each block typed, what is printed compared.

Blocks are those of `tests.docs.typed`; here a block `sh` is one script for `sh -e`, so that what it starts in the background can be
ended in it. Standard output and standard error are one, as on a terminal.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import clean_environment
from tests.docs.typed import FILES, tidy
from tests.error_pages import _file
from tests.programs import Block

LONG = 240
"""Seconds for one block."""


class Typist:
    """A folder, an environment with AEL on its PATH, and what the last block printed."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "empty"
        self.folder.mkdir()
        tools = root / "bin"
        tools.mkdir()
        for name, words in (("ael", [sys.executable, "-m", "ael"]), ("python3", [sys.executable])):
            (tools / name).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
            (tools / name).chmod(0o755)
        self.environment = clean_environment(root)
        self.environment["PATH"] = os.pathsep.join([str(tools), self.environment["PATH"]])
        self.printed = ""
        self.typed = 0

    def take(self, block: Block, where: str) -> None:
        """Do what a block says."""
        if "later" in block.words:
            return
        if block.language == "ael":
            name, text = _file(block.text)
            (self.folder / name).write_text(text, encoding="utf-8")
        elif block.language in FILES:
            (self.folder / block.words["file"]).write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            self.type(block, where)

    def type(self, block: Block, where: str) -> None:
        """Type a block. Raises `AssertionError` where it does not end as it says."""
        script = block.text
        done = subprocess.run(
            ["sh", "-ec", script], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LONG, check=False,
        )  # fmt: skip
        assert done.returncode == int(block.words.get("exit", "0")), f"{where}\n{script}{done.stdout}"
        self.printed = tidy(done.stdout)
        self.typed += script.count("\n")
        for line in script.splitlines():
            if line.startswith("cd "):
                self.folder = self.folder / line.removeprefix("cd ")
