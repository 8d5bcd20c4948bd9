"""The files whose change may be one of a program, looked at again and again: what `--watch` of every command and hot reload see.

By looking, not by being told: it is the same on every system, over a network and in a container, and a look at a thousand files takes
a few milliseconds. Folders that hold no sources (hidden ones, `node_modules`, environments of Python) are not gone into.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ael.project.pack import find_root
from ael.project.packs import pack_folders

ENDINGS = (".ael", ".py", ".md", ".txt", ".jsonl", ".csv")
"""Sources with packs and deployments, Python functions, texts that instructions may be read from, cases of an evaluation."""
NAMES = ("ael.lock",)
_SKIPPED = ("node_modules", "__pycache__", "__snapshots__")
_DEPENDENCIES = ("pack.ael", "ael.lock")
_AGAIN = 20
"""After so many looks it is found out anew which packs are depended on: one that was missing may be there now."""

State = dict[Path, tuple[int, int, int]]
"""For each file what shows that it changed: when it was written (ns), its size in bytes, and which file of the disk it is."""


class Watched:
    """What is watched for `paths` (files or folders): the packs that they are in, and those that these depend on.

    `also`: further files or folders, looked at whatever their names end with. `ignored`: files and folders that a command writes itself.
    """

    def __init__(self, paths: Iterable[Path], *, also: Iterable[Path] = (), ignored: Iterable[Path] = ()) -> None:
        self.paths = tuple(paths)
        self.also = tuple(also)
        self.ignored = frozenset(path.resolve() for path in ignored)
        self._roots: set[Path] = set()
        self._looks = 0
        self.before = self.look()

    @property
    def roots(self) -> frozenset[Path]:
        """The folders of the packs that are watched."""
        return frozenset(self._roots)

    def look(self) -> State:
        """The files as they are now, whatever was seen before. One that goes away meanwhile is not there."""
        if self._looks % _AGAIN == 0:
            self._roots = self._folders()
        self._looks += 1
        found: State = {}
        for file in self._files():
            try:
                status = file.stat()
            except OSError:
                continue
            found[file] = (status.st_mtime_ns, status.st_size, status.st_ino)
        return found

    def changed(self) -> frozenset[Path]:
        """What came, went or changed since the last look of this kind."""
        now = self.look()
        found = difference(self.before, now)
        if any(file.name in _DEPENDENCIES for file in found):
            self._looks = 0
            now = self.look()
            found = difference(self.before, now)
        self.before = now
        return found

    def wrote(self, files: Iterable[Path]) -> None:
        """The command itself wrote these: they are no change of the user's."""
        for file in files:
            path = file.resolve()
            try:
                status = path.stat()
            except OSError:
                self.before.pop(path, None)
            else:
                self.before[path] = (status.st_mtime_ns, status.st_size, status.st_ino)

    def _files(self) -> Iterator[Path]:
        for folder in self._roots:
            yield from self._below(folder, every=False)
        for path in self.also:
            if path.is_dir():
                yield from self._below(path.resolve(), every=True)
            else:
                yield path.resolve()

    def _folders(self) -> set[Path]:
        starts = [path if path.is_dir() else path.parent for path in self.paths]
        own = {(find_root(start.resolve()) or start).resolve() for start in starts}
        return own | {folder.resolve() for folder in pack_folders(sorted(own))}

    def _below(self, folder: Path, *, every: bool) -> Iterator[Path]:
        for where, folders, files in os.walk(folder):
            here = Path(where)
            folders[:] = [name for name in folders if self._entered(here, name)]
            for name in files:
                if (every or name.endswith(ENDINGS) or name in NAMES) and here / name not in self.ignored:
                    yield here / name

    def _entered(self, folder: Path, name: str) -> bool:
        path = folder / name
        return not (name.startswith(".") or name in _SKIPPED or path in self.ignored or (path / "pyvenv.cfg").is_file())


def difference(before: State, now: State) -> frozenset[Path]:
    """The files that are not the same in both."""
    return frozenset(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))
