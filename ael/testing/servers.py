"""MCP servers in tests: none is reached; a test says with `script crm.get_customer [ … ]` what the tools answer, turn by turn."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence

from ael.run.ports import CallContext, Question, RemoteAnswer, RemotePart, Reply
from ael.types.canonical import EncodeError, encode
from ael.types.fault import Fault, FaultKind
from ael.types.spec import RemoteSpec, ToolSpec


class ScriptedServer:
    """Stands for one server: answers by the scripts of the test that runs, in the order written. `tools` are those on it."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._names = {_key(tool.remote): _short(tool.name) for tool in tools if tool.remote is not None}
        self._answers: dict[tuple[str, str], deque[Mapping[str, object]]] = {}

    def script(self, tool: ToolSpec, turns: Sequence[object]) -> None:
        """What a tool answers from now on. Raises the fault `Malformed` for what is no JSON."""
        assert tool.remote is not None
        try:
            said = json.loads(encode(list(turns)))
        except EncodeError as error:
            raise Fault(FaultKind.MALFORMED, f"the script of `{_short(tool.name)}`: {error.message}") from None
        self._answers[_key(tool.remote)] = deque(said)

    async def attach(self, tenant: str, caller: str) -> None:
        """There is nothing to compare."""

    async def call(
        self,
        spec: RemoteSpec,
        arguments: Mapping[str, object],
        call: CallContext,
        ask: Callable[[Question], Awaitable[Reply]] | None,
    ) -> RemoteAnswer:
        """The next answer of the script."""
        name = self._names[_key(spec)]
        answers = self._answers.get(_key(spec))
        if answers is None:
            text = f"tests run without MCP servers: say what it answers with `script {name} [final(…)]`"
            raise Fault(FaultKind.UNAVAILABLE, text, sent=False, final=True)
        if not answers:
            raise Fault(FaultKind.UNAVAILABLE, f"the script of `{name}` has no more turns", sent=False, final=True)
        call.sending("script")
        return answer(spec, name, answers.popleft())

    async def close(self) -> None:
        """Nothing is held."""


def answer(spec: RemoteSpec, name: str, turn: Mapping[str, object]) -> RemoteAnswer:
    """What a turn of a script is as a server's answer. Raises the fault that it stands for."""
    match turn:
        case {"final": value}:
            return _final(spec, value)
        case {"stop": "refused", "text": str(said)}:
            return RemoteAnswer((RemotePart("text", said),), None, True)
        case {"error": "unavailable", "message": str(why)}:
            raise Fault(FaultKind.UNAVAILABLE, f"`{name}`: {why or 'it is not there'}", sent=True)
        case {"text": str(said)} if "stop" not in turn:
            return RemoteAnswer((RemotePart("text", said),))
        case _:
            message = f"the script of `{name}`: a tool answers with `final`, `text`, `refused` or `unavailable`"
            raise Fault(FaultKind.MALFORMED, message, sent=False)


def _final(spec: RemoteSpec, value: object) -> RemoteAnswer:
    """The answer that gives this value."""
    if spec.kind == "prompt" and isinstance(value, list):
        messages = [message for message in value if isinstance(message, dict)]
        parts = [RemotePart("text", str(one.get("text", "")), role=str(one.get("role", "user"))) for one in messages]
        return RemoteAnswer(tuple(parts))
    if spec.kind == "tool" and not spec.text:
        return RemoteAnswer((), value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return RemoteAnswer((RemotePart("text", text),))


def scripted_servers(tools: Mapping[str, ToolSpec]) -> dict[str, ScriptedServer]:
    """For each server that a program uses one that has no script yet."""
    by_server: dict[str, list[ToolSpec]] = {}
    for tool in tools.values():
        if tool.remote is not None:
            by_server.setdefault(tool.remote.server, []).append(tool)
    return {server: ScriptedServer(used) for server, used in by_server.items()}


def _key(remote: RemoteSpec) -> tuple[str, str]:
    return remote.kind, remote.wire


def _short(name: str) -> str:
    return name.partition(".")[2] or name
