"""What happens in a run, live, as server-sent events: identifiers, kinds, states and numbers, never content (feature A12.15).

It reads the journal by the numbers of its records, so it is the same wherever the run is executed, and goes on exactly after the record
that a listener saw last (`Last-Event-ID`).
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any, ClassVar

from ael.data import dataclass, field
from ael.durable.decide import waits_of
from ael.journal.durable import DurableStore, RunRow, RunState, StoreError
from ael.journal.entry import Kind, Line
from ael.server.connection import ABORT
from ael.server.guard import Receive, Scope, Send

AT_ONCE = 200
"""Records in one piece."""
_AGAIN = 2_000
"""Milliseconds after which a listener whose stream broke comes back."""
_SEEN = re.compile(r"(-?[0-9]{1,9})(\.end)?")


class TooMany(Exception):
    """No room for another listener; the sentence says whose."""


class NotSeen(Exception):
    """A `Last-Event-ID` that no event of such a stream has."""


@dataclass(eq=False)
class Streams:
    """The listeners of one desk. `tools`: the tools of the program, since a model may call others by any name, which is content.

    `closing` ends all streams. Times in seconds: `look` between looks at the journal, `quiet` after which a comment says that the stream
    is alive, `slow` that a listener has to take what is sent to it.
    """

    store: DurableStore
    tools: frozenset[str]
    most: int = 32
    share: int = 8
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    _open: Counter[str] = field(default_factory=Counter)
    look: ClassVar[float] = 0.25
    quiet: ClassVar[float] = 15.0
    slow: ClassVar[float] = 20.0

    @contextmanager
    def place(self, listener: str) -> Iterator[None]:
        """A place among the listeners. Raises `TooMany`."""
        if self._open.total() >= self.most:
            raise TooMany(f"{self.most} streams are open, as many as there can be")
        if self._open[listener] >= self.share:
            raise TooMany(f"{listener} has {self.share} streams open, as many as one caller may")
        self._open[listener] += 1
        try:
            yield
        finally:
            self._open[listener] -= 1

    async def send(self, run: str, after: int, ended: bool, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what happens in `run` after record `after` until it has ended. `ended`: the listener knows that it has.

        A listener that is gone, or does not take what is sent, is dropped.
        """
        leaving = asyncio.ensure_future(_left(receive))
        closing = asyncio.ensure_future(self.closing.wait())
        try:
            async with aclosing(self._pieces(run, after, ended, leaving, closing)) as pieces:
                async for piece in pieces:
                    async with asyncio.timeout(self.slow):
                        await send(piece)
        except TimeoutError:
            # What is in its buffers is not waited for either.
            abort: Callable[[], None] | None = scope.get(ABORT)
            if abort is not None:
                abort()
        finally:
            leaving.cancel()
            closing.cancel()

    async def _pieces(
        self, run: str, after: int, ended: bool, *until: asyncio.Future[Any]
    ) -> AsyncGenerator[dict[str, object], None]:
        """The parts of the response, to the end of the run or until one of `until` is done."""
        loop = asyncio.get_running_loop()
        row = await self.store.find(run)
        if ended and row is not None and row.state is RunState.ENDED:
            # An `EventSource` that came back after the end takes this for: do not come again.
            yield {"type": "http.response.start", "status": 204, "headers": [(b"cache-control", b"no-store")]}
            yield {"type": "http.response.body", "body": b""}
            return
        yield {"type": "http.response.start", "status": 200, "headers": _HEADERS}
        text, told, last = f"retry: {_AGAIN}\n\n", None, loop.time()
        while True:
            found = await self._look(run, after)
            if found is not None:
                row, lines = found
                for line in lines:
                    after = line.seq
                    text += _event("record", self._record(run, line), str(line.seq))
                if len(lines) == AT_ONCE:
                    yield _body(text)
                    text, last = "", loop.time()
                    continue
                state = _state(row)
                if row is None or row.state in (RunState.ENDED, RunState.DEAD):
                    yield _body(text + _event("end", {"run": run, **state}, f"{after}.end"), more=False)
                    return
                if state != told:
                    text, told = text + _event("state", {"run": run, **state}), state
            if not text and loop.time() - last >= self.quiet:
                text = ":\n\n"
            if text:
                yield _body(text)
                text, last = "", loop.time()
            await asyncio.wait(until, timeout=self.look, return_when=asyncio.FIRST_COMPLETED)
            if any(one.done() for one in until):
                yield _body("", more=False)
                return

    async def _look(self, run: str, after: int) -> tuple[RunRow | None, list[Line]] | None:
        """Where a run is, and its next records; None while the store is away."""
        try:
            # The row before the records: one that has ended gets no more.
            return await self.store.find(run), await self.store.lines(run, after, AT_ONCE)
        except StoreError:
            return None

    def _record(self, run: str, line: Line) -> dict[str, object]:
        shown = line.kind is not Kind.TOOL or line.target in self.tools
        return {
            "run": run,
            "seq": line.seq,
            "step": line.path,
            "kind": line.kind.value,
            "target": line.target if shown else None,
            "state": line.state.value,
            "ending": None if line.ending is None else line.ending.value,
            "at": line.at,
        }


_HEADERS = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]


def seen(header: str | None) -> tuple[int, bool]:
    """The number of the record that a listener saw last (-1: none), and whether it saw the end. Raises `NotSeen`."""
    if not header:
        return -1, False
    found = _SEEN.fullmatch(header)
    if found is None or int(found[1]) < -1:
        raise NotSeen
    return int(found[1]), found[2] is not None


def told_of(row: RunRow) -> dict[str, object]:
    """A run without its content: what `GET /runs/RUN` tells."""
    header = row.header
    return {
        "run": header.run,
        "entry": header.entry,
        "caller": header.caller,
        "started": header.started,
        "deadline": header.deadline,
        "cancelling": row.cancel is not None,
        "ended": row.ended,
        **_state(row),
    }


def _state(row: RunRow | None) -> dict[str, object]:
    """Where a run is, and what it waits for."""
    if row is None:
        return {"state": "forgotten", "waits": [], "ending": None}
    waits = [{"kind": kind, "step": step or None} for kind, step in waits_of(row)]
    return {"state": row.state.value, "waits": waits, "ending": row.ending or None}


def _event(name: str, data: Mapping[str, object], id: str | None = None) -> str:
    """One event. JSON has no line breaks of its own, so its text is one line."""
    head = "" if id is None else f"id: {id}\n"
    return f"{head}event: {name}\ndata: {json.dumps(data, ensure_ascii=True)}\n\n"


def _body(text: str, *, more: bool = True) -> dict[str, object]:
    return {"type": "http.response.body", "body": text.encode(), "more_body": more}


async def _left(receive: Receive) -> None:
    """Wait until the listener is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
