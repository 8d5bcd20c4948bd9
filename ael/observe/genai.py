"""A span in the words of OpenTelemetry's semantic conventions for generative AI (1.37 and later), where they have some; else `ael.…`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from opentelemetry.trace import SpanKind
from opentelemetry.util.types import AttributeValue

from ael.run.ports import Span

_FAILED = frozenset({"error", "fault", "uncertain", "refused"})
_OWN = (
    "key",
    "attempt",
    "attempts",
    "wait",
    "fallback",
    "by",
    "cut",
    "looks_like_call",
    "server",
    "protocol",
    "steps",
    "tool_calls",
    "check",
)
"""Attributes that the conventions have no word for."""
_TOKENS: Mapping[str, str] = {
    "cache_read": "gen_ai.usage.cache_read.input_tokens",
    "cache_write": "gen_ai.usage.cache_creation.input_tokens",
    "reasoning": "gen_ai.usage.reasoning.output_tokens",
}
_PROVIDERS: Mapping[str, str] = {"gemini": "gcp.gemini", "mistral": "mistral_ai"}
"""Providers that the conventions call otherwise."""
_STOPS: Mapping[str, str] = {"done": "stop", "calls": "tool_call", "cut": "length", "refused": "content_filter"}


class Told(NamedTuple):
    """The name, kind and attributes of a span; `error` says what it failed with, None where it did not."""

    name: str
    kind: SpanKind
    attributes: dict[str, AttributeValue]
    error: str | None


def told(span: Span, call_id: str | None) -> Told:
    """What is exported of a span. `call_id`: the provider's id of the call, for that of a tool that a model proposed."""
    short = span.name.partition(".")[2] or span.name
    found: dict[str, AttributeValue] = {"gen_ai.conversation.id": span.run, "ael.kind": span.kind}
    if span.path:
        found["ael.step"] = span.path
    if span.taint:
        found["ael.taint"] = list(span.taint)
    for word in _OWN:
        value = span.attributes.get(word)
        if isinstance(value, str | bool | int | float):
            found[f"ael.{word}"] = value
    cost = span.attributes.get("cost")
    if isinstance(cost, str):
        found["ael.cost_usd"] = float(cost)
    match span.kind:
        case "run":
            name, kind = _operation(found, "invoke_workflow", short), SpanKind.INTERNAL
            found["gen_ai.workflow.name"] = short
        case "node" | "agent":
            name, kind = _operation(found, "invoke_agent", short), SpanKind.INTERNAL
            found["gen_ai.agent.name"] = short
        case "turn":
            model = str(span.attributes.get("model") or short)
            name, kind = _operation(found, "chat", model), SpanKind.CLIENT
            _turn(found, span, model)
        case "tool":
            name, kind = _operation(found, "execute_tool", short), SpanKind.INTERNAL
            _tool(found, span, short, call_id)
        case "server":
            name, kind = f"connect {short}", SpanKind.CLIENT
        case _:
            name, kind = f"{span.kind} {short}", SpanKind.INTERNAL
    error = None
    if span.outcome in _FAILED:
        reason = span.attributes.get("reason")
        # A kind of fault is a type; a sentence (why a person said no) is none.
        error = reason if isinstance(reason, str) and reason.isidentifier() else span.outcome
        found["error.type"] = error
    if span.outcome not in ("value", ""):
        found["ael.outcome"] = span.outcome
    return Told(name, kind, found, error)


def _operation(found: dict[str, AttributeValue], operation: str, target: str) -> str:
    found["gen_ai.operation.name"] = operation
    return f"{operation} {target}"


def _turn(found: dict[str, AttributeValue], span: Span, model: str) -> None:
    """Tokens of the prompt count those from and to the cache too, tokens of the answer those of reasoning: so the conventions want it."""
    said = span.attributes
    found["gen_ai.request.model"] = model
    provider = said.get("provider")
    if isinstance(provider, str):
        found["gen_ai.provider.name"] = _PROVIDERS.get(provider, provider)
    if "input" not in said:
        return
    found["gen_ai.response.model"] = model
    number = {word: value if isinstance(value := said.get(word), int) else 0 for word in ("input", "output", *_TOKENS)}
    found["gen_ai.usage.input_tokens"] = number["input"] + number["cache_read"] + number["cache_write"]
    found["gen_ai.usage.output_tokens"] = number["output"] + number["reasoning"]
    for word, attribute in _TOKENS.items():
        if number[word]:
            found[attribute] = number[word]
    if said.get("estimated"):
        found["ael.usage.estimated"] = True
    stop = said.get("stop")
    if isinstance(stop, str):
        found["gen_ai.response.finish_reasons"] = [_STOPS.get(stop, stop)]
    if span.content:
        found["gen_ai.output.messages"] = _json(
            [{"role": "assistant", "parts": _parts(span.content), "finish_reason": _STOPS.get(str(stop), str(stop))}]
        )


def _parts(content: Mapping[str, object]) -> list[dict[str, object]]:
    parts: list[dict[str, object]] = [
        {"type": "text", "content": content[word]} for word in ("text", "final") if content.get(word)
    ]
    calls = content.get("calls")
    proposed = calls if isinstance(calls, list) else []
    return parts + [{"type": "tool_call", "name": call.get("name"), "arguments": call.get("arguments")} for call in proposed]


def _tool(found: dict[str, AttributeValue], span: Span, short: str, call_id: str | None) -> None:
    found["gen_ai.tool.name"] = short
    found["gen_ai.tool.type"] = "extension" if "server" in span.attributes else "function"
    if call_id:
        found["gen_ai.tool.call.id"] = call_id
    for word, attribute in (("arguments", "gen_ai.tool.call.arguments"), ("result", "gen_ai.tool.call.result")):
        if span.content and word in span.content:
            found[attribute] = _json(span.content[word])


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
