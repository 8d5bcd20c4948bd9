"""Where a browser comes back to: one address on this machine, for one authorization (RFC 8252, section 7.3)."""

from __future__ import annotations

import asyncio
import hmac
import inspect
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from urllib.parse import parse_qs

from ael.mcp.failure import McpError
from ael.mcp.oauth.place import denied
from ael.types.fault import FaultKind

OpenUrl = Callable[[str], Awaitable[None] | None]
"""Shows the user a URL, in a browser or as text."""

PATH = "/callback"
MAX_HEAD = 32 * 1024
REQUEST_SECONDS = 10.0
MAX_PARAMETERS = 32


class RedirectReceiver:
    """`async with RedirectReceiver() as receiver:` listens on 127.0.0.1; `answer` waits for the one redirect with the right state.

    What comes without it (another program, a page that guesses the port) is turned away and changes nothing.
    """

    def __init__(self, port: int = 0) -> None:
        self._wanted = port
        self._server: asyncio.Server | None = None
        self._found: asyncio.Future[dict[str, str]] | None = None
        self._state = b""
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> RedirectReceiver:
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._wanted, limit=MAX_HEAD)
        except OSError:
            # The port of an earlier flow is taken: any other.
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=MAX_HEAD)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def uri(self) -> str:
        """The redirect URI."""
        return f"http://127.0.0.1:{self.port}{PATH}"

    async def answer(self, url: str, state: str, open_url: OpenUrl, seconds: float) -> dict[str, str]:
        """Show `url` and wait for the redirect that bears `state`: its parameters. Raises `McpError` (`Timeout`)."""
        self._state = state.encode()
        self._found = asyncio.get_running_loop().create_future()
        opening = asyncio.ensure_future(_opened(open_url, url))
        try:
            async with asyncio.timeout(seconds):
                waited: set[asyncio.Future[object]] = {opening, self._found}  # type: ignore[arg-type]  # futures are not covariant
                await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
                if not self._found.done():
                    # Raises when the URL could not be shown; there is nothing to wait for then.
                    await opening
                return await self._found
        except TimeoutError:
            raise McpError(FaultKind.TIMEOUT, "nobody finished the authorization in the browser in time") from None
        finally:
            self._found.cancel()
            opening.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await opening

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_page(*self._read(head)))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            # Whatever a stranger does on this port ends its own connection only.
            pass
        finally:
            writer.close()
            with suppress(OSError, TimeoutError, asyncio.CancelledError):
                async with asyncio.timeout(1):
                    await writer.wait_closed()
            writer.transport.abort()
            self._tasks.discard(task)

    def _read(self, head: bytes) -> tuple[str, str]:
        """Status and text of the answer to a request; takes what the right one brings."""
        first, *lines = head.decode("latin-1").split("\r\n")
        hosts = [line.partition(":")[2].strip() for line in lines if line.lower().startswith("host:")]
        method, _, rest = first.partition(" ")
        target, _, version = rest.partition(" ")
        path, _, query = target.partition("?")
        if hosts != [f"127.0.0.1:{self.port}"] or method != "GET" or path != PATH or not version.startswith("HTTP/1."):
            return "404 Not Found", "There is nothing here."
        try:
            values = parse_qs(query, keep_blank_values=True, strict_parsing=True, max_num_fields=MAX_PARAMETERS)
        except ValueError:
            return "400 Bad Request", "This is not the answer of an authorization server."
        states = values.get("state", [])
        if len(states) != 1 or not hmac.compare_digest(states[0].encode("utf-8", "surrogatepass"), self._state):
            return "400 Bad Request", "This answer belongs to no authorization that is under way."
        if any(len(found) != 1 for found in values.values()):
            return "400 Bad Request", "This answer says something twice."
        if self._found is None or self._found.done():
            return "400 Bad Request", "This authorization is over."
        self._found.set_result({name: found[0] for name, found in values.items()})
        return "200 OK", "You can close this page and go back to the program."


async def _opened(open_url: OpenUrl, url: str) -> None:
    try:
        shown = open_url(url)
        if inspect.isawaitable(shown):
            await shown
    except McpError:
        raise
    except Exception as problem:
        raise denied(f"the page of the authorization server could not be shown ({type(problem).__name__})") from None


def _page(status: str, text: str) -> bytes:
    body = f"<!doctype html><title>AEL</title><p>{text}</p>".encode()
    head = (
        f"HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {len(body)}\r\n"
        "connection: close\r\ncache-control: no-store\r\nreferrer-policy: no-referrer\r\n"
        "content-security-policy: default-src 'none'\r\nx-content-type-options: nosniff\r\n\r\n"
    )
    return head.encode() + body
