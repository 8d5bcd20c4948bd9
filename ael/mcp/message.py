"""JSON-RPC 2.0 as MCP uses it, read strictly and within bounds (https://www.jsonrpc.org/specification)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ael.data import dataclass
from ael.net.redact import bounded
from ael.types.canonical import encode as encode
from ael.types.json import JsonError, read
from ael.types.limits import MAX_DEPTH, Limits

Id = int | str

_LIMITS = Limits(depth=MAX_DEPTH)
"""Schemas in listings are nested deep; the types that decode what is inside have their own, smaller limit."""
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_ID = re.compile(rb'\s*:\s*(?:(-?[0-9]{1,18})(?=[\s,}])|"([^"\\\x00-\x1f]{1,200})")')
_SCAN = 256 * 1_024
_MAX_ID = 256


@dataclass(frozen=True, slots=True)
class RemoteError:
    """The error of a reply. `message` and `data` are outside values."""

    code: int
    message: str
    data: object = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a request: a result, or an error. `id` is None where the other side could not read that of the request."""

    id: Id | None
    result: Mapping[str, object] | None
    error: RemoteError | None


@dataclass(frozen=True, slots=True)
class Request:
    """What the server asks of this side."""

    id: Id
    method: str
    params: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Notice:
    """What the server tells without wanting an answer."""

    method: str
    params: Mapping[str, object]


Message = Reply | Request | Notice


class BadMessage(Exception):
    """Bytes that are no message. `id`: the request whose reply it was meant to be, where that can be told; `meant`: it was a message;
    `reply`: it may have been a reply, so that somebody may wait for it.
    """

    def __init__(
        self, text: str, id: Id | None = None, *, too_large: bool = False, meant: bool = True, reply: bool = True
    ) -> None:
        super().__init__(text)
        self.text = text
        self.id = id
        self.too_large = too_large
        self.meant = meant
        self.reply = reply

    @classmethod
    def unread(cls, text: str, data: bytes, *, too_large: bool = False, meant: bool = True) -> BadMessage:
        """One whose bytes cannot be read: its beginning says whose it was."""
        id, call = _top(data)
        return cls(text, id, too_large=too_large, meant=meant, reply=not call)


def decode(data: bytes, max_bytes: int) -> list[Message]:
    """The messages of a text: one, or those of a batch (revision 2025-03-26). Raises `BadMessage`."""
    try:
        value = read(data, _LIMITS, max_bytes=max_bytes)
    except JsonError as problem:
        meant = data.lstrip()[:1] in (b"{", b"[") and b'"jsonrpc"' in data[:_SCAN]
        text = f"a message is no JSON that AEL takes: {bounded(problem.message, 200)}"
        raise BadMessage.unread(text, data, too_large=problem.kind == "size", meant=meant) from None
    if type(value) is not list:
        return [_message(value)]
    if not value:
        raise BadMessage("a batch of messages is empty")
    return [_message(item) for item in value]


def _message(value: object) -> Message:
    if type(value) is not dict:
        raise BadMessage("a message is no JSON object", meant=False)
    id = value.get("id")
    is_call = value.get("method") is not None
    if not (id is None or (type(id) is int and len(str(id)) <= _MAX_ID) or (type(id) is str and len(id) <= _MAX_ID)):
        raise BadMessage("a message's id is neither text nor a whole number", reply=not is_call)
    if value.get("jsonrpc") != "2.0":
        text = 'a message does not say `"jsonrpc": "2.0"`'
        raise BadMessage(text, None if is_call else id, meant=id is not None, reply=not is_call)
    if is_call:
        return _call(id, "id" in value, value["method"], value.get("params"))
    # A reply whose id is null says itself that it answers nothing that was asked here (K24).
    nobody = id is None and "id" in value
    if ("result" in value) == ("error" in value):
        raise BadMessage("a reply has not exactly one of `result` and `error`", id, reply=not nobody)
    if "error" in value:
        return Reply(id, None, _error(value["error"], id))
    result = value["result"]
    if id is None and not nobody:
        raise BadMessage("a reply has a result and no id")
    if type(result) is not dict:
        raise BadMessage("the result of a reply is no object", id, reply=not nobody)
    return Reply(id, result, None)


def _call(id: Id | None, has_id: bool, method: object, params: object) -> Message:
    if type(method) is not str or len(method) > _MAX_ID:
        raise BadMessage("the method of a message is no short text", reply=False)
    if params is None:
        params = {}
    if type(params) is not dict:
        raise BadMessage("the parameters of a message are no object", reply=False)
    if has_id and id is None:
        raise BadMessage("a request's id is null", reply=False)
    return Notice(method, params) if id is None else Request(id, method, params)


def _error(error: object, id: Id | None) -> RemoteError:
    if type(error) is not dict or type(error.get("code")) is not int or type(error.get("message")) is not str:
        raise BadMessage("the error of a reply has no `code` that is a whole number or no `message` that is text", id)
    return RemoteError(error["code"], error["message"], error.get("data"))


def reply_id(data: bytes) -> Id | None:
    """The id at the top of a text that cannot be read: whose reply it was. Looks at its beginning only, in one pass."""
    return _top(data)[0]


def _top(data: bytes) -> tuple[Id | None, bool]:
    """The same, and whether it is a request or a notification, which nobody waits for."""
    depth = 0
    head = data[:_SCAN]
    found: Id | None = None
    for token in _TOKEN.finditer(head):
        match token[0]:
            case b"{" | b"[":
                depth += 1
            case b"}" | b"]":
                depth -= 1
            case b'"method"' if depth == 1:
                return None, True
            case b'"id"' if depth == 1 and found is None:
                value = _ID.match(head, token.end())
                if value is not None:
                    found = int(value[1]) if value[1] is not None else value[2].decode("utf-8", "replace")
    return found, False


def request(id: Id, method: str, params: Mapping[str, object] | None) -> bytes:
    """A request as it goes out. Raises `EncodeError` for what is no data: nothing that JSON cannot say leaves (fault kind K12)."""
    return _encoded({"jsonrpc": "2.0", "id": id, "method": method}, params)


def notice(method: str, params: Mapping[str, object] | None = None) -> bytes:
    """A notification as it goes out."""
    return _encoded({"jsonrpc": "2.0", "method": method}, params)


def result(id: Id, value: Mapping[str, object]) -> bytes:
    """The answer to a request of the server."""
    return encode({"jsonrpc": "2.0", "id": id, "result": dict(value)})


def error(id: Id, code: int, message: str) -> bytes:
    """The refusal of a request of the server."""
    return encode({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})


def _encoded(message: dict[str, object], params: Mapping[str, object] | None) -> bytes:
    if params is not None:
        message["params"] = dict(params)
    return encode(message)
