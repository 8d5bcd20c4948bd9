"""Schemas that a hostile or careless server could send: real ones with parts broken, and families built to be large, deep or endless."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TypeVar

from tests.external.mcp_tools_features import nodes
from tests.external.mcp_tools_mutate import put

T = TypeVar("T")
_KEYWORDS = (
    "type", "properties", "required", "additionalProperties", "items", "prefixItems", "enum", "const", "anyOf", "oneOf", "allOf",
    "not", "if", "then", "else", "$ref", "$defs", "$id", "$anchor", "$dynamicRef", "$schema", "definitions", "pattern", "format",
    "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems",
    "uniqueItems", "contains", "minContains",
    "propertyNames", "patternProperties", "dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems",
    "minProperties", "maxProperties", "nullable", "default", "examples", "title",
    "description", "x-unknown", "$vocabulary", "$recursiveRef",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**70, 0.5, 1e308, "", "object", "string", "nonsense", [], [[]], {}, {"a": 1}, {"type": 5},
    ["string", "string"], ["null"], [None, 1], {"type": "string"}, [{"type": "string"}], {"a": {"type": "nonsense"}}, "#", "#/",
    "#/$defs/missing",
    "#/properties", "#/properties/%zz", "#/$defs/~2", "https://example.com/schema.json", "other.json#/a", "file:///etc/passwd", "#anchor",
    "(a+)+$", "(?=a)b", "[", "\\", "a{99999}", "(" * 500, "x" * 70_000,
    "http://json-schema.org/draft-04/schema#", "https://example.com/dialect", [""] * 3, {"": {}}, {"$ref": "#"}, [{"$ref": "#"}],
)  # fmt: skip


def places(schema: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all objects in a JSON value."""
    if isinstance(schema, dict):
        yield path
        for key, value in schema.items():
            yield from places(value, (*path, key))
    elif isinstance(schema, list):
        for index, value in enumerate(schema):
            yield from places(value, (*path, index))


def broken(schema: dict[str, Any], random: Random, times: int) -> Any:
    """A schema with `times` parts of it changed at random."""
    made: Any = schema
    for _ in range(times):
        found = list(places(made))
        if not found:
            return made
        path = random.choice(found)
        node: dict[str, Any] = _at(made, path)
        match random.randrange(5):
            case 0 if node:
                node = {**node, random.choice(list(node)): random.choice(_VALUES)}
            case 1 if node:
                gone = random.choice(list(node))
                node = {key: value for key, value in node.items() if key != gone}
            case 2:
                node = {**node, "$ref": "#" + "".join(f"/{part}" for part in random.choice(found))}
            case 3 if path:
                made = put(made, path, random.choice(_VALUES))
                continue
            case _:
                node = {**node, random.choice(_KEYWORDS): random.choice(_VALUES)}
        made = put(made, path, node)
    return made


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def root(**properties: Any) -> dict[str, Any]:
    """An object with these properties."""
    return {"type": "object", "properties": properties}


def families(size: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Schemas that grow with `size`, each in its own way; some are right, some have no meaning, none may take more than its size."""
    text: dict[str, Any] = {"type": "string"}
    start = root(a=to(0))
    steps_on = [(f"d{at}", to(at + 1)) for at in range(size)]
    yield "properties", root(**{f"p{at}": text for at in range(size)})
    yield "same short names", root(**{f"p{'-' * at}x": text for at in range(size)})
    yield "constants", root(a={"enum": [f"v{at}" for at in range(size)]})
    yield "mixed constants", root(a={"enum": [at if at % 2 else f"v{at}" for at in range(size)]})
    yield "alternatives", root(a={"anyOf": [root(**{f"p{at}": text}) for at in range(size)]})
    yield "exclusive alternatives", root(a={"oneOf": [root(**{f"p{at}": text}) for at in range(size)]})
    yield "tagged alternatives", root(a={"oneOf": [{**root(t={"const": f"k{at}"}), "required": ["t"]} for at in range(size)]})
    yield "parts that all hold", root(a={"allOf": [root(**{f"p{at}": text}) for at in range(size)]})
    yield "tuples", root(a={"type": "array", "prefixItems": [text] * size})
    yield "many definitions", {"$defs": {f"d{at}": root(a=text) for at in range(size)}, **start}
    yield "a cycle through all", {"$defs": {f"d{at}": root(a=to((at + 1) % size)) for at in range(size)}, **start}
    yield "a cycle without content", {"$defs": {f"d{at}": to((at + 1) % size) for at in range(size)}, **start}
    yield "a chain", {"$defs": {**dict(steps_on), f"d{size}": text}, **start}
    options = {name: {"anyOf": [on, {"type": "null"}]} for name, on in steps_on}
    yield "a chain of alternatives", {"$defs": {**options, f"d{size}": text}, **start}
    for key in ("anyOf", "oneOf", "allOf"):
        both = {name: {key: [on, on]} for name, on in steps_on}
        yield f"{key} that doubles", {"$defs": {**both, f"d{size}": root(a=text)}, **start}
        sides = {name: {key: [root(**{f"{name}l": on}), root(**{f"{name}r": on})]} for name, on in steps_on}
        yield f"{key} of records that double", {"$defs": {**sides, f"d{size}": text}, **start}
    twice = {name: root(l=on, r=on) for name, on in steps_on}
    yield "records that double", {"$defs": {**twice, f"d{size}": text}, **start}
    pointers = {f"p{at}": {"$ref": f"#/properties/p{(at + 1) % size}/items", "items": text} for at in range(size)}
    yield "references into one another", root(**pointers)


def to(number: int) -> dict[str, Any]:
    """A reference to a definition."""
    return {"$ref": f"#/$defs/d{number}"}


def nested(wrap: Callable[[Any], Any], depth: int) -> dict[str, Any]:
    """A root whose property is `depth` times wrapped."""
    made: Any = {"type": "string"}
    for _ in range(depth):
        made = wrap(made)
    return root(a=made)


DEEP: dict[str, Callable[[Any], Any]] = {
    "lists": lambda inner: {"type": "array", "items": inner},
    "records": lambda inner: root(a=inner),
    "maps": lambda inner: {"type": "object", "additionalProperties": inner},
    "anyOf": lambda inner: {"anyOf": [inner, {"type": "null"}]},
    "oneOf": lambda inner: {"oneOf": [inner]},
    "allOf": lambda inner: {"allOf": [inner]},
    "not": lambda inner: {"not": inner},
    "if": lambda inner: {"if": inner, "then": inner},
    "tuples": lambda inner: {"type": "array", "prefixItems": [inner]},
    "definitions": lambda inner: {"$defs": {"a": inner}},
}


def steps(run: Callable[[], T]) -> tuple[int, T]:
    """How many functions of Python are entered while `run` runs, and what it gives: a measure of work that is the same every time."""
    count = 0

    def seen(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        made = run()
    finally:
        sys.setprofile(before)
    return count, made


def size_of(schema: Any) -> int:
    """How many schemas are in a schema."""
    return sum(1 for _ in nodes(schema))
