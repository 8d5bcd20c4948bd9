"""JSON Schema to a type of exactly the same values, or a refusal by keyword and place.

A schema is read as a conjunction: what its own keywords say of each kind of value, each `allOf`, `anyOf`, `oneOf` and `$ref`, met with
each other (`meet.py`). Where something has no type of its own (`not`, `if`, `multipleOf`, `uniqueItems` …), the type is made a little
wider, and the whole schema stands beside it as a predicate (`CheckedType`), which then decides alone; the type keeps the shape that a
program reads and the bounds of every boundary. So the answer is exact either way.
"""

from __future__ import annotations

from collections.abc import Sequence

from ael.data import dataclass, replace
from ael.types.definition import AliasDef, Definition, RecordDef
from ael.types.from_schema_kinds import KINDS, KindImporter, kinds_of, nodes
from ael.types.meet import Meet
from ael.types.predicate import predicate
from ael.types.reach import reachable
from ael.types.schema_cost import bound_steps
from ael.types.schema_node import Node, SchemaRefused, step
from ael.types.schema_source import Document
from ael.types.schema_text import schema_text
from ael.types.type import (
    CheckedType,
    FloatType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    Named,
    Never,
    NullType,
    Type,
    UnionType,
    union,
)
from ael.types.type_union import any_of, one_of

__all__ = ["Imported", "SchemaRefused", "import_node", "import_schema"]

MAX_TYPES = 20_000
"""Types that one schema may become, references written out."""
MAX_MEMBERS = 400
"""Members of a union that are no constants."""
_CHAIN = 100
_LATER = 30
_INLINE = 24


@dataclass(frozen=True, slots=True)
class Imported:
    """A type and the definitions that it needs; a predicate stands on top of it only."""

    type: Type
    definitions: dict[str, Definition]


def import_schema(schema: object, name: str) -> Imported:
    """The type of the values of `schema`, a JSON value as the reader gives it; declared types are named from `name` (qualified).

    Raises SchemaRefused.
    """
    return import_node(Document(schema).root(), name)


def import_node(root: Node, name: str, kinds: frozenset[str] = KINDS) -> Imported:
    """As `import_schema`, of a schema that is read already, for values of some kinds of JSON only."""
    bound_steps(root)
    importer = Importer(name)
    type = importer.whole(root, name, kinds)
    if not importer.exact:
        type = CheckedType(type, checked_text(root))
    needed = {part.name for part in reachable(type, importer.definitions) if isinstance(part, Named)}
    return Imported(type, {key: made for key, made in importer.definitions.items() if key in needed})


def checked_text(root: Node) -> str:
    """The text of a predicate, which the validator has compiled once. Raises SchemaRefused where it cannot."""
    text = schema_text(root)
    try:
        predicate(text)
    except ValueError as error:
        raise SchemaRefused("schema", root.pointer, f"the validator cannot compile it: {str(error)[:200]}") from None
    return text


class Importer(KindImporter):
    """Makes the types of one document. `exact` turns false where a type was made wider than its schema."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._pending: set[str] = set()
        self._place = name
        self._meet = Meet(self.definitions, self._pending, lambda: self._names.fresh(self._place))
        self._done: dict[int, Type] = {}
        self._recursive: set[str] = set()
        self._running: dict[int, str] = {}
        self._in_place: list[int] = []
        self._depth = 0
        self._types = 0
        self._meant: set[str] = set()
        self._later: list[tuple[Node, str]] = []
        self._size: dict[int, int] = {}

    def whole(self, node: Node, name: str, kinds: frozenset[str]) -> Type:
        """The type of the document's root, with everything that it refers to."""
        made = self.type(node, name, kinds)
        while self._later:
            self._target(*self._later.pop())
        return made

    # --- a schema -------------------------------------------------------------------------------------------------------------

    def type(self, node: Node, name: str, kinds: frozenset[str] = KINDS) -> Type:
        """The type of a schema, for values of `kinds` only; new types in it are named from `name`."""
        if node.always is not None:
            return JsonType() if node.always else Never()
        if id(node) in self._in_place:
            raise SchemaRefused("$ref", node.pointer, "it leads back to itself before any value is looked at")
        self._types += 1
        if self._types > MAX_TYPES:
            raise SchemaRefused("$ref", node.pointer, f"written out, the schema has more than {MAX_TYPES:,} parts")
        if self._depth > _CHAIN:
            raise SchemaRefused("$ref", node.pointer, f"more than {_CHAIN} schemas stand in one another")
        self._depth += 1
        self._in_place.append(id(node))
        try:
            return self._conjunction(node, name, kinds)
        finally:
            self._in_place.pop()
            self._depth -= 1

    def _inside(self, node: Node, name: str) -> Type:
        """The type of a part of a value: what is in place ends here."""
        around, self._in_place = self._in_place, []
        try:
            return self.type(node, name)
        finally:
            self._in_place = around

    def _conjunction(self, node: Node, name: str, kinds: frozenset[str]) -> Type:
        words = node.words
        if "type" in words:
            kinds = kinds_of(words["type"]) & kinds
        met = self._own(node, name, kinds)
        if "enum" in words or "const" in words:
            met = self._both(met, self._constants(node), name)
        for at, part in enumerate(nodes(words.get("allOf"))):
            met = self._both(met, self.type(part, f"{name}Part{at + 1}" if at else name, kinds), name)
        if isinstance(target := words.get("$ref"), Node):
            met = self._both(met, self._referred(target, name), name)
        for keyword in ("anyOf", "oneOf"):
            options = nodes(words.get(keyword))
            if options:
                if len(options) == 1:
                    met = self._both(met, self.type(options[0], name, kinds), name)
                else:
                    met = self._beside(met, self._options(node, keyword, options, name, kinds), name)
        return self._negations(node, met, name, kinds)

    def _negations(self, node: Node, met: Type, name: str, kinds: frozenset[str]) -> Type:
        words = node.words
        refused = words.get("not")
        if isinstance(refused, Node) and refused.always is not False:
            if refused.always or not refused.words:
                return Never()
            self.exact = False
        condition = words.get("if")
        if isinstance(condition, Node) and ("then" in words or "else" in words):
            chosen = words.get("then" if condition.always else "else")
            if condition.always is None:
                self.exact = False
            elif isinstance(chosen, Node):
                met = self._both(met, self.type(chosen, name, kinds), name)
        return met

    def _both(self, a: Type, b: Type, name: str) -> Type:
        """The common values, or those of `a` where they have no type."""
        self._place = name
        met = self._meet.of(a, b)
        if met is None:
            self.exact = False
            return b if isinstance(a, JsonType) else a
        return met

    def _beside(self, own: Type, options: Type, name: str) -> Type:
        """Alternatives beside keywords of their own: a record stays one record, which a program can read, and they a predicate."""
        if isinstance(options, UnionType) and isinstance(own, Named) and own.name in self.definitions:
            self.exact = False
            return own
        return self._both(own, options, name)

    # --- references -----------------------------------------------------------------------------------------------------------

    def _referred(self, target: Node, name: str) -> Type:
        """The type that a reference means: made once, under a name of its own where it is large or contains itself."""
        if target.always is not None:
            return self.type(target, name)
        if (done := self._done.get(id(target))) is not None:
            self._types += self._size[id(target)]
            return done
        if (running := self._running.get(id(target))) is not None:
            if id(target) in self._in_place:
                raise SchemaRefused("$ref", target.pointer, "it leads back to itself before any value is looked at")
            self._recursive.add(running)
            return Named(running)
        own = self._names.fresh(self._names.of_target(target))
        self._running[id(target)] = own
        self._pending.add(own)
        self.definitions[own] = AliasDef(own, JsonType())
        if self._depth > _LATER:
            # what refers to what may go on for long, and is no reason to refuse anything
            self._recursive.add(own)
            self._later.append((target, own))
            return Named(own)
        return self._target(target, own)

    def _target(self, target: Node, own: str) -> Type:
        before = self._types
        try:
            made = self.type(target, own)
        finally:
            del self._running[id(target)]
            self._pending.discard(own)
        size = self._types - before
        record = self.definitions.get(made.name) if isinstance(made, Named) else None
        if isinstance(record, RecordDef) and self._names.after(record.name, own) and record.name not in self._meant:
            # a record of its own: then the name is the record's, and no second one is needed
            del self.definitions[record.name]
            self.definitions[own] = replace(record, name=own)
            made, size = Named(own), 1
        elif own in self._recursive or size > _INLINE:
            self.definitions[own] = AliasDef(own, made, target.description)
            made, size = Named(own), 1
        else:
            self._forget(own)
        if isinstance(made, Named):
            self._meant.add(made.name)
        self._done[id(target)] = made
        self._size[id(target)] = size
        return made

    def _forget(self, name: str) -> None:
        if self.definitions.get(name) == AliasDef(name, JsonType()):
            del self.definitions[name]

    # --- alternatives and constants ---------------------------------------------------------------------------------------------

    def _options(self, node: Node, keyword: str, options: Sequence[Node], name: str, kinds: frozenset[str]) -> Type:
        path = step(node.pointer, keyword)
        exact, self.exact = self.exact, True
        members = [self.type(one, self._names.option(name, one, at), kinds) for at, one in enumerate(options)]
        if sum(not isinstance(member, LiteralType) for member in members) > MAX_MEMBERS:
            raise SchemaRefused(keyword, path, f"it has more than {MAX_MEMBERS} alternatives")
        if keyword == "oneOf" and self.exact and (one := one_of(members, self.definitions)) is not None:
            self.exact = exact
            return one
        self.exact = exact and self.exact and keyword == "anyOf"
        return any_of(members, self.definitions)

    def _constants(self, node: Node) -> Type:
        values = (node.words["const"],) if "const" in node.words else node.words["enum"]
        assert isinstance(values, tuple)
        made = union(*(self._constant(value) for value in values))
        if "const" in node.words and "enum" in node.words:
            self.exact = False
        return made

    def _constant(self, value: object) -> Type:
        match value:
            case None:
                return NullType()
            case bool() | str() | int():
                return LiteralType(value)
            case float() if value.is_integer() and abs(value) <= 2**53:
                return LiteralType(int(value))
            case float():
                return FloatType(value, value)
            case list():
                self.exact = False
                return ListType(JsonType(), len(value), len(value))
            case _:
                self.exact = False
                return MapType(JsonType())
