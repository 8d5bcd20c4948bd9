"""The protocol below the language server: messages as bytes, and the rules that hold for all of them.

Every request gets an answer, whatever is wrong with it: text that is no JSON, parameters of another form, a method that there is not, one
before `initialize` or after `shutdown`. Documents are kept by the session, exactly; the library's own copies are not made.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable
from typing import Any

from cattrs import Converter
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidRequest, JsonRpcParseError, JsonRpcServerNotInitialized
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from ael.editor.session import ARRIVED, Session

logger = logging.getLogger(__name__)

MAX_MESSAGE = 64 * 1024 * 1024
"""Bytes of one message; a longer one ends the connection, since what follows it cannot be found."""
MAX_HEADER = 8 * 1024
_LENGTH = re.compile(rb"content-length:[ \t]*(\d{1,12})[ \t]*\r?\n?", re.IGNORECASE)
_FIELD = re.compile(rb"[A-Za-z-]+[ \t]*:")


class Lost(Exception):
    """The bytes that come are no messages of this protocol; the connection cannot go on."""


class Frames:
    """Cuts a stream of bytes into the bodies of messages."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._length = -1

    def feed(self, data: bytes) -> list[bytes]:
        """The bodies that are complete with these bytes. Raises `Lost`."""
        self._bytes += data
        found: list[bytes] = []
        while (body := self._next()) is not None:
            found.append(body)
        return found

    def _next(self) -> bytes | None:
        if self._length < 0:
            end = self._bytes.find(b"\r\n\r\n")
            if end < 0:
                if len(self._bytes) > MAX_HEADER:
                    raise Lost("a header without an end")
                return None
            lines = self._bytes[:end].split(b"\r\n")
            if not all(_FIELD.match(line) for line in lines if line.strip()):
                # `POST / HTTP/1.1`: a page in a browser may send what it likes to a port of this machine.
                raise Lost("a header that is none of this protocol")
            lengths = [found for line in lines if (found := _LENGTH.fullmatch(line))]
            if not lengths:
                raise Lost("a message without a length")
            self._length = int(lengths[-1][1])
            if self._length > MAX_MESSAGE:
                raise Lost(f"a message of {self._length} bytes")
            del self._bytes[: end + 4]
        if len(self._bytes) < self._length:
            return None
        body = bytes(self._bytes[: self._length])
        del self._bytes[: self._length]
        self._length = -1
        return body


class Protocol(LanguageServerProtocol):
    """Handles messages. `ended` is set to the exit code when the connection is over."""

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self.session: Session
        self.ended: Callable[[int], None] = lambda code: None
        self.initialized = False

    # --- one message ---------------------------------------------------------------------------------------------------------

    def receive(self, body: bytes) -> None:
        """Handle a message."""
        try:
            data = json.loads(body)
        except (ValueError, RecursionError) as error:
            logger.warning("a message that is no JSON: %s", error)
            self._refuse(None, JsonRpcParseError("the message is no JSON"))
            return
        if not isinstance(data, dict) or data.get("jsonrpc") != self.VERSION:
            self._refuse(data.get("id") if isinstance(data, dict) else None, JsonRpcInvalidRequest("no message of JSON-RPC 2.0"))
            return
        if not self._in_order(data.get("method"), data.get("id")):
            return
        try:
            message = self.structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._refuse(data["id"], error)
            return
        try:
            self.handle_message(message)
        except Exception:
            logger.exception("a message that could not be handled")

    def _in_order(self, method: object, id: object) -> bool:
        """Hold messages to the order of a connection's life; what comes out of it is answered."""
        if method is None:
            return True
        if id is None:  # a notification
            return self.initialized or method == lsp.EXIT
        if self._shutdown:
            self._refuse(id, JsonRpcInvalidRequest("the server has been shut down"))
            return False
        if not self.initialized and method != lsp.INITIALIZE:
            self._refuse(id, JsonRpcServerNotInitialized("`initialize` comes first"))
            return False
        if self.initialized and method == lsp.INITIALIZE:
            self._refuse(id, JsonRpcInvalidRequest("`initialize` comes once"))
            return False
        self.initialized = True
        return True

    def _handle_request(self, msg_id: Any, method_name: str, params: Any) -> None:
        ARRIVED.set(self.session.clock)
        super()._handle_request(msg_id, method_name, params)

    def _refuse(self, id: Any, error: JsonRpcException) -> None:
        if isinstance(id, int | str):
            self._send_response(id, None, error.to_response_error())
        else:
            failure = {"code": error.code, "message": error.message}
            self._send_data({"jsonrpc": self.VERSION, "id": None, "error": failure})

    # --- what the session does itself ------------------------------------------------------------------------------------------

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> Any:
        document = params.text_document
        self.session.open(document.uri, document.version, document.text)
        yield from ()

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> Any:
        self.session.change(params.text_document.uri, params.text_document.version, params.content_changes)
        yield from ()

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> Any:
        self.session.close(params.text_document.uri)
        yield from ()

    @lsp_method(lsp.EXIT)
    def lsp_exit(self, *args: Any) -> Any:
        self.ended(0 if self._shutdown else 1)
        yield from ()


async def connection(protocol: Protocol, read: asyncio.StreamReader) -> None:
    """Handle what comes over a stream until it ends."""
    frames = Frames()
    while data := await read.read(64 * 1024):
        for body in frames.feed(data):
            protocol.receive(body)
