"""A small model on this machine (the extra `local`): llama.cpp's server inside the process, on the loopback address, behind a
key.

An offline demonstration, not more: see `weights.py` for what it is. The engine is loaded and the server started by the first
question.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ael.models.envelope import EnvelopeConversation
from ael.models.openai import OpenAIProvider
from ael.models.openai import create as create_openai
from ael.models.registry import Binding, BindingError, ProviderInfo
from ael.models.settings import common
from ael.models.weights import KNOWN, WeightsError, model_file
from ael.run.ports import ConversationSpec, ModelError, ModelErrorKind, ModelEvent, ModelTurn, ToolAnswer
from ael.types.value import File, Secret

DEFAULT_WINDOW = 4_096
MAX_OUTPUT = 512
"""A small model that goes on for longer than this says nothing any more."""


def create(binding: Binding, info: ProviderInfo) -> LocalProvider:
    """The local model of a binding. Raises `BindingError` when engine or weights are missing."""
    if find_spec("xllamacpp") is None:
        raise BindingError("the local model needs its engine: install `ael-lang[local]`")
    try:
        path = model_file(binding.model or "smollm2")
    except WeightsError as problem:
        raise BindingError(str(problem)) from None
    weights = KNOWN.get(binding.model or "smollm2")
    return LocalProvider(path, binding, info, weights.window if weights else DEFAULT_WINDOW)


class LocalProvider:
    """Starts its server when it is asked first; `close` ends it."""

    def __init__(self, path: Path, binding: Binding, info: ProviderInfo, window: int) -> None:
        self._path = path
        self._binding = binding
        self._info = info
        self._common = common(binding, "http://127.0.0.1:1/v1", MAX_OUTPUT)
        self._window = self._common.window or window
        self._engine: Engine | None = None
        self._starting: asyncio.Lock | None = None
        self._wire: OpenAIProvider | None = None

    @property
    def name(self) -> str:
        return "local"

    @property
    def window(self) -> int:
        return self._window

    @property
    def max_output(self) -> int:
        return self._common.max_output

    def converse(self, spec: ConversationSpec) -> LocalConversation:
        return LocalConversation(self, spec)

    async def wire(self) -> OpenAIProvider:
        """The provider that speaks to the running server. Raises `ModelError` when it cannot be started."""
        if self._wire is not None:
            return self._wire
        if self._starting is None:
            self._starting = asyncio.Lock()
        async with self._starting:
            if self._wire is None:
                key = secrets.token_urlsafe(32)
                try:
                    self._engine = await asyncio.to_thread(Engine, self._path, self._window, key)
                except Exception as problem:  # the engine throws what it likes; its text says what is wrong with the file
                    message = f"the local model cannot be started: {str(problem)[:300]}"
                    raise ModelError(ModelErrorKind.BAD_REQUEST, message) from None
                settings = {name: value for name, value in self._binding.settings.items() if name != "window"}
                bound = Binding(
                    "local", self._path.name, endpoint=f"{self._engine.address}/v1", key=Secret("local", key), settings=settings
                )
                self._wire = create_openai(bound, self._info)
        return self._wire

    async def close(self) -> None:
        wire, self._wire = self._wire, None
        engine, self._engine = self._engine, None
        if wire is not None:
            await wire.close()
        if engine is not None:
            await asyncio.to_thread(engine.stop)


class LocalConversation:
    """A conversation that is played to the server once there is one."""

    def __init__(self, provider: LocalProvider, spec: ConversationSpec) -> None:
        self._provider = provider
        self._spec = spec
        self._inner: EnvelopeConversation | None = None
        self._waiting: list[Callable[[EnvelopeConversation], None]] = []
        self._size = len(spec.system) + 512

    @property
    def size(self) -> int:
        return self._size if self._inner is None else self._inner.size

    def user(self, text: str, files: Sequence[File] = ()) -> None:
        self._size += len(text.encode("utf-8", "replace")) + 32
        self._add(lambda inner: inner.user(text, files))

    def turn(self, turn: ModelTurn) -> None:
        self._size += len(turn.text) + len(turn.final or "") + 64
        self._add(lambda inner: inner.turn(turn))

    def answers(self, answers: Sequence[ToolAnswer]) -> None:
        kept = tuple(answers)
        self._size += sum(len(answer.content) + 32 for answer in kept)
        self._add(lambda inner: inner.answers(kept))

    async def ask(self, max_tokens: int, last: bool, on_event: Callable[[ModelEvent], None] | None) -> ModelTurn:
        inner = self._inner
        if inner is None:
            inner = self._inner = EnvelopeConversation(await self._provider.wire(), self._spec)
            for add in self._waiting:
                add(inner)
            self._waiting = []
        return await inner.ask(max_tokens, last, on_event)

    def _add(self, add: Callable[[EnvelopeConversation], None]) -> None:
        if self._inner is None:
            self._waiting.append(add)
        else:
            add(self._inner)


class Engine:
    """The running server: on 127.0.0.1, on a port of the system's choice, with a key. Loading blocks; call it from a thread."""

    def __init__(self, path: Path, window: int, key: str, *, slots: int = 1, threads: int | None = None) -> None:
        engine: Any = import_module("xllamacpp")
        parameters = engine.CommonParams()
        parameters.model.path = str(path)
        parameters.hostnames = ["127.0.0.1"]
        parameters.port = 0
        parameters.api_keys = [key]
        parameters.n_ctx = window * slots
        parameters.n_parallel = slots
        parameters.cpuparams.n_threads = threads or max(1, (os.cpu_count() or 2) // 2)
        parameters.verbosity = -1
        parameters.warmup = False
        parameters.use_jinja = True
        parameters.n_threads_http = 4 + slots
        self._server: Any = engine.Server(parameters)
        self.address: str = self._server.listening_address

    def stop(self) -> None:
        """End the server; what it still answers breaks off."""
        self._server = None
