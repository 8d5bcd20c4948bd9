"""Calling what an MCP server offers: the arguments as its schema says them, the answer by its type, and what the server may have seen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NoReturn

from ael.data import replace
from ael.run.codec import InputCodec, ValueCodec, limits_of
from ael.run.events import ServerLogged, ToolProgressed
from ael.run.extern import context_of
from ael.run.ports import CallContext, Question, RemoteAnswer, RemotePart, RemoteServer, Reply
from ael.run.repeat import LOST_ANSWER
from ael.run.scope import Scope
from ael.run.step import Step
from ael.run.turn import replaced
from ael.run.world import World, short
from ael.types.decode import decoder
from ael.types.fault import Fault, FaultKind
from ael.types.problem import DecodeError
from ael.types.spec import RemoteSpec, ToolSpec
from ael.types.type import FileType, StringType
from ael.types.value import File

_MESSAGE = 2_000
"""Characters of a server's own words that a fault carries."""
_LINK = 500
_TOLD = 200
"""Events of one call's progress, and of its server's log: a server may say more, and nobody has to hear it."""


class RemoteTool:
    """A tool, resource or prompt of an MCP server, as a tool of the program."""

    __slots__ = (
        "_exact",
        "_input",
        "_is_file",
        "_is_text",
        "_output",
        "_permission",
        "_read",
        "_remote",
        "_server",
        "_short",
        "source",
    )

    def __init__(self, world: World, spec: ToolSpec, remote: RemoteSpec, short: str, input: InputCodec, max_output: int) -> None:
        self._remote = remote
        self._short = short
        self._permission = spec.permission
        self._server: RemoteServer | None = world.bindings.servers.get(remote.server)
        self._input = input
        result = spec.signature.result
        self._is_text = isinstance(result, StringType)
        self._is_file = isinstance(result, FileType)
        self._output: ValueCodec = world.codecs.value(result)
        limits = limits_of(world.bindings.limits)
        self._exact = None if remote.input is None else decoder(remote.input, world.codecs.definitions, limits)
        self._read = ValueCodec(result, world.codecs.definitions, limits, max_output).read
        self.source = f"mcp:{short}"
        """What the result is tainted with."""

    async def run(self, scope: Scope, path: str, step: Step, arguments: dict[str, object]) -> object:
        """Call it once; `path` is that of the attempt. Raises `Fault`; whether the server may have seen the call is in `step.sent`."""
        step.sent = False
        server = self._server
        if server is None:
            raise Fault(FaultKind.UNAVAILABLE, f"`{self._short}` is on a server that is bound to nothing here", final=True)
        form = self._form(arguments)
        context = replace(context_of(scope, step, self._permission, bool), sending=self._sending(scope, step))
        if scope.run.listening:
            context = self._followed(context, scope, step)
        try:
            answer = await server.call(self._remote, form, context, self._ask(scope, path, step))
        except Fault as fault:
            if fault.details.get("sent") is False:
                step.sent = False
            raise
        return self._value(scope.run.world.masker.answer(answer), scope.run.world.masker.text)

    async def attach(self, scope: Scope, path: str) -> None:
        """Before the call begins: `attached`. A server that is not bound is told by the call."""
        if self._server is not None:
            await attached(scope, path, self._remote.server, self._server)

    # --- what goes out ------------------------------------------------------------------------------------------------

    def _form(self, arguments: dict[str, object]) -> dict[str, object]:
        """The JSON object that is sent: one key for each argument that was given, those of `extra` beside the others (K10, K11)."""
        form = self._input.value.encode(arguments)
        assert isinstance(form, dict)
        name = self._remote.extra
        if name is not None:
            self._spread(name, form)
        if self._exact is not None:
            try:
                self._exact(form)
            except DecodeError as error:
                raise Fault(FaultKind.BAD_ARGUMENTS, error.text, sent=False) from None
        return form

    def _spread(self, name: str, form: dict[str, object]) -> None:
        """The entries of the parameter `name` are arguments of their own."""
        parameter = next(one for one in self._input.parameters if one.name == name)
        extra = form.pop(parameter.wire, None)
        if isinstance(extra, dict):
            declared = {one.wire for one in self._input.parameters}
            taken = sorted(declared & extra.keys())
            if taken:
                message = f"`{name}`: `{taken[0]}` is an argument of `{self._short}` of its own; pass it there"
                raise Fault(FaultKind.BAD_ARGUMENTS, message, sent=False)
            form.update(extra)

    def _sending(self, scope: Scope, step: Step) -> Callable[[str], None]:
        """What the server's adapter tells before bytes go out: for the repeat safety of the call, and for its span."""
        span = scope.span if scope.run.trace is not None else None
        server = self._remote.server

        def told(protocol: str) -> None:
            step.sent = True
            if span is not None:
                span.attributes.update(server=server, protocol=protocol)

        return told

    def _followed(self, context: CallContext, scope: Scope, step: Step) -> CallContext:
        """What the server says on the way, told as events: the first of each kind, without secrets."""
        run, mask = scope.run, scope.run.world.masker.text
        told = {"progress": 0, "log": 0}

        def room(kind: str) -> bool:
            told[kind] += 1
            return told[kind] <= _TOLD

        def progress(done: float, total: float | None, text: str) -> None:
            if room("progress"):
                run.emit(ToolProgressed(run.id, step.path, step.target, done, total, mask(text)))

        def logged(level: str, text: str) -> None:
            if room("log"):
                run.emit(ServerLogged(run.id, step.path, step.target, level, mask(text)))

        return replace(context, progress=progress, logged=logged)

    def _ask(self, scope: Scope, path: str, step: Step) -> Callable[[Question], Awaitable[Reply]]:
        asked = 0

        async def ask(question: Question) -> Reply:
            # Loaded when a server first asks: checking an answer needs the reading of schemas, which no other run does.
            from ael.run.elicit import ask_person

            nonlocal asked
            asked += 1
            return await ask_person(scope, f"{path}/question{asked}", step, self._short, question)

        return ask

    # --- what comes back ----------------------------------------------------------------------------------------------

    def _value(self, answer: RemoteAnswer, mask: Callable[[str], str]) -> object:
        """The typed result. `isError` wins over everything else in an answer (K25)."""
        if answer.is_error:
            # Masked before it is cut short, so that no half of a secret is left at its end (K41).
            said = mask(replaced(joined(answer.parts)).strip())
            said = said if len(said) <= _MESSAGE else f"{said[:_MESSAGE]}… ({len(said):,} characters)"
            raise Fault(FaultKind.TOOL_FAILED, f"`{self._short}` failed, its server says: {said or '(nothing)'}", sent=True)
        match self._remote.kind:
            case "tool":
                return joined(answer.parts) if self._remote.text else self._structured(answer)
            case "prompt":
                return self._decoded([{"role": part.role, "text": part_text(part)} for part in answer.parts])
            case "resource":
                return self._content(answer.parts)

    def _structured(self, answer: RemoteAnswer) -> object:
        if answer.structured is None:
            self._malformed("its server declares the type of its result, and the answer has no structured content")
        return self._decoded(answer.structured)

    def _content(self, parts: Sequence[RemotePart]) -> object:
        """What a resource holds: its text, a file, or the value that its JSON text is."""
        if self._is_text:
            return joined(parts)
        if len(parts) != 1:
            self._malformed(f"it has {len(parts)} contents, and its type takes one")
        [part] = parts
        if self._is_file:
            data = part.data if part.data is not None else part.text.encode("utf-8", "replace")
            file = File(part.media or ("text/plain" if part.data is None else "application/octet-stream"), data)
            try:
                return self._output.check(file)
            except DecodeError as error:
                self._malformed(f"it does not fit its type: {error.text}")
        if part.data is not None:
            self._malformed(f"it is {part_text(part)}, and its type is read from JSON text")
        try:
            return self._read(part.text)
        except DecodeError as error:
            self._malformed(f"it does not fit its type: {error.text}")

    def _decoded(self, form: object) -> object:
        try:
            return self._output.decode(form)
        except DecodeError as error:
            self._malformed(f"it does not fit its type: {error.text}")

    def _malformed(self, why: str) -> NoReturn:
        raise Fault(FaultKind.MALFORMED, f"the result of `{self._short}` is of no use: {why}", sent=True)


def lost(fault: Fault, step: Step) -> bool:
    """Whether `fault` leaves open if a call took effect: the server may have seen it, and its answer, if any, is not known."""
    return step.sent is not False and fault.kind in LOST_ANSWER


async def attached(scope: Scope, path: str, name: str, server: RemoteServer) -> None:
    """See to it that the server's definitions were compared with their pins in this run, before anything is sent (A9.5, A9.25)."""
    run = scope.run
    if name in run.attached:
        return
    span = run.trace.begin("server", short(name), path, scope.span) if run.trace is not None else None
    ending = "fault"
    reason: str | None = "cancelled"
    try:
        await server.attach(run.tenant, run.caller)
        ending, reason = "value", None
    except Fault as fault:
        reason = fault.kind.value
        raise
    finally:
        if span is not None:
            span.end(ending, (), None, **({} if reason is None else {"reason": reason}))
    run.attached.add(name)


async def attach_all(scope: Scope, path: str, names: Sequence[str]) -> None:
    """The same for the servers of the tools that a node offers, before it asks its model. One that is bound to nothing has no word."""
    for name in names:
        server = scope.run.world.bindings.servers.get(name)
        if server is not None:
            await attached(scope, path, name, server)


def joined(parts: Sequence[RemotePart]) -> str:
    """The text of an answer's parts."""
    return "\n".join([part_text(part) for part in parts])


def part_text(part: RemotePart) -> str:
    """A part as text; what is none stands as a marker with its kind, media type and size."""
    if part.kind == "text":
        return part.text
    said = [part.kind, *([part.media] if part.media else []), *([part.text[:_LINK]] if part.text else [])]
    size = f", {part.size:,} bytes" if part.size else ""
    return f"[{' '.join(said)}{size}]"
