"""Anthropic's dialects: the input schema of tools, and structured outputs.

Source of the rules: Anthropic's API documentation, "Tool use" (input_schema is JSON Schema with an object at its root, and no
alternative there) and "Structured outputs", section "JSON Schema limitations" (as of early 2026): no recursion, no bounds of numbers
and texts, `minItems` 0 or 1 only, every object closed.
"""

from __future__ import annotations

import re

from ael.types.dialect_rules import Lowered, Rules, Unsupported, has_object_root, lower, wrapped
from ael.types.schema import Schema

STRUCTURED = Rules(
    narrowing=frozenset({"format", "minItems", "default"}),
    formats=frozenset({"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}),
    least_items=frozenset({0, 1}),
    recursion=False,
)
_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
MAX_OPTIONAL = 24
MAX_ALTERNATIVES = 16


def tool(schema: Schema) -> Lowered | Unsupported:
    """The input schema of a tool: JSON Schema as it is.

    One key that the service does not take would have it refuse the whole request, with all tools, so that tool is refused here.
    """
    if not has_object_root(schema):
        return Unsupported("type", "", "the input of a tool has to be an object")
    properties = schema.get("properties")
    for key in properties if isinstance(properties, dict) else ():
        if _KEY.fullmatch(key) is None:
            reason = "a parameter is sent under a name of letters, digits, `_`, `.` and `-`, at most 64 characters long"
            return Unsupported("properties", f"properties.{key[:100]}", reason)
    return Lowered(schema)


def output(schema: Schema) -> Lowered | Unsupported:
    """The schema of a structured output; what is no object is wrapped."""
    is_object = has_object_root(schema)
    made = lower(schema if is_object else wrapped(schema), STRUCTURED)
    if isinstance(made, Unsupported):
        return made
    optional, alternatives = _complexity(made)
    if optional > MAX_OPTIONAL:
        return Unsupported("required", "", f"{optional} fields are optional, and a structured output may have {MAX_OPTIONAL}")
    if alternatives > MAX_ALTERNATIVES:
        return Unsupported("anyOf", "", f"{alternatives} values are unions, and a structured output may have {MAX_ALTERNATIVES}")
    return Lowered(made, strict=True, wrapped=not is_object)


def _complexity(node: object) -> tuple[int, int]:
    """How many fields are optional and how many values are unions."""
    optional = alternatives = 0
    todo = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, list):
            todo.extend(part)
        elif isinstance(part, dict):
            properties, required = part.get("properties"), part.get("required", [])
            if isinstance(properties, dict) and part.get("type") == "object":
                optional += len(properties) - len(required)
            alternatives += "anyOf" in part or isinstance(part.get("type"), list)
            todo += [part.get("items"), part.get("anyOf")]
            for key in ("properties", "$defs"):
                todo.extend((part.get(key) or {}).values())
    return optional, alternatives
