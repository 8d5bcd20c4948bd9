"""Models behind the chat completions form: OpenAI itself, and the servers that speak it (Ollama, llama.cpp, vLLM, and many
services).

OpenAI itself takes everything its documentation says. For all others the careful habits hold, which every server of the family
understands (see docs/decisions/models.md): a named tool is asked for by offering only that tool and requiring a call;
structured output
and tools never stand in one request; the maximum is `max_tokens`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import jiter

from ael.models import openai_messages as messages
from ael.models.openai_reply import Reply
from ael.models.provider import WireProvider
from ael.models.registry import Binding, ProviderInfo
from ael.models.settings import Common, common, wire_settings
from ael.models.shape import Shape, Way, shape
from ael.models.status import from_event, from_status
from ael.models.wire import FINAL_DESCRIPTION, NOT_ACCEPTED, Frames, History, encode, estimated, from_net, object_of
from ael.net.client import Client, Target, target
from ael.net.failure import NetError
from ael.net.response import Response
from ael.net.sse import EventStream
from ael.run.ports import ConversationSpec, ModelError, ModelErrorKind, ModelEvent, ModelTurn, ToolAnswer
from ael.types.dialect import DIALECTS, Lowered
from ael.types.value import File

MAX_OUTPUT = 8_192
"""The most output tokens asked for when neither budget nor setting says less."""


def create(binding: Binding, info: ProviderInfo) -> OpenAIProvider:
    """The provider of a binding. Raises `BindingError`."""
    read = common(binding, info.endpoint, MAX_OUTPUT)
    headers: dict[str, object] = {"content-type": "application/json", **read.headers}
    client = Client(read.allowed, secrets=() if binding.key is None else (binding.key,))
    if binding.key is not None:
        headers["authorization"] = f"Bearer {binding.key.reveal()}"
    where = target(
        read.endpoint,
        "/chat/completions",
        {name: str(value) for name, value in headers.items()},
        timeouts=read.timeouts,
        resend=True,
    )
    return OpenAIProvider(info.prices or info.name, info.dialect, read, client, where)


class OpenAIProvider(WireProvider):
    """A provider that speaks chat completions."""

    def __init__(self, name: str, dialect: str, read: Common, client: Client, where: Target) -> None:
        super().__init__(name, read, client, where)
        self.dialect = dialect
        self.frames: Frames[Frame] = Frames(lambda spec: Frame(self, spec))

    @property
    def official(self) -> bool:
        """Whether this is OpenAI's own service."""
        return self.dialect == "openai"

    def converse(self, spec: ConversationSpec) -> OpenAIConversation:
        return OpenAIConversation(self, spec)


class Frame:
    """What all requests of like conversations share, encoded."""

    __slots__ = ("_provider", "_spec", "head", "last", "offered", "shape", "system", "tail")

    def __init__(self, provider: OpenAIProvider, spec: ConversationSpec) -> None:
        self._provider = provider
        self._spec = spec
        self.shape = shape(spec, provider.dialect, native_with_tools=provider.official)
        instructions = "\n\n".join(part for part in (spec.system, self.shape.addition) if part)
        self.head = b'{"model":' + encode(spec.model) + b',"messages":['
        self.system = messages.system(instructions) if instructions else b""
        self.tail = self.rest(last=False)
        self.last = self.rest(last=True)
        names = [tool.name for tool in spec.tools]
        self.offered = frozenset([*names, self.shape.tool] if self.shape.tool else names)

    def rest(self, *, last: bool, schema: Mapping[str, object] | None = None) -> bytes:
        """All of a request that is not model, messages or maximum. `schema`: what the result has to match, when not the whole
        type.
        """
        spec, made = self._spec, self.shape
        rest: dict[str, object] = wire_settings(spec.settings)
        if spec.settings.get("stream", self._provider.common.stream):
            rest["stream"] = True
            rest["stream_options"] = {"include_usage": True}
        else:
            rest["stream"] = False
        if made.way is Way.NATIVE:
            rest["response_format"] = _response_format(spec, made, made.schema if schema is None else schema)
        rest.update(self._tools(last))
        rest.update(self._provider.common.extra)
        return encode(rest)[1:]

    def _tools(self, last: bool) -> dict[str, object]:
        spec, made, official = self._spec, self.shape, self._provider.official
        tools = {tool.name: self._tool(tool.name, tool.description, tool.schema) for tool in spec.tools}
        choice: str = "none" if last else spec.tool_choice
        if made.tool:
            words = spec.output.description or FINAL_DESCRIPTION
            tools[made.tool] = _function(made.tool, words, made.schema, made.strict and official)
            # The result is a call too, so a turn without any call would be neither.
            choice = made.tool if last or not spec.tools or choice == "none" else "any" if choice == "auto" else choice
        if not tools:
            return {}
        fields: dict[str, object] = {}
        match choice:
            case "auto":
                pass
            case "any":
                fields["tool_choice"] = "required"
            case "none":
                fields["tool_choice"] = "none"
            case _ if official:
                fields["tool_choice"] = {"type": "function", "function": {"name": choice}}
            case _:
                # Several servers take an object as `auto`: one tool and "required" says the same to all.
                tools = {choice: tools[choice]} if choice in tools else tools
                fields["tool_choice"] = "required"
        fields["tools"] = list(tools.values())
        if not spec.parallel_calls:
            fields["parallel_tool_calls"] = False
        return fields

    def _tool(self, name: str, description: str, schema: Mapping[str, object]) -> object:
        lowered = DIALECTS[self._provider.dialect].tool(dict(schema))
        if isinstance(lowered, Lowered):
            return _function(name, description, lowered.schema, lowered.strict and self._provider.official)
        return _function(name, description, schema, False)


class OpenAIConversation:
    """One conversation. A request is the joined bytes of what was encoded before."""

    __slots__ = ("_frame", "_history", "_provider", "_spec", "narrowed")

    def __init__(self, provider: OpenAIProvider, spec: ConversationSpec) -> None:
        self.narrowed: Mapping[str, object] | None = None
        """What the next result has to match, where that is less than `spec.output` says."""
        self._provider = provider
        self._spec = spec
        self._history = History()
        self._frame = provider.frames.of(spec)
        if self._frame.system:
            self._history.add(self._frame.system)

    @property
    def size(self) -> int:
        return len(self._frame.head) + self._history.size + len(self._frame.tail)

    def user(self, text: str, files: Sequence[File] = ()) -> None:
        encoded = messages.user(text, files)
        self._close_finals()
        self._history.add(encoded)

    def turn(self, turn: ModelTurn) -> None:
        self._close_finals()
        by_tool = turn.final is not None and self._frame.shape.way is Way.FINAL
        ids, finals = self._history.propose(turn, 1 if by_tool else 0)
        final = (finals[0], self._frame.shape.tool) if by_tool else None
        text = rewrap(turn.final, self._frame.shape)
        self._history.add(messages.assistant(turn, ids, final, text, self._provider.identity))

    def answers(self, answers: Sequence[ToolAnswer]) -> None:
        for identity, answer in self._history.answered(answers):
            self._history.add(messages.answer(identity, answer))
        self._close_finals()

    def request(self, max_tokens: int, last: bool) -> bytes:
        """The body that `ask` would send, to the byte. Raises `ValueError` when a call has no answer."""
        self._history.settled()
        self._close_finals()
        frame = self._frame
        limit = b'],"%b":%d,' % (b"max_completion_tokens" if self._provider.official else b"max_tokens", max_tokens)
        tail = frame.last if last else frame.tail
        if self.narrowed is not None:
            tail = frame.rest(last=last, schema=self.narrowed)
        return b"".join((frame.head, b",".join(self._history.messages), limit, tail))

    async def ask(self, max_tokens: int, last: bool, on_event: Callable[[ModelEvent], None] | None) -> ModelTurn:
        provider, frame = self._provider, self._frame
        body = self.request(max_tokens, last)
        reply = Reply(
            provider.identity,
            frame.offered,
            final=frame.shape.tool,
            native=frame.shape.way is Way.NATIVE,
            unwrap=frame.shape.wrapped,
            on_event=on_event,
        )
        try:
            response = await provider.client.send(provider.where, (body,))
        except NetError as problem:
            raise from_net(problem, len(body), 0) from None
        whole = False
        try:
            if response.status != 200:
                failed = await response.read()
                raise from_status(response.status, response.header, failed, provider.client.redact, time.time())
            if response.header(b"content-type").startswith("text/event-stream"):
                await self._streamed(response, reply, len(body))
            else:
                answer = _object(await response.read(), len(body))
                if answer.get("error"):
                    raise from_event(answer["error"], provider.client.redact, estimated(len(body), 0))
                reply.whole(answer)
            turn = reply.turn(self._spec.model, len(body), max_tokens)
            whole = True
        except NetError as problem:
            raise from_net(problem, len(body), reply.size) from None
        finally:
            response.close(drain=whole)
        return turn

    async def _streamed(self, response: Response, reply: Reply, request: int) -> None:
        stream = EventStream(response)
        redact = self._provider.client.redact
        while (events := await stream.batch()) is not None:
            for event in events:
                if event.data == b"[DONE]":
                    return
                value = _object(event.data, request)
                error = value.get("error")
                if error:
                    raise from_event(error, redact, reply.usage(request))
                if event.name == b"error":
                    raise from_event(value, redact, reply.usage(request))
                reply.chunk(value)

    def _close_finals(self) -> None:
        """A final result by tool that was not accepted is answered like every call (fault kind K05)."""
        history = self._history
        if history.finals and not history.calls:
            for identity in history.finals:
                history.add(messages.answer(identity, NOT_ACCEPTED))
            history.finals = []


def rewrap(final: str | None, made: Shape) -> str:
    """A final result as the model wrote it."""
    text = final or ""
    return '{"value":' + text + "}" if made.wrapped and final is not None else text


def _function(name: str, description: str, schema: Mapping[str, object], strict: bool) -> object:
    function: dict[str, object] = {"name": name, "description": description, "parameters": schema}
    if strict:
        function["strict"] = True
    return {"type": "function", "function": function}


def _response_format(spec: ConversationSpec, made: Shape, schema: Mapping[str, object]) -> object:
    described: dict[str, object] = {"name": spec.output.name or "result", "schema": schema}
    if made.strict:
        described["strict"] = True
    if spec.output.description:
        described["description"] = spec.output.description[:1000]
    return {"type": "json_schema", "json_schema": described}


def _object(data: bytes, request: int) -> Mapping[str, object]:
    try:
        value = jiter.from_json(data)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ModelError(ModelErrorKind.MALFORMED, "the answer is no JSON object", usage=estimated(request, len(data)))
    return object_of(value)
