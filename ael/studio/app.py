"""The studio over HTTP: the page with its files, and the data behind it.

    GET  /?token=…                       the address that `ael studio` prints: once, for a cookie
    GET  SPACE/                          the page
    GET  SPACE/api/about                 who looks, at what
    GET  SPACE/api/runs                  runs, the newest first
    GET  SPACE/api/runs/RUN              one, with the beginning of its timeline and its pictures
    GET  SPACE/api/runs/RUN/spans        more of its timeline
    GET  SPACE/api/runs/RUN/step         one step with its content
    GET  SPACE/api/runs/RUN/readers      who has read its content
    GET  SPACE/api/diff                  two runs beside each other
    GET  SPACE/api/inbox                 what waits for a person
    GET  SPACE/api/forms                 the entries of the program, with their forms
    GET  SPACE/api/events                what happens, live
    POST SPACE/api/runs                  start a run
    POST SPACE/api/runs/RUN/decide, cancel, resume, fork

`SPACE` is a part of the address that nobody can guess. Every answer carries the headers of `ael.studio.guard`.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from ael.data import dataclass, field
from ael.durable.beside import beside
from ael.durable.change import ChangeError
from ael.durable.decide import DecideError
from ael.durable.execute import Taken
from ael.durable.place import PlaceError
from ael.hosting.failure import HostError
from ael.journal.durable import RunState, StoreError
from ael.run.entry import EntryProblem
from ael.studio import act
from ael.studio.crew import Crew
from ael.studio.desk import Desk
from ael.studio.feed import Feed
from ael.studio.form import forms
from ael.studio.graph import graphs
from ael.studio.guard import HEADERS, Guard, Refused
from ael.studio.listing import head_of, row_of, spans_of
from ael.studio.step import readers, step
from ael.types.json import JsonError, read

MAX_BODY = 4 * 1024 * 1024
BODY_SECONDS = 20.0
FIRST, PAGE = 400, 4_000
"""Lines of a timeline that come with a run, and in one piece later."""
_MOST_RUNS = 5_000
_FIELDS = 50
_FILES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
_WAIT_SLOW = 20.0
Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


@dataclass(frozen=True)
class Request:
    """What is asked: the parts of the path below `api`, and what the question and the body say."""

    method: str
    parts: tuple[str, ...]
    query: Mapping[str, str]
    headers: Mapping[str, list[str]]


@dataclass(eq=False)
class Studio:
    """The ASGI application."""

    desk: Desk
    crew: Crew
    guard: Guard
    feed: Feed
    about: Mapping[str, object] = field(default_factory=dict)
    files: Mapping[str, tuple[str, bytes, bytes]] = field(default_factory=lambda: _files())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1").strip())
        path, method = str(scope["path"]), str(scope["method"])
        try:
            await self._answer(path, method, _query(scope["query_string"]), headers, receive, send)
        except Refused as refused:
            await _json(send, refused.status, {"error": refused.message, "notes": list(refused.notes), **refused.more})
        except DecideError as error:
            await _json(send, 409, {"error": error.message, "notes": [error.note] if error.note else []})
        except ChangeError as error:
            await _json(send, 422, {"error": error.message, "notes": list(error.notes)})
        except PlaceError as error:
            await _json(send, 422, {"error": error.message, "notes": [error.note]})
        except EntryProblem as error:
            await _json(send, 422, {"error": error.message, "notes": []})
        except HostError as error:
            await _json(send, 409, {"error": f"{error.code}: {error.message}", "notes": list(error.notes)})
        except (StoreError, Taken) as error:
            await _json(send, 503, {"error": str(error), "notes": []})
        except asyncio.CancelledError:
            # The studio ends, and what this waits for (a store that is locked) does not come.
            return
        except Exception as error:
            # A defect. What it says may quote content, so its kind is told, and no more.
            print(f"ael studio: {method} failed: {type(error).__name__}", file=sys.stderr, flush=True)
            await _json(send, 500, {"error": f"the studio failed ({type(error).__name__}): this is a defect of it", "notes": []})

    async def _answer(
        self, path: str, method: str, query: Mapping[str, str], headers: Mapping[str, list[str]], receive: Receive, send: Send
    ) -> None:
        self.guard.host(headers)
        base = self.guard.base
        if path == "/" and method == "GET":
            await self._enter(query, headers, send)
        elif path == "/favicon.ico":
            # Browsers ask for it beside a page that names none.
            await _send(send, 204, b"", "image/x-icon")
        elif not path.startswith(base):
            raise Refused(404, "there is nothing here")
        elif not path.startswith(f"{base}api/"):
            if method != "GET":
                raise Refused(405, "files are read")
            await self._file(path.removeprefix(base), headers, send)
        else:
            asked = Request(method, tuple(path.removeprefix(f"{base}api/").split("/")), query, headers)
            self.guard.own(headers, change=method != "GET")
            if asked.parts == ("events",) and method == "GET":
                await self._stream(asked, receive, send)
            elif method == "GET":
                await _json(send, 200, await self._read(asked))
            elif method == "POST":
                if self.desk.read_only:
                    raise Refused(403, "this studio only looks: it was started with `--read-only`")
                await _json(send, 200, await self._act(asked, await _body(receive)))
            else:
                raise Refused(405, "data is read (GET), and what is to be done is posted (POST)")

    # --- the page -----------------------------------------------------------------------------------------------------------

    async def _enter(self, query: Mapping[str, str], headers: Mapping[str, list[str]], send: Send) -> None:
        cookie = self.guard.enter(query["token"]) if "token" in query else None
        if cookie is None:
            text = _SHUT.replace("BASE", self.guard.base if self.guard.known(headers) else "")
            await _send(send, 403, text.encode(), "text/html; charset=utf-8")
            return
        # By the page's own word and not by a redirect: a browser sends a strict cookie along then, wherever the address was opened from.
        text = _OPEN.replace("BASE", self.guard.base)
        await _send(send, 200, text.encode(), "text/html; charset=utf-8", ("set-cookie", cookie))

    async def _file(self, name: str, headers: Mapping[str, list[str]], send: Send) -> None:
        if not self.guard.known(headers):
            await _send(send, 401, _SHUT.encode(), "text/html; charset=utf-8")
            return
        found = self.files.get(name or "index.html")
        if found is None:
            raise Refused(404, "there is no such file")
        packed = "gzip" in headers.get("accept-encoding", [""])[0]
        kind, plain, small = found
        await _send(send, 200, small if packed else plain, kind, *([("content-encoding", "gzip")] if packed else []))

    # --- what is read -------------------------------------------------------------------------------------------------------

    async def _read(self, asked: Request) -> object:
        desk = self.desk
        match asked.parts:
            case ("about",):
                opened = await desk.program.now()
                problems = [] if opened is not None else list(desk.program.problems)
                return {**self.about, "user": desk.user, "read_only": desk.read_only, "problems": problems}
            case ("runs",):
                return await self._runs(asked)
            case ("runs", run):
                if asked.query.get("brief") == "1":
                    return row_of(await desk.row(run))
                return await self._run(run, way=asked.query.get("way") == "1")
            case ("runs", run, "spans"):
                traced = await desk.trace(await desk.row(run), way=asked.query.get("way") == "1")
                start = _number(asked.query.get("from", "0"))
                spans = list(spans_of(traced.spans, start, PAGE))
                return {"from": start, "all": len(traced.spans), "spans": spans}
            case ("runs", run, "step"):
                return await step(desk, run, asked.query.get("path", ""))
            case ("runs", run, "readers"):
                return await readers(desk, run)
            case ("diff",):
                first, second = [await desk.row(asked.query.get(side, "")) for side in ("a", "b")]
                return desk.masker.value(
                    beside(await desk.seen(first, "ael studio: diff"), await desk.seen(second, "ael studio: diff"))
                )
            case ("inbox",):
                return await act.inbox(desk, self.crew, asked.query.get("run"))
            case ("forms",):
                opened = await desk.program.now()
                if opened is None:
                    raise Refused(409, "the program has errors", *desk.program.problems)
                return forms(opened)
            case _:
                raise Refused(404, "there is nothing here")

    async def _runs(self, asked: Request) -> object:
        limit = min(_number(asked.query.get("limit", "200")), _MOST_RUNS)
        known = {state.value for state in RunState}
        states = [RunState(one) for one in asked.query.get("states", "").split(",") if one in known]
        rows = await self.desk.rows(states, limit + 1)
        return {"rows": [row_of(row) for row in rows[:limit]], "more": len(rows) > limit}

    async def _run(self, run: str, *, way: bool) -> object:
        desk = self.desk
        row = await desk.row(run)
        traced = await desk.trace(row, way=way)
        opened = await desk.program.now()
        drawn = await asyncio.to_thread(graphs, traced.spans, row.header.entry, opened)
        spans = list(spans_of(traced.spans, 0, FIRST))
        head = head_of(traced, opened)
        told = {"way": way, "all": len(traced.spans), "spans": spans, "graphs": drawn, "now": desk.now()}
        return {**head, **told, "here": self.crew.mine(run), "failed": self._failed(run)}

    def _failed(self, run: str) -> str | None:
        """What went wrong with a run here, beside how it ended."""
        found = self.crew.failed.get(run)
        return None if found is None else self.desk.masker.text(found)

    async def _stream(self, asked: Request, receive: Receive, send: Send) -> None:
        seen = asked.headers.get("last-event-id", [asked.query.get("after", "-1")])[-1]
        after = int(seen) if seen.isdecimal() and len(seen) < 12 else -1
        pieces = self.feed.pieces(asked.query.get("run"), after)
        first = await anext(pieces)
        head = [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no")]
        await send({"type": "http.response.start", "status": 200, "headers": [*head, *_OWN]})
        sending = asyncio.ensure_future(self._pieces(first, pieces, send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            sending.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)

    async def _pieces(self, first: str, pieces: Any, send: Send) -> None:
        async with aclosing(pieces):
            await send({"type": "http.response.body", "body": first.encode(), "more_body": True})
            async for piece in pieces:
                # A page that takes nothing any more is gone; it comes again when it is back.
                async with asyncio.timeout(_WAIT_SLOW):
                    await send({"type": "http.response.body", "body": piece.encode(), "more_body": True})
            await send({"type": "http.response.body", "body": b""})

    # --- what is done -------------------------------------------------------------------------------------------------------

    async def _act(self, asked: Request, body: Mapping[str, object]) -> object:
        desk, crew = self.desk, self.crew
        match asked.parts:
            case ("runs",):
                return await act.started(desk, crew, body)
            case ("runs", run, word):
                await desk.row(run)
                match word:
                    case "decide":
                        return await act.decided(desk, crew, run, body)
                    case "cancel":
                        return await act.cancelled(desk, crew, run, body)
                    case "resume":
                        return await act.resumed(desk, crew, run, body)
                    case "fork":
                        return await act.fork(desk, crew, run, body)
        raise Refused(404, "there is nothing here")


_OWN = [(name.encode(), value.encode()) for name, value in HEADERS]
_HEAD = '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>AEL Studio</title>'
_OPEN = (
    f'{_HEAD}<meta http-equiv="refresh" content="0;url=BASE"></head>\n<body><p><a href="BASE">AEL Studio</a></p></body></html>\n'
)
_SHUT = (
    f"{_HEAD}</head>\n<body><h1>AEL Studio</h1><p>This address does not open the studio, or not any more: each opens it once. "
    "Open the one that <code>ael studio</code> printed last.</p></body></html>\n"
)


def _files() -> dict[str, tuple[str, bytes, bytes]]:
    """The files of the page, which are read once: what each is, its bytes, and these compressed."""
    folder = Path(__file__).with_name("page")
    found = {}
    for file in sorted(folder.iterdir()):
        kind = _FILES.get(file.suffix, "text/html; charset=utf-8")
        data = file.read_bytes()
        found[file.name] = (kind, data, gzip.compress(data))
    return found


def _query(text: bytes) -> Mapping[str, str]:
    try:
        found = parse_qs(text.decode("latin-1"), max_num_fields=_FIELDS)
    except ValueError:
        raise Refused(400, f"a question has at most {_FIELDS} parts") from None
    return {name: values[-1] for name, values in found.items()}


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise Refused(400, "a number belongs here")
    return int(text)


async def _body(receive: Receive) -> Mapping[str, object]:
    data = b""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise Refused(400, "the request was cut off")
                data += message.get("body", b"")
                if len(data) > MAX_BODY:
                    raise Refused(413, f"a request has at most {MAX_BODY:,} bytes")
                if not message.get("more_body"):
                    break
        value = read(data, max_bytes=MAX_BODY)
    except TimeoutError:
        raise Refused(408, "the request took too long") from None
    except JsonError as error:
        raise Refused(400, f"this is no JSON: {error.message}") from None
    if not isinstance(value, dict):
        raise Refused(400, "what is to be done is an object")
    return value


async def _left(receive: Receive) -> None:
    """Wait until the page is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _json(send: Send, status: int, told: object) -> None:
    data = json.dumps(told, ensure_ascii=False, default=str, separators=(",", ":")).encode("utf-8", "backslashreplace")
    await _send(send, status, data, "application/json")


async def _send(send: Send, status: int, data: bytes, kind: str, *more: tuple[str, str]) -> None:
    head = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(data))]
    own = [(name.encode(), value.encode("latin-1")) for name, value in more]
    await send({"type": "http.response.start", "status": status, "headers": [*head, *_OWN, *own]})
    await send({"type": "http.response.body", "body": data})
