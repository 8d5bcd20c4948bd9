"""What a server offers, in AEL's words: the signature that a tool becomes or why it becomes none, its records, the server's hints."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ael.mcp.outside import visible, visible_lines
from ael.types.definition import AliasDef, Definition, EnumDef, FieldDef, RecordDef, VariantDef
from ael.types.signature import ParameterDef
from ael.types.text import show
from ael.types.tool_schema import SchemaRefused, ToolTypes, prompt_parameters, tool_types
from ael.types.type import Named

SAYS = "|"
"""Marks words of the server."""
_BRIEF = 2
_NAME = 128
_HINTS = {
    "readOnlyHint": ("reads only", "writes"),
    "destructiveHint": ("destructive", "not destructive"),
    "idempotentHint": ("idempotent", "not idempotent"),
    "openWorldHint": ("open world", "closed world"),
}


@dataclass(frozen=True)
class Offer:
    """One tool as listed. `types` None: it is `refused`, by keyword, path and reason."""

    wire: str
    definition: Mapping[str, object]
    types: ToolTypes | None = None
    refused: SchemaRefused | None = None


def type_prefix(server: str, name: str) -> str:
    """What the names of a tool's types begin with: `main.crm.GetCustomer` for the tool `get_customer` of `main.crm`."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", name) if word]
    camel = "".join(f"{word[0].upper()}{word[1:]}" for word in words)
    return f"{server}.{camel if camel[:1].isalpha() else f'T{camel}'}"


def offer(definition: Mapping[str, object], name: str) -> Offer:
    """A listed tool with the types that it becomes; `name` begins the names of its records (`main.crm.GetCustomer`)."""
    wire = str(definition["name"])
    try:
        return Offer(wire, definition, types=tool_types(definition, name))
    except SchemaRefused as refused:
        return Offer(wire, definition, refused=refused)


def why(refused: SchemaRefused) -> str:
    """A refusal in one line: keyword, path, reason."""
    at = f" at {visible(refused.path)}" if refused.path else ""
    keyword = f"`{visible(refused.keyword, _NAME)}`" if refused.keyword else "the definition"
    return f"{keyword}{at}: {visible(refused.reason)}"


def signature(types: ToolTypes) -> str:
    """`(path: String, head?: Int) -> ReadResult`, as a call in a program is written."""
    return f"({parameters(types.parameters)}) -> {visible(show(types.result))}"


def lock_text(types: ToolTypes) -> str:
    """What the lock says of a tool for people."""
    return f"fn{signature(types)}"


def parameters(of: Sequence[ParameterDef]) -> str:
    """The parameters of a call."""
    return visible(", ".join(f"{p.name}{'' if p.required else '?'}: {show(p.type)}" for p in of), 2_000)


def prompt_signature(definition: Mapping[str, object]) -> str:
    """`(code: String) -> List<Message>`, or why it is refused."""
    try:
        return f"({parameters(prompt_parameters(definition))}) -> List<Message>"
    except SchemaRefused as refused:
        return f" refused, {why(refused)}"


def definition_lines(types: ToolTypes) -> list[str]:
    """The types that a tool brings, a line each, without the record that its parameters are."""
    whole = types.input.name if isinstance(types.input, Named) else None
    shown = {name: defined for name, defined in types.definitions.items() if name != whole}
    return [visible(_definition(name.rpartition(".")[2], defined), 1_000) for name, defined in shown.items()]


def _definition(name: str, defined: Definition) -> str:
    match defined:
        case RecordDef(fields=fields, open=is_open):
            return f"{'open ' if is_open else ''}record {name} {{ {_fields(fields)} }}"
        case EnumDef(variants=variants):
            return f"enum {name} {{ {', '.join(map(_variant, variants))} }}"
        case AliasDef(type=type_):
            return f"type {name} = {show(type_)}"


def _fields(fields: Sequence[FieldDef]) -> str:
    return ", ".join(f"{f.name}{'?' if f.optional else ''}: {show(f.type)}" for f in fields)


def _variant(variant: VariantDef) -> str:
    return f"{variant.name} {{ {_fields(variant.fields)} }}" if variant.fields else variant.name


def hints(definition: Mapping[str, object]) -> list[str]:
    """The server's annotations in words: hints from a stranger."""
    annotations = definition.get("annotations")
    if not isinstance(annotations, Mapping):
        return []
    return [words[0 if annotations[key] else 1] for key, words in _HINTS.items() if isinstance(annotations.get(key), bool)]


def description(definition: Mapping[str, object], *, full: bool) -> list[str]:
    """What the server says of it, marked as its words."""
    said = definition.get("description")
    if not isinstance(said, str) or not said.strip():
        return []
    lines = visible_lines(said.strip()) if full else visible_lines(said.strip(), _BRIEF, 160)
    return [f"{SAYS} {line}".rstrip() for line in lines]


def text_of(value: object, limit: int = _NAME) -> str:
    """A word of a server's that should be text."""
    return visible(value, limit) if isinstance(value, str) else "(no text)"
