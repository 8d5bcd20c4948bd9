"""The effects of `std/files`: what a program reads and writes in the folder that its deployment gives it."""

from __future__ import annotations

from datetime import UTC, datetime

from ael.natives.workspace import Workspace, decoded
from ael.natives.workspace_names import nameable, shown
from ael.natives.workspace_walk import kind_of, names_in
from ael.natives.workspace_write import append, delete, make_folder, move, put
from ael.natives.world import Functions, World
from ael.project.bind_files import FilesBinding
from ael.types.fault import Failure, Fault, FaultKind

MAX_ENTRIES = 10_000
"""Names of one folder that are given; a list has no more."""


def workspace(world: World) -> Workspace:
    """The folder that the deployment gives. Raises `Fault` (Unavailable): without its word there is none."""
    binding = world.bindings.get("files")
    if not isinstance(binding, FilesBinding):
        message = 'the deployment gives no folder: it says so with `files = folder("./workspace")`'
        raise Fault(FaultKind.UNAVAILABLE, message, final=True)
    return Workspace((world.folder / binding.folder).resolve(), write=binding.write, allowed=binding.allowed, limit=binding.limit)


def natives(world: World) -> Functions:
    """The functions by name."""
    files = Files(world)
    return {
        "read_text": files.read_text,
        "read_bytes": files.read_bytes,
        "write_text": files.write_text,
        "write_bytes": files.write_bytes,
        "append": files.append,
        "list": files.list,
        "stat": files.stat,
        "make_folder": files.make_folder,
        "delete": files.delete,
        "move": files.move,
    }


class Files:
    """The functions, over the workspace of a deployment. It is looked for at each call: a folder may be made after the program began."""

    def __init__(self, world: World) -> None:
        self._world = world

    @property
    def space(self) -> Workspace:
        """The workspace. Raises `Fault` (Unavailable)."""
        return workspace(self._world)

    def read_text(self, path: str) -> str:
        """A whole text file, as it is."""
        return decoded(self.space.read(path).data, path)

    def read_bytes(self, path: str) -> bytes:
        """A whole file."""
        return self.space.read(path).data

    def write_text(self, path: str, text: str) -> bool:
        """Put a file there, whatever was there."""
        return put(self.space, path, text.encode())

    def write_bytes(self, path: str, data: bytes) -> bool:
        """Put a file there, whatever was there."""
        return put(self.space, path, data)

    def append(self, path: str, text: str) -> int:
        """Add to a file."""
        return append(self.space, path, text.encode())

    def list(self, path: str) -> dict[str, object]:
        """What is in a folder, by name."""
        space = self.space
        with space.folder(space.parts(path), path) as at:
            found, cut = names_in(at, MAX_ENTRIES, path)
        names = [one for one in found if nameable(one.parts[-1], space.allowed)]
        entries = [{"name": one.parts[-1], "kind": one.kind, "size": one.size} for one in sorted(names)]
        return {"entries": entries, "hidden": len(found) - len(names), "cut": cut}

    def stat(self, path: str) -> dict[str, object] | None:
        """What is known of a path, None where there is nothing."""
        state = self.space.state(path)
        if state is None:
            return None
        kind = kind_of(state)
        changed = datetime.fromtimestamp(state.st_mtime_ns // 1_000_000_000, UTC)
        return {"kind": kind, "size": state.st_size if kind == "file" else 0, "changed": changed}

    def make_folder(self, path: str) -> bool:
        """Make a folder and those above it."""
        return make_folder(self.space, path)

    def delete(self, path: str) -> bool:
        """Remove a file or an empty folder."""
        return delete(self.space, path)

    def move(self, path: str, to: str) -> None:
        """Give a file or a folder another name."""
        if self.space.parts(path) == self.space.parts(to)[: len(self.space.parts(path))]:
            raise Failure("NotFile", {"path": shown(to), "reason": "it is the same place, or one inside of it"})
        move(self.space, path, to)
