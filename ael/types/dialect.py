"""Schemas as each provider takes them: pure functions of a schema, by the name of a dialect.

`tool` lowers the input of a tool, `output` that of a structured result. `Unsupported` is what the checker reports for that tool, or why
a structured result has to come by a `final` tool or as text. Whatever was left out is checked when the reply is decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ael.data import dataclass
from ael.types import dialect_anthropic, dialect_llama, dialect_openai
from ael.types.dialect_rules import Lowered, Unsupported, has_object_root
from ael.types.schema import Schema

__all__ = ["DIALECTS", "Dialect", "Lowered", "Unsupported"]

Lowering = Callable[[Schema], Lowered | Unsupported]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a provider takes the schemas of tools and of structured outputs."""

    name: str
    tool: Lowering
    output: Lowering


def _plain_tool(schema: Schema) -> Lowered | Unsupported:
    if not has_object_root(schema):
        return Unsupported("type", "", "the parameters of a function have to be an object")
    return Lowered(schema)


def _plain_output(schema: Schema) -> Lowered | Unsupported:
    return Lowered(schema)


DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {
        "openai": Dialect("openai", dialect_openai.tool, dialect_openai.output),
        "anthropic": Dialect("anthropic", dialect_anthropic.tool, dialect_anthropic.output),
        "compatible": Dialect("compatible", dialect_llama.tool, dialect_llama.output),
        "none": Dialect("none", _plain_tool, _plain_output),
    }
)
"""`compatible` are servers with OpenAI's paths and llama.cpp's grammars or more; `none` takes JSON Schema itself: scripts, replays."""
