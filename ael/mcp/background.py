"""What happens in a session that no caller waits for: notices, the server's own requests, farewells. All of it bounded."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from math import inf
from typing import Final

from ael.mcp import message
from ael.mcp.failure import McpError
from ael.mcp.limits import SessionLimits
from ael.mcp.listener import Elicitation, ElicitationReply, Listener
from ael.mcp.message import Id, Notice, Request
from ael.mcp.transport import Transport, shown
from ael.mcp.version import BUSY, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from ael.net.redact import bounded
from ael.types.canonical import EncodeError
from ael.types.fault import FaultKind

FAREWELL: Final = 5.0
"""Seconds for a message that nobody waits for."""
_LINES = 256
_LONGEST = 1_000
_TURNS = 32
"""Things that the listener is told in one turn of the loop."""
_CHANGES: Mapping[str, str] = {
    "notifications/tools/list_changed": "tools",
    "notifications/resources/list_changed": "resources",
    "notifications/prompts/list_changed": "prompts",
}


class Background:
    """The tasks of a session that belong to no caller. `hold` is told 1 when a person is asked, and -1 when no longer."""

    def __init__(
        self, listener: Listener, limits: SessionLimits, transport: Transport, hold: Callable[[int], None], *, elicitation: bool
    ) -> None:
        self.asking = 0
        self._listener = listener
        self._limits = limits
        self._transport = transport
        self._hold = hold
        self._elicitation = elicitation
        self._tasks: set[asyncio.Task[None]] = set()
        self._answering: dict[Id, asyncio.Task[None]] = {}
        self._sending = 0
        self._changes: dict[str, None] = {}
        self._lines: deque[tuple[str, str]] = deque(maxlen=_LINES)
        self._speaker: asyncio.Task[None] | None = None
        self._closed = False

    # --- what is passed on

    def note(self, text: str) -> None:
        """A line about what was skipped."""
        self._line("debug", text)

    def changed(self, what: str) -> None:
        """A listing may have changed."""
        self._changes[what] = None
        self._speak()

    def notice(self, notice: Notice) -> None:
        """A notification of the server; one that AEL does not know says nothing (fault kind K24)."""
        match notice.method:
            case method if method in _CHANGES:
                self.changed(_CHANGES[method])
            case "notifications/message":
                level, data = notice.params.get("level"), notice.params.get("data")
                with contextlib.suppress(EncodeError):
                    text = data if isinstance(data, str) else message.encode(data).decode()
                    self._line(level if isinstance(level, str) and len(level) < 16 else "info", text)
            case "notifications/cancelled":
                id = notice.params.get("requestId")
                task = self._answering.get(id) if isinstance(id, int | str) and type(id) is not bool else None
                if task is not None:
                    task.cancel()

    def _line(self, level: str, text: str) -> None:
        self._lines.append((level, shown(self._transport, text, _LONGEST)))
        self._speak()

    def _speak(self) -> None:
        if self._speaker is None and not self._closed:
            self._speaker = self.start(self._pass_on(), "MCP: what is told to the listener")

    async def _pass_on(self) -> None:
        """Tell the listener, apart from the reading: what it does then may itself ask the server (fault kind K21)."""
        try:
            turns = 0
            while self._changes or self._lines:
                turns += 1
                if turns % _TURNS == 0:
                    await asyncio.sleep(0)
                with contextlib.suppress(Exception):
                    if self._changes:
                        what = next(iter(self._changes))
                        del self._changes[what]
                        self._listener.changed(what)
                    elif self._lines:
                        self._listener.log(*self._lines.popleft())
        finally:
            self._speaker = None

    # --- what the server asks for

    def request(self, request: Request, *, answerable: bool) -> None:
        """Answer a request of the server; `answerable` is not where the protocol has no way for an answer."""
        if not answerable:
            self.note("a request of the server was skipped: in this revision it cannot ask by itself")
            return
        match request.method:
            case "ping":
                self.tell("ping", message.result(request.id, {}))
            case "elicitation/create" if self._elicitation:
                if len(self._answering) >= self._limits.asking or request.id in self._answering:
                    self.tell(request.method, message.error(request.id, BUSY, "too many questions at once"))
                else:
                    task = self.start(self._answer(request), "MCP: a question of the server")
                    self._answering[request.id] = task
                    task.add_done_callback(lambda _: self._answering.pop(request.id, None))
            case _:
                self.tell(request.method, message.error(request.id, METHOD_NOT_FOUND, "not offered by this client"))

    async def _answer(self, request: Request) -> None:
        try:
            question = _question(request.params)
            if question is None:
                body = message.error(request.id, INVALID_PARAMS, "the question is not as MCP says")
            else:
                body = message.result(request.id, await self._ask(question))
        except EncodeError:
            body = message.error(request.id, INTERNAL_ERROR, "the answer cannot be sent")
        except Exception:
            body = message.error(request.id, INTERNAL_ERROR, "the question could not be asked")
        await self._tell(request.method, body)

    async def inputs(self, result: Mapping[str, object], until: float) -> Mapping[str, object]:
        """What the server wants before it answers (revision 2026-07-28): the parameters for asking again. Raises `McpError`.

        `until` in the loop's time. The state goes back as it came; one that did not come does not go.
        """
        state, wanted = result.get("requestState"), result.get("inputRequests")
        if not (state is None or type(state) is str) or not (wanted is None or type(wanted) is dict):
            raise _malformed("what it wants before it answers is not as MCP says")
        if not wanted and state is None:
            raise _malformed("it wants something before it answers, and does not say what")
        if wanted and len(wanted) > self._limits.asking:
            raise _malformed(f"it wants more than {self._limits.asking} things at once")
        more: dict[str, object] = {} if state is None else {"requestState": state}
        try:
            async with asyncio.timeout_at(None if until == inf else until):
                if not wanted:
                    await asyncio.sleep(0.1)
                    return more
                more["inputResponses"] = {key: await self._input(request) for key, request in wanted.items()}
                return more
        except TimeoutError:
            raise McpError(FaultKind.TIMEOUT, "nobody answered the server's question before the deadline", sent=True) from None

    async def opened(self, wanted: object, until: float) -> bool:
        """Whether a person has opened every address that an error -32042 names in its data. Raises `McpError`; nothing was done yet."""
        listed = wanted.get("elicitations") if type(wanted) is dict else None
        if not self._elicitation or type(listed) is not list or not 0 < len(listed) <= self._limits.asking:
            return False
        questions = [_question(one) if type(one) is dict else None for one in listed]
        if any(question is None or question.url is None for question in questions):
            return False
        try:
            async with asyncio.timeout_at(None if until == inf else until):
                for question in questions:
                    if question is not None and (await self._ask(question))["action"] != "accept":
                        return False
                return True
        except TimeoutError:
            raise McpError(FaultKind.TIMEOUT, "nobody answered the server's question before the deadline", sent=False) from None

    async def _input(self, request: object) -> Mapping[str, object]:
        params = request.get("params") if type(request) is dict else None
        if type(request) is not dict or type(params) is not dict:
            raise _malformed("what it wants before it answers is not as MCP says")
        if request.get("method") != "elicitation/create" or not self._elicitation:
            asked = request.get("method")
            what = bounded(asked, 60) if isinstance(asked, str) else "something without a name"
            raise McpError(FaultKind.DENIED, f"the server asks for `{what}`, which this side does not offer", sent=True)
        question = _question(params)
        if question is None:
            raise _malformed("its question is not as MCP says")
        return await self._ask(question)

    async def _ask(self, question: Elicitation) -> Mapping[str, object]:
        self.asking += 1
        self._hold(1)
        try:
            reply = await self._listener.elicit(question)
        finally:
            self.asking -= 1
            self._hold(-1)
        return _reply(reply, question)

    # --- tasks

    def tell(self, method: str, body: bytes) -> None:
        """Send something that nobody waits for. A server that floods with requests gets no more answers than it reads."""
        if self._closed or self._sending >= self._limits.replies:
            self.note("an answer was not sent: too many are under way")
            return
        self._sending += 1
        self.start(self._tell_one(method, body), "MCP: a message nobody waits for")

    async def _tell_one(self, method: str, body: bytes) -> None:
        try:
            await self._tell(method, body)
        finally:
            self._sending -= 1

    async def _tell(self, method: str, body: bytes) -> None:
        with contextlib.suppress(McpError, TimeoutError):
            async with asyncio.timeout(FAREWELL):
                await self._transport.tell(method, body, FAREWELL)

    def start(self, work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        """A task that ends with the session at the latest."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()

    async def close(self) -> None:
        """End all of it."""
        self._closed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)


def _question(params: Mapping[str, object]) -> Elicitation | None:
    text, schema, mode, url = params.get("message"), params.get("requestedSchema"), params.get("mode", "form"), params.get("url")
    if type(text) is not str:
        return None
    if mode == "url":
        return Elicitation(text, {}, url) if type(url) is str else None
    return Elicitation(text, schema) if mode == "form" and type(schema) is dict else None


def _reply(reply: ElicitationReply, question: Elicitation) -> Mapping[str, object]:
    """The answer as it goes out. A field that a form leaves alone has the default of its schema, as the form would have shown it."""
    if reply.action != "accept" or question.url is not None:
        return {"action": reply.action}
    fields = question.schema.get("properties")
    known = fields.items() if type(fields) is dict else ()
    defaults = {name: field["default"] for name, field in known if type(field) is dict and "default" in field}
    return {"action": "accept", "content": {**defaults, **(reply.content or {})}}


def _malformed(what: str) -> McpError:
    return McpError(FaultKind.MALFORMED, f"the server's answer cannot be used: {what}", sent=True)
