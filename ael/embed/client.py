"""A served program, called from Python: `async with ael.connect("https://…", token=…) as client:`.

The types are the server's own, which it tells (`GET /contract`); outcomes are those of `Session.run`.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Mapping
from datetime import UTC, datetime, timedelta
from ssl import SSLContext
from types import TracebackType
from typing import Any, Generic, Self, TypedDict, TypeVar, Unpack, overload

from ael.data import dataclass, replace
from ael.embed import outcome as o
from ael.embed.error import BindError, RequestError
from ael.embed.line import MAX_RESULT, Answer, Asked, Line
from ael.embed.options import OnEvent, seconds
from ael.embed.plain import value_of
from ael.embed.run import converted
from ael.embed.shape import Convert, ShapeError, reader
from ael.run.codec import ValueCodec, snapshot, written
from ael.run.events import Event
from ael.run.extern import full_name
from ael.run.outcome import Spent
from ael.run.placement import ResultCodec
from ael.run.progress import heard
from ael.run.run import Feed
from ael.services.contract import MethodContract
from ael.services.offered import Offered
from ael.types.definition import Definition
from ael.types.fault import FAULT_NAMES, FaultKind
from ael.types.limits import MAX_DEPTH, Limits
from ael.types.problem import DecodeError
from ael.types.type import Named

T = TypeVar("T")
Input = Mapping[str, object] | None
_ROOMY = 16 * 1024 * 1024
_LIMITS = Limits(_ROOMY, 10_000_000, MAX_DEPTH - 1, _ROOMY, _ROOMY, _ROOMY)
"""What is within a method's types is for the server to bound; here, that an answer does no harm."""
_NOTHING = Spent()
"""What calls cost is known to whoever runs the server."""
_MOST_KEY = 512
_ANEW = "the server is another version of the program than the client was made for: make it anew with `ael export python`"
Make = Callable[[Asked, OnEvent], Coroutine[Any, Any, o.Outcome[Any]]]
"""Makes a call, and tells its events."""


class CallOptions(TypedDict, total=False):
    """The keywords that `call`, `start` and `stream` take.

    `key`: names the one effect of this call, over all attempts and programs; without one it gets a key of its own. `deadline`: seconds
    from now, a `timedelta`, or a `datetime` with an offset. `trace_parent`: the W3C `traceparent` that the run's trace belongs under.
    `on_event`: called with each event of the run, in the event loop.
    """

    key: str
    deadline: float | timedelta | datetime
    trace_parent: str
    on_event: OnEvent


@dataclass(frozen=True, slots=True)
class _Types:
    """All that is known of the server's types."""

    definitions: dict[str, Definition]
    limits: Limits


@dataclass(frozen=True, slots=True)
class _Method:
    """One that can be called, its codecs made."""

    contract: MethodContract
    result: ResultCodec
    short: str


class Client:
    """A connection to a served program, made by `connect`. Used in one event loop; calls go on beside each other."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float | timedelta = 300.0,
        connect: float | timedelta = 10.0,
        attempts: int = 3,
        tls: SSLContext | None = None,
        plain: bool = False,
    ) -> None:
        if type(attempts) is not int or attempts < 1:
            raise RequestError("AEL0893", f"`attempts` is {attempts!r}, and no number of attempts")
        self._timeout = seconds(timeout, "timeout")
        self._line = Line(url, token, tls, plain=plain, attempts=attempts, connect=seconds(connect, "connect"))
        self._offered: Offered | None = None
        self._types = _Types({}, _LIMITS)
        self._methods: dict[str, _Method] = {}
        self._calls: set[Call[Any]] = set()
        self._errors: dict[str, tuple[dict[str, type], Mapping[str, Convert]]] = {}

    # --- its life ------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Ask the server what it offers. Raises `OpenError`."""
        if self._offered is not None:
            raise RequestError("AEL0893", "this client is open already")
        try:
            self._offered = await self._line.contract()
        except BaseException:
            await self._line.close()
            raise
        self._types = _Types(dict(self._offered.definitions), _LIMITS)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Give up what is under way, and close the connections. A second time does nothing."""
        self._offered = None
        calls = list(self._calls)
        for call in calls:
            call.cancel()
        await asyncio.gather(*(call.outcome() for call in calls), return_exceptions=True)
        await self._line.close()

    @property
    def methods(self) -> tuple[str, ...]:
        """What can be called, by the names that `call` takes: `Orders.get`, `answer`."""
        return tuple(sorted(_own(one.signature.name) for one in self._open().methods.values()))

    async def ready(self) -> bool:
        """Whether the server takes calls now: not while it ends, and not where nobody answers."""
        return await self._line.ready()

    # --- calls -------------------------------------------------------------------------------------------------------

    @overload
    async def call(
        self, method: str, input: Input = None, *, result_type: type[T], **asked: Unpack[CallOptions]
    ) -> o.Outcome[T]: ...
    @overload
    async def call(
        self, method: str, input: Input = None, *, result_type: object = None, **asked: Unpack[CallOptions]
    ) -> o.Outcome[Any]: ...
    async def call(
        self, method: str, input: Input = None, *, result_type: object = None, **asked: Unpack[CallOptions]
    ) -> o.Outcome[Any]:
        """Call an operation (`Orders.get`), a node or an agent (`answer`), and wait for its outcome.

        `input`: its arguments by name, as Python values, dataclasses or pydantic models. `result_type`: what the value becomes, as for
        `Session.run`. For the keywords see `CallOptions`. A task that is cancelled here gives the call up at the server. A call whose
        answer was lost is `Uncertain`, unless the method may be repeated: the same `key` asks again what became of it.

        Raises `RequestError` for a method that is not there and for an input that is no data, `BindError` for a `result_type` that cannot
        hold the result, `ResultError` where that refuses the value.
        """
        return await self._made(*self._asked(method, input, result_type, asked), asked.get("on_event"))

    @overload
    def start(self, method: str, input: Input = None, *, result_type: type[T], **asked: Unpack[CallOptions]) -> Call[T]: ...
    @overload
    def start(
        self, method: str, input: Input = None, *, result_type: object = None, **asked: Unpack[CallOptions]
    ) -> Call[Any]: ...
    def start(self, method: str, input: Input = None, *, result_type: object = None, **asked: Unpack[CallOptions]) -> Call[Any]:
        """Start a call, to follow it, to wait for it, or to cancel it. Parameters and exceptions as for `call`."""
        made, found, convert = self._asked(method, input, result_type, asked)

        def make(asked: Asked, on_event: OnEvent) -> Coroutine[Any, Any, o.Outcome[Any]]:
            return self._made(asked, found, convert, on_event)

        call: Call[Any] = Call(made, found.short, make, asked.get("on_event"))
        self._calls.add(call)
        call.when_done(lambda: self._calls.discard(call))
        return call

    stream = start
    """The same, by the name of what it is for: `async for event in client.stream(…)`."""

    def errors(self, method: str, classes: Mapping[str, type]) -> Mapping[str, Convert]:
        """How the declared errors of a method become objects of `classes` (by their short names), by qualified name.

        Raises `RequestError` for a method that is not there, `BindError` where an error has no class, or one that cannot hold it.
        """
        found = self._method(method)
        known = self._errors.get(found.short)
        if known is not None and known[0] == classes:
            return known[1]
        readers: dict[str, Convert] = {}
        for name in sorted(found.contract.signature.fails & self._types.definitions.keys()):
            module, _, short = name.rpartition(".")
            if not module:  # `Uncertain`, which is an outcome of its own
                continue
            if short not in classes:
                raise BindError("AEL0892", f"`{found.short}` can fail with `{short}`, which this client does not know", _ANEW)
            try:
                readers[name] = reader(classes[short], Named(name), self._types.definitions)
            except ShapeError as error:
                raise BindError("AEL0892", f"`{classes[short].__name__}` does not fit `{short}`: {error}", _ANEW) from None
        self._errors[found.short] = (dict(classes), readers)
        return readers

    # --- inside --------------------------------------------------------------------------------------------------------

    def _open(self) -> Offered:
        if self._offered is None:
            raise RequestError("AEL0893", "this client is not open", "use it inside of `async with ael.connect(…) as client:`")
        return self._offered

    def _asked(self, name: str, input: Input, result_type: object, asked: CallOptions) -> tuple[Asked, _Method, Convert]:
        """A call before it is made."""
        method = self._method(name)
        convert = self._convert(method, result_type)
        body = self._body(method, input)
        key = asked.get("key") or secrets.token_hex(16)
        if not (key.isascii() and key.isprintable() and " " not in key and len(key) <= _MOST_KEY):
            raise RequestError("AEL0893", f"`key` is {key[:80]!r}: a key has at most {_MOST_KEY} visible ASCII characters")
        until = asyncio.get_running_loop().time() + self._left(asked.get("deadline"))
        return Asked(method.contract, body, key, until, asked.get("trace_parent")), method, convert

    def _left(self, deadline: float | timedelta | datetime | None) -> float:
        if isinstance(deadline, datetime):
            if deadline.tzinfo is None:
                raise RequestError("AEL0893", "`deadline` is a datetime without an offset", "write `datetime.now(UTC) + …`")
            return (deadline - datetime.now(UTC)).total_seconds()
        return self._timeout if deadline is None else seconds(deadline, "deadline")

    def _method(self, name: str) -> _Method:
        """A method by its own name, the whole one, or its path. Raises `RequestError`."""
        offered = self._open()
        known = self._methods.get(name)
        if known is not None:
            return known
        found = [
            one for path, one in offered.methods.items() if name in (path, path[1:], one.signature.name, _own(one.signature.name))
        ]
        if len(found) != 1:
            what = f"the server offers no `{name[:200]}`" if not found else f"the server offers several `{name[:200]}`"
            raise RequestError("AEL0895", what, f"it offers {', '.join(self.methods) or 'nothing'}")
        signature, types = found[0].signature, self._types
        types.definitions[_input(signature.name)] = signature.input_record()
        made = _Method(
            found[0],
            ResultCodec(signature.result, types, MAX_RESULT),
            _own(signature.name),
        )
        self._methods[name] = made
        return made

    def _convert(self, method: _Method, result_type: object) -> Convert:
        if result_type is None:
            return snapshot
        try:
            return reader(result_type, method.contract.signature.result, self._types.definitions)
        except ShapeError as error:
            raise BindError("AEL0892", f"`result_type` does not fit `{method.short}`: {error}") from None

    def _body(self, method: _Method, input: Input) -> bytes:
        """The arguments as they go out."""
        record = Named(_input(method.contract.signature.name))
        try:
            return written(value_of(dict(input or {}), record, self._types.definitions))
        except DecodeError as error:
            raise RequestError("AEL0841", f"the input of `{method.short}` is no data: {error.text}") from None

    async def _made(self, asked: Asked, method: _Method, convert: Convert, on_event: OnEvent | None) -> o.Outcome[Any]:
        if on_event is not None:
            asked = replace(asked, told=_telling(on_event))
        answer = await self._line.ask(asked)
        if answer.body is not None:
            try:
                value = method.result.read(answer.body)
            except DecodeError as error:
                return _unread(asked, method, answer, f"its result does not fit: {error.text}")
            return o.Value(converted(value, answer.run, convert), answer.run, _NOTHING)
        return self._ended(asked, method, answer)

    def _ended(self, asked: Asked, method: _Method, answer: Answer) -> o.Outcome[Any]:
        """How a call ended that gave no value."""
        ending: Mapping[str, object] = answer.ending or {}
        details = ending.get("details")
        match ending:
            case _ if answer.lost and not asked.repeatable:
                return o.Uncertain(asked.key, method.short, "", answer.run, _NOTHING)
            case {"outcome": "uncertain", "key": str(key), "operation": str(operation), "step": str(step)}:
                return o.Uncertain(key, operation, step, answer.run, _NOTHING)
            case {"outcome": "fault", "kind": str(kind), "message": str(message)} if kind in FAULT_NAMES:
                return o.Faulted(
                    FaultKind(kind), message, dict(details) if isinstance(details, Mapping) else {}, answer.run, _NOTHING
                )
            case {"outcome": "error", "error": str(error), "value": value}:
                name = full_name(method.contract.signature.fails, error.rpartition(".")[2])
                if name in self._types.definitions and name in method.contract.signature.fails:
                    try:
                        fields = ValueCodec(Named(name), self._types.definitions, _LIMITS).decode(value)
                    except DecodeError as problem:
                        return _unread(asked, method, answer, f"its error does not fit: {problem.text}")
                    assert isinstance(fields, dict)
                    return o.DeclaredError(name.rpartition(".")[2], fields, name, answer.run, _NOTHING)
        return _unread(asked, method, answer, "it ended in a way that is not known here")


class Call(Generic[T]):
    """A call under way: iterate over its events, `await` it for its outcome, `cancel()` it. `key` names it."""

    def __init__(self, asked: Asked, operation: str, make: Make, on_event: OnEvent | None) -> None:
        self.key = asked.key
        self._operation = operation
        self._repeatable = asked.repeatable
        self._sent = False
        self._hear = on_event
        self._feed = Feed()
        self._work = asyncio.ensure_future(make(replace(asked, sending=self._sending), self._told))
        self.when_done(self._feed.close)

    def _sending(self) -> None:
        self._sent = True

    def _told(self, event: Event) -> None:
        self._feed.put(event)
        if self._hear is not None:
            self._hear(event)

    def when_done(self, act: Callable[[], None]) -> None:
        """Do something when its outcome is there."""
        self._work.add_done_callback(lambda _: act())

    @property
    def done(self) -> bool:
        """Whether its outcome is there."""
        return self._work.done()

    def events(self) -> AsyncIterator[Event]:
        """Its events, once. One who does not keep up misses pieces of text; of a call that is sent again they begin anew."""
        return self._feed

    __aiter__ = events

    def cancel(self) -> None:
        """Give it up: the server cancels what is under way. The outcome is the fault `Cancelled`; `Uncertain` where it may have acted."""
        self._work.cancel()

    async def outcome(self) -> o.Outcome[T]:
        """How it ended. Cancelling who waits does not cancel it. Raises `ResultError` where a Python type refuses the value."""
        try:
            return await asyncio.shield(self._work)
        except asyncio.CancelledError:
            if not self._work.cancelled():
                raise
        if self._sent and not self._repeatable:
            return o.Uncertain(self.key, self._operation, "", "", _NOTHING)
        return o.Faulted(FaultKind.CANCELLED, "the call was given up", {}, "", _NOTHING)

    def __await__(self) -> Generator[Any, None, o.Outcome[T]]:
        return self.outcome().__await__()


def connect(
    url: str,
    *,
    token: str | None = None,
    timeout: float | timedelta = 300.0,
    connect: float | timedelta = 10.0,
    attempts: int = 3,
    tls: SSLContext | None = None,
    plain: bool = False,
) -> Client:
    """A client of the program that `ael serve` serves at `url`; `async with` opens it.

    `token`: of a caller of its deployment. `timeout`: of a call that has no deadline, `connect`: to reach the server, both in seconds or as
    a `timedelta`. `attempts`: how often a call is sent at most, where that does no harm. `tls`: in place of the system's authorities.
    `plain`: take `http://` of another machine too, where nobody listens. Raises `OpenError` for what is no such address.
    """
    return Client(url, token=token, timeout=timeout, connect=connect, attempts=attempts, tls=tls, plain=plain)


def _own(name: str) -> str:
    """`Orders.get` of `main.Orders.get`."""
    return name.partition(".")[2] or name


def _input(name: str) -> str:
    """The name of the record of a method's arguments, which no declaration has."""
    return f"input {name}"


def _telling(on_event: OnEvent) -> Callable[[str, object], None]:
    run, failed = "", False

    def told(name: str, data: object) -> None:
        nonlocal run, failed
        given = data.get("run") if isinstance(data, Mapping) else None
        run = given if isinstance(given, str) else run
        event = heard(name, data, run, lambda path: path)
        if event is not None and not failed:
            try:
                on_event(event)
            except Exception:  # a function of the user's: that it fails changes nothing, as in a session
                failed = True

    return told


def _unread(asked: Asked, method: _Method, answer: Answer, why: str) -> o.Outcome[Any]:
    """An answer that says nothing: what may not be repeated may have been done."""
    if not asked.repeatable:
        return o.Uncertain(asked.key, method.short, "", answer.run, _NOTHING)
    return o.Faulted(FaultKind.MALFORMED, f"the answer of `{method.short}` is of no use: {why}", {}, answer.run, _NOTHING)
