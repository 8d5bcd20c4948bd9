"""Makes tree-sitter's parser from `grammar.js`: `python -m editors.parser`.

It takes the program `tree-sitter`, on the PATH or named by `TREE_SITTER`. What it was made from is written beside it
(`src/made-from.json`), so that a test can tell a parser that is out of date without the program.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "tree-sitter-ael"
SOURCES = ("grammar.js", "words.json")
MADE = ("src/grammar.json", "src/node-types.json", "src/parser.c")
STAMP = FOLDER / "src" / "made-from.json"


def stamp() -> dict[str, str]:
    """The digest of each file that the parser is made from or that is made with it."""
    return {name: hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() for name in (*SOURCES, *MADE)}


def program() -> str | None:
    """The path of `tree-sitter`, None where there is none."""
    return shutil.which(os.environ.get("TREE_SITTER", "tree-sitter"))


def main() -> int:
    """Make it."""
    found = program()
    if found is None:
        print("editors.parser: there is no `tree-sitter` on the PATH; TREE_SITTER may name one", file=sys.stderr)
        return 2
    done = subprocess.run([found, "generate", "--no-bindings", "--abi", "14"], cwd=FOLDER, check=False)
    if done.returncode == 0:
        STAMP.write_text(json.dumps(stamp(), indent=2) + "\n", encoding="utf-8")
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
