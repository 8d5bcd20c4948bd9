"""Somebody who follows a page: each file made, each command typed, each answer compared, in the order of the page.

ael, `// file: NAME`        the file is written (`main.ael` without a first line of that kind)
json file=NAME, python file=NAME, csv file=NAME, md file=NAME
                            the file is written
mcp                         what servers are pinned with (`tests.programs.lock_of`) becomes `ael.lock`
sh                          typed, line by line; `exit=N` says how the last line ends; `later` is not typed
python                      run, in one module for the page; `served=ADDRESS`: while the program is served there
text                        what the commands, or the Python, before it printed; `out`: on standard output
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import os
import re
import shlex
from pathlib import Path
from types import ModuleType

from ael.cli.main import main
from ael.diagnostics.diagnostic import Bag
from ael.project.program import open_program
from tests.embed.serving import served_in_a_thread
from tests.error_pages import _file
from tests.programs import Block, blocks, lock_of

FILES = ("json", "python", "csv", "md", "jsonl", "toml", "txt")


class Reader:
    """A folder, and what was printed last. The working directory has to be the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.printed = ""
        self.out = ""
        self.module = ModuleType("page")
        self.commands = 0

    def follow(self, page: Path) -> None:
        """Do what a page says. Raises `AssertionError` where something is not as the page says."""
        for block in blocks(page.read_text(encoding="utf-8")):
            where = f"{page.name}, line {block.line}"
            if block.language == "text":
                assert self.told(block) == block.text, where
            elif "later" not in block.words:
                self.take(block, where)

    def told(self, block: Block) -> str:
        """What a block `text` should hold."""
        return self.out if "out" in block.words else tidy(self.printed)

    def take(self, block: Block, where: str) -> None:
        """Do what a block says."""
        if block.language == "ael":
            name, text = _file(block.text)
            self.write(name, text)
        elif block.language == "mcp":
            self.write("ael.lock", lock_of(block.text))
        elif block.language in FILES and "file" in block.words:
            self.write(block.words["file"], block.text)
        elif block.language == "python" and "served" in block.words:
            opened = open_program(self.folder / "main.ael", Bag())
            assert opened is not None, where
            with served_in_a_thread(opened) as address:
                self.printed = self.run(block.text.replace(block.words["served"], address), where)
        elif block.language == "python":
            self.printed = self.run(block.text, where)
        elif block.language == "sh":
            self.type(block, where)

    def write(self, name: str, text: str) -> None:
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def type(self, block: Block, where: str) -> None:
        """Type the lines of a block; each ends well, but for the last one of a block with `exit=N`."""
        self.printed = self.out = ""
        lines = block.text.replace("\\\n", " ").splitlines()
        for at, line in enumerate(lines):
            code = self.line(line)
            wanted = int(block.words.get("exit", "0")) if at == len(lines) - 1 else 0
            assert code == wanted, f"{where}: `{line}` ended with {code}\n{self.printed}"

    def line(self, line: str) -> int:
        """Type one line, in this process: a command of AEL, or `cd`. Gives the exit code."""
        words = shlex.split(line, comments=True)
        if words[:1] == ["cd"]:
            self.folder = self.folder / words[1]
            os.chdir(self.folder)
            return 0
        assert words[0] == "ael", f"`{line}` is no command of AEL: say `later`"
        self.commands += 1
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main(words[1:])
            except SystemExit as left:
                code = left.code if isinstance(left.code, int) else 1
        self.printed += err.getvalue() + out.getvalue()
        self.out += out.getvalue()
        return code

    def run(self, text: str, where: str) -> str:
        """What Python prints; `await` stands at its top level, as in a notebook."""
        code = compile(text, where, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        out = io.StringIO()

        async def go() -> None:
            found = eval(code, vars(self.module))
            if inspect.isawaitable(found):
                await found

        with contextlib.redirect_stdout(out):
            asyncio.run(go())
        return out.getvalue()


def tidy(printed: str) -> str:
    """What a page shows of what was printed: not the line that leads to `ael explain`."""
    return re.sub(r"\n*\d+ (?:error|warning)s?(?: and \d+ warnings?)?; `ael explain.*\n$", "\n", printed)
