"""What types a type is made of, through declared names."""

from __future__ import annotations

from collections.abc import Iterator

from ael.types.definition import AliasDef, Definitions, EnumDef, RecordDef
from ael.types.type import (
    AnonymousRecord,
    CheckedType,
    FileType,
    FunctionType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    Named,
    NullType,
    StringType,
    Type,
    UnionType,
)


def parts(type: Type, definitions: Definitions) -> tuple[Type, ...]:
    """The types directly inside of `type`; of a name, those of its declaration."""
    match type:
        case ListType(inner) | MapType(inner) | CheckedType(inner):
            return (inner,)
        case UnionType(members):
            return members
        case AnonymousRecord(fields):
            return tuple(t for _, t in fields)
        case FunctionType(parameters, result):
            return (*parameters, result)
        case Named(name):
            match definitions.get(name):
                case RecordDef(fields=record, extra=extra):
                    return tuple(f.type for f in record) if extra is None else (*(f.type for f in record), extra)
                case EnumDef(variants=variants):
                    return tuple(f.type for v in variants for f in v.fields)
                case AliasDef(type=inner):
                    return (inner,)
                case None:
                    return ()
        case _:
            return ()


def reachable(type: Type, definitions: Definitions) -> Iterator[Type]:
    """`type` and everything inside of it, each once, in the order of the source."""
    seen: set[Type] = set()
    todo = [type]
    while todo:
        current = todo.pop()
        if current not in seen:
            seen.add(current)
            yield current
            todo.extend(reversed(parts(current, definitions)))


def recursive(type: Type, definitions: Definitions) -> bool:
    """Whether a value of `type` can contain a value of the same declared type, so that the type bounds no depth."""
    return bool(cyclic(type, definitions))


def cyclic(type: Type, definitions: Definitions) -> frozenset[Named]:
    """The declared types inside of `type` that contain themselves, each edge looked at once (Tarjan's components, without recursion)."""
    found: set[Named] = set()
    # types by number: the hash of a large union is taken once for each place where it stands, not for each of its members
    numbers: dict[Type, int] = {}
    low: list[int] = []
    path: list[tuple[int, Type]] = []
    on_path: set[int] = set()
    work: list[tuple[int, Type, Iterator[Type]]] = []

    def enter(node: Type) -> None:
        number = numbers[node] = len(numbers)
        low.append(number)
        path.append((number, node))
        on_path.add(number)
        work.append((number, node, iter(parts(node, definitions))))

    enter(type)
    while work:
        number, node, following = work[-1]
        for part in following:
            seen = numbers.get(part)
            if seen is None:
                enter(part)
                break
            if seen in on_path:
                low[number] = min(low[number], seen)
                if seen == number and isinstance(node, Named):
                    found.add(node)
        else:
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[number])
            if low[number] == number:
                component = [path.pop()]
                while component[-1][0] != number:
                    component.append(path.pop())
                on_path.difference_update(at for at, _ in component)
                if len(component) > 1:
                    found |= {part for _, part in component if isinstance(part, Named)}
    return frozenset(found)


def bounds_depth(type: Type, definitions: Definitions, depth: int) -> bool:
    """Whether every value of `type`, which is not recursive, is nested at most `depth` deep, by the type alone."""
    seen: set[tuple[Type, int]] = set()
    todo = [(type, depth)]
    while todo:
        current, left = todo.pop()
        inner = resolve(current, definitions)
        if (inner, left) in seen:
            continue
        seen.add((inner, left))
        if isinstance(inner, ListType | MapType | Named | AnonymousRecord | FileType):
            left -= 1
        if left < 0 or isinstance(inner, JsonType) or _takes_any(inner, definitions):
            return False
        todo.extend((part, left) for part in parts(inner, definitions))
    return True


def _takes_any(type: Type, definitions: Definitions) -> bool:
    record = definitions.get(type.name) if isinstance(type, Named) else None
    return isinstance(record, RecordDef) and isinstance(record.other, JsonType)


def resolve(type: Type, definitions: Definitions) -> Type:
    """`type` with the name of an alias replaced by what it stands for. A cycle of aliases stays a name."""
    seen: set[str] = set()
    current = type
    while isinstance(current, Named) and current.name not in seen:
        definition = definitions.get(current.name)
        if not isinstance(definition, AliasDef):
            break
        seen.add(current.name)
        current = definition.type
    return current


def is_text(type: Type, definitions: Definitions) -> bool:
    """Whether every value of a type is a text (or null), so that what is typed for it is taken as it is."""
    match type:
        case StringType():
            return True
        case LiteralType(value=value):
            return isinstance(value, str)
        case Named(name=name):
            definition = definitions.get(name)
            return isinstance(definition, EnumDef) and definition.plain
        case UnionType(members=members):
            return all(isinstance(one, NullType) or is_text(one, definitions) for one in members)
        case _:
            return False
