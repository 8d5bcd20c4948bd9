"""A JSON Schema as nodes: every keyword looked at once, whatever the dialect, and put into the words of 2020-12.

A node's `words` hold assertions and applicators only, subschemas as nodes. Annotations are known by name (`ANNOTATIONS`), what has
no exact meaning here is refused by name, and a key that no dialect knows is an annotation, as 2020-12 says in 6.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from ael.data import dataclass, field
from ael.types.pattern import PatternError, check_pattern

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")

ANNOTATIONS = frozenset(
    {
        "title", "description", "default", "deprecated", "readOnly", "writeOnly", "examples", "format", "contentEncoding",
        "contentMediaType", "contentSchema", "$comment", "$schema", "$id", "$anchor", "$defs", "definitions", "$dynamicAnchor",
        # of OpenAPI and of generators; JSON Schema gives them no meaning
        "nullable", "discriminator", "xml", "externalDocs", "example", "id",
    }
)  # fmt: skip
"""Keywords that constrain no value. `format` is an annotation by default, in 2020-12 and for every implementation before it."""

REFUSED = MappingProxyType(
    {
        "$dynamicRef": "a reference that depends on who refers here has no type of its own",
        "$recursiveRef": "a reference that depends on who refers here has no type of its own",
        "$recursiveAnchor": "a reference that depends on who refers here has no type of its own",
        "$vocabulary": "vocabularies of one's own are not known here",
        "dependencies": "it is no keyword of this dialect: `dependentRequired` and `dependentSchemas` are",
        "additionalItems": "it is no keyword of this dialect: `items` beside `prefixItems` is",
        "disallow": "a keyword of draft-03",
        "divisibleBy": "a keyword of draft-03",
        "extends": "a keyword of draft-03",
    }
)
"""Keywords without an exact meaning here, and why."""


class SchemaRefused(Exception):
    """A schema without an exact meaning as a type. `path` is a JSON pointer into the schema, to where `keyword` stands."""

    def __init__(self, keyword: str, path: str, reason: str) -> None:
        self.keyword = keyword
        self.path = path
        self.reason = reason
        super().__init__(f"`{keyword}` at `{path or '/'}`: {reason}")


@dataclass(eq=False, slots=True)
class Node:
    """A schema. `always` is its answer where it is a boolean. `title` and `description` are kept for names and docs."""

    pointer: str
    always: bool | None = None
    words: dict[str, object] = field(default_factory=dict)
    title: str = ""
    description: str = ""
    hint: str | None = None


Make = Callable[[object, str], Node]
"""Makes the node of a subschema, given as it is written and where."""


def step(pointer: str, *keys: str | int) -> str:
    """A pointer, some keys deeper."""
    for key in keys:
        text = str(key)
        if "~" in text or "/" in text:
            text = text.replace("~", "~0").replace("/", "~1")
        pointer = f"{pointer}/{text}"
    return pointer


def _count(value: object, keyword: str, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value != math.floor(value):
        raise SchemaRefused(keyword, path, "it has to be a whole number that is not below zero")
    return int(value)


def _number(value: object, keyword: str, path: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or (isinstance(value, float) and not math.isfinite(value)):
        raise SchemaRefused(keyword, path, "it has to be a number")
    # `1.0` is 1 wherever it stands; beyond 2^53 a float stays one
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53 else value


def _factor(value: object, keyword: str, path: str) -> int | float:
    number = _number(value, keyword, path)
    if number <= 0:
        raise SchemaRefused(keyword, path, "it has to be a number above zero")
    return number


def _flag(value: object, keyword: str, path: str) -> bool:
    if not isinstance(value, bool):
        raise SchemaRefused(keyword, path, "it has to be true or false")
    return value


def _texts(value: object, keyword: str, path: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise SchemaRefused(keyword, path, "it has to be a list of texts")
    return tuple(dict.fromkeys(value))


def _types(value: object, keyword: str, path: str) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else _texts(value, keyword, path)
    for name in names:
        if name not in TYPES:
            raise SchemaRefused(keyword, path, f"`{name[:40]}` is no type of JSON Schema")
    if not names:
        raise SchemaRefused(keyword, path, "it names no type")
    return names


def _pattern(value: object, keyword: str, path: str) -> str:
    if not isinstance(value, str):
        raise SchemaRefused(keyword, path, "it has to be a text")
    problem: PatternError | None = check_pattern(value)
    if problem is not None:
        raise SchemaRefused(keyword, path, problem.message)
    return value


def _values(value: object, keyword: str, path: str) -> tuple[object, ...]:
    if not isinstance(value, list):
        raise SchemaRefused(keyword, path, "it has to be a list of values")
    return tuple(value)


def _any(value: object, keyword: str, path: str) -> object:
    return value


def _lists(value: object, keyword: str, path: str) -> Mapping[str, tuple[str, ...]]:
    return {key: _texts(names, keyword, step(path, key)) for key, names in mapping(value, keyword, path).items()}


def mapping(value: object, keyword: str, path: str) -> Mapping[str, object]:
    """An object, as a keyword needs one."""
    if not isinstance(value, dict):
        raise SchemaRefused(keyword, path, "it has to be an object")
    return value


_PLAIN: Mapping[str, Callable[[object, str, str], object]] = MappingProxyType(
    {
        "type": _types, "enum": _values, "const": _any,
        "multipleOf": _factor, "minimum": _number, "maximum": _number, "exclusiveMinimum": _number, "exclusiveMaximum": _number,
        "minLength": _count, "maxLength": _count, "pattern": _pattern,
        "minItems": _count, "maxItems": _count, "uniqueItems": _flag, "minContains": _count, "maxContains": _count,
        "minProperties": _count, "maxProperties": _count, "required": _texts, "dependentRequired": _lists,
    }
)  # fmt: skip
_ONE = frozenset({"items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else",
                  "unevaluatedItems", "unevaluatedProperties"})  # fmt: skip
_LIST = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_MAP = frozenset({"properties", "patternProperties", "dependentSchemas"})

HONOURED = frozenset({*_PLAIN, *_ONE, *_LIST, *_MAP, "$ref"})
"""Keywords that are held to exactly, by the type or by a predicate beside it."""

_NOT_IN_7 = frozenset({"prefixItems", "minContains", "maxContains", "dependentRequired", "dependentSchemas", "unevaluatedItems",
                       "unevaluatedProperties", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef", "$recursiveAnchor",
                       "$vocabulary"})  # fmt: skip
_NOT_IN_2019 = frozenset({"prefixItems", "$dynamicRef", "$dynamicAnchor"})


def fill(node: Node, raw: Mapping[str, object], dialect: str, make: Make, refer: Callable[[object, str], Node]) -> None:
    """Read a schema object into `node`. `dialect` is "7", "2019", "2020", or "" where the schema says none: then 2020-12 with a
    list of `items`, as older generators send it, is understood. Raises SchemaRefused."""
    pointer = node.pointer
    for name in ("title", "description", "format"):
        text = raw.get(name)
        if isinstance(text, str):
            setattr(node, "hint" if name == "format" else name, text)
    if dialect == "7" and "$ref" in raw:
        node.words["$ref"] = refer(raw["$ref"], step(pointer, "$ref"))
        return
    # annotations of another dialect have no meaning here, whatever later ones made of the word
    unknown = _NOT_IN_7 if dialect == "7" else _NOT_IN_2019 if dialect == "2019" else frozenset()
    for keyword, value in raw.items():
        if keyword not in unknown:
            _word(node, keyword, value, dialect, make, refer)
    if isinstance(raw.get("items"), list):
        _tuple(node, raw, dialect, make)
    if dialect == "7" and "dependencies" in raw:
        _dependencies(node, raw["dependencies"], make)


def _word(node: Node, keyword: str, value: object, dialect: str, make: Make, refer: Callable[[object, str], Node]) -> None:
    path = step(node.pointer, keyword)
    words = node.words
    if (read := _PLAIN.get(keyword)) is not None:
        words[keyword] = read(value, keyword, path)
    elif keyword == "$ref":
        words[keyword] = refer(value, path)
    elif keyword in _ONE:
        if keyword != "items" or not isinstance(value, list) or dialect == "2020":
            if keyword == "unevaluatedItems" and dialect == "2019":
                raise SchemaRefused(keyword, path, "its meaning in 2019-09 is another one than in 2020-12")
            words[keyword] = _make(value, keyword, path, make)
    elif keyword in _LIST:
        if not isinstance(value, list) or not value:
            raise SchemaRefused(keyword, path, "it has to be a list of schemas")
        words[keyword] = tuple(_make(one, keyword, step(path, at), make) for at, one in enumerate(value))
    elif keyword in _MAP:
        inner = mapping(value, keyword, path)
        if keyword == "patternProperties":
            for pattern in inner:
                _pattern(pattern, keyword, path)
        words[keyword] = {key: _make(one, keyword, step(path, key), make) for key, one in inner.items()}
    elif keyword in REFUSED and not (
        (keyword == "dependencies" and dialect == "7")
        or (keyword == "additionalItems" and dialect in ("7", "2019"))
        or (keyword == "$recursiveAnchor" and value is False)
    ):
        if keyword == "additionalItems" and "prefixItems" not in words and dialect == "":
            return
        raise SchemaRefused(keyword, path, REFUSED[keyword])


def _make(value: object, keyword: str, path: str, make: Make) -> Node:
    if not isinstance(value, dict | bool):
        raise SchemaRefused(keyword, path, "it has to be a schema: an object, true or false")
    return make(value, path)


def _tuple(node: Node, raw: Mapping[str, object], dialect: str, make: Make) -> None:
    """A list of `items`, and `additionalItems`: before 2020-12 what `prefixItems` and `items` are now."""
    path = step(node.pointer, "items")
    items = raw["items"]
    if dialect == "2020" or "prefixItems" in node.words or not isinstance(items, list):
        raise SchemaRefused("items", path, "it has to be a schema; a list of schemas is `prefixItems`")
    if items:
        node.words["prefixItems"] = tuple(_make(one, "items", step(path, at), make) for at, one in enumerate(items))
    if "additionalItems" in raw:
        rest = step(node.pointer, "additionalItems")
        node.words["items"] = _make(raw["additionalItems"], "additionalItems", rest, make)


def _dependencies(node: Node, value: object, make: Make) -> None:
    path = step(node.pointer, "dependencies")
    required: dict[str, tuple[str, ...]] = {}
    schemas: dict[str, Node] = {}
    for key, one in mapping(value, "dependencies", path).items():
        if isinstance(one, list):
            required[key] = _texts(one, "dependencies", step(path, key))
        else:
            schemas[key] = _make(one, "dependencies", step(path, key), make)
    if required:
        node.words["dependentRequired"] = required
    if schemas:
        node.words["dependentSchemas"] = schemas
