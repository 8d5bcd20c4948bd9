"""What generated clients (`ael export python`) stand on: calls whose declared errors are objects of classes, too.

A call is made when it is awaited, or when its events are asked for; one that is neither never goes out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from typing import Any, Generic, NoReturn, TypeVar, cast

from ael.data import dataclass
from ael.embed.client import Call, CallOptions, Client
from ael.embed.client_sync import SyncClient
from ael.embed.error import OutcomeError, RequestError
from ael.embed.outcome import DeclaredError, Outcome
from ael.run.events import Event

E = TypeVar("E", covariant=True)
O = TypeVar("O", covariant=True)  # noqa: E741  # the outcome
Errors = Mapping[str, type]
Given = Mapping[str, object]


class Omitted:
    """The type of `OMITTED`: a parameter that is not given, so that the program's own default holds."""

    def __repr__(self) -> str:
        return "OMITTED"


OMITTED = Omitted()


@dataclass(frozen=True, slots=True)
class Failed(Generic[E]):
    """A call failed with an error that its signature lists: `error` is an object of the error's own class."""

    error: E
    run: str
    declared: DeclaredError

    def unwrap(self) -> NoReturn:
        """Raises `OutcomeError`."""
        try:
            self.declared.unwrap()
        except OutcomeError as error:
            raise error from None


class TypedCall(Generic[O]):
    """A call of a generated client: `await` it for its outcome, or go through its events first, and `await` it then."""

    def __init__(self, client: Client, asked: _Asked) -> None:
        self._client = client
        self._asked = asked
        self._followed: Call[Any] | None = None
        self._work: asyncio.Future[Outcome[Any]] | None = None

    def events(self) -> AsyncIterator[Event]:
        """Its events, once. See `Call.events`. Raises as `Client.call`, and `RequestError` for a call that is awaited already."""
        return self._begun().events()

    __aiter__ = events

    def cancel(self) -> None:
        """Give it up: the server cancels what is under way."""
        if self._work is not None:
            self._work.cancel()
        elif self._followed is not None:
            self._followed.cancel()

    def _begun(self) -> Call[Any]:
        if self._work is not None:
            raise RequestError("AEL0893", "this call is awaited already", "ask for its events before you await it")
        if self._followed is None:
            self._followed = self._client.start(self._asked.method, self._asked.given, **self._asked.keywords(self._client))
        return self._followed

    async def outcome(self) -> O:
        """How it ended. A task that is cancelled here gives the call up at the server. Raises as `Client.call`."""
        convert = self._asked.conversion(self._client)
        if self._followed is not None:
            return cast(O, convert(await self._followed.outcome()))
        if self._work is None:
            call = self._client.call(self._asked.method, self._asked.given, **self._asked.keywords(self._client))
            self._work = asyncio.ensure_future(call)
        return cast(O, convert(await self._work))

    def __await__(self) -> Generator[Any, None, O]:
        return self.outcome().__await__()


@dataclass(frozen=True, slots=True)
class _Asked:
    """One call: the method, its arguments, the type of its result, the class of each declared error by its short name."""

    method: str
    given: dict[str, object]
    result_type: object
    errors: Errors
    options: CallOptions

    def conversion(self, client: Client) -> Callable[[Outcome[Any]], object]:
        """How a plain outcome becomes a typed one. Raises `BindError` where the server is another program than the client was made for."""
        readers = client.errors(self.method, self.errors)

        def convert(outcome: Outcome[Any]) -> object:
            if isinstance(outcome, DeclaredError):
                return Failed(readers[outcome.name](outcome.fields), outcome.run, outcome)
            return outcome

        return convert

    def keywords(self, client: Client) -> dict[str, Any]:
        """What `Client.call` takes beside method and arguments. Raises as `conversion`: before anything is sent."""
        client.errors(self.method, self.errors)
        return {"result_type": self.result_type, **self.options}


class TypedClient:
    """The calls of a generated client over an open `Client`."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def call(self, method: str, given: Given, result_type: object, errors: Errors, options: CallOptions) -> TypedCall[Any]:
        """A call that has not begun."""
        return TypedCall(self.client, _Asked(method, _given(given), result_type, errors, options))


class SyncTypedClient:
    """`TypedClient` without `await`."""

    def __init__(self, client: SyncClient) -> None:
        self.client = client

    def call(self, method: str, given: Given, result_type: object, errors: Errors, options: CallOptions) -> Any:
        """Call, and wait for the outcome. An interrupt gives the call up. Raises as `Client.call`."""
        asked = _Asked(method, _given(given), result_type, errors, options)
        convert = asked.conversion(self.client.asynchronous)
        return convert(self.client.call(method, asked.given, **asked.keywords(self.client.asynchronous)))


def _given(given: Given) -> dict[str, object]:
    return {name: value for name, value in given.items() if value is not OMITTED}
