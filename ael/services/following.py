"""An answer that comes as server-sent events: what happens inside, and at the end what would have been answered without them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ael.data import dataclass
from ael.net.failure import NetError, NetKind
from ael.net.response import Response
from ael.net.sse import EventStream
from ael.run.codec import text_of_form
from ael.types.json import JsonError, read
from ael.types.limits import MAX_DEPTH, Limits

ACCEPT = "application/json, text/event-stream"
"""What a call accepts whose events are wanted: a server that knows of none answers as ever."""
MAX_STREAM = 64 * 1024 * 1024
"""Bytes of a whole stream, beyond its answer: four times what a server of AEL sends."""
_ROOM = 4 * 1024
_DEEP = Limits(depth=MAX_DEPTH)
Told = Callable[[str, object], None]


@dataclass(frozen=True, slots=True)
class Followed:
    """The end of a stream: the status and the body of the answer, and what stands in headers otherwise. `taint` None: not said."""

    status: int
    body: bytes
    run: str | None
    taint: frozenset[str] | None
    attempts: int | None


def streams(response: Response) -> bool:
    """Whether an answer comes as events."""
    return response.status == 200 and response.header(b"content-type").partition(";")[0].strip().lower() == "text/event-stream"


async def followed(response: Response, told: Told, most: int) -> Followed:
    """Read to the end, and tell each event. `most`: bytes of the answer. Raises `NetError`: also where the stream has no end."""
    stream = EventStream(response, most + _ROOM)
    while (batch := await stream.batch()) is not None:
        for event in batch:
            try:
                data = read(event.data, _DEEP, max_bytes=most + _ROOM)
            except JsonError:
                if event.name == b"end":
                    raise _malformed("its end is no JSON") from None
                continue
            if event.name == b"end":
                return _end(data)
            told(event.name.decode("latin-1"), data)
    raise NetError(NetKind.DISCONNECTED, "the stream of the answer has no end", sent=True, received=True)


def _end(data: object) -> Followed:
    if not isinstance(data, Mapping):
        raise _malformed("its end is no object")
    run, given, attempts = data.get("run"), data.get("taint"), data.get("attempts")
    taint = frozenset(one for one in given if isinstance(one, str)) if isinstance(given, list) else None
    left = attempts if type(attempts) is int and 0 <= attempts < 10**9 else None
    named = run if isinstance(run, str) else None
    if "result" in data:
        return Followed(200, text_of_form(data["result"]), named, taint, left)
    status = data.get("status")
    if type(status) is not int or status == 200 or "error" not in data:
        raise _malformed("its end says nothing")
    return Followed(status, text_of_form(data["error"]), named, taint, left)


def _malformed(why: str) -> NetError:
    return NetError(NetKind.MALFORMED, f"the stream of the answer is of no use: {why}", sent=True, received=True)
