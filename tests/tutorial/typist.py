"""Somebody who follows a page in a real shell: each file made, each block typed, what is printed compared.

Blocks are those of `tests.docs.typed`; here a block `sh` is one script for `sh -e`, so that what it starts in the background can be
ended in it. With `in=clone` it is typed in a clone of the project. Standard output and standard error are one, as on a terminal.
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

ROOT = Path(__file__).resolve().parents[2]
LONG = 600
"""Seconds for one block: packages are brought from the registry in one of them."""


class Typist:
    """Somebody with a home and an empty folder in it, without a key and without AEL, and what the last block printed."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "empty"
        self.folder.mkdir()
        self.environment = clean_environment(home)
        self.environment["HOME"] = str(home)
        for name, own in (("XDG_CACHE_HOME", ".cache"), ("XDG_CONFIG_HOME", ".config")):
            # What pip keeps and how it finds its registry are the machine's.
            self.environment[name] = os.environ.get(name, str(Path.home() / own))
        tools = home / "bin"
        tools.mkdir()
        (tools / "python3").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
        (tools / "python3").chmod(0o755)
        self.environment["PATH"] = os.pathsep.join([str(tools), self.environment["PATH"]])
        for name in ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME"):
            self.environment.pop(name, None)
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
        clone = block.words.get("in") == "clone"
        done = subprocess.run(
            ["sh", "-ec", script], cwd=ROOT if clone else self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LONG, check=False,
        )  # fmt: skip
        assert done.returncode == int(block.words.get("exit", "0")), f"{where}\n{script}{done.stdout}"
        self.printed = tidy(done.stdout)
        self.typed += script.count("\n")
        for line in script.splitlines():
            if line.startswith("cd "):
                self.folder = self.folder / line.removeprefix("cd ")
            elif line.startswith(". ~/") and line.endswith("/bin/activate"):
                self.activate(Path(self.environment["HOME"]) / line.removeprefix(". ~/").removesuffix("/bin/activate"))

    def activate(self, environment: Path) -> None:
        """What `activate` does lasts for the whole terminal, and each block has a shell of its own here."""
        self.environment["VIRTUAL_ENV"] = str(environment)
        self.environment["PATH"] = os.pathsep.join([str(environment / "bin"), self.environment["PATH"]])
