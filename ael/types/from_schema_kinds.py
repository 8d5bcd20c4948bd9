"""What the keywords of a schema say of each kind of JSON value: the types of texts, numbers, lists and objects."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from ael.types.definition import Definition, FieldDef, RecordDef
from ael.types.from_schema_names import Names, field_name, pascal
from ael.types.meet import int_between, renamed
from ael.types.schema_node import TYPES, Node, SchemaRefused, step
from ael.types.type import (
    AnonymousRecord,
    BoolType,
    FloatType,
    JsonType,
    ListType,
    MapType,
    Named,
    Never,
    NullType,
    StringType,
    Type,
    union,
)
from ael.types.type_union import any_of

MAX_FIELDS = 1_000
"""Properties of one object."""
KINDS = frozenset(TYPES)
_OF_KIND: Mapping[str, frozenset[str]] = {
    "number": frozenset({"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}),
    "string": frozenset({"minLength", "maxLength", "pattern"}),
    "array": frozenset({"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "unevaluatedItems"}),
    "object": frozenset({"properties", "patternProperties", "additionalProperties", "propertyNames", "required", "minProperties",
                         "maxProperties", "dependentRequired", "dependentSchemas", "unevaluatedProperties"}),
}  # fmt: skip
_BESIDE = {
    "number": frozenset({"multipleOf"}),
    "array": frozenset({"uniqueItems", "contains", "unevaluatedItems"}),
    "object": frozenset({"unevaluatedProperties", "patternProperties", "dependentRequired", "dependentSchemas"}),
}
"""What has no type of its own, by the kind of value that it speaks of."""


class KindImporter(ABC):
    """Types by kind. `exact` turns false where a type was made wider than its schema."""

    def __init__(self, name: str) -> None:
        self.definitions: dict[str, Definition] = {}
        self.exact = True
        self._names = Names(name)

    @abstractmethod
    def _inside(self, node: Node, name: str) -> Type:
        """The type of a part of a value; new types in it are named from `name`."""

    def _own(self, node: Node, name: str, kinds: frozenset[str]) -> Type:
        words = node.words
        used = {kind for kind, keywords in _OF_KIND.items() if keywords & words.keys()}
        if not kinds:
            return Never()
        if kinds == KINDS:
            if used:
                self.exact = False
            return JsonType()
        for kind, keywords in _BESIDE.items():
            # every number is asked, and every integer is one
            if (kind in kinds or (kind == "number" and "integer" in kinds)) and any(
                _says(words, k) for k in keywords & words.keys()
            ):
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
            if abs(bound) >= 2**53 and (isinstance(bound, int) or keyword.startswith("exclusive")):
                # between such a bound and its neighbour there may be whole numbers
                self.exact = False
                continue
            nearest = float(bound)
            found.append(math.nextafter(nearest, outwards) if keyword.startswith("exclusive") else nearest)
        low, high = max(lows, default=None), min(highs, default=None)
        return Never() if low is not None and high is not None and low > high else FloatType(low, high)

    def _array(self, node: Node, name: str) -> Type:
        words = node.words
        low, high = _bound(words, "minItems"), _bound(words, "maxItems")
        prefix, items = nodes(words.get("prefixItems")), words.get("items")
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
            if keys.words.keys() - {"type"} or ("type" in keys.words and "string" not in kinds_of(keys.words["type"])):
                self.exact = False
        return other

    def _inexact(self, type: Type) -> Type:
        self.exact = False
        return type


def kinds_of(types: object) -> frozenset[str]:
    assert isinstance(types, tuple)
    # every integer is a number
    return frozenset(types) | (frozenset({"integer"}) if "number" in types else frozenset())


def _says(words: Mapping[str, object], keyword: str) -> bool:
    """Whether a keyword of `_BESIDE` asks for anything."""
    match keyword:
        case "multipleOf":
            return words[keyword] != 1
        case "uniqueItems":
            return words[keyword] is True
        case _:
            return True


def nodes(value: object) -> tuple[Node, ...]:
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
