"""Writes the extension for Zed into a folder, with the grammar of this clone: `python -m editors.zed FOLDER`.

Zed builds a grammar from a commit of a repository. Here that is the clone itself.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from ael import __version__

HERE = Path(__file__).resolve().parent
QUERIES = ("highlights", "injections")


def manifest(root: Path, commit: str) -> str:
    """`extension.toml`, with the grammar of the clone `root` at a commit."""
    return f'''\
id = "ael"
name = "AEL"
description = "The Agent Engineering Language."
version = "{__version__}"
schema_version = 1
authors = ["The AEL authors"]

[language_servers.ael]
name = "AEL"
languages = ["AEL"]

[grammars.ael]
repository = "{root.as_uri()}"
rev = "{commit}"
path = "editors/tree-sitter-ael"
'''


def write(folder: Path) -> None:
    """Write the extension. Raises FileExistsError for a folder that holds something, CalledProcessError where there is no clone."""
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(folder)
    root = HERE.parent
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True).stdout.strip()
    shutil.copytree(HERE / "zed", folder, dirs_exist_ok=True)
    for name in QUERIES:
        shutil.copy(HERE / "tree-sitter-ael" / "queries" / f"{name}.scm", folder / "languages" / "ael")
    (folder / "extension.toml").write_text(manifest(root, commit), encoding="utf-8")


def main(words: list[str]) -> int:
    """Write it, or say why not."""
    if len(words) != 1:
        print("usage: python -m editors.zed FOLDER", file=sys.stderr)
        return 2
    try:
        write(Path(words[0]))
    except FileExistsError:
        print(f"editors.zed: `{words[0]}` is there and holds something", file=sys.stderr)
        return 2
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"editors.zed: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
