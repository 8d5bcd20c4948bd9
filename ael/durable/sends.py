"""Counting what really goes out: models, Python functions, MCP servers, placements and stores that note each send in a file before it (D1).

The file is opened to be appended to, and a line is written at once: what a killed process had sent is in it.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Literal, NamedTuple, cast

from ael.data import replace
from ael.journal.durable import HeldRun
from ael.journal.entry import Entry, Header, Kind, State
from ael.models.wrapped import WrappedConversation, WrappedProvider
from ael.run.bindings import Bindings
from ael.run.carrier import ConnectedService
from ael.run.connector import ConnectedModel
from ael.run.placement import PlacedAnswer, PlacedCall, Placement
from ael.run.ports import (
    CallContext,
    Conversation,
    ConversationSpec,
    ModelEvent,
    ModelProvider,
    ModelTurn,
    Question,
    RemoteAnswer,
    RemoteServer,
    Reply,
)
from ael.run.stored import Kept, Origin, StorePort  # fmt: skip
from ael.types.spec import RemoteSpec

Phase = Literal["send", "sent"]
KEPT = "kept"
"""The kind of a send to what surely does a thing once for its key."""


class Send(NamedTuple):
    """One send: the place of its call (of a store's write: its token), what it went to, and the key that it carried."""

    kind: str
    path: str
    target: str
    key: str


class Sends:
    """Notes sends in `file`. `after` is called when the outside has acted, before anything of that is recorded."""

    def __init__(self, file: Path, after: Callable[[], None]) -> None:
        self._number = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._asking: ContextVar[str] = ContextVar("asking", default="")
        self.after = after

    def note(self, send: Send) -> None:
        """Write it down, before it is made."""
        os.write(self._number, (json.dumps(send) + "\n").encode())

    def close(self) -> None:
        os.close(self._number)

    def journal(self, journal: HeldRun) -> HeldRun:
        """The journal, which says which model call is asked next in a task: a model is not told."""
        return _Told(journal, self._asking)

    def bindings(self, bindings: Bindings) -> Bindings:
        """The same world, where everything that goes out is noted."""
        providers: dict[int, ModelProvider] = {}
        for model in bindings.models.values():
            # What is code of the program sends nothing itself: what it calls does, and that is noted.
            own = isinstance(model.provider, ConnectedModel)
            noted = model.provider if own else _Provider(model.provider, self, self._asking)
            providers.setdefault(id(model.provider), noted)
        return replace(
            bindings,
            models={name: replace(model, provider=providers[id(model.provider)]) for name, model in bindings.models.items()},
            externs={name: _extern(name, function, self) for name, function in bindings.externs.items()},
            stores={name: _Store(store, name, self) for name, store in bindings.stores.items()},
            servers={name: _Server(server, self) for name, server in bindings.servers.items()},
            placements={
                name: one if isinstance(one, ConnectedService) else _Placement(one, self)
                for name, one in bindings.placements.items()
            },
        )


def read(file: Path) -> list[Send]:
    """Everything that was noted, in order. A line that its process could not finish is none."""
    if not file.exists():
        return []
    lines = file.read_text(encoding="utf-8").split("\n")[:-1]
    return [Send(*json.loads(line)) for line in lines]


class _Told:
    """A journal that remembers, for each task, which model call was begun or looked for last."""

    def __init__(self, inner: HeldRun, asking: ContextVar[str]) -> None:
        self._inner = inner
        self._asking = asking

    @property
    def header(self) -> Header:
        return self._inner.header

    @property
    def continued(self) -> bool:
        return self._inner.continued

    @property
    def active(self) -> float:
        return self._inner.active

    @property
    def begun(self) -> bool:
        return self._inner.begun

    @property
    def lost(self) -> BaseException | None:
        return self._inner.lost

    def begin(self) -> None:
        self._inner.begin()

    def hand_back(self) -> None:
        self._inner.hand_back()

    def hurry(self) -> None:
        self._inner.hurry()

    def entries(self) -> list[Entry]:
        return self._inner.entries()

    def last(self, path: str) -> Entry | None:
        found = self._inner.last(path)
        if found is not None and found.kind is Kind.MODEL:
            self._asking.set(path)
        return found

    def append(self, entry: Entry) -> Awaitable[None] | None:
        if entry.kind is Kind.MODEL and entry.state is State.STARTED:
            self._asking.set(entry.path)
        return self._inner.append(entry)


class _Provider(WrappedProvider):
    def __init__(self, inner: ModelProvider, sends: Sends, asking: ContextVar[str]) -> None:
        super().__init__(inner)
        self._sends = sends
        self._asking = asking

    def converse(self, spec: ConversationSpec) -> Conversation:
        return _Conversation(self._inner.converse(spec), spec.model, self._sends, self._asking)


class _Conversation(WrappedConversation):
    def __init__(self, inner: Conversation, model: str, sends: Sends, asking: ContextVar[str]) -> None:
        super().__init__(inner)
        self._model = model
        self._sends = sends
        self._asking = asking

    async def ask(self, max_tokens: int, last: bool, on_event: Callable[[ModelEvent], None] | None) -> ModelTurn:
        self._sends.note(Send("model", self._asking.get(), self._model, ""))
        turn = await super().ask(max_tokens, last, on_event)
        self._sends.after()
        return turn


def _extern(name: str, function: Callable[..., object], sends: Sends) -> Callable[..., object]:
    """The function as the run time calls it: asynchronous where it is, with a `call` of its own where it takes one."""
    try:
        parameter = inspect.signature(function).parameters.get("call")
    except (TypeError, ValueError):
        parameter = None
    takes = parameter is not None and parameter.kind is inspect.Parameter.KEYWORD_ONLY

    def given(call: CallContext, arguments: dict[str, object]) -> dict[str, object]:
        sends.note(Send("extern", call.step, name, call.key))
        return {**arguments, "call": call} if takes else arguments

    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):

        async def later(*, call: CallContext, **arguments: object) -> object:
            result = await cast("Awaitable[object]", function(**given(call, arguments)))
            sends.after()
            return result

        return later

    def now(*, call: CallContext, **arguments: object) -> object:
        result = function(**given(call, arguments))
        sends.after()
        return result

    return now


class _Store:
    def __init__(self, inner: StorePort, name: str, sends: Sends) -> None:
        self._inner = inner
        self._name = name
        self._sends = sends

    def of(self, tenant: str) -> _Store:
        return _Store(self._inner.of(tenant), self._name, self._sends)

    async def get(self, key: str) -> Kept | None:
        return await self._inner.get(key)

    async def put(self, key: str, value: object, token: str, origin: Origin | None = None) -> None:
        self._sends.note(Send("store", token, f"{self._name}.put", token))
        await self._inner.put(key, value, token, origin)
        self._sends.after()

    async def swap(self, key: str, was: object | None, value: object, token: str, origin: Origin | None = None) -> bool:
        self._sends.note(Send("store", token, f"{self._name}.swap", token))
        swapped = await self._inner.swap(key, was, value, token, origin)
        self._sends.after()
        return swapped

    async def remove(self, key: str, token: str) -> bool:
        self._sends.note(Send("store", token, f"{self._name}.remove", token))
        removed = await self._inner.remove(key, token)
        self._sends.after()
        return removed

    async def entries(self, limit: int) -> list[tuple[str, Kept]]:
        return await self._inner.entries(limit)

    async def page(self, after: str, limit: int) -> list[tuple[str, Kept]]:
        return await self._inner.page(after, limit)

    async def close(self) -> None:
        await self._inner.close()


class _Server:
    def __init__(self, inner: RemoteServer, sends: Sends) -> None:
        self._inner = inner
        self._sends = sends

    async def attach(self, tenant: str, caller: str) -> None:
        await self._inner.attach(tenant, caller)

    async def call(
        self,
        spec: RemoteSpec,
        arguments: Mapping[str, object],
        call: CallContext,
        ask: Callable[[Question], Awaitable[Reply]] | None,
    ) -> RemoteAnswer:
        def sending(protocol: str) -> None:
            self._sends.note(Send("mcp", call.step, f"{spec.server}.{spec.wire}", call.key))
            call.sending(protocol)

        answer = await self._inner.call(spec, arguments, replace(call, sending=sending), ask)
        self._sends.after()
        return answer

    async def close(self) -> None:
        await self._inner.close()


class _Placement:
    def __init__(self, inner: Placement, sends: Sends) -> None:
        self._inner = inner
        self._sends = sends

    @property
    def own(self) -> bool:
        return self._inner.own

    @property
    def keeps(self) -> bool:
        return self._inner.keeps

    async def call(self, call: PlacedCall) -> PlacedAnswer:
        context = call.context

        def sending(protocol: str) -> None:
            self._sends.note(Send(KEPT if self.keeps else "call", context.step, call.target, context.key))
            context.sending(protocol)

        answer = await self._inner.call(replace(call, context=replace(context, sending=sending)))
        self._sends.after()
        return answer

    async def close(self) -> None:
        await self._inner.close()


def token_of(entry: Entry) -> str:
    """What a store's write at this place carries."""
    return f"{entry.key}-{entry.digest[:16]}"


def placed(sends: Iterable[Send], entries: Iterable[Entry]) -> list[Send]:
    """The sends with the place of each store's write, by the journal of the run that made them."""
    places = {token_of(entry): entry.path for entry in entries if entry.kind is Kind.STORE}
    return [send._replace(path=places.get(send.path, send.path)) if send.kind == "store" else send for send in sends]
