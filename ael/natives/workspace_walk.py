"""Going through the folders of a workspace: in order, bounded, without links, and without what version control ignores.

The order is that of the names, folder by folder, so the same files give the same answer on every machine.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

from ael.natives.globs import BadPattern, Glob, glob
from ael.natives.workspace import Workspace, opened_folder, read_in, refusal
from ael.natives.workspace_names import nameable
from ael.types.fault import Failure

MAX_SEEN = 200_000
"""Names that are looked at in one go through a workspace."""
MAX_DEPTH = 64
_IGNORE = ".gitignore"
_IGNORE_BYTES = 64 << 10
_RULES = 500
_WILD = frozenset("*?[/")
GENERATED = frozenset(
    {
        "node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".gradle",
        ".terraform", ".next", ".cache", ".eggs",
    }
)  # fmt: skip
"""Folders of what others made, which nobody looks for anything in."""


class Found(NamedTuple):
    """A name in a workspace."""

    parts: tuple[str, ...]
    kind: str
    size: int

    @property
    def path(self) -> str:
        return "/".join(self.parts)


class Rule(NamedTuple):
    """A line of a `.gitignore`: from where it counts, whether it takes back, whether only folders are meant. `name`: the one name that it
    is about, wherever that stands, which is compared at once."""

    base: int
    pattern: Glob
    keeps: bool
    folders: bool
    name: str = ""

    def fits(self, found: Found) -> bool:
        """Whether a name is meant."""
        if self.folders and found.kind != "folder":
            return False
        return found.parts[-1] == self.name if self.name else self.pattern.matches(found.parts[self.base :])


class Walk:
    """One go through a workspace. `cut`: not everything was looked at; `hidden`: names that programs are not shown.

    `stopped` is asked now and then whether to give up.
    """

    def __init__(self, space: Workspace, stopped: Callable[[], bool] = bool) -> None:
        self.cut = False
        self.hidden = 0
        self._space = space
        self._stopped = stopped
        self._seen = 0

    def files(self, parts: tuple[str, ...], path: str, below: Glob | None = None) -> Iterator[Found]:
        """The regular files below a folder. `below`: only folders that may hold what fits it are opened."""
        with self._space.folder(parts, path) as at:
            yield from self._folder(at, parts, (), below)

    def _folder(self, at: int, parts: tuple[str, ...], rules: tuple[Rule, ...], below: Glob | None) -> Iterator[Found]:
        rules += self._rules(at, len(parts))
        for found in self._names(at, parts):
            if self._given_up():
                return
            if ignored(found, rules):
                continue
            if found.kind == "file":
                yield found
            elif found.kind == "folder":
                if len(found.parts) >= MAX_DEPTH:
                    self.cut = True
                elif below is None or below.may_hold(found.parts):
                    yield from self._below(at, found, rules, below)

    def _given_up(self) -> bool:
        """Whether there is nobody any more who waits for the rest, or too much was seen."""
        if self._stopped():
            self.cut = True
            return True
        return self.cut and self._seen >= MAX_SEEN

    def _below(self, at: int, found: Found, rules: tuple[Rule, ...], below: Glob | None) -> Iterator[Found]:
        try:
            inner = opened_folder(at, found.parts[-1], found.path)
        except Failure:
            return  # gone or swapped meanwhile, or closed to this user
        try:
            yield from self._folder(inner, found.parts, rules, below)
        finally:
            os.close(inner)

    def _names(self, at: int, parts: tuple[str, ...]) -> list[Found]:
        names, cut = names_in(at, MAX_SEEN - self._seen)
        self._seen += len(names)
        self.cut = self.cut or cut
        shown = [one for one in names if nameable(one.parts[-1], self._space.allowed)]
        self.hidden += len(names) - len(shown)
        return sorted(one._replace(parts=(*parts, *one.parts)) for one in shown if one.parts[-1] not in GENERATED)

    def _rules(self, at: int, base: int) -> tuple[Rule, ...]:
        try:
            data = read_in(at, _IGNORE, _IGNORE, _IGNORE_BYTES).data
        except Failure:
            return ()
        return tuple(rules_of(data.decode("utf-8", "replace"), base))


def names_in(at: int, most: int, path: str = ".") -> tuple[list[Found], bool]:
    """What is in an open folder, in no order, and whether more than `most` names were there."""
    found: list[Found] = []
    try:
        with os.scandir(at) as entries:
            for entry in entries:
                if len(found) >= most:
                    return found, True
                with suppress(FileNotFoundError):
                    state = entry.stat(follow_symlinks=False)
                    found.append(Found((entry.name,), kind_of(state), state.st_size if stat.S_ISREG(state.st_mode) else 0))
    except OSError as error:
        raise refusal(error, path) from None
    return found, False


def kind_of(state: os.stat_result) -> str:
    """`file`, `folder`, `link` or `other`."""
    mode = state.st_mode
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "link" if stat.S_ISLNK(mode) else "other"


def rules_of(text: str, base: int) -> Iterator[Rule]:
    """The rules of a `.gitignore` in the folder `base` parts below the root. A line that is no pattern says nothing."""
    for line in text.split("\n", _RULES)[:_RULES]:
        said = line.rstrip("\r ")
        if not said or said.startswith("#"):
            continue
        keeps = said.startswith("!")
        said = said[keeps:]
        folders = said.endswith("/")
        said = said.rstrip("/")
        if "/" not in said:
            said = f"**/{said}"
        with suppress(BadPattern):
            name = said[3:] if said.startswith("**/") and not _WILD.intersection(said[3:]) else ""
            yield Rule(base, glob(said.lstrip("/"), braces=False), keeps, folders, name)


def ignored(found: Found, rules: tuple[Rule, ...]) -> bool:
    """Whether a name is ignored: the last rule that fits says so."""
    for rule in reversed(rules):
        if rule.fits(found):
            return not rule.keeps
    return False
