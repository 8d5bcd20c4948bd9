"""JSON Schema to a type of exactly the same values, or a refusal by keyword and place.

A schema is read as a conjunction: what its own keywords say of each kind of value, each `allOf`, `anyOf`, `oneOf` and `$ref`, met with
each other (`meet.py`). Where something has no type of its own (`not`, `if`, `multipleOf`, `uniqueItems` …), the type is made a little
wider, and the whole schema stands beside it as a predicate (`CheckedType`), which then decides alone; the type keeps the shape that a
program reads and the bounds of every boundary. So the answer is exact either way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from ael.data import dataclass, replace
from ael.types.definition import AliasDef, Definition, FieldDef, RecordDef
from ael.types.from_schema_names import Names, field_name, pascal
from ael.types.meet import Meet, int_between, renamed
from ael.types.predicate import predicate
from ael.types.reach import reachable
from ael.types.schema_cost import bound_steps
from ael.types.schema_node import TYPES, Node, SchemaRefused, step
from ael.types.schema_source import Document
from ael.types.schema_text import schema_text
from ael.types.type import (
    AnonymousRecord,
    BoolType,
    CheckedType,
    FloatType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    Named,
    Never,
    NullType,
    StringType,
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
MAX_FIELDS = 1_000
"""Properties of one object."""
_CHAIN = 100
_LATER = 30
_INLINE = 24
_KINDS = frozenset(TYPES)
_OF_KIND: Mapping[str, frozenset[str]] = {
    "number": frozenset({"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}),
    "string": frozenset({"minLength", "maxLength", "pattern"}),
    "array": frozenset({"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "unevaluatedItems"}),
    "object": frozenset({"properties", "patternProperties", "additionalProperties", "propertyNames", "required", "minProperties",
                         "maxProperties", "dependentRequired", "dependentSchemas", "unevaluatedProperties"}),
}  # fmt: skip
_BESIDE = frozenset(
    {"multipleOf", "uniqueItems", "contains", "unevaluatedItems", "unevaluatedProperties", "patternProperties", "dependentRequired",
     "dependentSchemas"}
)  # fmt: skip


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


def import_node(root: Node, name: str, kinds: frozenset[str] = _KINDS) -> Imported:
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


class Importer:
    """Makes the types of one document. `exact` turns false where a type was made wider than its schema."""

    def __init__(self, name: str) -> None:
        self.definitions: dict[str, Definition] = {}
        self.exact = True
        self._names = Names(name)
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

    def type(self, node: Node, name: str, kinds: frozenset[str] = _KINDS) -> Type:
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
            kinds = _kinds_of(words["type"]) & kinds
        met = self._own(node, name, kinds)
        if "enum" in words or "const" in words:
            met = self._both(met, self._constants(node), name)
        for at, part in enumerate(_nodes(words.get("allOf"))):
            met = self._both(met, self.type(part, f"{name}Part{at + 1}" if at else name, kinds), name)
        if isinstance(target := words.get("$ref"), Node):
            met = self._both(met, self._referred(target, name), name)
        for keyword in ("anyOf", "oneOf"):
            options = _nodes(words.get(keyword))
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

    # --- what a schema says of each kind ----------------------------------------------------------------------------------------

    def _own(self, node: Node, name: str, kinds: frozenset[str]) -> Type:
        words = node.words
        used = {kind for kind, keywords in _OF_KIND.items() if keywords & words.keys()}
        if not kinds:
            return Never()
        if kinds == _KINDS:
            if used:
                self.exact = False
            return JsonType()
        if words.keys() & _BESIDE:
            self.exact = False
        # every integer is a number
        chosen = [kind for kind in TYPES if kind in kinds and not (kind == "integer" and "number" in kinds)]
        return union(*(self._kind(kind, node, name) for kind in chosen))

    def _kind(self, kind: str, node: Node, name: str) -> Type:
        match kind:
            case "null":
                return NullType()
            case "boolean":
                return BoolType()
            case "integer":
                return self._integer(node)
            case "number":
                return self._number(node)
            case "string":
                return _string(node)
            case "array":
                return self._array(node, name)
            case _:
                return self._object(node, name)

    def _integer(self, node: Node) -> Type:
        words = node.words
        lows = [math.ceil(words["minimum"])] if "minimum" in words else []  # type: ignore[call-overload]
        highs = [math.floor(words["maximum"])] if "maximum" in words else []  # type: ignore[call-overload]
        if "exclusiveMinimum" in words:
            lows.append(math.floor(words["exclusiveMinimum"]) + 1)  # type: ignore[call-overload]
        if "exclusiveMaximum" in words:
            highs.append(math.ceil(words["exclusiveMaximum"]) - 1)  # type: ignore[call-overload]
        return int_between(max(lows, default=None), min(highs, default=None))

    def _number(self, node: Node) -> Type:
        words = node.words
        if words.get("multipleOf") == 1:
            return self._integer(node)
        lows: list[float] = []
        highs: list[float] = []
        for keyword, found, outwards in (("minimum", lows, math.inf), ("maximum", highs, -math.inf),
                                         ("exclusiveMinimum", lows, math.inf), ("exclusiveMaximum", highs, -math.inf)):  # fmt: skip
            bound = words.get(keyword)
            if bound is None:
                continue
            assert isinstance(bound, int | float)
            if abs(bound) > 2**53 and (isinstance(bound, int) or keyword.startswith("exclusive")):
                # between such a bound and its neighbour there are whole numbers
                self.exact = False
                continue
            nearest = float(bound)
            found.append(math.nextafter(nearest, outwards) if keyword.startswith("exclusive") else nearest)
        low, high = max(lows, default=None), min(highs, default=None)
        return Never() if low is not None and high is not None and low > high else FloatType(low, high)

    def _array(self, node: Node, name: str) -> Type:
        words = node.words
        low, high = _bound(words, "minItems"), _bound(words, "maxItems")
        prefix, items = _nodes(words.get("prefixItems")), words.get("items")
        parts = [self._inside(one, f"{name}Item{at + 1}") for at, one in enumerate(prefix)]
        rest = self._inside(items, f"{name}Item") if isinstance(items, Node) else JsonType()
        if isinstance(rest, Never):
            high = _least(high, len(parts))
        impossible = next((at for at, part in enumerate(parts) if isinstance(part, Never)), None)
        if impossible is not None:
            high = _least(high, impossible)
            parts = parts[:impossible]
        if high is not None and (low or 0) > high:
            return Never()
        if high == 0:
            return ListType(JsonType(), low, 0)
        whole = parts if high is not None and high <= len(parts) else [*parts, rest]
        if any(part != whole[0] for part in whole):
            self.exact = False
            return ListType(any_of(whole, self.definitions), low, high)
        return ListType(whole[0], low, high)

    # --- objects ----------------------------------------------------------------------------------------------------------------

    def _object(self, node: Node, name: str) -> Type:
        words = node.words
        properties = words.get("properties", {})
        required = words.get("required", ())
        assert isinstance(properties, dict)
        assert isinstance(required, tuple)
        if len(properties) + len(required) > MAX_FIELDS:
            raise SchemaRefused("properties", step(node.pointer, "properties"), f"there are more than {MAX_FIELDS:,}")
        own = self._names.fresh(name) if properties or required else name
        other = self._other(node, own)
        low, high = _bound(words, "minProperties"), _bound(words, "maxProperties")
        if isinstance(other, Never):
            high = _least(high, len(properties))
        if high is not None and (low or 0) > high:
            return Never()
        if not properties and not required:
            return AnonymousRecord(()) if isinstance(other, Never) else MapType(other, low or None, high)
        fields = self._fields(own, properties, required, other, bool(words.get("patternProperties")))
        if fields is None:
            return Never()
        present = sum(not f.optional for f in fields)
        if (low or 0) > present or (high is not None and high < (len(fields) if isinstance(other, Never) else math.inf)):
            self.exact = False
        if not fields:
            return AnonymousRecord(()) if isinstance(other, Never) else MapType(other)
        extra = None if isinstance(other, Never | JsonType) else other
        self.definitions[own] = RecordDef(
            own, tuple(renamed(fields)), not isinstance(other, Never), node.description or node.title, extra=extra
        )
        return Named(own)

    def _fields(
        self, name: str, properties: Mapping[str, Node], required: Iterable[str], other: Type, patterned: bool
    ) -> list[FieldDef] | None:
        """The fields; None where one that is required can have no value."""
        fields = []
        wanted = set(required)
        for wire in dict.fromkeys((*properties, *required)):
            node = properties.get(wire)
            type = other if node is None else self._inside(node, name + pascal(wire))
            if isinstance(type, Never):
                if wire in wanted:
                    return None
                if isinstance(other, Never):
                    continue
            doc = "" if node is None else node.description
            fields.append(FieldDef(field_name(wire), wire, type, wire not in wanted, doc=doc))
        return fields

    def _other(self, node: Node, name: str) -> Type:
        """The type of the values of keys that are no properties; Never where there are none."""
        words = node.words
        extra = words.get("additionalProperties")
        other = self._inside(extra, f"{name}Value") if isinstance(extra, Node) else JsonType()
        patterns = words.get("patternProperties")
        if isinstance(patterns, dict):
            made = [self._inside(one, f"{name}Value{at + 1}") for at, one in enumerate(patterns.values())]
            other = any_of([other, *made], self.definitions)
        keys = words.get("propertyNames")
        if isinstance(keys, Node) and keys.always is not True:
            if keys.always is False:
                return Never() if not words.get("properties") and not words.get("required") else self._inexact(other)
            if keys.words.keys() - {"type"} or ("type" in keys.words and "string" not in _kinds_of(keys.words["type"])):
                self.exact = False
        return other

    def _inexact(self, type: Type) -> Type:
        self.exact = False
        return type


def _kinds_of(types: object) -> frozenset[str]:
    assert isinstance(types, tuple)
    # every integer is a number
    return frozenset(types) | (frozenset({"integer"}) if "number" in types else frozenset())


def _nodes(value: object) -> tuple[Node, ...]:
    return value if isinstance(value, tuple) else ()


def _bound(words: Mapping[str, object], keyword: str) -> int | None:
    value = words.get(keyword)
    return value if isinstance(value, int) else None


def _least(a: int | None, b: int) -> int:
    return b if a is None else min(a, b)


def _string(node: Node) -> Type:
    words = node.words
    low, high = _bound(words, "minLength"), _bound(words, "maxLength")
    pattern = words.get("pattern")
    if high is not None and (low or 0) > high:
        return Never()
    return StringType(low or None, high, pattern if isinstance(pattern, str) else None, hint=node.hint)
