"""An AEL project of a given size, for `check`: the examples and the library, repeated.

Either each is a program of its own, as in a repository with many, or all are modules of one pack. The types, permissions and
roles of each copy have names of their own, so that whatever remembers a declaration by its text gains nothing.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SMALL = ROOT / "examples" / "hello" / "main.ael"
_TYPE = re.compile(r"\b(?:record|enum|error|type|service) ([A-Z]\w*)")
_RIGHT = re.compile(r"^(?:permission|role) ([a-z][\w.]*)", re.MULTILINE)
_NATIVE = re.compile(r'extern "std:|\bnative_')
"""What only the library itself may name: its modules that do are no modules of another pack."""
EDITED = Path("copy0", "examples", "refunds", "main.ael")


def code_lines(folder: Path) -> int:
    """Lines of AEL below the folder that are neither blank nor only a comment."""
    texts = (path.read_text(encoding="utf-8") for path in folder.rglob("*.ael"))
    lines = (line.strip() for text in texts for line in text.splitlines())
    return sum(1 for line in lines if line and not line.startswith("//"))


def rename(folder: Path, suffix: str) -> None:
    """Give the types, permissions and roles that are declared in the folder, and whatever is called like them, this suffix."""
    texts = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.ael")}
    for declared, end in ((_TYPE, suffix), (_RIGHT, f"_{suffix.lower()}")):
        names = sorted({name for text in texts.values() for name in declared.findall(text)}, key=len, reverse=True)
        if names:
            used = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")
            texts = {path: used.sub(rf"\g<1>{end}", text) for path, text in texts.items()}
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")


def write(folder: Path, lines: int, one_pack: bool = False) -> int:
    """Write copies until there are that many lines of code; the number of them.

    A single pack leaves out the deployments, and the examples that depend on packs or pin the servers of theirs.
    """
    left_out = ("*.db*", ".ael", *(("pack.ael", "deploy*.ael") if one_pack else ()))
    written = number = 0
    while written < lines:
        copy = folder / f"copy{number}"
        for part in ("examples", "stdlib"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns(*left_out))
        if one_pack:
            for lock in (ROOT / "examples").glob("*/ael.lock"):
                shutil.rmtree(copy / "examples" / lock.parent.name)
        for module in copy.glob("stdlib/std/*.ael"):
            text = module.read_text(encoding="utf-8")
            if _NATIVE.search(text):
                module.unlink()
            else:
                module.write_text(text.replace("use ./", "use std/"), encoding="utf-8")
        for place, program in enumerate((*sorted(copy.glob("examples/*")), copy / "stdlib")):
            rename(program, f"C{number}P{place}")
        written += code_lines(copy)
        number += 1
    if one_pack:
        lines_of = [path.read_text(encoding="utf-8").splitlines() for path in sorted((ROOT / "examples").glob("*/pack.ael"))]
        needs = sorted({line for own in lines_of for line in own if line.strip().startswith(("uses ", "extern "))})
        (folder / "pack.ael").write_text("\n".join(["pack bench {", '  version "1.0.0"', *needs, "}", ""]), encoding="utf-8")
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
