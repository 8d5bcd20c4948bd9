"""A cheap OpenAI-compatible server for benchmarks: one process, loopback only, standard library only.

``python -m benches.server`` prints ``{"port": N}`` and serves until its standard input ends. The first part of the
path says how it behaves:

- ``/now/v1/chat/completions`` answers at once;
- ``/wait/MS/v1/chat/completions`` answers after that many milliseconds;
- ``/hold/v1/chat/completions`` answers when ``GET /release`` is asked, so that a client can be measured while it waits;
- ``GET /held`` answers with the number of requests held.

The model's name says what is answered: ``json`` a JSON object as text, ``loop-N`` a call of the tool ``look_up`` until
the request carries N tool results, then a text. A request with ``"stream": true`` gets server-sent events. Any model
answers with fixed token counts.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from functools import lru_cache

TEXT = '{"topic": "Refund", "confidence": 0.9}'
MAX_REQUEST_BYTES = 64 * 1024 * 1024
_LENGTH = re.compile(rb"\r\ncontent-length:[ ]*(\d+)", re.IGNORECASE)
_LOOP = re.compile(rb'"model"\s*:\s*"loop-(\d+)"')
_TOOL = re.compile(rb'"role"\s*:\s*"tool"')
_STREAM = re.compile(rb'"stream"\s*:\s*true')
_USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


@lru_cache(maxsize=4096)
def completion(call: int | None, stream: bool) -> bytes:
    """The whole HTTP answer: the tool call numbered ``call``, or the final text when it is None."""
    message: dict[str, object] = {"role": "assistant", "content": TEXT if call is None else None}
    if call is not None:
        function = {"name": "look_up", "arguments": json.dumps({"id": f"A-{call}"})}
        message["tool_calls"] = [{"index": 0, "id": f"call_{call}", "type": "function", "function": function}]
    reason = "stop" if call is None else "tool_calls"
    shared: dict[str, object] = {"id": "chatcmpl-1", "created": 1_700_000_000, "model": "bench"}
    if not stream:
        choice = {"index": 0, "message": message, "finish_reason": reason}
        body = json.dumps(shared | {"object": "chat.completion", "choices": [choice], "usage": _USAGE}).encode()
        return http(body, b"application/json")
    chunks: list[dict[str, object]] = [
        {"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
        {"choices": [], "usage": _USAGE},
    ]
    events = [json.dumps(shared | {"object": "chat.completion.chunk"} | chunk) for chunk in chunks]
    return http("".join(f"data: {event}\n\n" for event in [*events, "[DONE]"]).encode(), b"text/event-stream")


def http(body: bytes, kind: bytes, status: bytes = b"200 OK") -> bytes:
    """An HTTP/1.1 answer that keeps the connection."""
    return b"HTTP/1.1 %b\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n%b" % (status, kind, len(body), body)


def answer_to(body: bytes) -> bytes:
    """The answer to one chat completions request, chosen by its model and by how many tool results it carries."""
    stream = _STREAM.search(body) is not None
    loop = _LOOP.search(body)
    done = len(_TOOL.findall(body)) if loop else 0
    return completion(done if loop and done < int(loop[1]) else None, stream)


class Held:
    """Requests that wait for ``GET /release``."""

    def __init__(self) -> None:
        self.waiting: list[tuple[asyncio.Transport, bytes]] = []

    def release(self) -> int:
        """Answer all that wait; the number of them."""
        freed, self.waiting = self.waiting, []
        for transport, answer in freed:
            transport.write(answer)
        return len(freed)


class Connection(asyncio.Protocol):
    """One kept-alive connection without pipelining of held requests."""

    def __init__(self, held: Held) -> None:
        self.held = held
        self.buffer = bytearray()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = bytes(self.buffer[:end])
            length = _LENGTH.search(head)
            size = int(length[1]) if length else 0
            if size > MAX_REQUEST_BYTES:
                self.close()
                return
            if len(self.buffer) < end + 4 + size:
                return
            body = bytes(self.buffer[end + 4 : end + 4 + size])
            del self.buffer[: end + 4 + size]
            self.request(head.split(b" ", 2)[1], body)

    def close(self) -> None:
        if self.transport is not None:
            self.transport.close()

    def request(self, path: bytes, body: bytes) -> None:
        assert self.transport is not None
        parts = path.strip(b"/").split(b"/")
        match parts[0]:
            case b"now":
                self.transport.write(answer_to(body))
            case b"wait":
                asyncio.get_running_loop().call_later(int(parts[1]) / 1000, self.transport.write, answer_to(body))
            case b"hold":
                self.held.waiting.append((self.transport, answer_to(body)))
            case b"held":
                self.transport.write(http(b'{"held": %d}' % len(self.held.waiting), b"application/json"))
            case b"release":
                self.transport.write(http(b'{"held": %d}' % self.held.release(), b"application/json"))
            case _:
                self.transport.write(http(b'{"error": {"message": "no such path"}}', b"application/json", b"404 Not Found"))


async def serve() -> None:
    """Serve on a free port of the loopback address until standard input ends."""
    held = Held()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(held), "127.0.0.1", 0, backlog=4096)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve())
