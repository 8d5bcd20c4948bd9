"""What keeps documents: one interface over SQLite and PostgreSQL, used through a thread of its own."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, NamedTuple, Protocol, TypeVar

T = TypeVar("T")

Written = Literal["written", "same", "older", "conflict"]
"""What became of a write: it is kept now; it was kept already; a newer version is; this version is, with something else in it."""
TOKENS = 100_000
"""Keys of calls that are remembered for each tenant; its own oldest go first, and no other tenant's."""
SWEEP = 1_000
"""Every so many writes those that are too many are looked for."""


class Document(NamedTuple):
    """`version` 0: it takes the place of whatever is there; else only of a lower one."""

    id: str
    version: int
    title: str
    source: str
    text: str

    def digest(self) -> bytes:
        """Of everything but its version."""
        return hashlib.sha256(json.dumps([self.title, self.source, self.text]).encode("utf-8", "surrogatepass")).digest()


class Found(NamedTuple):
    """A passage and how well it fits."""

    id: str
    version: int
    title: str
    source: str
    place: int
    text: str
    score: float


class Base(Protocol):
    """A database of documents. Called by one thread; raises `Fault`. `token` is the key of a call: the same one twice acts once."""

    def search(self, tenant: str, words: Sequence[str], limit: int) -> list[Found]:
        """The passages with any of the words, the best first; of equal ones by id and place."""

    def get(self, tenant: str, id: str) -> Document | None: ...

    def put(self, tenant: str, document: Document, passages: Sequence[str], token: str) -> Written: ...

    def remove(self, tenant: str, id: str, token: str) -> bool:
        """Whether it was there."""

    def close(self) -> None: ...


def verdict(kept: tuple[int, bytes] | None, document: Document) -> Written:
    """What is to become of a write, where `kept` are the version and the digest of what is there."""
    if kept is None or document.version == 0:
        return "written"
    version, digest = kept
    if document.version != version:
        return "written" if document.version > version else "older"
    return "same" if digest == document.digest() else "conflict"


class Worker:
    """The thread in which a database is used. It is opened with the first use, and again after it was closed."""

    def __init__(self, connect: Callable[[], Base]) -> None:
        self._connect = connect
        self._base: Base | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    async def do(self, work: Callable[[Base], T]) -> T:
        """Have `work` done. Raises what it raises."""
        with self._lock:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, "ael-knowledge")
            thread = self._thread
        return await asyncio.get_running_loop().run_in_executor(thread, self._work, work)

    async def close(self) -> None:
        """Close it, after what is under way."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            await asyncio.get_running_loop().run_in_executor(thread, self._disconnect)
            thread.shutdown(wait=False)

    def _work(self, work: Callable[[Base], T]) -> T:
        if self._base is None:
            self._base = self._connect()
        return work(self._base)

    def _disconnect(self) -> None:
        if self._base is not None:
            self._base.close()
            self._base = None
