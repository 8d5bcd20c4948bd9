"""Tools of servers that a node's model cannot be told: a provider takes schemas in a dialect of its own (K18).

What a dialect leaves out is checked when an argument comes; what it cannot say at all is an error for that tool, before anything runs.
Only programs that offer such tools load this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from ael.check.basis import Context, offered_as, short
from ael.check.node import Draft
from ael.syntax import nodes as n
from ael.types.dialect import DIALECTS
from ael.types.dialect_rules import Unsupported
from ael.types.schema import record_schema
from ael.types.spec import ModelSpec

PROVIDER_DIALECTS: Mapping[str, str] = MappingProxyType(
    {"openai": "openai", "anthropic": "anthropic", "scripted": "none", "replay": "none"}
)
"""The dialect of a provider; all others have that of servers with OpenAI's paths. `ael.models.registry` says the same."""


def check(context: Context, draft: Draft, models: Mapping[str, ModelSpec]) -> None:
    """Report each tool of a server that a model of the node, or a fallback of it, cannot be offered."""
    for path, symbol in draft.offered:
        signature = context.collected.signatures.get(symbol.name)
        if not isinstance(symbol.node, n.McpMember) or signature is None:
            continue
        schema = record_schema(signature.input_record(), context.collected.definitions)
        for model in _chain(draft.model, models):
            found = DIALECTS[PROVIDER_DIALECTS.get(model.provider or "scripted", "compatible")].tool(schema)
            if isinstance(found, Unsupported):
                message = f"the model `{short(model.name)}` cannot be offered `{offered_as(path, symbol)}`: {found.reason}"
                notes = (
                    f"`{found.keyword}` at `{found.path or '/'}` of its input is not in the dialect of `{model.provider}`",
                    "code may call it: give the model a `tool` of the program that does, with simpler parameters",
                )
                context.report("AEL1223", message, draft.scope.name, path, notes=notes)
                break


def _chain(model: str | None, models: Mapping[str, ModelSpec]) -> Iterator[ModelSpec]:
    seen: set[str] = set()
    while model is not None and model in models and model not in seen:
        seen.add(model)
        yield models[model]
        model = models[model].fallback
