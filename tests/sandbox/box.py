"""Commands in a real sandbox, for the tests: a workspace, and beside it something that no command may see."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ael.natives.sandbox import Command, Finished, Limits, run

SECRET = "PLANTED-7f3a"
"""What must never be seen from inside."""
PYTHON = sys.executable


def shown() -> tuple[Path, ...]:
    """What a sandbox has to show for this Python to run in it."""
    found = {os.path.realpath(place) for place in (sys.prefix, sys.base_prefix)}
    return tuple(Path(place) for place in sorted(found) if not place.startswith("/usr"))


class Box:
    """A workspace `root`, with the file `outside` beside it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        self.root.mkdir()
        self.outside = folder / "outside.txt"
        self.outside.write_text(SECRET)

    def command(
        self,
        *argv: str,
        folder: str = ".",
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        network: bool = False,
        writable: bool = True,
        sandboxed: bool = True,
        **limits: Any,
    ) -> Command:
        limits.setdefault("time", 60_000)
        return Command(
            self.root, argv, folder, env or {}, stdin, Limits(**limits), network, shown(), writable=writable, sandboxed=sandboxed
        )

    def run(self, *argv: str, **more: object) -> Finished:
        """Run a command to its end."""
        return asyncio.run(run(self.command(*argv, **more)))  # type: ignore[arg-type]

    def py(self, code: str, *arguments: str, **more: object) -> Finished:
        """Run Python code to its end."""
        return self.run(PYTHON, "-I", "-c", textwrap.dedent(code), *arguments, **more)

    def says(self, code: str, *arguments: str, **more: object) -> str:
        """What Python code prints that ends well."""
        done = self.py(code, *arguments, **more)
        assert done.exit_code == 0, done
        return done.stdout.strip()
