"""How a structured result is asked for: by the provider's own structured output, by a `final` tool, or as text.

Chosen once for a conversation, from the schema, the tools and the provider's habits. What the schema loses on the way is
checked when
the result is decoded against the type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from ael.models.wire import encode, final_name
from ael.run.ports import ConversationSpec
from ael.types.dialect import DIALECTS, Lowered, Unsupported
from ael.types.dialect_rules import has_object_root, wrapped
from ael.types.schema import Schema


class Way(Enum):
    """How the result comes. `PLAIN`: the output is text and needs no shape."""

    PLAIN = "plain"
    NATIVE = "native"
    FINAL = "final"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Shape:
    """The way chosen, the schema as it goes out, the final tool's name, and what is added to the instructions."""

    way: Way
    schema: Mapping[str, object]
    strict: bool = False
    wrapped: bool = False
    tool: str = ""
    addition: str = ""


def shape(spec: ConversationSpec, dialect: str, *, native_with_tools: bool, native: bool = True) -> Shape:
    """Choose. The setting `output` (`"native"`, `"tool"`, `"text"`) decides where the provider leaves a choice."""
    output = spec.output
    if output.text:
        return Shape(Way.PLAIN, {})
    wish = spec.settings.get("output")
    schema: Schema = dict(output.schema)
    if wish == "text":
        return as_text(schema)
    may_native = native and (native_with_tools or not spec.tools)
    if may_native and wish != "tool":
        lowered = DIALECTS[dialect].output(schema)
        if isinstance(lowered, Lowered):
            return Shape(Way.NATIVE, lowered.schema, lowered.strict, lowered.wrapped)
    is_object = has_object_root(schema)
    as_tool = DIALECTS[dialect].tool(schema if is_object else wrapped(schema))
    if isinstance(as_tool, Unsupported):
        return as_text(schema)
    name = final_name([tool.name for tool in spec.tools])
    return Shape(Way.FINAL, as_tool.schema, as_tool.strict, not is_object or as_tool.wrapped, name)


def as_text(schema: Mapping[str, object]) -> Shape:
    """Ask for JSON in words."""
    words = "Answer with one JSON value and nothing else. It must match this JSON Schema: " + encode(schema).decode()
    return Shape(Way.TEXT, schema, addition=words)
