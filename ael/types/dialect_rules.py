"""Lowering a schema by rules: what a provider's dialect keeps, rewrites, leaves out and cannot say.

A keyword that only narrows may be left out, because every reply is decoded against the original type. What changes which shapes can be
said at all is refused, with the place and the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ael.data import dataclass
from ael.types.schema import Schema


@dataclass(frozen=True, slots=True)
class Unsupported:
    """What a provider's dialect cannot say. `path` leads into the schema: `properties.items`."""

    keyword: str
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Lowered:
    """A schema that a provider takes. `strict`: it then holds the model to it. `wrapped`: the value is under the key `value`."""

    schema: Schema
    strict: bool = False
    wrapped: bool = False


class Refused(Exception):
    """Carries an Unsupported out of a walk."""

    def __init__(self, keyword: str, path: tuple[str, ...], reason: str) -> None:
        super().__init__(reason)
        self.what = Unsupported(keyword, ".".join(path), reason)


def _any_pattern(pattern: str) -> str | None:
    return pattern


@dataclass(frozen=True, slots=True)
class Rules:
    """A dialect. `narrowing` are the keywords kept among those that may be left out; `formats` those of `format`.

    `pattern` gives a pattern as the provider takes it, or None.
    """

    narrowing: frozenset[str]
    formats: frozenset[str] = frozenset()
    pattern: Callable[[str], str | None] = _any_pattern
    largest_count: int | None = None
    least_items: frozenset[int] | None = None
    nullable_optionals: bool = False
    one_of: bool = False
    maps: bool = False
    untyped: bool = False
    recursion: bool = True
    beside_ref: bool = True


_COUNTS = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})
_NARROWING = _COUNTS | {"minimum", "maximum", "pattern", "format", "contentEncoding", "default", "allOf"}
_KEPT = frozenset({"type", "enum", "const", "description"})


def lower(schema: Schema, rules: Rules) -> Schema | Unsupported:
    """`schema` in a dialect, or the first thing that it cannot say. Nothing is changed in place."""
    defs = schema.get("$defs")
    definitions: Mapping[str, Schema] = defs if isinstance(defs, dict) else {}
    try:
        made = _node({k: v for k, v in schema.items() if k != "$defs"}, (), rules)
        reached: dict[str, Schema] = {}
        todo = references(made)
        while todo:
            # what only left out keywords refer to is left out with them
            name = todo.pop()
            if name not in reached and name in definitions:
                reached[name] = _node(definitions[name], ("$defs", name), rules)
                todo += references(reached[name])
        if not rules.recursion:
            _refuse_recursion({name: reached[name] for name in definitions if name in reached})
        if reached:
            made["$defs"] = {name: reached[name] for name in definitions if name in reached}
    except Refused as refused:
        return refused.what
    return made


def _node(node: Schema, path: tuple[str, ...], rules: Rules) -> Schema:
    if "$ref" in node:
        kept = {"description"} if rules.beside_ref else set()
        return {key: value for key, value in node.items() if key == "$ref" or key in kept}
    if not {"type", "anyOf", "oneOf", "enum", "const"} & node.keys() and not rules.untyped:
        raise Refused("type", path, "a value of type Json has no type that the provider can be told")
    made: Schema = {}
    for key, value in node.items():
        if key in _KEPT:
            made[key] = value
        elif key in ("anyOf", "oneOf") and isinstance(value, list):
            made[key if key == "anyOf" or rules.one_of else "anyOf"] = [
                _node(option, (*path, key, str(at)), rules) for at, option in enumerate(value)
            ]
        elif key == "items" and isinstance(value, dict):
            made[key] = _node(value, (*path, key), rules)
        elif key in _NARROWING:
            if key == "pattern" and key in rules.narrowing:
                value = rules.pattern(str(value))
            if value is not None and _keeps(key, value, rules):
                made[key] = value
        elif key not in ("properties", "required", "additionalProperties"):
            raise Refused(key, path, f"the keyword {key} is not known to the provider")
    if node.get("type") == "object":
        made.update(_object(node, path, rules))
    return made


def _keeps(key: str, value: object, rules: Rules) -> bool:
    if key not in rules.narrowing:
        return False
    match key, value:
        case "format", str():
            return value in rules.formats
        case "minItems", int() if rules.least_items is not None:
            return value in rules.least_items
        case _, int() if key in _COUNTS and rules.largest_count is not None:
            return value <= rules.largest_count
    return True


def _object(node: Schema, path: tuple[str, ...], rules: Rules) -> Schema:
    properties = node.get("properties", {})
    assert isinstance(properties, dict)
    required = node.get("required", [])
    assert isinstance(required, list)
    extra = node.get("additionalProperties", True)
    if extra is not False and not rules.maps:
        reason = "an open record" if properties else "a map with arbitrary keys"
        raise Refused("additionalProperties", path, f"{reason} cannot be told to the provider")
    made: Schema = {}
    if properties or "properties" in node:
        made["properties"] = {
            name: _property(body, name in required, (*path, "properties", name), rules) for name, body in properties.items()
        }
        names = list(properties) if rules.nullable_optionals else required
        if names:
            made["required"] = list(names)
    if extra is False:
        made["additionalProperties"] = False
    elif isinstance(extra, dict):
        made["additionalProperties"] = _node(extra, (*path, "additionalProperties"), rules)
    return made


def _property(body: Schema, required: bool, path: tuple[str, ...], rules: Rules) -> Schema:
    made = _node(body, path, rules)
    return made if required or not rules.nullable_optionals else nullable(made)


def nullable(made: Schema) -> Schema:
    """The schema that allows `null` too."""
    options = made.get("anyOf")
    if isinstance(options, list):
        return (
            made if any(option.get("type") == "null" for option in options) else {**made, "anyOf": [*options, {"type": "null"}]}
        )
    if made.get("type") == "null":
        return made
    doc = {"description": made["description"]} if "description" in made and "$ref" not in made else {}
    return {"anyOf": [{k: v for k, v in made.items() if k not in doc}, {"type": "null"}], **doc}


def _refuse_recursion(definitions: Mapping[str, Schema]) -> None:
    below = {name: set(references(body)) for name, body in definitions.items()}
    for name in definitions:
        reached: set[str] = set()
        todo = [name]
        while todo:
            for follower in below.get(todo.pop(), ()):
                if follower == name:
                    raise Refused("$ref", ("$defs", name), f"the type {name} contains itself, which the provider cannot be told")
                if follower not in reached:
                    reached.add(follower)
                    todo.append(follower)


def references(node: object) -> list[str]:
    """The keys of `$defs` that a schema refers to."""
    if isinstance(node, list):
        return [name for part in node for name in references(part)]
    if not isinstance(node, dict):
        return []
    own = [str(node["$ref"]).removeprefix("#/$defs/")] if "$ref" in node else []
    return own + [name for key, part in node.items() if key not in ("enum", "const", "default") for name in references(part)]


def wrapped(schema: Schema) -> Schema:
    """The schema of an object that holds the value under `value`, for providers whose root is an object."""
    inner = {key: part for key, part in schema.items() if key != "$defs"}
    made: Schema = {"type": "object", "properties": {"value": inner}, "required": ["value"], "additionalProperties": False}
    return {**made, "$defs": schema["$defs"]} if "$defs" in schema else made


def has_object_root(schema: Schema) -> bool:
    """Whether the root is an object with known properties, and no alternative."""
    return schema.get("type") == "object" and "anyOf" not in schema and "oneOf" not in schema
