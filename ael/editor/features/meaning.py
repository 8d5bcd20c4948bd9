"""What names mean in a module, without the side effects of the check: nothing is reported, and no import counts as used."""

from __future__ import annotations

from collections.abc import Iterator

from ael.check.builtin import EFFECT_SIGNATURES, FUNCTIONS, IN_TESTS
from ael.check.collect import Collected, ModuleScope, Symbol
from ael.check.declare import LANGUAGE
from ael.check.module import member
from ael.check.natives import find_native
from ael.check.packs import resolve, shared_name
from ael.editor.features.entity import Entity
from ael.syntax import nodes as n
from ael.types.definition import AliasDef, EnumDef, RecordDef
from ael.types.type import Named, Type, UnionType, unchecked

STORE_OPERATIONS = ("get", "has", "entries", "page", "put", "swap", "remove")
"""What a store has, in the order in which people look for it."""


def look(scope: ModuleScope, name: str) -> Symbol | None:
    """What a single name means in a module, the language's own included."""
    symbol = scope.names.get(name) or LANGUAGE.get(name)
    return None if symbol is None or symbol.kind == "unknown" else symbol


def inner(collected: Collected, owner: Symbol, name: str) -> Symbol | None:
    """The declared member of a module, a server, a service or a skill."""
    found = member(collected, owner, name) if owner.kind == "module" else collected.symbols.get(f"{owner.name}.{name}")
    return None if found is None or found.kind == "unknown" else found


def entity_of(symbol: Symbol) -> Entity:
    """The entity that a symbol is."""
    match symbol.kind:
        case "permission" | "role" | "module":
            return Entity(symbol.kind, symbol.name)
        case "provide":
            return Entity("symbol", f"provide {symbol.name}")
        case _:
            return Entity("symbol", symbol.name)


def member_entity(collected: Collected, owner: Symbol, name: str) -> Entity | None:
    """What `owner.name` means, where `owner` is something declared: a member of a module, a variant, an operation."""
    match owner.kind:
        case "module" | "mcp" | "service" | "skill":
            found = inner(collected, owner, name)
            return entity_of(found) if found is not None else None
        case "enum":
            definition = collected.definitions.get(owner.name)
            known = isinstance(definition, EnumDef) and any(v.name == name for v in definition.variants)
            return Entity("variant", name, owner.name) if known else None
        case "store":
            return Entity("store_operation", name, owner.name) if name in STORE_OPERATIONS else None
        case "record" | "error" | "alias" | "type" if name == "check":
            return Entity("builtin", "check")
        case _:
            return None


def function_of_language(text: str, module: str) -> Entity | None:
    """The function of the language that a name is when it is called."""
    known = EFFECT_SIGNATURES.get(text) or FUNCTIONS.get(text) or IN_TESTS.get(text) or find_native(text, module)
    if known is not None:
        return Entity("builtin", known.name)
    return Entity("builtin", text) if text in ("setting", "secret") else None


def permission_entity(collected: Collected, scope: ModuleScope, path: n.Path, *, role: bool = False) -> Entity | None:
    """The permission or role that a path names."""
    name = shared_name(collected.packs, scope.name, path.text)
    if name not in (collected.roles if role else collected.permissions):
        name = path.text
    if name not in (collected.roles if role else collected.permissions):
        return None
    return Entity("role" if role else "permission", name)


def module_entity(collected: Collected, scope: ModuleScope, use: n.Use) -> Entity | None:
    """The module that a `use` means."""
    name = resolve(use.module, scope.name, collected.packs)
    return Entity("module", name) if name is not None and name in collected.modules else None


def opened(collected: Collected, type: Type | None) -> Type | None:
    """What stands behind the name of an alias."""
    for _ in range(16):
        if not isinstance(type, Named):
            break
        definition = collected.definitions.get(type.name)
        if not isinstance(definition, AliasDef):
            break
        type = definition.type
    return unchecked(type) if type is not None else None


def members(collected: Collected, type: Type | None) -> Iterator[Type]:
    """The members of a union with aliases opened; any other type is its own."""
    whole = opened(collected, type)
    if isinstance(whole, UnionType):
        for one in whole.members:
            yield from members(collected, one) if one != type else (one,)
    elif whole is not None:
        yield whole


def owners(collected: Collected, type: Type | None) -> Iterator[str]:
    """The records (and errors) that a value may be, by qualified name."""
    for one in members(collected, type):
        if isinstance(one, Named) and isinstance(collected.definitions.get(one.name), RecordDef):
            yield one.name
