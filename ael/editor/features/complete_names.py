"""Names that can be written with nothing before them: locals, what the module sees, the language's own, what another module shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ael.check.builtin import EFFECT_SIGNATURES, FUNCTIONS, IN_TESTS
from ael.check.collect import Kind, Symbol
from ael.check.declare import LANGUAGE as BROUGHT
from ael.editor.features import written
from ael.editor.features.cursor import Cursor
from ael.editor.features.entity import Entity
from ael.editor.features.imports import importing, offered
from ael.editor.features.items import (
    ELSEWHERE,
    EXPECTED,
    IMPORTED,
    KINDS,
    LANGUAGE,
    LOCAL,
    OWN,
    Item,
    K,
    escape,
)
from ael.editor.features.meaning import entity_of, members
from ael.editor.features.names import visible
from ael.editor.snapshot import Snapshot
from ael.editor.word_help import TYPE_HELP
from ael.syntax import nodes as n
from ael.types.definition import EnumDef, FieldDef
from ael.types.relate import fits
from ael.types.signature import ParameterDef
from ael.types.text import show
from ael.types.type import BoolType, LiteralType, Named, NullType, Type, Unknown

VALUES: frozenset[Kind] = frozenset(
    {"const", "function", "tool", "node", "agent", "enum", "record", "error", "service", "store", "module", "mcp", "skill"}
)
"""What can begin an expression."""
TYPES: frozenset[Kind] = frozenset({"record", "enum", "error", "alias", "type", "module", "mcp"})
_CALLED: frozenset[Kind] = frozenset({"function", "tool", "node", "agent", "record", "error", "operation"})


def values(cursor: Cursor, wanted: Type | None) -> Iterator[Item]:
    """What can stand where an expression begins."""
    assert cursor.guess is not None
    snapshot, file, path = cursor.guess
    yield from _of_type(snapshot, cursor, wanted)
    for one in visible(snapshot, file, cursor.start).values():
        local = file.tables.locals.get(one.node)
        type = local.type if local is not None else None
        item = Item(one.name, K.Variable, LOCAL, show(type) if type is not None else "", entity=one.entity)
        yield _ranked(snapshot, item, type, wanted)
    yield from symbols(cursor, VALUES, wanted)
    known = {**FUNCTIONS, **EFFECT_SIGNATURES}
    if any(isinstance(node, n.TestDecl) for node in path):
        known |= IN_TESTS
    for name, one_builtin in known.items():
        detail = written.builtin_signature(one_builtin)
        yield _call(name, K.Function, LANGUAGE, detail, Entity("builtin", one_builtin.name), one_builtin.names)
    if _keyed(path):
        yield Item("call", K.Variable, LANGUAGE, "the call of this body", entity=Entity("builtin", "call"))
    yield from elsewhere(cursor, VALUES)


def _keyed(path: tuple[n.Node, ...]) -> bool:
    return any(isinstance(node, n.ToolDecl | n.ProvideDecl) for node in path)


def types(cursor: Cursor) -> Iterator[Item]:
    """What can stand where a type begins."""
    for name in TYPE_HELP:
        if name in ("Fault", "Uncertain"):
            continue
        snippet = {"List": "List<$1>", "Map": "Map<String, $1>"}.get(name, "")
        yield Item(name, K.TypeParameter, LANGUAGE, TYPE_HELP[name], entity=Entity("symbol", name), snippet=snippet)
    for node in cursor.path:
        for variable in node.type_parameters if isinstance(node, n.FunctionDecl) else ():
            yield Item(variable.name.text, K.TypeParameter, LOCAL, "type parameter")
    yield from symbols(cursor, TYPES - {"type"}, None, call=False)
    yield from elsewhere(cursor, TYPES)


def symbols(cursor: Cursor, kinds: Iterable[Kind], wanted: Type | None = None, *, call: bool = True) -> Iterator[Item]:
    """What the module sees, of some kinds."""
    assert cursor.guess is not None
    snapshot, file, _ = cursor.guess
    scope = file.scope
    if scope is None:
        return
    allowed = frozenset(kinds)
    for name, symbol in scope.names.items():
        if symbol.kind in allowed:
            yield symbol_item(snapshot, name, symbol, IMPORTED if name in scope.imports else OWN, wanted, call=call)


def symbol_item(
    snapshot: Snapshot, name: str, symbol: Symbol, group: int, wanted: Type | None = None, *, call: bool = True
) -> Item:
    """A declared thing under a name."""
    entity = entity_of(symbol)
    head = written.head(snapshot.collected, entity.name) if entity.kind == "symbol" else ""
    detail = head.partition("\n")[0].removesuffix(" {") or symbol.kind
    kind = KINDS[symbol.kind]
    type = result_of(snapshot, symbol)
    if call and symbol.kind in _CALLED:
        item = _call(name, kind, group, detail, entity, [p.name for p in parameters_of(snapshot, symbol) if p.required])
        if symbol.kind in ("record", "error"):
            item = made(snapshot, name, symbol, group, detail, entity)
    else:
        item = Item(name, kind, group, detail, entity=entity)
    return _ranked(snapshot, item, type, wanted)


def _call(name: str, kind: K, group: int, detail: str, entity: Entity, parameters: Iterable[str]) -> Item:
    more = f"{escape(name)}($0)" if list(parameters) else f"{escape(name)}()$0"
    return Item(name, kind, group, detail.partition("\n")[0], entity=entity, snippet=more, asks=True)


def made(snapshot: Snapshot, name: str, symbol: Symbol, group: int, detail: str, entity: Entity) -> Item:
    """A record or error, with its required fields to be filled in."""
    fields = [f for f in parameters_of(snapshot, symbol) if f.required]
    inside = ", ".join(f"{f.name}: ${{{at}}}" for at, f in enumerate(fields, 1))
    return Item(name, KINDS[symbol.kind], group, detail, entity=entity, snippet=f"{escape(name)}({inside})$0", asks=True)


def parameters_of(snapshot: Snapshot, symbol: Symbol) -> tuple[ParameterDef | FieldDef, ...]:
    """The parameters of what is called, or the fields of what is made."""
    collected = snapshot.collected
    signature = collected.signatures.get(symbol.name)
    if signature is not None:
        return signature.parameters
    return tuple(getattr(collected.definitions.get(symbol.name), "fields", ()))


def result_of(snapshot: Snapshot, symbol: Symbol) -> Type | None:
    """The type of the value that a name gives when it is written, called or made."""
    collected = snapshot.collected
    signature = collected.signatures.get(symbol.name)
    if signature is not None:
        return signature.result
    if symbol.kind in ("record", "error"):
        return Named(symbol.name)
    if symbol.kind == "const" and isinstance(symbol.node, n.ConstDecl):
        scope = collected.modules.get(symbol.module)
        return scope.tables.types.get(symbol.node.value) if scope is not None else None
    return None


def _ranked(snapshot: Snapshot, item: Item, type: Type | None, wanted: Type | None) -> Item:
    """Before others of its group, and before all, where it has the type that is wanted."""
    if wanted is None or type is None or isinstance(type, Unknown) or isinstance(wanted, Unknown):
        return item
    if fits(type, wanted, snapshot.collected.definitions):
        item.group, item.rank = EXPECTED, item.group
    return item


def _of_type(snapshot: Snapshot, cursor: Cursor, wanted: Type | None) -> Iterator[Item]:
    """The values that a type has by itself: variants, literals, `true`."""
    scope = cursor.file.scope
    for one in members(snapshot.collected, wanted):
        match one:
            case BoolType():
                yield Item("true", K.Keyword, EXPECTED)
                yield Item("false", K.Keyword, EXPECTED)
            case NullType():
                yield Item("null", K.Keyword, EXPECTED)
            case LiteralType(value=given):
                yield Item(written.value(given), K.Value, EXPECTED)
            case Named(name=name) if isinstance(definition := snapshot.collected.definitions.get(name), EnumDef):
                own = next((text for text, symbol in scope.names.items() if symbol.name == name), "") if scope is not None else ""
                for variant in definition.variants if own else ():
                    yield variant_item(definition, variant.name, f"{own}.", EXPECTED)
            case _:
                pass


def variant_item(definition: EnumDef, name: str, lead: str, group: int) -> Item:
    """A variant of an enum, with its fields to be filled in."""
    variant = next(one for one in definition.variants if one.name == name)
    label = f"{lead}{name}"
    inside = ", ".join(f"{f.name}: ${{{at}}}" for at, f in enumerate(variant.fields, 1))
    snippet = f"{label}({inside})$0" if variant.fields else ""
    detail = f"{name}({', '.join(map(written.field, variant.fields))})" if variant.fields else ""
    rank = definition.variants.index(variant)
    return Item(label, K.EnumMember, group, detail, snippet=snippet, entity=Entity("variant", name, definition.name), rank=rank)


def elsewhere(cursor: Cursor, kinds: Iterable[Kind], keep: Callable[[str], bool] = bool) -> Iterator[Item]:
    """What another module shows, with the edit that brings it in."""
    scope = cursor.file.scope
    allowed = frozenset(kinds)
    if scope is None or len(cursor.word) < 2:
        return
    low = cursor.word.lower()
    for one in offered(cursor.snapshot, cursor.file):
        if one.kind not in allowed or one.name in scope.names or one.name in BROUGHT or not keep(one.name):
            continue
        if not one.name.lower().startswith(low):
            continue
        detail = f"{one.head or one.kind}  ·  use {one.path}"
        edit = importing(cursor.snapshot, cursor.file, one.path, one.name)
        called = one.kind in _CALLED
        yield Item(
            one.name, KINDS[one.kind], ELSEWHERE, detail, doc=one.doc, edits=[edit],
            snippet=f"{one.name}($0)" if called else "", asks=called,
        )  # fmt: skip
