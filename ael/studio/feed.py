"""What happens, live, as server-sent events: runs as they change, what waits for people, the records of the run that is looked at, and what
its model is saying where it is executed here (feature A12.15).

It looks at the store, so it is the same wherever runs are executed. A stream that broke goes on after the record that was seen last
(`Last-Event-ID`); what has no record is told anew as it is then.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import ClassVar

from ael.data import dataclass, field
from ael.durable.decide import waits_of
from ael.journal.durable import RunRow, StoreError
from ael.studio.crew import Crew
from ael.studio.desk import Desk
from ael.studio.guard import Refused
from ael.studio.listing import row_of

NEWEST = 200
"""Runs that are looked at for changes."""
_LINES = 500
"""Records in one piece."""
_TEXTS = 4_096
"""Pieces of text that wait for a page; one that does not take them gets the whole anew."""


@dataclass(eq=False)
class _Listener:
    run: str | None
    woken: asyncio.Event
    texts: deque[tuple[str, str]] = field(default_factory=deque)


@dataclass(eq=False)
class Feed:
    """The pages that listen. `look`: seconds between looks at the store, `quiet` after which a word says that the stream is alive."""

    desk: Desk
    crew: Crew
    most: int = 24
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    _listeners: set[_Listener] = field(default_factory=set)
    _rows: list[RunRow] = field(default_factory=list)
    _read: float = -1e9
    _loop: asyncio.AbstractEventLoop | None = None
    look: ClassVar[float] = 0.25
    quiet: ClassVar[float] = 15.0

    def said(self, run: str, path: str, text: str) -> None:
        """A piece of what a model says. Called from the thread of the runs."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._said, run, path, text)

    def _said(self, run: str, path: str, text: str) -> None:
        for one in self._listeners:
            if one.run == run and len(one.texts) < _TEXTS:
                one.texts.append((path, text))
                one.woken.set()

    def stop(self) -> None:
        """End all streams."""
        self.closing.set()
        for one in self._listeners:
            one.woken.set()

    async def pieces(self, run: str | None, after: int) -> AsyncIterator[str]:
        """The events for one page, until it goes or the studio ends. `run`: the one it looks at, after record `after`. Raises `Refused`."""
        if len(self._listeners) >= self.most:
            raise Refused(503, f"{self.most} pages are open, as many as there can be")
        self._loop = asyncio.get_running_loop()
        listener = _Listener(run, asyncio.Event())
        self._listeners.add(listener)
        try:
            yield "retry: 1000\n\n"
            known: dict[str, tuple[object, ...]] = {}
            told: object = None
            first, last = True, self._loop.time()
            shows = False
            while not self.closing.is_set():
                piece = ""
                try:
                    if not shows and (shows := await self._shows(run)) and run is not None:
                        listener.texts.clear()
                        saying = self.crew.text(run)
                        piece += "" if saying is None else _text(run, saying[0], saying[1], whole=True)
                    rows = await self._recent()
                    changed = [row for row in rows if known.get(row.header.run) != _mark(row)]
                    known = {row.header.run: _mark(row) for row in rows}
                    waits = sum(1 for row in rows for kind, _ in waits_of(row) if kind != "time")
                    if changed or first:
                        # The first time the page is told that it hears now, and reads the list itself.
                        told_rows = [] if first else [row_of(row) for row in changed]
                        piece += event("runs", {"rows": told_rows, "waits": waits, "first": first})
                    if run is not None:
                        # Read anew: what all pages have may be older than what this one has seen before it listened. And before its
                        # records, so that what it has come to is never told without them.
                        row = await self.desk.store.find(run)
                        lines = await self.desk.store.lines(run, after, _LINES)
                        if lines:
                            after = lines[-1].seq
                        if lines or (row is not None and _mark(row) != told):
                            told = None if row is None else _mark(row)
                            where = None if row is None else {**row_of(row), "here": self.crew.mine(run)}
                            more = {"run": run, "after": after, "row": where, "failed": run in self.crew.failed}
                            piece += event("run", more, str(after))
                    first = False
                except StoreError:
                    piece += event("trouble", {"message": "the store of the runs cannot be used; trying again"})
                texts = list(listener.texts)
                listener.texts.clear()
                if shows and run is not None:
                    # Before the word that the run has ended: after it nothing is said.
                    piece = "".join(_text(run, path, text, whole=text == "") for path, text in _joined(texts)) + piece
                if piece:
                    yield piece
                    last = self._loop.time()
                elif self._loop.time() - last >= self.quiet:
                    yield ":\n\n"
                    last = self._loop.time()
                await self._pause(listener)
        finally:
            self._listeners.discard(listener)

    async def _recent(self) -> list[RunRow]:
        """The newest runs: read once for all pages that look at about the same time."""
        now = asyncio.get_running_loop().time()
        if now - self._read >= self.look / 2:
            self._rows, self._read = await self.desk.rows(limit=NEWEST), now
        return self._rows

    async def _shows(self, run: str | None) -> bool:
        """Whether what models say is shown as it is; that it is read is recorded."""
        if run is None or self.desk.runs.evidence != "full" or not self.crew.mine(run):
            return False
        await self.desk.note(run, "ael studio: live")
        return True

    async def _pause(self, listener: _Listener) -> None:
        """Until it is time for a look; a little for text, so that it comes in pieces that are worth sending."""
        listener.woken.clear()
        try:
            async with asyncio.timeout(self.look):
                await listener.woken.wait()
            await asyncio.sleep(0.05)
        except TimeoutError:
            return


def _mark(row: RunRow) -> tuple[object, ...]:
    """What shows that a run has changed."""
    return row.state.value, row.epoch, row.waits, row.ending, row.ended, row.cancel, row.wake


def _text(run: str, path: str, text: str, *, whole: bool) -> str:
    """What a model says at `path`; `whole`: in place of all that was told of it before."""
    return event("text", {"run": run, "path": path, "text": text, "whole": whole})


def _joined(texts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Pieces of one turn as one."""
    found: list[tuple[str, str]] = []
    for path, text in texts:
        if found and text and found[-1][0] == path and found[-1][1]:
            found[-1] = (path, found[-1][1] + text)
        else:
            found.append((path, text))
    return found


def event(name: str, data: Mapping[str, object], id: str | None = None) -> str:
    """One event. JSON has no line breaks of its own, so its text is one line."""
    head = "" if id is None else f"id: {id}\n"
    return f"{head}event: {name}\ndata: {json.dumps(data, ensure_ascii=True, default=str)}\n\n"
