"""`std/web`: a search over JSON, and pages as Markdown, through the guarded client (fault kind K42)."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field

from ael.lower.natives.html import title as title_of
from ael.lower.natives.html import to_markdown
from ael.natives.http import (
    TEMPORARY,
    failure_of,
    http_status,
    left,
    not_allowed,
    secret_for,
    unavailable,
    unreadable,
)  # fmt: skip
from ael.natives.search import found_in, question
from ael.natives.text import NotText, media_type, text_in
from ael.natives.world import Functions, World
from ael.net.address import rules
from ael.net.client import Client
from ael.net.failure import NetError
from ael.net.reach import Reach, listed_hosts, reach
from ael.net.visit import Ask, Visited, Visitor
from ael.project.bind_web import WebBinding
from ael.run.ports import CallContext
from ael.types.fault import Failure, Fault

ACCEPT = "text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9, application/json;q=0.8, */*;q=0.1"
UNBOUND = 'this deployment says nothing of the web: `web = search("https://…", key: secret("…"))`, or `web = pages(hosts: ["…"])`'
_SEARCH_BYTES = 1 << 20
_MAX_TITLE = 500
_LEAST, _MOST = 500, 100_000
"""Characters of a page that one call gives."""
_QUERY = 400
"""Characters of a query: searches take no longer ones, and a longer one is of use for little but for carrying data out."""


@dataclass(frozen=True)
class Web:
    """`bound`: what the deployment says of the web, None where it says nothing."""

    world: World
    bound: WebBinding | None
    visitor: Visitor = field(repr=False)

    # --- searching

    async def search(self, *, query: str, count: int, call: CallContext) -> object:
        """Ask the deployment's search. Raises `Failure` and `Fault`."""
        bound = self.bound
        if bound is None or bound.search is None:
            raise not_allowed("", UNBOUND if bound is None else 'the deployment has no search: `web = search("https://…")`')
        search = bound.search
        key = None if search.key is None else secret_for(self.world, search.key, call, "the search")
        count = min(max(count, 1), 20)
        if len(query) > _QUERY:
            raise not_allowed("", f"the query has {len(query):,} characters, more than {_QUERY}")
        url, headers = question(search, query, count, key)
        ask = Ask(
            "GET",
            url,
            {**headers, "user-agent": bound.agent, "traceparent": call.trace_parent},
            follow=False,
            max_bytes=_SEARCH_BYTES,
        )
        found = await self._visit(ask, listed_hosts([_host(search.url)]), call, shown=search.url)
        if found.status != 200:
            raise self._refused(found)
        try:
            return found_in(search.shape, text_in(found.body, found.headers.get("content-type", "")), count)
        except (NotText, ValueError) as problem:
            raise unreadable("GET", f"what the search answered cannot be read: {problem}") from None

    async def seal(self, *, hits: list[dict[str, object]], call: CallContext) -> object:
        """Each hit with the handle that opens it in this run."""
        return [{**hit, "handle": self._handle(str(hit["url"]), call)} for hit in hits]

    def _handle(self, url: str, call: CallContext) -> str:
        """What nobody can make for an address that no search of this run has found: a model least of all.

        The same after a restart and on another machine, and kept nowhere: made with the key of the search where there is one, and the id
        of the run, which is drawn by lot and shown to no model.
        """
        search = None if self.bound is None else self.bound.search
        key = "" if search is None or search.key is None else secret_for(self.world, search.key, call, "the search").reveal()
        mark = hmac.digest(
            f"{key}\0{call.run}".encode(), f"{call.tenant}\0{url}".encode("utf-8", "surrogatepass"), hashlib.sha256
        )
        return urlsafe_b64encode(mark[:18]).decode()

    # --- pages

    async def open(self, *, url: str, handle: str, start: int, max: int, call: CallContext) -> object:
        """A page that a search found."""
        if not hmac.compare_digest(handle.encode("utf-8", "surrogatepass"), self._handle(url, call).encode()):
            raise not_allowed(url, "no search of this run found this address: search, and take `url` and `handle` as they come")
        return await self._public(url, start, max, call)

    async def read(self, *, url: str, start: int, max: int, call: CallContext) -> object:
        """A page whose address is trusted: the gate has seen to it."""
        return await self._public(url, start, max, call)

    async def _public(self, url: str, start: int, most: int, call: CallContext) -> object:
        if self.bound is None and not self.world.hosts:
            raise not_allowed(url, UNBOUND)
        return await self._page(url, Reach(public=self.bound is not None) | listed_hosts(self.world.hosts), start, most, call)

    async def fetch(self, *, url: str, start: int, max: int, call: CallContext) -> object:
        """A page of a listed host."""
        bound = self.bound or WebBinding()
        return await self._page(url, reach(bound.hosts, public=bound.anywhere) | listed_hosts(self.world.hosts), start, max, call)

    async def _page(self, url: str, allowed: Reach, start: int, most: int, call: CallContext) -> object:
        bound = self.bound or WebBinding()
        headers = {"accept": ACCEPT, "user-agent": bound.agent}
        found = await self._visit(Ask("GET", url, headers, max_bytes=bound.max_bytes, upgrade=True), allowed, call)
        if found.status >= 300:
            raise self._refused(found)
        content, where = found.headers.get("content-type", ""), found.place.url
        media = media_type(content)
        try:
            if media in ("text/html", "application/xhtml+xml"):
                said = text_in(found.body, content, lenient=True)
                # Long pages take their time: others go on meanwhile.
                text, named = await asyncio.to_thread(lambda: (to_markdown(said, where), title_of(said)))
                title = (named or "")[:_MAX_TITLE]
            elif media == "" or media.startswith("text/") or media.endswith(("json", "xml")):
                text, title = text_in(found.body, content, lenient=media != ""), ""
            else:
                raise NotText(media)
        except NotText:
            raise Failure("NotText", {"url": where, "media": media}) from None
        return part_of(text, start, most) | {"url": where, "title": title, "media": media}

    def _refused(self, found: Visited) -> Failure | Fault:
        return unavailable(found, self.world.clock.now()) if found.status in TEMPORARY else http_status(found)

    async def _visit(self, ask: Ask, allowed: Reach, call: CallContext, *, shown: str | None = None) -> Visited:
        try:
            return await self.visitor.visit(ask, allowed, deadline=left(self.world, call))
        except NetError as problem:
            raise failure_of(problem, shown or ask.url) from None
        except ValueError as problem:
            raise not_allowed(shown or ask.url, str(problem)) from None


def natives(world: World) -> Functions:
    """The functions of `std/web`."""
    binding = world.bindings.get("web")
    listed = rules(world.hosts)
    client = Client(listed)
    world.keep(client)
    web = Web(world, binding if isinstance(binding, WebBinding) else None, Visitor(client, listed))
    return {"search": web.search, "seal": web.seal, "open": web.open, "read": web.read, "fetch": web.fetch}


def part_of(text: str, start: int, most: int) -> dict[str, object]:
    """The characters from `start` on, at most `most`; what is cut says so, and where to go on."""
    total = len(text)
    start, most = min(max(start, 0), total), min(max(most, _LEAST), _MOST)
    end = min(total, start + most)
    if end == total:
        return {"text": text[start:], "start": start, "next": None, "total": total}
    # At the end of a line, or of a word, where there is one near: half a word says something else.
    for edge in ("\n", " "):
        at = text.rfind(edge, start + most * 3 // 4, end)
        if at > start:
            end = at + 1
            break
    marker = f"\n\n[… cut here: {total - end:,} of {total:,} characters follow; go on with start: {end}]"
    return {"text": text[start:end] + marker, "start": start, "next": end, "total": total}


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]
