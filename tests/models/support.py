"""What the tests of models share: specs, providers against the loopback server, and events of both wire forms."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from ael.models.registry import Binding, open_provider
from ael.run.ports import (
    Conversation,
    ConversationSpec,
    ModelError,
    ModelErrorKind,
    ModelEvent,
    ModelProvider,
    ModelTurn,
    OutputShape,
    ToolAnswer,
    ToolOffer,
)  # fmt: skip
from ael.types.value import Secret
from tests.net.loopback import Answer, Asked, Loopback, whole

KEY = "sk-test-0123456789"
LOOK_UP = ToolOffer(
    "look_up",
    "Look an order up.",
    {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"], "additionalProperties": False},
)
REFUND = ToolOffer("refund", "Refund an order.", {"type": "object", "properties": {}, "additionalProperties": False})
TEXT = OutputShape({"type": "string"}, True, "answer")
REPLY = OutputShape(
    {
        "type": "object",
        "properties": {"answer": {"type": "string"}, "refunded": {"type": "boolean"}},
        "required": ["answer", "refunded"],
        "additionalProperties": False,
    },
    False,
    "Reply",
)
NUMBER = OutputShape({"type": "integer"}, False, "Count")


def spec(
    *tools: ToolOffer, output: OutputShape = TEXT, settings: Mapping[str, object] | None = None, model: str = "m", **more: Any
) -> ConversationSpec:
    return ConversationSpec(model, settings or {}, more.pop("system", "Be brief."), tools, output, **more)


def talk(
    provider: str,
    handler: Callable[[Asked], Answer] | Sequence[Answer],
    test: Callable[[ModelProvider, Loopback], Coroutine[Any, Any, None]],
    **settings: object,
) -> list[dict[str, Any]]:
    """Run a test against a provider whose endpoint is the loopback server; the JSON bodies that were sent."""
    answers = None if callable(handler) else iter(handler)

    def handle(asked: Asked) -> Answer:
        return handler(asked) if callable(handler) else next(answers or iter(()))

    async def main() -> list[dict[str, Any]]:
        async with Loopback(handle) as server:
            path = "" if provider == "anthropic" else "/v1"
            bound = Binding(provider, "m", endpoint=server.url + path, key=Secret("KEY", KEY), settings=settings)
            made = open_provider(bound)
            try:
                await test(made, server)
            finally:
                await made.close()
            return [json.loads(asked.body) for asked in server.asked]

    return asyncio.run(main())


def one(
    provider: str,
    answer: Answer,
    made: ConversationSpec | None = None,
    *,
    max_tokens: int = 1000,
    last: bool = False,
    **settings: object,
) -> tuple[ModelTurn | ModelError, list[ModelEvent], dict[str, Any]]:
    """One question: the turn or the error, the events told, and the request's body."""
    result: list[ModelTurn | ModelError] = []
    events: list[ModelEvent] = []

    async def test(opened: ModelProvider, _: Loopback) -> None:
        conversation = opened.converse(made or spec(settings=settings))
        conversation.user("hi")
        try:
            result.append(await conversation.ask(max_tokens, last, events.append))
        except ModelError as error:
            result.append(error)

    (body,) = talk(provider, [answer], test, **settings)
    return result[0], events, body


def turn_of(result: ModelTurn | ModelError) -> ModelTurn:
    assert isinstance(result, ModelTurn), f"{result.kind}: {result.message}"
    return result


def error_of(result: ModelTurn | ModelError, kind: ModelErrorKind) -> ModelError:
    assert isinstance(result, ModelError), result
    assert result.kind is kind, result.message
    return result


def answer_all(conversation: Conversation, turn: ModelTurn, content: str = "ok", *, is_error: bool = False) -> None:
    conversation.turn(turn)
    conversation.answers([ToolAnswer(call, content, is_error) for call in turn.calls])


def data(*values: object, done: bool = True) -> list[bytes]:
    """Events of the chat completions form."""
    events = [b"data: " + json.dumps(value).encode() + b"\n\n" for value in values]
    return [*events, b"data: [DONE]\n\n"] if done else events


def delta(finish: str | None = None, **fields: object) -> dict[str, object]:
    return {"id": "c", "model": "m-1", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def usage(prompt: int = 10, completion: int = 5, **more: object) -> dict[str, object]:
    return {"id": "c", "choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion, **more}}


def fragment(
    index: int | None = None, id: str | None = None, name: str | None = None, arguments: str | None = None
) -> dict[str, object]:
    call: dict[str, object] = {"type": "function", "function": {}}
    function: dict[str, object] = {}
    if index is not None:
        call["index"] = index
    if id is not None:
        call["id"] = id
    if name is not None:
        function["name"] = name
    if arguments is not None:
        function["arguments"] = arguments
    call["function"] = function
    return call


def completion(finish: str | None = "stop", used: Mapping[str, object] | None = None, **message: object) -> Answer:
    """A whole answer of the chat completions form."""
    body: dict[str, object] = {"model": "m-1", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}
    body["usage"] = {"prompt_tokens": 10, "completion_tokens": 5} if used is None else used
    return whole(json.dumps(body).encode())


def claude(*blocks: object, stop: str | None = "end_turn", used: Mapping[str, object] | None = None) -> Answer:
    """A whole answer of Anthropic's form."""
    counts = {"input_tokens": 10, "output_tokens": 5} if used is None else used
    return whole(
        json.dumps({"type": "message", "model": "c-1", "content": blocks, "stop_reason": stop, "usage": counts}).encode()
    )


def events(*values: Mapping[str, object]) -> list[bytes]:
    """Events of Anthropic's form."""
    return [f"event: {value['type']}\ndata: {json.dumps(value)}\n\n".encode() for value in values]


def claude_stream(*blocks: Sequence[object], stop: str = "end_turn", output: int = 5, **used: int) -> list[bytes]:
    """Events for blocks; each is its beginning followed by its deltas."""
    made: list[Mapping[str, object]] = [
        {"type": "message_start", "message": {"model": "c-1", "usage": {"input_tokens": 10, "output_tokens": 1, **used}}},
        {"type": "ping"},
    ]
    for index, (begin, *deltas) in enumerate(blocks):
        made.append({"type": "content_block_start", "index": index, "content_block": begin})
        made += [{"type": "content_block_delta", "index": index, "delta": part} for part in deltas]
        made.append({"type": "content_block_stop", "index": index})
    made.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": output}})
    made.append({"type": "message_stop"})
    return events(*made)
