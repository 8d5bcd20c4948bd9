"""An AEL project of a given size, for `check`: the examples and the library, each copy a program of its own.

The types of each copy have names of their own, so that whatever remembers a declaration by its text gains nothing.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SMALL = ROOT / "examples" / "hello" / "main.ael"
_DECLARED = re.compile(r"\b(?:record|enum|error|type|service) ([A-Z]\w*)")
EDITED = Path("copy0", "examples", "support", "main.ael")


def code_lines(folder: Path) -> int:
    """Lines of AEL below the folder that are neither blank nor only a comment."""
    texts = (path.read_text(encoding="utf-8") for path in folder.rglob("*.ael"))
    lines = (line.strip() for text in texts for line in text.splitlines())
    return sum(1 for line in lines if line and not line.startswith("//"))


def rename_types(folder: Path, suffix: str) -> None:
    """Give the types that are declared in the folder, and whatever is called like them, this suffix."""
    texts = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.ael")}
    names = sorted({name for text in texts.values() for name in _DECLARED.findall(text)})
    if not names:
        return
    used = re.compile(rf"\b({'|'.join(names)})\b")
    for path, text in texts.items():
        path.write_text(used.sub(rf"\g<1>{suffix}", text), encoding="utf-8")


def write(folder: Path, lines: int) -> int:
    """Write copies until there are that many lines of code; the number of them."""
    written = number = 0
    while written < lines:
        copy = folder / f"copy{number}"
        for part in ("examples", "stdlib"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("*.db*", ".ael"))
        for program in (*copy.glob("examples/*"), copy / "stdlib"):
            rename_types(program, f"C{number}")
        written += code_lines(copy)
        number += 1
    return written


def edit(folder: Path) -> None:
    """Change one declaration: the bound of the first field that has one, which whatever uses its record depends on."""
    path = folder / EDITED
    text, changed = re.subn(
        r"String\(max: (\d+)\)",
        lambda bound: f"String(max: {int(bound[1]) + 1})",
        path.read_text(encoding="utf-8"),
        count=1,
    )
    assert changed == 1, f"{EDITED} has no bound to change"
    path.write_text(text, encoding="utf-8")
