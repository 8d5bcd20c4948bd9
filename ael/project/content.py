"""What a pack consists of: its `pack.ael` and its modules, and the digest that names them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from ael.data import dataclass
from ael.project.pack import FILE
from ael.source import Source

MAX_FILES = 2_000
"""Modules of one pack; the rest of a larger one is not looked at, and it is refused."""
MAX_FOLDERS = 20_000
"""Folders that are looked through for modules of one pack."""


def files(root: Path) -> list[Path]:
    """The `pack.ael` and the modules of the pack in `root`, in the order of their names, at most `MAX_FILES` and one more.

    Deployments belong to whoever runs a program, and a folder with a `pack.ael` of its own is another pack: neither is a part of it. Nor
    are hidden folders, `node_modules`, and links that lead out of it.
    """
    root = root.resolve()
    found: list[Path] = []
    folders = 0
    for folder, inner, names in os.walk(root):
        folders += 1
        here = Path(folder)
        if here != root and FILE in names:
            inner.clear()
            continue
        inner[:] = sorted(name for name in inner if not name.startswith(".") and name not in ("node_modules", "__pycache__"))
        found += [here / name for name in sorted(names) if _module(name) and _inside(here / name, root)]
        if len(found) > MAX_FILES or folders > MAX_FOLDERS:
            break
    return found[: MAX_FILES + 1]


def digest(root: Path, sources: Mapping[Path, Source]) -> str:
    """SHA-256 over the names and texts of a pack's files, hexadecimal. How lines end does not count: version control changes it."""
    whole = hashlib.sha256()
    named = {path.relative_to(root).as_posix(): source.text for path, source in sources.items()}
    for name in sorted(named):
        for part in (name, named[name].replace("\r\n", "\n")):
            data = part.encode()
            whole.update(len(data).to_bytes(8, "big"))
            whole.update(data)
    return whole.hexdigest()


@dataclass(frozen=True)
class PackPin:
    """A pack as it is or was. `source` is `folder ../refunds` or `distribution acme-refunds 1.2.0`, `sha256` the digest of its content."""

    version: str
    source: str
    sha256: str


def _module(name: str) -> bool:
    return name.endswith(".ael") and not name.startswith((".", "deploy.", "eval."))


def _inside(file: Path, root: Path) -> bool:
    """Whether a file is one, and in the pack: a link may lead anywhere."""
    try:
        return file.is_file() and (not file.is_symlink() or file.resolve().is_relative_to(root))
    except (OSError, RuntimeError):  # a circle of links
        return False
