"""Records that no value can ever have, because each needs another of the same kind first."""

from __future__ import annotations

from ael.check.collect import Collected
from ael.diagnostics.diagnostic import Bag, Label, Place
from ael.syntax import nodes as n
from ael.types.definition import AliasDef, Definition, EnumDef, FieldDef, RecordDef
from ael.types.type import AnonymousRecord, Named, Type, UnionType


def report_endless(collected: Collected, bag: Bag) -> None:
    """Report each circle of records that need each other once, with its path."""
    endless = _endless(collected)
    reported: set[str] = set()
    for symbol in list(collected.of_kind("record", "error", "enum")):
        if symbol.name not in endless or symbol.name in reported:
            continue
        path = _circle(symbol.name, collected, endless)
        if path is None or reported & set(path):
            continue
        reported.update(path)
        first = symbol.name if symbol.name in path else path[0]
        start = path.index(first)
        turned = [*path[start:], *path[:start], first]
        names = " -> ".join(f"`{name.rpartition('.')[2]}`" for name in turned)
        labels = tuple(
            Label(Place(collected.scope_of(s).source, s.node.span), "which needs this")
            for name in turned[1:-1]
            if (s := collected.symbols.get(name)) is not None and s.node is not None
        )
        owner = collected.symbols[first]
        assert isinstance(owner.node, n.RecordDecl | n.ErrorDecl | n.EnumDecl | n.McpMember)
        notes = ("make a field on the way optional (`name?: T` or `T?`), or a list",)
        source = collected.scope_of(owner).source
        bag.report("AEL0210", f"no value can be made: {names}", source, owner.node.name.span, labels=labels, notes=notes)


def _endless(collected: Collected) -> set[str]:
    """The declared types without a finite value: what is left when all that have one are taken out."""
    open_names = {s.name for s in collected.of_kind("record", "error", "enum", "alias")}
    open_names = {name for name in open_names if name in collected.definitions}
    changed = True
    while changed:
        ended = {name for name in open_names if _ends(collected.definitions[name], open_names)}
        open_names -= ended
        changed = bool(ended)
    return open_names


def _ends(definition: Definition, open_names: set[str]) -> bool:
    match definition:
        case RecordDef(fields=fields):
            return all(_field_ends(f, open_names) for f in fields)
        case EnumDef(variants=variants):
            return not variants or any(all(_field_ends(f, open_names) for f in v.fields) for v in variants)
        case AliasDef(type=type):
            return _type_ends(type, open_names)


def _field_ends(field: FieldDef, open_names: set[str]) -> bool:
    return not field.required or _type_ends(field.type, open_names)


def _type_ends(type: Type, open_names: set[str]) -> bool:
    match type:
        case Named(name):
            return name not in open_names
        case UnionType(members):
            return any(_type_ends(m, open_names) for m in members)
        case AnonymousRecord(fields):
            return all(_type_ends(t, open_names) for _, t in fields)
        case _:
            return True


def _circle(start: str, collected: Collected, endless: set[str]) -> list[str] | None:
    """A way from `start` along types without end until one comes again, cut to the circle."""
    path: list[str] = []
    current: str | None = start
    while current is not None and current not in path:
        path.append(current)
        current = _next(collected.definitions[current], endless)
    return None if current is None else path[path.index(current) :]


def _next(definition: Definition, endless: set[str]) -> str | None:
    match definition:
        case RecordDef(fields=fields):
            types = [f.type for f in fields if f.required]
        case EnumDef(variants=variants):
            types = [f.type for v in variants for f in v.fields if f.required]
        case AliasDef(type=type):
            types = [type]
    for type in types:
        for member in type.members if isinstance(type, UnionType) else (type,):
            if isinstance(member, Named) and member.name in endless:
                return member.name
    return None
