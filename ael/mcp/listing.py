"""What a server offers, over all its pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from ael.mcp.failure import McpError
from ael.mcp.limits import SessionLimits
from ael.net.redact import bounded
from ael.types.canonical import EncodeError, digest
from ael.types.fault import FaultKind

What = Literal["tools", "resources", "resourceTemplates", "prompts"]

METHODS: Mapping[What, str] = {
    "tools": "tools/list",
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
    "prompts": "prompts/list",
}
CAPABILITY: Mapping[What, str] = {
    "tools": "tools",
    "resources": "resources",
    "resourceTemplates": "resources",
    "prompts": "prompts",
}
_KEY: Mapping[What, str] = {"tools": "name", "resources": "uri", "resourceTemplates": "uriTemplate", "prompts": "name"}


class Listing(tuple[Mapping[str, object], ...]):
    """The definitions as the server gave them, each name once, in its order.

    `refused`: names that cannot be used, with the reason: two different definitions under one name (neither is in the listing), a mark
    that is not allowed. `nameless`: how many definitions had no name at all. `lifetime`: seconds for which the server says that the
    listing stays as it is (None where it says nothing).
    """

    refused: Mapping[str, str]
    nameless: int
    lifetime: float | None

    def __new__(
        cls,
        items: Iterable[Mapping[str, object]] = (),
        refused: Mapping[str, str] | None = None,
        nameless: int = 0,
        lifetime: float | None = None,
    ) -> Listing:
        made = super().__new__(cls, items)
        made.refused = refused or {}
        made.nameless = nameless
        made.lifetime = lifetime
        return made


class Pages:
    """Takes pages until there are no more, within the limits."""

    def __init__(self, what: What, limits: SessionLimits) -> None:
        self._what = what
        self._limits = limits
        self._cursors: set[str] = set()
        self._pages = 0
        self._bytes = 0
        self._items: dict[str, Mapping[str, object]] = {}
        self._digests: dict[str, str] = {}
        self._refused: dict[str, str] = {}
        self._nameless = 0
        self._lifetime: float | None = None

    def add(self, page: Mapping[str, object], size: int) -> str | None:
        """Take a page of `size` bytes; the cursor of the next one, or None. Raises `McpError`."""
        self._pages += 1
        self._bytes += size
        items = page.get(self._what)
        if type(items) is not list:
            raise self._problem(FaultKind.MALFORMED, f"its answer has no list of {self._what}")
        for item in items:
            self._take(item)
        if len(self._items) + len(self._refused) + self._nameless > self._limits.tools or self._bytes > self._limits.listing:
            raise self._problem(FaultKind.TOO_LARGE, f"it lists more {self._what} than are taken")
        lifetime = page.get("ttlMs")
        if isinstance(lifetime, int | float) and not isinstance(lifetime, bool):
            self._lifetime = min(x for x in (self._lifetime, max(0.0, lifetime / 1000)) if x is not None)
        cursor = page.get("nextCursor")
        if cursor is None:
            return None
        if type(cursor) is not str:
            raise self._problem(FaultKind.MALFORMED, "the mark of its next page is no text")
        if cursor in self._cursors:
            raise self._problem(FaultKind.MALFORMED, "it gives the mark of a page for a second time, so its pages have no end")
        if self._pages >= self._limits.pages:
            raise self._problem(FaultKind.TOO_LARGE, f"it has more than {self._limits.pages:,} pages of {self._what}")
        self._cursors.add(cursor)
        return cursor

    def refuse(self, name: str, reason: str) -> None:
        """Leave a definition out."""
        self._items.pop(name, None)
        self._refused[name] = reason

    @property
    def items(self) -> Mapping[str, Mapping[str, object]]:
        """What was taken so far, by name."""
        return self._items

    def listing(self) -> Listing:
        """All of it."""
        return Listing(self._items.values(), dict(self._refused), self._nameless, self._lifetime)

    def _take(self, item: object) -> None:
        name = item.get(_KEY[self._what]) if type(item) is dict else None
        if type(item) is not dict or type(name) is not str:
            self._nameless += 1
            return
        try:
            kept = digest(item)
        except EncodeError:
            kept = ""
        if name in self._refused:
            return
        if name not in self._items:
            self._items[name] = item
            self._digests[name] = kept
        elif self._digests[name] != kept:
            self.refuse(name, "the server lists it twice, with different definitions")

    def _problem(self, kind: FaultKind, what: str) -> McpError:
        return McpError(kind, f"the server's listing cannot be used: {bounded(what)}", sent=True)
