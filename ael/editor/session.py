"""What goes on between one editor and the programs that it has open.

All that is asked waits for the analysis of what the editor has sent; nothing older is ever shown. Documents change at once, on the event
loop. Analyses and answers are computed on one worker thread, one at a time, so that a snapshot never changes under an answer. An analysis
whose program has changed meanwhile is given up and begun again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol, TypeVar

from lsprotocol import types as lsp

from ael.data import dataclass, field
from ael.editor.analysis import Program, Superseded, Where, where
from ael.editor.documents import Disk, Document, Open, Overlay, State, path_of, state_of
from ael.editor.feature import Asked
from ael.editor.garbage import Collector
from ael.editor.positions import edited
from ael.editor.reports import Reporter
from ael.editor.snapshot import Snapshot
from ael.editor.workspace import programs

T = TypeVar("T")
logger = logging.getLogger(__name__)

SLOW = 0.15
"""Seconds of an analysis from which on the next one waits for a pause in the typing, as long as itself but at most `MAX_PAUSE`."""
MAX_PAUSE = 0.5

ARRIVED: ContextVar[int] = ContextVar("ARRIVED", default=-1)
"""When the request that is being answered came, in changes."""


class Modified(Exception):
    """The document has changed since it was asked about."""


class Unknown(Exception):
    """The request is about a document that is not open and cannot be read, or that no program has."""


class Outlet(Protocol):
    """Where a session tells what nobody asked for."""

    def publish(self, uri: str, version: int | None, diagnostics: list[lsp.Diagnostic]) -> None:
        """Show what is wrong in a file."""

    def changed(self) -> None:
        """What was answered of any file may be different now, though the editor changed none."""


@dataclass(eq=False)
class _Active:
    """A program with its newest snapshot. It is up to date when `done` is `wanted`; `hurry` is set when somebody waits."""

    program: Program
    wanted: int = 0
    done: int = -1
    snapshot: Snapshot | None = None
    seconds: float = 0.0
    run: asyncio.Task[None] | None = None
    hurry: asyncio.Event = field(default_factory=asyncio.Event)
    shown: dict[str, tuple[int | None, list[lsp.Diagnostic]]] = field(default_factory=dict)
    """What was published, by URI."""


class Session:
    """The state of one connection. Everything but what is marked otherwise is called on the event loop."""

    def __init__(self, outlet: Outlet) -> None:
        self.outlet = outlet
        self.encoding: lsp.PositionEncodingKind | str = lsp.PositionEncodingKind.Utf16
        self.client = lsp.ClientCapabilities()
        self.settings: Mapping[str, object] = {}
        self.folders: list[Path] = []
        self.pushes = True
        """Whether diagnostics are published; an editor that asks for them itself would show them twice."""
        self.clock = 0
        self._disk_changed = False
        self.documents: dict[Path, Document] = {}
        self._changed: dict[Path, int] = {}
        self._places: dict[Path, Where] = {}
        self._active: dict[Where, _Active] = {}
        self.collector = Collector()
        self._disk = Disk()
        self._last = 0.0
        self._looked: dict[Path, State | None] = {}
        self._worker = ThreadPoolExecutor(1, "ael-analysis")

    # --- documents -----------------------------------------------------------------------------------------------------------

    def open(self, uri: str, version: int, text: str) -> None:
        """A document is open from now on, and what it holds is what counts."""
        path = path_of(uri)
        self._put(Document(uri, path, version, text))

    def change(self, uri: str, version: int, changes: Sequence[lsp.TextDocumentContentChangeEvent]) -> None:
        """A document changed, all changes in their order."""
        path = path_of(uri)
        before = self.documents.get(path)
        if before is None:
            logger.warning("a change of %s, which is not open", uri)
            return
        self._put(Document(before.uri, path, version, edited(before.text, list(changes), self.encoding)))

    def close(self, uri: str) -> None:
        """A document is not open any more: the file on the disk counts, if there is one."""
        path = path_of(uri)
        if self.documents.pop(path, None) is None:
            return
        self._touch([path])
        place = self._places.pop(path, None)
        if place is not None and not any(self._places.get(other) == place for other in self.documents):
            self._leave(place)

    def saved(self, uri: str) -> None:
        """A document is on the disk as it is open: others may read it there."""
        self._touch([path_of(uri)])

    def files_changed(self, uris: Iterable[str]) -> None:
        """Files changed on the disk, came or went."""
        self._disk_changed = True
        paths = [path_of(uri) for uri in uris]
        if any(path.name == "pack.ael" for path in paths):
            self._places.clear()
        self._touch(path for path in paths if path not in self.documents or path.name == "pack.ael")

    async def look(self) -> None:
        """Find out by looking which files changed on the disk, for an editor that does not tell."""
        running = [active.program for active in self._active.values()]
        paths = {path for program in running for path in program.seen} - self.documents.keys()
        missing = {path for program in running for path in program.missing}
        before, self._looked = self._looked, await asyncio.to_thread(lambda: {path: state_of(path) for path in paths})
        changed = []
        for path, now in self._looked.items():
            # What was read is as it was then; what was only looked for is as it was seen last.
            then = self._disk.state(path) or before.get(path, None if path in missing else now)
            if then != now:
                changed.append(path)
        if changed:
            self._disk_changed = True
            self._touch(changed)

    def _put(self, document: Document) -> None:
        new = document.path not in self.documents
        self.documents[document.path] = document
        if new and document.path.name == "pack.ael":
            self._places.clear()
        self._touch([document.path])
        self._follow(self._of(document.path))

    def _touch(self, paths: Iterable[Path]) -> None:
        """Files changed: what has a part of them is to be analysed again."""
        self.clock += 1
        self._last = asyncio.get_running_loop().time()
        touched = list(paths)
        for path in touched:
            self._changed[path] = self.clock
        for active in self._active.values():
            program = active.program
            if any(path in program.seen or program.owns(path) for path in touched):
                active.wanted = self.clock
                if active.shown or self._is_open(program.place):
                    self._follow(active)

    def _is_open(self, place: Where) -> bool:
        return any(self._place(path) == place for path in self.documents)

    # --- programs ------------------------------------------------------------------------------------------------------------

    def _place(self, path: Path) -> Where:
        found = self._places.get(path)
        if found is None:
            found = self._places[path] = where(path, Overlay(self.documents, self._disk, {}))
        return found

    def _of(self, path: Path) -> _Active:
        return self._at(self._place(path))

    def _at(self, place: Where) -> _Active:
        active = self._active.get(place)
        if active is None:
            active = self._active[place] = _Active(Program(place, self._disk, self.encoding), self.clock)
        return active

    def _leave(self, place: Where) -> None:
        """Nothing of a program is open any more: nothing is shown of it."""
        active = self._active.pop(place, None)
        if active is not None:
            active.wanted = -2
            for uri in active.shown:
                self.outlet.publish(uri, None, [])

    def _follow(self, active: _Active) -> None:
        """Have a program analysed."""
        if active.run is None or active.run.done():
            active.run = asyncio.ensure_future(self._run(active))

    async def _run(self, active: _Active) -> None:
        loop = asyncio.get_running_loop()
        while active.done != active.wanted >= 0:
            await self._pause(active)
            stamp, documents = active.wanted, dict(self.documents)
            begun = loop.time()
            try:
                snapshot, reports = await self.work(lambda: self._analyse(active, stamp, documents))  # noqa: B023
            except Superseded:
                continue
            active.seconds = loop.time() - begun
            active.snapshot, active.done = snapshot, stamp
            active.hurry.clear()
            self.collector.analysed()
            if active.wanted == stamp:
                self._show(active, reports)

    async def _pause(self, active: _Active) -> None:
        """Wait for a pause in the typing where an analysis takes long and nobody waits for it."""
        loop = asyncio.get_running_loop()
        pause = min(active.seconds, MAX_PAUSE) if active.seconds > SLOW else 0.0
        while not active.hurry.is_set() and (left := self._last + pause - loop.time()) > 0:
            try:
                await asyncio.wait_for(active.hurry.wait(), left)
            except TimeoutError:
                continue

    def _analyse(self, active: _Active, stamp: int, documents: Open) -> tuple[Snapshot | None, dict[Path, list[lsp.Diagnostic]]]:
        """On the worker. A mistake of AEL's own leaves the program without a snapshot until it changes."""

        def stop() -> None:
            if active.wanted != stamp:
                raise Superseded

        try:
            snapshot = active.program.analyse(documents, stop)
            reporter = Reporter(documents, self.encoding)
            return snapshot, {path: reporter.all(found) for path, found in snapshot.diagnostics.items()} if self.pushes else {}
        except Superseded:
            raise
        except Exception:
            logger.exception("the analysis of %s failed", active.program.place.root)
            return None, {}

    def _show(self, active: _Active, reports: Mapping[Path, list[lsp.Diagnostic]]) -> None:
        """Publish what is wrong: of every open file, and of others where it is something else than before."""
        if not self.pushes:
            if self._disk_changed:
                self._disk_changed = False
                self.outlet.changed()
            return
        snapshot = active.snapshot
        if snapshot is None or active.program.place not in self._active:
            return
        now: dict[str, tuple[int | None, list[lsp.Diagnostic]]] = {}
        for path in {*reports, *(path for path in snapshot.files if path in self.documents)}:
            document, file = self.documents.get(path), snapshot.files.get(path)
            if self._elsewhere(active, path):
                continue
            version = document.version if document is not None else None
            uri = document.uri if document is not None else file.uri if file is not None else path.as_uri()
            now[uri] = (version, reports.get(path, []))
        for uri in active.shown.keys() - now.keys():
            self.outlet.publish(uri, None, [])
        for uri, said in now.items():
            if active.shown.get(uri) != said:
                self.outlet.publish(uri, *said)
        active.shown = {uri: said for uri, said in now.items() if said[1] or said[0] is not None}

    def _elsewhere(self, active: _Active, path: Path) -> bool:
        """Whether a file is told of by another program: the one that it is a part of."""
        if path in self.documents:
            return self._place(path) != active.program.place
        return any(other is not active and other.program.owns(path) for other in self._active.values()) and not (
            active.program.owns(path)
        )

    # --- questions -----------------------------------------------------------------------------------------------------------

    async def work(self, task: Callable[[], T]) -> T:
        """Do something on the worker, after what it is at."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, task)

    async def _fresh(self, active: _Active) -> Snapshot:
        while active.done != active.wanted:
            if active.wanted < 0:
                raise Modified
            active.hurry.set()
            self._follow(active)
            assert active.run is not None
            await asyncio.shield(active.run)
        if active.snapshot is None:
            raise Unknown("the program cannot be analysed; the log of the server says why")
        return active.snapshot

    async def ask(self, uri: str, answer: Callable[[Asked], T]) -> T:
        """What `answer` gives for a document of the newest version. It is called on the worker.

        Raises `Modified` when the document has changed since the request came, `Unknown` when there is no such document.
        """
        path = path_of(uri)
        arrived = ARRIVED.get()
        if arrived < 0:
            arrived = self.clock
        while True:
            active = self._of(path)
            snapshot = await self._fresh(active)
            self._same(path, arrived)
            file = snapshot.files.get(path)
            if file is None:
                raise Unknown(f"no program has {uri}")
            try:
                result = await self.work(self._guarded(active, active.done, Asked(
                    snapshot, file, self.client, self.settings, self._others(active),
                ), answer))  # fmt: skip
            except Superseded:
                continue
            finally:
                if path not in self.documents and not self._is_open(active.program.place):
                    self._places.pop(path, None)
            self._same(path, arrived)
            return result

    def _same(self, path: Path, arrived: int) -> None:
        if self._changed.get(path, 0) > arrived:
            raise Modified

    def _guarded(self, active: _Active, stamp: int, asked: Asked, answer: Callable[[Asked], T]) -> Callable[[], T]:
        def work() -> T:
            if active.wanted != stamp:
                raise Superseded
            return answer(asked)

        return work

    def _others(self, own: _Active) -> Callable[[], Iterator[Snapshot]]:
        """The other programs of the workspace, each analysed where it has to be; called on the worker."""
        documents, stamp = dict(self.documents), self.clock

        def others() -> Iterator[Snapshot]:
            for place in [*self._active, *programs(self.folders)]:
                if place == own.program.place or place in seen:
                    continue
                seen.add(place)
                active = self._at(place)
                if active.snapshot is None or active.done != active.wanted:
                    active.snapshot, _ = self._analyse(active, active.wanted, documents)
                    active.done = min(active.wanted, stamp)
                if active.snapshot is not None:
                    yield active.snapshot

        seen: set[Where] = set()
        return others

    async def ask_all(self, answer: Callable[[Asked], T]) -> list[T]:
        """What `answer` gives for every program that is open or below an open folder."""
        places = dict.fromkeys([*self._active, *await self.work(lambda: list(programs(self.folders)))])
        found: list[T] = []
        for place in places:
            active = self._at(place)
            while True:
                try:
                    snapshot = await self._fresh(active)
                    main = snapshot.modules.get(snapshot.main) or next(iter(snapshot.files.values()), None)
                    if main is None:
                        break
                    asked = Asked(snapshot, main, self.client, self.settings)
                    found.append(await self.work(self._guarded(active, active.done, asked, answer)))
                    break
                except Superseded:
                    continue
                except (Unknown, Modified):
                    break
        return found

    def stop(self) -> None:
        """End the analyses."""
        for active in self._active.values():
            active.wanted = -2
        self._worker.shutdown(wait=False, cancel_futures=True)


def text_document(params: Any) -> str | None:
    """The URI of the document that the parameters of a request are about."""
    document = getattr(params, "text_document", None)
    if document is not None:
        return str(document.uri)
    for name in ("item", "data"):
        data = getattr(params, name, None)
        if isinstance(data, Mapping) and isinstance(data.get("uri"), str):
            return str(data["uri"])
        uri = getattr(data, "uri", None)
        if isinstance(uri, str):
            return uri
    return None
