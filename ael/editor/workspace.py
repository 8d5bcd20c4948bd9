"""The programs below the folders that are open in an editor."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ael.editor.analysis import Where
from ael.project.pack import FILE as PACK_FILE
from ael.project.pack import find_root

MAX_PROGRAMS = 200
"""Programs that are analysed without a file of them being open."""
MAX_FOLDERS = 20_000
"""Folders that are looked through."""
_SKIPPED = frozenset({"node_modules", "__pycache__", "__snapshots__", "venv"})


def programs(folders: Iterable[Path]) -> Iterator[Where]:
    """The packs and the single programs at or below folders, at most `MAX_PROGRAMS`, each once."""
    found: set[Where] = set()
    for place in _all(folders):
        if place not in found:
            found.add(place)
            yield place
        if len(found) >= MAX_PROGRAMS:
            return


def _all(folders: Iterable[Path]) -> Iterator[Where]:
    for top in folders:
        above = find_root(top)
        if above is not None:
            yield Where(above)
        for looked, (name, inner, files) in enumerate(os.walk(top)):
            if looked > MAX_FOLDERS:
                break
            here = Path(name)
            inner[:] = sorted(one for one in inner if not one.startswith(".") and one not in _SKIPPED)
            if PACK_FILE in files:
                yield Where(here)
            elif find_root(here) is None:
                yield from (Where(here, here / file) for file in sorted(files) if _module(file))


def _module(name: str) -> bool:
    return name.endswith(".ael") and not name.startswith((".", "deploy.", "eval."))
