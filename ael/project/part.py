"""Checking a part of a pack: after an edit, only the modules that the edit can matter to.

Modules that use each other, through any number of others and in either direction, belong together; the standard library, which
uses nothing of a pack, joins none. Apart from that only permissions and roles are seen by a whole pack: when those of an edited
module change, the whole pack is checked. So is it wherever a part has an error, so that errors are always those of the whole
check; a part that has none can have none in another part, whose modules, permissions and roles are as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ael.check.packs import resolve
from ael.data import dataclass
from ael.source import Source, Span
from ael.syntax import nodes as n

_NOWHERE = Span(0, 0)


@dataclass(frozen=True)
class Summary:
    """What others can notice of a module: the files of the pack that it uses, and its permissions and roles.

    `shared` has a line for each of them: `role finance`, `permission orders.refund orders.read` (what it includes follows).
    """

    uses: frozenset[Path]
    shared: tuple[str, ...]


def summary(tree: n.Module, name: str, root: Path) -> Summary:
    """The summary of the module `name` of the pack in `root`."""
    uses: set[Path] = set()
    shared: list[str] = []
    for declaration in tree.declarations:
        match declaration:
            case n.Use(module=module):
                used = resolve(module, name)
                if used is not None and not used.startswith("std/"):
                    uses.add((root / f"{used}.ael").resolve())
            case n.PermissionDecl(path=path, includes=includes):
                shared.append(" ".join(("permission", path.text, *(one.text for one in includes))))
            case n.RoleDecl(path=path):
                shared.append(f"role {path.text}")
            case _:
                continue
    return Summary(frozenset(uses), tuple(sorted(shared)))


def affected(summaries: Mapping[Path, Summary], changed: Iterable[Path]) -> frozenset[Path]:
    """The modules that belong together with a changed one."""
    beside: dict[Path, set[Path]] = {path: set() for path in summaries}
    for path, told in summaries.items():
        for used in told.uses & summaries.keys():
            beside[path].add(used)
            beside[used].add(path)
    found: set[Path] = set()
    waiting = list(changed)
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting.extend(beside[path])
    return frozenset(found)


def stand_in(told: Summary) -> n.Module:
    """A module with the permissions and roles of one that is not checked. It has no text: nothing can be said about a place in it."""
    declarations: list[n.Declaration] = []
    for line in told.shared:
        kind, first, *includes = line.split(" ")
        if kind == "role":
            declarations.append(n.RoleDecl(_NOWHERE, None, _path(first)))
        else:
            declarations.append(n.PermissionDecl(_NOWHERE, None, _path(first), tuple(map(_path, includes))))
    return n.Module(_NOWHERE, Source("", ""), None, tuple(declarations), ())


def _path(text: str) -> n.Path:
    return n.Path(_NOWHERE, tuple(n.Name(_NOWHERE, part) for part in text.split(".")))
