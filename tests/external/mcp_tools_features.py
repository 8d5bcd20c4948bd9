"""Which features of JSON Schema a schema of the corpus has: for the table, and independent of what makes types of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems")
_ONE = ("items", "additionalProperties", "propertyNames", "not", "if", "then", "else", "contains", "additionalItems")
_MANY = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
FEATURES = (
    "records", "optional properties", "lists", "enums of texts", "constants and other enums", "defaults", "null", "bounds", "patterns",
    "formats (annotations)", "any value", "maps", "property names", "anyOf", "oneOf", "allOf", "if, then, else", "tuples", "unique items",
    "local references", "references into properties", "recursion", "a root that is closed", "a root that takes any other key",
    "a root that says nothing of other keys",
)  # fmt: skip


def features(schema: Mapping[str, Any]) -> set[str]:
    """The features of a root schema, by their names in `FEATURES`."""
    found = {name for node in nodes(schema) for name in _of_node(node)}
    if _recursive(schema):
        found.add("recursion")
    match schema.get("additionalProperties"):
        case False:
            found.add("a root that is closed")
        case None:
            found.add("a root that says nothing of other keys")
        case _:
            found.add("a root that takes any other key")
    return found


def nodes(schema: Any) -> Iterator[Any]:
    """All schemas in a schema, itself first; what stands in constants, defaults and annotations is none."""
    yield schema
    if not isinstance(schema, Mapping):
        return
    for key, value in schema.items():
        if key in _NAMED and isinstance(value, Mapping):
            for inner in value.values():
                yield from nodes(inner)
        elif key in (*_MANY, "items") and isinstance(value, list):
            for inner in value:
                yield from nodes(inner)
        elif key in _ONE:
            yield from nodes(value)


def _of_node(node: Any) -> Iterator[str]:
    if not isinstance(node, Mapping):
        return
    types = node.get("type", [])
    if node.get("properties"):
        yield "records"
        if set(node["properties"]) - set(node.get("required", ())):
            yield "optional properties"
        if any(
            inner is True or inner == {} or (isinstance(inner, Mapping) and _untyped(inner))
            for inner in node["properties"].values()
        ):
            yield "any value"
    if types == "array" or "items" in node:
        yield "lists"
    if node.get("items") is True or node.get("items") == {} or (types == "array" and not {"items", "prefixItems"} & node.keys()):
        yield "any value"
    constants = [*node.get("enum", ()), *([node["const"]] if "const" in node else [])]
    if "enum" in node and all(isinstance(value, str) for value in constants):
        yield "enums of texts"
    elif constants:
        yield "constants and other enums"
    if "null" in types or node.get("const", "") is None or None in constants:
        yield "null"
    if isinstance(node.get("additionalProperties"), Mapping):
        yield "maps"
    for name, keys in (
        ("defaults", ("default",)), ("bounds", _BOUNDS), ("patterns", ("pattern",)), ("formats (annotations)", ("format",)),
        ("property names", ("propertyNames",)), ("anyOf", ("anyOf",)), ("oneOf", ("oneOf",)), ("allOf", ("allOf",)),
        ("if, then, else", ("if",)), ("tuples", ("prefixItems",)), ("unique items", ("uniqueItems",)),
    ):  # fmt: skip
        if any(key in node for key in keys):
            yield name
    reference = node.get("$ref")
    if reference is not None:
        yield "local references" if str(reference).startswith(("#/$defs/", "#/definitions/")) else "references into properties"


def _untyped(node: Mapping[str, Any]) -> bool:
    """Whether a schema has annotations only."""
    return not {"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "properties", "items", "not", "if"} & node.keys()


def _recursive(schema: Mapping[str, Any]) -> bool:
    """Whether some reference leads to a part that holds it."""
    return any(
        isinstance(node, Mapping) and "$ref" in node and _within(schema, node["$ref"], node["$ref"], set())
        for node in nodes(schema)
    )


def _within(root: Mapping[str, Any], start: str, reference: str, seen: set[str]) -> bool:
    target = _pointed(root, start)
    for node in nodes(target):
        if isinstance(node, Mapping) and isinstance(inner := node.get("$ref"), str):
            if inner == reference:
                return True
            if inner not in seen:
                seen.add(inner)
                if _within(root, inner, reference, seen):
                    return True
    return False


def _pointed(root: Any, reference: str) -> Any:
    node = root
    for part in reference.removeprefix("#").split("/")[1:]:
        node = node[int(part)] if isinstance(node, list) else node.get(part.replace("~1", "/").replace("~0", "~"), {})
    return node
