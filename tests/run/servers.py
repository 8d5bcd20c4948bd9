"""A fake MCP server at the port of the run time, and tools on it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from ael.data import replace
from ael.lower.unit import CompiledTool
from ael.run.ports import CallContext, Question, RemoteAnswer, RemotePart, Reply
from ael.types.signature import ParameterDef, Repeat
from ael.types.spec import ApprovalSpec, LimitSpec, RemoteSpec, RetrySpec
from ael.types.type import StringType, Type
from tests.run.helpers import tool

Ask = Callable[[Question], Awaitable[Reply]] | None


@dataclass
class Call:
    """What reached the server."""

    spec: RemoteSpec
    arguments: Mapping[str, object]
    context: CallContext
    ask: Ask


Answering = RemoteAnswer | Exception | Callable[[Call], Awaitable[RemoteAnswer]]


def text(*lines: str) -> RemoteAnswer:
    """An answer of text parts."""
    return RemoteAnswer(tuple(RemotePart("text", line) for line in lines))


def structured(value: object) -> RemoteAnswer:
    """An answer with structured content."""
    return RemoteAnswer((), value)


def failed(message: str) -> RemoteAnswer:
    """An `isError` answer."""
    return RemoteAnswer((RemotePart("text", message),), None, True)


@dataclass
class FakeServer:
    """`answers` in order; `attachment` is raised by `attach`."""

    answers: list[Answering] = field(default_factory=list)
    attachment: Exception | None = None
    attached: list[tuple[str, str]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    closed: bool = False

    async def attach(self, tenant: str, caller: str) -> None:
        self.attached.append((tenant, caller))
        if self.attachment is not None:
            raise self.attachment

    async def call(self, spec: RemoteSpec, arguments: Mapping[str, object], call: CallContext, ask: Ask) -> RemoteAnswer:
        made = Call(spec, arguments, call, ask)
        self.calls.append(made)
        answer = self.answers.pop(0)
        call.sending("2025-11-25")
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, RemoteAnswer) else await answer(made)

    async def close(self) -> None:
        self.closed = True


def remote(
    name: str,
    *parameters: ParameterDef,
    result: Type | None = None,
    spec: RemoteSpec | None = None,
    repeat: Repeat = Repeat.IDEMPOTENT,
    approval: ApprovalSpec | None = None,
    retry: RetrySpec | None = None,
    limit: LimitSpec | None = None,
    timeout: int | None = None,
    parallel: bool = False,
) -> CompiledTool:
    """The tool `crm.NAME` on the server `main.crm`; its result is the answer's text unless a type says otherwise."""
    made = tool(
        f"crm.{name}",
        None,
        *parameters,
        result=result or StringType(),
        repeat=repeat,
        approval=approval,
        retry=retry,
        limit=limit,
        timeout=timeout,
        parallel=parallel,
    )
    on = spec or RemoteSpec("main.crm", "tool", name, "0" * 64, text=result is None)
    return CompiledTool(replace(made.spec, extern=None, remote=on), None)
