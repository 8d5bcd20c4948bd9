"""Tools for a small model: one JSON object, constrained by a schema, that is either a call or the answer. No `tools` on the wire.

A model of some hundred million parameters seldom writes a tool call in its template's form; held to this object it always
writes one
that can be read. Examples and short bounded texts are what makes it sensible (measured: valid in 20 of 20 cases, the right call
in 15 of 16).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ael.models.openai import OpenAIConversation, OpenAIProvider
from ael.models.wire import encode
from ael.run.ports import (
    CallStarted,
    ConversationSpec,
    FinalDelta,
    ModelEvent,
    ModelTurn,
    OutputShape,
    ProposedCall,
    Stop,
    TextDelta,
    ToolAnswer,
)  # fmt: skip
from ael.types.dialect import DIALECTS, Lowered
from ael.types.value import File

LONGEST_TEXT = 200
"""A text without a bound of its own may be so long: small models seldom stop by themselves."""


class EnvelopeConversation:
    """A conversation with a model that answers in envelopes. Without tools it is the plain one."""

    def __init__(self, provider: OpenAIProvider, spec: ConversationSpec) -> None:
        self._spec = spec
        self._wrapped = bool(spec.tools)
        self._count = 0
        if not self._wrapped:
            output = spec.output if spec.output.text else replace(spec.output, schema=_bounded(spec.output.schema))
            self._inner = OpenAIConversation(provider, replace(spec, output=output))
            return
        answer = _only_answer(spec.output)
        shape = OutputShape(envelope(spec), False, "step")
        plain = replace(spec, tools=(), output=shape, system=f"{spec.system}\n\n{explained(spec)}", tool_choice="auto")
        self._inner = OpenAIConversation(provider, plain)
        self._answer = _lowered(answer, provider)
        self._call = _lowered(envelope(spec, answer=False), provider)

    @property
    def size(self) -> int:
        return self._inner.size

    def user(self, text: str, files: Sequence[File] = ()) -> None:
        self._inner.user(text, files)

    def turn(self, turn: ModelTurn) -> None:
        if not self._wrapped:
            self._inner.turn(turn)
            return
        if turn.calls:
            call = turn.calls[0]
            said = f'{{"call": {json.dumps(call.name)}, "with": {call.arguments or "{}"}}}'
        else:
            said = '{"answer": ' + (turn.final if turn.final is not None else json.dumps(turn.text)) + "}"
        self._inner.turn(replace(turn, text="", calls=(), final=said, opaque=None))

    def answers(self, answers: Sequence[ToolAnswer]) -> None:
        if not self._wrapped:
            self._inner.answers(answers)
            return
        for answer in answers:
            word = "failed" if answer.is_error else "gave"
            self._inner.user(f"{answer.call.name} {word}: {answer.content}")

    async def ask(self, max_tokens: int, last: bool, on_event: Callable[[ModelEvent], None] | None) -> ModelTurn:
        if not self._wrapped:
            return await self._inner.ask(max_tokens, last, on_event)
        # Left the choice, so small a model answers at once and makes it up: its first step is a call, its last one the answer.
        self._inner.narrowed = self._answer if last else None if self._count else self._call
        turn = await self._inner.ask(max_tokens, last, None)
        if turn.stop is not Stop.DONE or turn.final is None:
            return turn
        self._count += 1
        opened = opened_envelope(turn, self._spec.output.text, f"step_{self._count}")
        if on_event is not None:
            for call in opened.calls:
                on_event(CallStarted(call.name))
            if opened.final is not None:
                on_event(FinalDelta(opened.final))
            elif opened.text:
                on_event(TextDelta(opened.text))
        return opened


def envelope(spec: ConversationSpec, *, answer: bool = True) -> dict[str, object]:
    """The schema of one step: a call of one of the tools, or (`answer`) the answer."""
    steps = [_object({"call": {"const": tool.name}, "with": _bounded(tool.schema)}) for tool in spec.tools]
    definitions: dict[str, object] = {}
    if answer:
        steps.append(_only_answer(spec.output))
    for step in steps:
        definitions.update(_lift(step))
    made: dict[str, object] = {"anyOf": steps}
    return {**made, "$defs": definitions} if definitions else made


def explained(spec: ConversationSpec) -> str:
    """What the model is told about the envelope, with an example of each kind of step."""
    tools = "\n".join(f"- {tool.name}: {tool.description.splitlines()[0] if tool.description else ''}" for tool in spec.tools)
    first = spec.tools[0]
    example = json.dumps({"call": first.name, "with": _sample(first.schema)}, ensure_ascii=False)
    answer = json.dumps({"answer": "…" if spec.output.text else _sample(spec.output.schema)}, ensure_ascii=False)
    return f"Answer with one JSON object. You may call one of these tools:\n{tools}\nTo call: {example}\nTo finish: {answer}"


def opened_envelope(turn: ModelTurn, text: bool, identity: str) -> ModelTurn:
    """The turn that an envelope means. What is no envelope stays a final text, for the decoder to refuse."""
    try:
        value = json.loads(turn.final or "")
    except (ValueError, RecursionError):
        return turn
    if not isinstance(value, dict):
        return turn
    name = value.get("call")
    if isinstance(name, str):
        call = ProposedCall(identity, name, encode(value.get("with", {})).decode())
        return replace(turn, calls=(call,), stop=Stop.CALLS, final=None, text="")
    if "answer" not in value:
        return turn
    answer = value["answer"]
    if text and isinstance(answer, str):
        return replace(turn, text=answer, final=None)
    return replace(turn, final=encode(answer).decode())


def _lowered(schema: dict[str, object], provider: OpenAIProvider) -> Mapping[str, object]:
    lowered = DIALECTS[provider.dialect].output(schema)
    return lowered.schema if isinstance(lowered, Lowered) else schema


def _only_answer(output: OutputShape) -> dict[str, object]:
    return _object({"answer": {"type": "string", "maxLength": 4 * LONGEST_TEXT} if output.text else _bounded(output.schema)})


def _object(properties: Mapping[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": dict(properties), "required": list(properties), "additionalProperties": False}


def _lift(step: dict[str, object]) -> Mapping[str, object]:
    """Take the definitions out of the schemas in a step: they have to stand at the root."""
    found: dict[str, object] = {}
    properties = step["properties"]
    assert isinstance(properties, dict)
    for part in properties.values():
        if isinstance(part, dict) and isinstance(part.get("$defs"), dict):
            found.update(part.pop("$defs"))
    return found


def _bounded(schema: object) -> dict[str, object]:
    """The schema with a maximum on every text that has none."""
    made = _bound(schema)
    return made if isinstance(made, dict) else {}


def _bound(node: object) -> object:
    if isinstance(node, list):
        return [_bound(part) for part in node]
    if not isinstance(node, Mapping):
        return node
    made = {key: part if key in ("enum", "const", "default") else _bound(part) for key, part in node.items()}
    if made.get("type") == "string" and not made.keys() & {"maxLength", "enum", "const", "format", "pattern"}:
        made["maxLength"] = LONGEST_TEXT
    return made


def _sample(schema: Mapping[str, object]) -> object:
    """A value that shows the form."""
    match schema:
        case {"const": value}:
            return value
        case {"enum": [first, *_]}:
            return first
        case {"type": "object", "properties": dict(properties)}:
            return {name: _sample(part) for name, part in properties.items() if isinstance(part, Mapping)}
        case {"type": "array"}:
            return []
        case {"type": "integer" | "number"}:
            return 1
        case {"type": "boolean"}:
            return True
        case _:
            return "…"
