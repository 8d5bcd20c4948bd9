"""The names of a file with what they stand for, each declaration's kept as long as its analysis is."""

from __future__ import annotations

from collections.abc import Iterator

from ael.editor.features.deploy_names import binding_names
from ael.editor.features.entity import Entity, Occurrence, Visible
from ael.editor.features.resolve import Resolved, resolved
from ael.editor.snapshot import File, Snapshot
from ael.syntax import nodes as n


def names_of(snapshot: Snapshot, file: File, declaration: n.Declaration) -> Resolved:
    """The names of one declaration, where they stand now."""
    collected, scope = snapshot.collected, file.scope
    if file.kind == "deployment":
        return Resolved(binding_names(snapshot, declaration), [])
    if scope is None:
        return _NOTHING
    start = declaration.span.start

    def compute() -> tuple[int, Resolved]:
        return start, resolved(collected, scope, declaration)

    base, found = snapshot.memo(declaration, "names", compute)
    return found if base == start else _moved(found, start - base)


_NOTHING = Resolved([], [])


def _moved(found: Resolved, by: int) -> Resolved:
    """The same names, of a declaration that has moved in its file."""
    names = [Occurrence(o.start + by, o.end + by, _entity(o.entity, by), o.role, o.node) for o in found.names]
    visible = [Visible(v.name, _entity(v.entity, by), v.start + by, v.end + by, v.node) for v in found.locals]
    return Resolved(names, visible)


def _entity(entity: Entity, by: int) -> Entity:
    return entity if entity.at < 0 else entity._replace(at=entity.at + by)


def names(snapshot: Snapshot, file: File) -> Iterator[Occurrence]:
    """All names of a file, in the order of the source."""
    for declaration in file.tree.declarations:
        yield from names_of(snapshot, file, declaration).names


def at(snapshot: Snapshot, file: File, offset: int) -> list[Occurrence]:
    """The names at an offset, their ends included: several where one token stands for fields of several records."""
    found: list[Occurrence] = []
    for declaration in around(file, offset):
        found += [one for one in names_of(snapshot, file, declaration).names if one.start <= offset <= one.end]
    # Between two names that touch, the one that begins here is meant, or the one that ends here; of two around each other the inner one.
    inside = [one for one in found if offset < one.end] or found
    if not inside:
        return []
    least = min(one.end - one.start for one in inside)
    return [one for one in inside if one.end - one.start == least]


def around(file: File, offset: int) -> list[n.Declaration]:
    """The declarations that an offset is in or touches."""
    return [one for one in file.tree.declarations if one.span.start <= offset <= one.span.end]


def visible(snapshot: Snapshot, file: File, offset: int) -> dict[str, Visible]:
    """The local names that code at an offset can write; an inner one hides those of its name further out."""
    found: dict[str, Visible] = {}
    for declaration in around(file, offset):
        for one in names_of(snapshot, file, declaration).locals:
            if one.start <= offset <= one.end:
                known = found.get(one.name)
                if known is None or known.start <= one.start:
                    found[one.name] = one
    return found


def text_of(file: File, one: Occurrence) -> str:
    """The name as it is written there."""
    return file.source.text[one.start : one.end]


def references(snapshot: Snapshot, entity: Entity) -> list[tuple[File, Occurrence]]:
    """Every name of the program that stands for an entity, its declaration included; files by name, places in order."""
    if entity.kind == "local":
        files = [file for file in snapshot.files.values() if file.name == entity.owner and file.kind == "module"]
    else:
        files = sorted(snapshot.files.values(), key=lambda file: (not file.own, str(file.path)))
    short = _spelled(entity)
    found: list[tuple[File, Occurrence]] = []
    for file in files:
        if file.kind not in ("module", "deployment") or (short not in file.source.text):
            continue
        for declaration in file.tree.declarations:
            found += [(file, one) for one in names_of(snapshot, file, declaration).names if one.entity == entity]
    return found


def _spelled(entity: Entity) -> str:
    """What a file has to hold to name an entity at all, whatever alias it uses afterwards."""
    return entity.short.rpartition("/")[2].rpartition(".")[2]


def declared(snapshot: Snapshot, entity: Entity) -> tuple[File, Occurrence] | None:
    """Where the name of an entity is given; None for what the language or an MCP server brings."""
    if entity.kind in ("secret", "setting"):
        return next((found for found in references(snapshot, entity) if found[1].role == "declare"), None)
    file = home(snapshot, entity)
    if file is None or file.scope is None:
        return None
    for declaration in _homes(snapshot, file, entity):
        for one in names_of(snapshot, file, declaration).names:
            if one.entity == entity and one.role == "declare":
                return file, one
    return None


def _homes(snapshot: Snapshot, file: File, entity: Entity) -> list[n.Declaration]:
    if entity.kind == "local":
        return around(file, entity.at)
    if entity.kind in ("permission", "role"):
        return [one for one in file.tree.declarations if isinstance(one, n.PermissionDecl | n.RoleDecl)]
    if entity.kind == "test":
        return [one for one in file.tree.declarations if isinstance(one, n.TestDecl)]
    whole = (entity.owner or entity.name).removeprefix("provide ").removeprefix(f"{file.name}.")
    first = whole.partition(".")[0]
    return [one for one in file.tree.declarations if _own_name(one) == first]


def _own_name(node: n.Declaration) -> str | None:
    match node:
        case n.ProvideDecl(alias=alias, service=service):
            return (alias or service.parts[-1]).text
        case _:
            name = getattr(node, "name", None)
            return name.text if isinstance(name, n.Name) else None


def home(snapshot: Snapshot, entity: Entity) -> File | None:
    """The file that declares an entity."""
    collected = snapshot.collected
    match entity.kind:
        case "module":
            return snapshot.modules.get(entity.name)
        case "local" | "test":
            return snapshot.modules.get(entity.owner)
        case "permission" | "role":
            symbol = (collected.permissions if entity.kind == "permission" else collected.roles).get(entity.name)
            return snapshot.modules.get(symbol.module) if symbol is not None else None
        case "builtin" | "method" | "store_operation":
            return None
        case _:
            key = entity.owner or entity.name
            while key:
                symbol = collected.symbols.get(key)
                if symbol is not None:
                    return snapshot.modules.get(symbol.module)
                key = key.rpartition(".")[0]
            return None
