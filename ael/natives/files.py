"""The effects of `std/files`: what a program reads and writes in the folder that its deployment gives it."""

from __future__ import annotations

from datetime import UTC, datetime

from ael.natives.workspace import Workspace, decoded
from ael.natives.workspace_names import nameable, shown
from ael.natives.workspace_walk import kind_of, names_in
from ael.natives.workspace_write import append, delete, make_folder, move, put
from ael.natives.world import Functions, World
from ael.project.bind_files import FilesBinding
from ael.run.ports import CallContext
from ael.types.fault import Failure, Fault, FaultKind

_ALONE = "local"
"""The tenant of a deployment that has none: beside others it is one like them, whose folder holds nothing of theirs."""
MAX_ENTRIES = 10_000
"""Names of one folder that are given; a list has no more."""


def workspace(world: World, tenant: str) -> Workspace:
    """The folder that the deployment gives; a tenant has one of its own in it, by its name, which nothing of others is in (K43).

    Raises `Fault` (Unavailable): without the deployment's word there is none.
    """
    binding = world.bindings.get("files")
    if not isinstance(binding, FilesBinding):
        message = 'the deployment gives no folder: it says so with `files = folder("./workspace")`'
        raise Fault(FaultKind.UNAVAILABLE, message, final=True, sent=False)
    root = (world.folder / binding.folder).resolve()
    if world.shared or tenant != _ALONE:
        shared = Workspace(root, write=True)
        if len(shared.parts(tenant)) != 1:
            raise Fault(FaultKind.UNAVAILABLE, "a tenant of this name has no folder", final=True, sent=False)
        make_folder(shared, tenant)
        root = root / tenant
    return Workspace(root, write=binding.write, allowed=binding.allowed, limit=binding.limit)


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

    def _space(self, call: CallContext) -> Workspace:
        return workspace(self._world, call.tenant)

    def read_text(self, path: str, *, call: CallContext) -> str:
        """A whole text file, as it is."""
        return decoded(self._space(call).read(path).data, path)

    def read_bytes(self, path: str, *, call: CallContext) -> bytes:
        """A whole file."""
        return self._space(call).read(path).data

    def write_text(self, path: str, text: str, *, call: CallContext) -> bool:
        """Put a file there, whatever was there."""
        return put(self._space(call), path, text.encode())

    def write_bytes(self, path: str, data: bytes, *, call: CallContext) -> bool:
        """Put a file there, whatever was there."""
        return put(self._space(call), path, data)

    def append(self, path: str, text: str, *, call: CallContext) -> int:
        """Add to a file."""
        return append(self._space(call), path, text.encode())

    def list(self, path: str, *, call: CallContext) -> dict[str, object]:
        """What is in a folder, by name."""
        space = self._space(call)
        with space.folder(space.parts(path), path) as at:
            found, cut = names_in(at, MAX_ENTRIES, path)
        names = [one for one in found if nameable(one.parts[-1], space.allowed)]
        entries = [{"name": one.parts[-1], "kind": one.kind, "size": one.size} for one in sorted(names)]
        return {"entries": entries, "hidden": len(found) - len(names), "cut": cut}

    def stat(self, path: str, *, call: CallContext) -> dict[str, object] | None:
        """What is known of a path, None where there is nothing."""
        state = self._space(call).state(path)
        if state is None:
            return None
        kind = kind_of(state)
        changed = datetime.fromtimestamp(state.st_mtime_ns // 1_000_000_000, UTC)
        return {"kind": kind, "size": state.st_size if kind == "file" else 0, "changed": changed}

    def make_folder(self, path: str, *, call: CallContext) -> bool:
        """Make a folder and those above it."""
        return make_folder(self._space(call), path)

    def delete(self, path: str, *, call: CallContext) -> bool:
        """Remove a file or an empty folder."""
        return delete(self._space(call), path)

    def move(self, path: str, to: str, *, call: CallContext) -> None:
        """Give a file or a folder another name."""
        space = self._space(call)
        if space.parts(path) == space.parts(to)[: len(space.parts(path))]:
            raise Failure("NotFile", {"path": shown(to), "reason": "it is the same place, or one inside of it"})
        move(space, path, to)
