"""Which file a command is: looked for where the system keeps its programs, never in the workspace, whatever stands there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix/store", "/gnu/store")
"""What every sandbox shows of the system."""
_FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")


class NoProgram(Exception):
    """There is no file for a command. The message says why."""


def find(command: str, root: Path, read: Sequence[Path] = (), *, sandboxed: bool = True) -> str:
    """The absolute path of the program that a name or an absolute path means. Raises `NoProgram`.

    A name is looked for in the `bin` folders of `read`, in the system's folders and in those of this process's PATH, in that order; a
    folder in the workspace, or that everybody may write to, is passed over, and so is a link into the workspace. What the sandbox does not
    show is not found.
    """
    hidden = ""
    candidates = [command] if os.path.isabs(command) else [f"{folder}/{command}" for folder in _folders(read)]
    if not os.path.isabs(command) and "/" in command:
        raise NoProgram("a command is a name or an absolute path")
    for path in candidates:
        if not _program(path, root):
            continue
        if not sandboxed or (_shown(path, read) and _shown(os.path.realpath(path), read)):
            return path
        hidden = hidden or path
    if hidden:
        place = os.path.realpath(hidden) if _shown(hidden, read) else hidden
        raise NoProgram(f"it is `{place}`, which the sandbox does not show: the deployment adds its folder to `read`")
    raise NoProgram("there is no such program outside of the workspace")


def _folders(read: Iterable[Path]) -> Iterator[str]:
    seen: dict[str, None] = {}
    for folder in (*(f"{path}/bin" for path in read), *_FOLDERS, *os.environ.get("PATH", "").split(os.pathsep)):
        if os.path.isabs(folder):
            seen.setdefault(os.path.normpath(folder))
    return iter(seen)


def _program(path: str, root: Path) -> bool:
    """Whether a path is a program that nobody put there by way of the workspace."""
    folder = os.path.dirname(path)
    try:
        found, around = os.stat(path), os.stat(folder)
    except OSError:
        return False
    if not stat.S_ISREG(found.st_mode) or not os.access(path, os.X_OK) or around.st_mode & stat.S_IWOTH:
        return False
    return not any(_below(place, str(root)) for place in (path, os.path.realpath(folder), os.path.realpath(path)))


def _shown(path: str, read: Iterable[Path]) -> bool:
    return any(_below(path, place) for place in (*SYSTEM, *map(str, read)))


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
