"""What can stand after a dot: fields, methods, variants, operations, what a module or a server has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ael.check.access import fields_of
from ael.check.builtin import METHODS, RECEIVERS
from ael.check.collect import Kind, Symbol
from ael.check.kind import plain
from ael.editor.features import written
from ael.editor.features.complete_names import symbol_item, variant_item
from ael.editor.features.cursor import Cursor
from ael.editor.features.entity import Entity
from ael.editor.features.items import LANGUAGE, OWN, Item, K
from ael.editor.features.meaning import STORE_OPERATIONS, inner, look, members, opened
from ael.editor.features.names import names_of
from ael.editor.snapshot import File, Snapshot
from ael.syntax import nodes as n
from ael.types.definition import EnumDef
from ael.types.text import show
from ael.types.type import Named, NullType, Type


def after_dot(cursor: Cursor, node: n.FieldAccess) -> Iterator[Item]:
    """What `target.` has, where it is an expression."""
    assert cursor.guess is not None
    snapshot, file, path = cursor.guess
    target = node.target
    if isinstance(target, n.Reference) and target.name.text == "call" and _in_body(path):
        yield Item("key", K.Field, OWN, "String", entity=Entity("builtin", "call.key"))
        return
    owner = _declared(snapshot, file, path, target)
    if owner is not None:
        yield from of_symbol(snapshot, owner)
        return
    yield from of_value(snapshot, file, target)


def _in_body(path: tuple[n.Node, ...]) -> bool:
    return any(isinstance(one, n.ToolDecl | n.ProvideDecl) for one in path)


def _declared(snapshot: Snapshot, file: File, path: tuple[n.Node, ...], target: n.Expr) -> Symbol | None:
    """What a name or dotted name is, where it is something declared and no value."""
    if not path or not isinstance(path[0], n.Declaration) or not isinstance(target, n.Reference | n.FieldAccess):
        return None
    end = target.name.span.end
    for one in names_of(snapshot, file, path[0]).names:
        if one.end == end and one.entity.kind in ("symbol", "module"):
            return symbol_of(snapshot, one.entity)
    return None


def symbol_of(snapshot: Snapshot, entity: Entity) -> Symbol | None:
    """The symbol of an entity that has members."""
    if entity.kind == "module":
        return Symbol("module", entity.name, entity.name) if entity.name in snapshot.collected.modules else None
    symbol = snapshot.collected.symbols.get(entity.name)
    if symbol is None:
        return Symbol("type", entity.name)
    return symbol if symbol.kind in _HAVING else None


_HAVING: frozenset[Kind] = frozenset({"module", "mcp", "service", "skill", "enum", "store", "record", "error", "alias"})


def of_symbol(snapshot: Snapshot, owner: Symbol, kinds: frozenset[Kind] | None = None, *, call: bool = True) -> Iterator[Item]:
    """What something declared has, of some kinds."""
    collected = snapshot.collected
    match owner.kind:
        case "module":
            target = collected.modules.get(owner.name)
            if target is None:
                return
            for name, symbol in target.names.items():
                if symbol.public and name not in target.imports and (kinds is None or symbol.kind in kinds):
                    yield symbol_item(snapshot, name, symbol, OWN, call=call)
        case "mcp" | "service" | "skill":
            lead = f"{owner.name}."
            for key, symbol in collected.symbols.items():
                if key.startswith(lead) and "." not in key[len(lead) :] and (kinds is None or symbol.kind in kinds):
                    yield symbol_item(snapshot, key[len(lead) :], symbol, OWN, call=call)
        case "enum":
            definition = collected.definitions.get(owner.name)
            if isinstance(definition, EnumDef) and kinds is None:
                for variant in definition.variants:
                    yield variant_item(definition, variant.name, "", OWN)
                yield _check(owner)
        case "store" if kinds is None:
            for at, name in enumerate(STORE_OPERATIONS):
                signature = collected.signatures.get(f"{owner.name}.{name}")
                detail = written.signature_of(signature, name) if signature is not None else ""
                given = signature is not None and bool(signature.parameters)
                entity = Entity("store_operation", name, owner.name)
                yield Item(
                    name, K.Method, OWN, detail, entity=entity, snippet=f"{name}({'$0' if given else ''})", asks=given, rank=at
                )
        case "record" | "error" | "alias" | "type" if kinds is None:
            yield _check(owner)
        case _:
            return


def _check(owner: Symbol) -> Item:
    name = owner.name.rpartition(".")[2]
    detail, entity = f"{name}.check(value) -> {name}", Entity("builtin", "check")
    return Item("check", K.Method, LANGUAGE, detail, entity=entity, snippet="check($0)", asks=True)


def of_value(snapshot: Snapshot, file: File, target: n.Expr) -> Iterator[Item]:
    """The fields and methods of a value. What may be null is told: it has to be asked first."""
    collected = snapshot.collected
    type = file.tables.types.get(target)
    found = list(members(collected, type))
    null = any(isinstance(one, NullType) for one in found)
    whole = [one for one in found if not isinstance(one, NullType)]
    fields: dict[str, Item] = {}
    for one in whole:
        owner = one.name if isinstance(one, Named) else ""
        for at, field in enumerate(fields_of(one, collected.definitions) or ()):
            told = show(field.type) + ("?" if field.optional else "") + (" (of what may be null: ask first)" if null else "")
            fields.setdefault(
                field.name, Item(field.name, K.Field, OWN, told, entity=Entity("field", field.name, owner), rank=at)
            )
    yield from fields.values()
    if len(whole) != 1 or null:
        return
    kind = RECEIVERS.get(plain(opened(collected, whole[0]) or whole[0]).__class__)
    for name, method in METHODS.get(kind or "", {}).items():
        detail = written.builtin_signature(method)
        snippet = f"{name}($0)" if method.names else f"{name}()$0"
        yield Item(
            name, K.Method, LANGUAGE, detail, entity=Entity("method", method.name), snippet=snippet, asks=bool(method.names)
        )


def in_path(cursor: Cursor, path: n.Path, kinds: frozenset[Kind], *, call: bool = False) -> Iterator[Item]:
    """What can follow in a dotted name that means something declared of some kinds."""
    assert cursor.guess is not None
    snapshot, file, _ = cursor.guess
    if file.scope is None:
        return
    owner = look(file.scope, path.parts[0].text)
    for part in path.parts[1:-1]:
        if owner is None:
            return
        owner = inner(snapshot.collected, owner, part.text)
    if owner is not None:
        yield from of_symbol(snapshot, owner, kinds, call=call)


def in_pattern(cursor: Cursor, path: n.Path, kinds: frozenset[Kind]) -> Iterator[Item]:
    """The same where a pattern stands: of an enum its variants."""
    found = list(variants_in(cursor, [part.text for part in path.parts[:-1]]))
    yield from found or in_path(cursor, path, kinds)


def variants_in(cursor: Cursor, names: Sequence[str]) -> Iterator[Item]:
    """The variants of the enum of a dotted name, as a pattern has them."""
    assert cursor.guess is not None
    snapshot, file, _ = cursor.guess
    owner = look(file.scope, names[0]) if file.scope is not None and names else None
    for name in names[1:]:
        owner = inner(snapshot.collected, owner, name) if owner is not None else None
    definition = snapshot.collected.definitions.get(owner.name) if owner is not None else None
    if not isinstance(definition, EnumDef):
        return
    for variant in definition.variants:
        item = variant_item(definition, variant.name, "", OWN)
        item.snippet = ""
        yield item


def variants_of(snapshot: Snapshot, type: Type | None) -> Iterator[EnumDef]:
    """The enums that a value may be of."""
    for one in members(snapshot.collected, type):
        if isinstance(one, Named) and isinstance(definition := snapshot.collected.definitions.get(one.name), EnumDef):
            yield definition
