"""OpenAI's dialects: strict structured outputs and strict tools, and tools that are not strict.

Source of the rules: OpenAI's guide "Structured model outputs", section "Supported schemas" (as of early 2026). Strict: the root is an
object, every field is required (an optional one is nullable), no other keys, at most 5,000 properties, 10 levels, 1,000 values of
enums, 120,000 characters of names and values; lengths of text and defaults are not among the keywords.
"""

from __future__ import annotations

from ael.types.dialect_rules import Lowered, Refused, Rules, Unsupported, has_object_root, lower, wrapped
from ael.types.schema import Schema

_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
STRICT = Rules(
    narrowing=frozenset({"minimum", "maximum", "minItems", "maxItems", "pattern", "format"}),
    formats=_FORMATS,
    nullable_optionals=True,
    beside_ref=False,
)
MAX_PROPERTIES = 5_000
MAX_LEVELS = 10
MAX_ENUM_VALUES = 1_000
MAX_CHARACTERS = 120_000
_LONG_ENUM = 250
_LONG_ENUM_CHARACTERS = 15_000


def strict(schema: Schema) -> Lowered | Unsupported:
    """A strict schema whose root is an object already."""
    if not has_object_root(schema):
        return Unsupported("type", "", "the root of a strict schema has to be an object")
    made = lower(schema, STRICT)
    if isinstance(made, Unsupported):
        return made
    try:
        _measure(made)
    except Refused as refused:
        return refused.what
    return Lowered(made, strict=True)


def tool(schema: Schema) -> Lowered | Unsupported:
    """The parameters of a function: strict where that can be said, else as they are, not strict."""
    if not has_object_root(schema):
        return Unsupported("type", "", "the parameters of a function have to be an object")
    made = strict(schema)
    return Lowered(schema) if isinstance(made, Unsupported) else made


def output(schema: Schema) -> Lowered | Unsupported:
    """The schema of a structured output; what is no object is wrapped."""
    if has_object_root(schema):
        return strict(schema)
    made = strict(wrapped(schema))
    return made if isinstance(made, Unsupported) else Lowered(made.schema, strict=True, wrapped=True)


class _Sizes:
    def __init__(self) -> None:
        self.properties = 0
        self.enum_values = 0
        self.characters = 0


def _measure(schema: Schema) -> None:
    """Raise Refused where the documented sizes are exceeded."""
    sizes = _Sizes()
    _count(schema, (), 0, sizes)
    for keyword, count, most in (
        ("properties", sizes.properties, MAX_PROPERTIES),
        ("enum", sizes.enum_values, MAX_ENUM_VALUES),
        ("characters", sizes.characters, MAX_CHARACTERS),
    ):
        if count > most:
            raise Refused(keyword, (), f"the schema has {count:,} {keyword}, and a strict one may have {most:,}")


def _count(node: object, path: tuple[str, ...], level: int, sizes: _Sizes) -> None:
    if isinstance(node, list):
        for at, part in enumerate(node):
            _count(part, (*path, str(at)), level, sizes)
    if not isinstance(node, dict):
        return
    inner = level + 1 if node.get("type") in ("object", "array") else level
    if inner > MAX_LEVELS:
        raise Refused("properties", path, f"a strict schema is nested at most {MAX_LEVELS} levels")
    for key, part in node.items():
        if key in ("properties", "$defs") and isinstance(part, dict):
            sizes.properties += len(part) if key == "properties" else 0
            sizes.characters += sum(map(len, part))
            for name, body in part.items():
                _count(body, (*path, key, name), inner if key == "properties" else 0, sizes)
        elif key == "enum" and isinstance(part, list):
            texts = sum(len(value) for value in part if isinstance(value, str))
            sizes.enum_values += len(part)
            sizes.characters += texts
            if len(part) > _LONG_ENUM and texts > _LONG_ENUM_CHARACTERS:
                raise Refused(
                    "enum", path, f"an enum of more than {_LONG_ENUM} values may have {_LONG_ENUM_CHARACTERS:,} characters"
                )
        elif key == "const" and isinstance(part, str):
            sizes.characters += len(part)
        elif key in ("items", "anyOf"):
            _count(part, (*path, key), inner, sizes)
