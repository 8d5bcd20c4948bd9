"""Time limits as blocks: when one expires, what runs inside is cancelled, and the block raises `Expired`.

Two kinds of time are kept apart (K46). A *limit* counts active time: it stands still while the run waits for a person. An *absolute*
deadline does not. The clock is injected; the semantics of cancelling follow `asyncio.timeout`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from ael.run.ports import Clock, Timer


class Expired(Exception):
    """The time of `deadline` was up."""

    def __init__(self, deadline: Deadline) -> None:
        super().__init__(deadline.name)
        self.deadline = deadline


class Deadline:
    """`with Deadline(clock, seconds, …):`; None never expires. Enclosing ones are its `parent`, so that the time left is the least."""

    __slots__ = ("_cancelling", "_clock", "_pauses", "_since", "_task", "_timer", "absolute", "fired", "name", "parent", "when")

    def __init__(
        self, clock: Clock, seconds: float | None, name: str, parent: Deadline | None = None, absolute: bool = False
    ) -> None:
        self._clock = clock
        self.name = name
        self.parent = parent
        self.absolute = absolute
        self.when: float | None = None if seconds is None else clock.monotonic() + seconds
        self.fired = False
        self._task: asyncio.Task[object] | None = None
        self._timer: Timer | None = None
        self._cancelling = 0
        self._pauses = 0
        self._since = 0.0

    def __enter__(self) -> Deadline:
        self.due()
        self.arm()
        return self

    def due(self) -> None:
        """Raise `Expired` when it has passed."""
        if self.when is not None and self.when <= self._clock.monotonic():
            raise Expired(self)

    def arm(self) -> None:
        """Set its timer for the task that runs now; `__exit__` takes it down. One that has passed fires in a moment."""
        if self.when is not None:
            task = asyncio.current_task()
            assert task is not None
            self._task = task
            self._cancelling = task.cancelling()
            self._timer = self._clock.call_at(self.when, self._fire)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._task is None:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        task, self._task = self._task, None
        if self.fired and task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise Expired(self) from error

    def _fire(self) -> None:
        self._timer = None
        if self._task is not None and not self._pauses:
            self.fired = True
            self._task.cancel()

    @property
    def paused(self) -> bool:
        """Whether it stands still, because the run waits for a person."""
        return self._pauses > 0

    @property
    def overdue(self) -> bool:
        """Whether this or an enclosing deadline has passed, though nothing was cancelled yet: pure code may have held the loop."""
        here: Deadline | None = self
        now = self._clock.monotonic()
        while here is not None:
            if here.when is not None and not here._pauses and now >= here.when:
                return True
            here = here.parent
        return False

    def expired(self) -> Deadline | None:
        """The outermost deadline that has passed, if any."""
        found: Deadline | None = None
        here: Deadline | None = self
        now = self._clock.monotonic()
        while here is not None:
            if here.when is not None and not here._pauses and now >= here.when:
                found = here
            here = here.parent
        return found

    @property
    def depth(self) -> int:
        """How many limits there are here, this one and those around it: the same in every execution of a run."""
        return 1 + (0 if self.parent is None else self.parent.depth)

    def cut_by(self) -> int | None:
        """The depth of the outermost limit, of this and those around it, that has cancelled what is inside; None when none has."""
        outer = None if self.parent is None else self.parent.cut_by()
        return outer if outer is not None else self.depth if self.fired else None

    def left(self, *, parked: bool = False) -> float | None:
        """Seconds until the first of this and the enclosing deadlines, never below zero; None when there is none.

        `parked`: for a run that works on nothing, for which only absolute ones go on.
        """
        least: float | None = None
        here: Deadline | None = self
        while here is not None:
            if here.when is not None and (here.absolute or not parked) and (least is None or here.when < least):
                least = here.when
            here = here.parent
        return None if least is None else max(0.0, least - self._clock.monotonic())

    def pause(self) -> None:
        """A wait for a person begins: this and the enclosing limits of active time stand still. Waits may overlap."""
        here: Deadline | None = self
        while here is not None:
            if not here.absolute and here.when is not None:
                here._pauses += 1
                if here._pauses == 1:
                    here._since = self._clock.monotonic()
                    if here._timer is not None:
                        here._timer.cancel()
                        here._timer = None
            here = here.parent

    def go_on(self) -> None:
        """The wait ended: its length is added to the limits."""
        here: Deadline | None = self
        while here is not None:
            if not here.absolute and here.when is not None and here._pauses:
                here._pauses -= 1
                if not here._pauses:
                    here.when += max(0.0, self._clock.monotonic() - here._since)
                    if here._task is not None and not here.fired:
                        here._timer = self._clock.call_at(here.when, here._fire)
            here = here.parent


class Within:
    """`await Within(work, outer, inner)`: `work` within limits, whose timers are set only when it does not end without waiting.

    Most bodies of tools in memory, and many a served call, never wait, and a timer costs more than all the rest of a call. Pure code in
    them is the watchdog's.
    """

    __slots__ = ("_limits", "_work")

    def __init__(self, work: Coroutine[Any, Any, object], *limits: Deadline) -> None:
        self._work = work
        self._limits = limits

    def __await__(self) -> Generator[Any, Any, object]:
        work = self._work
        try:
            waiting = work.send(None)
        except StopIteration as ended:
            return ended.value
        try:
            with ExitStack() as entered:
                for limit in self._limits:
                    # What is late already is cancelled where it waits, so that it ends as at any other limit.
                    limit.arm()
                    entered.push(limit)
                while True:
                    try:
                        sent = yield waiting
                    except BaseException as error:
                        waiting = work.throw(error)
                    else:
                        waiting = work.send(sent)
        except StopIteration as ended:
            return ended.value
