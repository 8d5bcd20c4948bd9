"""A run under way, as Python follows it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator
from typing import Any, Generic, TypeVar

from ael.durable.execute import Taken
from ael.embed import outcome as o
from ael.embed.error import RequestError, ResultError
from ael.embed.shape import Convert
from ael.journal.durable import HandedBack, Held, StoreError
from ael.run import outcome as ended
from ael.run.codec import snapshot
from ael.run.events import Event
from ael.run.run import Run as Execution
from ael.types.fault import FaultKind
from ael.types.problem import DecodeError

T = TypeVar("T")


class Run(Generic[T]):
    """A run: `await` it for its outcome, follow `events()`, `cancel()` it.

    It goes on whether anybody waits or not, until it ends, parks, or its session is closed.
    """

    def __init__(
        self, execution: Execution, work: asyncio.Task[ended.Outcome], convert: Convert, held: Held | None = None
    ) -> None:
        self._execution = execution
        self._work = work
        self._convert = convert
        self._held = held

    @property
    def id(self) -> str:
        """The run's id, under which a kept one is found again."""
        return self._execution.id

    @property
    def done(self) -> bool:
        """Whether it has ended, or is parked."""
        return self._work.done()

    @property
    def spent(self) -> ended.Spent:
        """What was used so far."""
        return self._execution.spent

    def events(self) -> AsyncIterator[Event]:
        """All events from now to the end. Called before the first `await` after the start, it misses none.

        One who does not keep up misses pieces of text, and never another event.
        """
        return self._execution.events()

    def cancel(self, reason: str = "cancelled by the caller") -> None:
        """Have what is under way stopped and joined; the outcome is the fault `Cancelled`. A second time changes nothing."""
        self._execution.cancel(reason)

    async def outcome(self) -> o.Outcome[T]:
        """How it ended. Cancelling who waits does not cancel the run.

        Raises `ResultError` where a Python type refuses the value, and `RequestError` where the store of the runs is gone, or another
        worker has taken the run.
        """
        try:
            found = await asyncio.shield(self._work)
        except (Taken, StoreError) as error:
            raise RequestError("AEL0904", str(error)) from None
        if self._held is not None and isinstance(self._held.journal.lost, HandedBack):
            # Its session was closed, and nothing of its end is kept: it has none yet.
            return o.Suspended((), None, self.id, found.spent)
        return told(found, self.id, self._convert)

    async def settled(self) -> None:
        """Wait until nothing of it is under way any more."""
        await asyncio.wait([self._work])

    def __await__(self) -> Generator[Any, None, o.Outcome[T]]:
        return self.outcome().__await__()


def told(outcome: ended.Outcome, run: str, convert: Convert) -> o.Outcome[Any]:
    """An outcome of the run time for Python. Raises `ResultError`."""
    spent = outcome.spent
    match outcome:
        case ended.Value(value=value):
            return o.Value(converted(value, run, convert), run, spent)
        case ended.DeclaredError(error=name, value=fields):
            record = snapshot(dict(fields))
            assert isinstance(record, dict)
            return o.DeclaredError(name.rpartition(".")[2], record, name, run, spent)
        case ended.Faulted(kind=kind, message=message, details=details):
            return o.Faulted(kind, message, details, run, spent)
        case ended.Unsettled(key=key, operation=operation, step=step):
            return o.Uncertain(key, operation, step, run, spent)
        case ended.Suspended(waits=waits, wake=wake):
            return o.Suspended(waits, wake, run, spent)


def converted(value: object, run: str, convert: Convert) -> object:
    try:
        return convert(value)
    except Exception as error:  # a class of the user's was made: its own checks may say anything
        what = f"{type(error).__name__}: {error}"
        raise ResultError(f"the run {run} gave a value that its Python type refuses: {what[:_SHOWN]}", run, value) from error


_SHOWN = 500


def recorded(form: object, run: str, decode: Callable[[object], object], convert: Convert) -> o.Outcome[Any]:
    """The outcome of a run that ended earlier, from its record. Raises `RequestError` for one that was forgotten."""
    match form:
        case {"outcome": "value", "value": value}:
            return o.Value(converted(_decoded(decode, value, run), run, convert), run, _NOTHING)
        case {"outcome": "error", "error": str(name), "value": dict(value)}:
            return o.DeclaredError(name.rpartition(".")[2], value, name, run, _NOTHING)
        case {"outcome": "fault", "kind": str(kind), "message": str(message), "details": dict(details)}:
            return o.Faulted(FaultKind(kind), message, details, run, _NOTHING)
        case {"outcome": "uncertain", "key": str(key), "operation": str(operation), "step": str(step)}:
            return o.Uncertain(key, operation, step, run, _NOTHING)
    raise RequestError("AEL0905", f"the run {run} has ended, and how is no longer kept")


def _decoded(decode: Callable[[object], object], value: object, run: str) -> object:
    try:
        return decode(value)
    except DecodeError as error:
        message = f"what is kept of the run {run} does not fit the program any more: {error.text}"
        raise RequestError("AEL0906", message) from None


_NOTHING = ended.Spent()
"""What is spent by looking at how a run ended."""
