"""Models behind Anthropic's messages form."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence

import jiter

from ael.models import anthropic_messages as messages
from ael.models.anthropic_reply import Reply
from ael.models.openai import rewrap
from ael.models.provider import WireProvider
from ael.models.registry import Binding, BindingError, ProviderInfo
from ael.models.settings import Common, common, wire_settings
from ael.models.shape import Way, shape
from ael.models.status import from_event, from_status
from ael.models.wire import FINAL_DESCRIPTION, NOT_ACCEPTED, Frames, History, encode, estimated, from_net
from ael.net.client import Client, Target, target
from ael.net.failure import NetError
from ael.net.response import Response
from ael.net.sse import EventStream
from ael.run.ports import ConversationSpec, ModelError, ModelErrorKind, ModelEvent, ModelTurn, ToolAnswer
from ael.types.dialect import DIALECTS, Lowered
from ael.types.value import File

MAX_OUTPUT = 8_192
VERSION = "2023-06-01"
CACHED_CHARACTERS = 4_000
"""Shorter instructions are not marked for the cache: no model caches fewer than some 1,000 tokens."""

_WITHOUT_STRUCTURED_OUTPUT = re.compile(r"claude-(3|2|instant)|claude-(sonnet|opus)-4-(0|2025)")
_TTLS = ("5m", "1h")


def create(binding: Binding, info: ProviderInfo) -> AnthropicProvider:
    """The provider of a binding. Raises `BindingError`."""
    read = common(binding, info.endpoint, MAX_OUTPUT)
    settings = binding.settings
    cache = settings.get("cache", True)
    if not isinstance(cache, bool) and cache not in _TTLS:
        raise BindingError('the setting `cache` takes true, false, "5m" or "1h"')
    thinking(settings.get("thinking"))
    headers = {"content-type": "application/json", "anthropic-version": VERSION, **read.headers}
    if binding.key is not None:
        headers["x-api-key"] = binding.key.reveal()
    client = Client(read.allowed, secrets=() if binding.key is None else (binding.key,))
    where = target(read.endpoint, "/v1/messages", headers, timeouts=read.timeouts, resend=True)
    return AnthropicProvider(info.prices or info.name, read, client, where)


def thinking(setting: object) -> Mapping[str, object] | None:
    """The field `thinking` of a setting: true or "adaptive", false, or a budget of tokens. Raises `BindingError`."""
    match setting:
        case None:
            return None
        case True | "adaptive":
            return {"type": "adaptive"}
        case False:
            return {"type": "disabled"}
        case int() if setting >= 1024:
            return {"type": "enabled", "budget_tokens": setting}
        case _:
            raise BindingError('the setting `thinking` takes true, false, "adaptive" or a budget of at least 1024 tokens')


class AnthropicProvider(WireProvider):
    """A provider that speaks Anthropic's messages."""

    def __init__(self, name: str, read: Common, client: Client, where: Target) -> None:
        super().__init__(name, read, client, where)
        self.frames: Frames[Frame] = Frames(lambda spec: Frame(self, spec))

    def converse(self, spec: ConversationSpec) -> AnthropicConversation:
        return AnthropicConversation(self, spec)


class Frame:
    """What all requests of like conversations share, encoded."""

    __slots__ = ("_provider", "_spec", "head", "last", "marker", "marks", "shape", "tail")

    def __init__(self, provider: AnthropicProvider, spec: ConversationSpec) -> None:
        self._provider = provider
        self._spec = spec
        native = _WITHOUT_STRUCTURED_OUTPUT.search(spec.model) is None
        self.shape = shape(spec, "anthropic", native_with_tools=True, native=native)
        cache = spec.settings.get("cache", True)
        self.marker = b',"cache_control":' + encode({"type": "ephemeral", **({"ttl": cache} if cache in _TTLS else {})})
        # Without tools no further request repeats the messages: writing them to the cache would only cost.
        self.marks = bool(cache) and bool(spec.tools)
        self.head = b'{"model":' + encode(spec.model) + self._system(bool(cache)) + b',"messages":['
        self.tail = encode(self._rest(last=False))[1:]
        self.last = encode(self._rest(last=True))[1:]

    def _system(self, cache: bool) -> bytes:
        """The instructions. Their mark covers the tools too, which stand before them in what is cached."""
        text = "\n\n".join(part for part in (self._spec.system, self.shape.addition) if part.strip())
        if not text:
            return b""
        block = encode({"type": "text", "text": text})
        if cache and (len(text) >= CACHED_CHARACTERS or self.marks):
            block = block[:-1] + self.marker + b"}"
        return b',"system":[' + block + b"]"

    def _rest(self, *, last: bool) -> dict[str, object]:
        """All of a request that is not model, instructions, messages or maximum."""
        spec, made = self._spec, self.shape
        rest = wire_settings(spec.settings)
        configured: dict[str, object] = {}
        if "effort" in rest:
            configured["effort"] = rest.pop("effort")
        thought = thinking(spec.settings.get("thinking"))
        if thought is not None:
            rest["thinking"] = thought
        if made.way is Way.NATIVE:
            configured["format"] = {"type": "json_schema", "schema": made.schema}
        if configured:
            rest["output_config"] = configured
        rest["stream"] = bool(spec.settings.get("stream", self._provider.common.stream))
        rest.update(self._tools(last))
        rest.update(self._provider.common.extra)
        return rest

    def _tools(self, last: bool) -> dict[str, object]:
        spec, made = self._spec, self.shape
        tools = [_tool(tool.name, tool.description, tool.schema) for tool in spec.tools]
        choice: str = "none" if last else spec.tool_choice
        if made.tool:
            tools.append(
                {"name": made.tool, "description": spec.output.description or FINAL_DESCRIPTION, "input_schema": made.schema}
            )
            if last or not spec.tools or choice == "none":
                choice = made.tool
            elif choice == "auto":
                choice = "any"
        if not tools:
            return {}
        if made.tool and (
            spec.settings.get("thinking") not in (None, False) or not _WITHOUT_STRUCTURED_OUTPUT.search(spec.model)
        ):
            # No choice may be forced while thinking is on, which newer models have on by themselves.
            choice = "auto"
        described: dict[str, object] = {"type": choice} if choice in ("auto", "any", "none") else {"type": "tool", "name": choice}
        if not spec.parallel_calls and described["type"] != "none":
            described["disable_parallel_tool_use"] = True
        return {"tools": tools, "tool_choice": described} if described != {"type": "auto"} else {"tools": tools}


class AnthropicConversation:
    """One conversation. A request is the joined bytes of what was encoded before; only where the cached prefix ends is set
    anew.
    """

    __slots__ = ("_frame", "_history", "_marked", "_provider", "_spec")

    def __init__(self, provider: AnthropicProvider, spec: ConversationSpec) -> None:
        self._provider = provider
        self._spec = spec
        self._history = History()
        self._frame = provider.frames.of(spec)
        self._marked = -1

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
        history = self._history
        pairs = history.answered(answers)
        if pairs or history.finals:
            history.add(messages.answers(pairs, history.finals, NOT_ACCEPTED))
            history.finals = []

    def request(self, max_tokens: int, last: bool) -> bytes:
        """The body that `ask` would send, to the byte. Raises `ValueError` when a call has no answer."""
        self._history.settled()
        self._close_finals()
        frame = self._frame
        limit = b'],"max_tokens":%d,' % max_tokens
        return b"".join((frame.head, b",".join(self._messages(last)), limit, frame.last if last else frame.tail))

    async def ask(self, max_tokens: int, last: bool, on_event: Callable[[ModelEvent], None] | None) -> ModelTurn:
        provider = self._provider
        body = self.request(max_tokens, last)
        self._marked = len(self._history.messages) - 1
        made = self._frame.shape
        reply = Reply(provider.identity, final=made.tool, native=made.way is Way.NATIVE, unwrap=made.wrapped, on_event=on_event)
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
                reply.whole(_object(await response.read(), len(body)))
            turn = reply.turn(self._spec.model, len(body), max_tokens)
            whole = True
        except NetError as problem:
            raise from_net(problem, len(body), reply.size) from None
        finally:
            response.close(drain=whole)
        return turn

    async def _streamed(self, response: Response, reply: Reply, request: int) -> None:
        stream = EventStream(response)
        while (events := await stream.batch()) is not None:
            for event in events:
                value = _object(event.data, request)
                if event.name == b"error" or value.get("type") == "error":
                    raise from_event(value.get("error", value), self._provider.client.redact, reply.usage(request))
                reply.event(value)
            if reply.finished:
                return

    def _messages(self, last: bool) -> list[bytes]:
        """The messages with the ends of the cached prefix: the newest, and the one before, which the cache holds already
        (feature B27).
        """
        encoded = self._history.messages
        if not self._frame.marks or not encoded:
            return encoded
        newest = len(encoded) - 1
        with_marks = list(encoded)
        for place in {newest, self._marked} if not last else {self._marked}:
            if place >= 0 and encoded[place].startswith(b'{"role":"user"'):
                with_marks[place] = messages.marked(encoded[place], self._frame.marker)
        return with_marks

    def _close_finals(self) -> None:
        """A final result by tool that was not accepted is answered like every call (fault kind K05)."""
        history = self._history
        if history.finals and not history.calls:
            history.add(messages.answers((), history.finals, NOT_ACCEPTED))
            history.finals = []


def _tool(name: str, description: str, schema: Mapping[str, object]) -> object:
    lowered = DIALECTS["anthropic"].tool(dict(schema))
    return {"name": name, "description": description, "input_schema": lowered.schema if isinstance(lowered, Lowered) else schema}


def _object(data: bytes, request: int) -> Mapping[str, object]:
    try:
        value = jiter.from_json(data)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ModelError(ModelErrorKind.MALFORMED, "the answer is no JSON object", usage=estimated(request, len(data)))
    return value
