"""What a server's results hold: content in blocks, and the values beside it, taken apart strictly and not yet by their types."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterable, Mapping

from ael.mcp.failure import McpError
from ael.net.redact import bounded
from ael.run.ports import RemoteAnswer, RemotePart
from ael.types.fault import FaultKind

_NAME = 80
_LINK = 2_000
"""Characters that are kept of the address of a resource that a tool names."""


def tool_answer(result: Mapping[str, object]) -> RemoteAnswer:
    """The result of `tools/call`. Raises `McpError` (`Malformed`).

    An error needs no content (fault kind K25: `isError` wins); a success has content, or a structured value.
    """
    is_error = result.get("isError", False)
    if type(is_error) is not bool:
        raise _malformed("`isError` is neither true nor false")
    structured = result.get("structuredContent")
    content = result.get("content")
    if content is None and (is_error or structured is not None):
        content = []
    return RemoteAnswer(tuple(_part(block) for block in _list(content, "content")), structured, is_error)


def resource_answer(result: Mapping[str, object]) -> RemoteAnswer:
    """The result of `resources/read`: each content as text, or as bytes. Raises `McpError` (`Malformed`)."""
    return RemoteAnswer(tuple(_content(item) for item in _list(result.get("contents"), "contents")))


def prompt_answer(result: Mapping[str, object]) -> RemoteAnswer:
    """The result of `prompts/get`: each message as a part with its role. Raises `McpError` (`Malformed`)."""
    parts = []
    for message in _list(result.get("messages"), "messages"):
        message = _object(message, "a message")
        role = message.get("role")
        if role not in ("user", "assistant"):
            raise _malformed("the role of a message is neither `user` nor `assistant`")
        content = message.get("content")
        # One block by the specification; some servers send a list of them.
        parts += [_part(block, str(role)) for block in (content if type(content) is list else [content])]
    return RemoteAnswer(tuple(parts))


def _part(block: object, role: str = "") -> RemotePart:
    block = _object(block, "a content block")
    kind = _text(block, "type")
    match kind:
        case "text":
            text = _text(block, "text")
            return RemotePart(kind, text, "text/plain", len(text.encode()), role)
        case "image" | "audio":
            return RemotePart(kind, "", _media(block), _packed_size(_text(block, "data")), role)
        case "resource":
            inside = _object(block.get("resource"), "an embedded resource")
            uri = bounded(_text(inside, "uri"), _LINK)
            text_inside, blob = inside.get("text"), inside.get("blob")
            if type(text_inside) is str:
                return RemotePart(kind, uri, _media(inside, "text/plain"), len(text_inside.encode()), role)
            if type(blob) is not str:
                raise _malformed("an embedded resource has neither `text` nor `blob`")
            return RemotePart(kind, uri, _media(inside), _packed_size(blob), role)
        case "resource_link":
            uri = bounded(_text(block, "uri"), _LINK)
            size = block.get("size")
            return RemotePart(kind, uri, _media(block), size if type(size) is int and size >= 0 else 0, role)
        case _:
            return RemotePart(bounded(kind, _NAME), "", _media(block), 0, role)


def _content(item: object) -> RemotePart:
    item = _object(item, "a content of a resource")
    _text(item, "uri")
    text, blob = item.get("text"), item.get("blob")
    if type(text) is str:
        return RemotePart("text", text, _media(item, "text/plain"), len(text.encode()))
    if type(blob) is not str:
        raise _malformed("a content of a resource has neither `text` nor `blob`")
    try:
        data = b64decode(blob.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise _malformed("the `blob` of a resource is not base64") from None
    return RemotePart("blob", "", _media(item), len(data), data=data)


def _packed_size(data: str) -> int:
    """Bytes that base64 text stands for; nothing is unpacked, since only a marker of it is kept."""
    return max(0, len(data) * 3 // 4 - data[-2:].count("="))


def _media(block: Mapping[str, object], default: str = "application/octet-stream") -> str:
    media = block.get("mimeType")
    return bounded(media, _NAME) if type(media) is str and media else default


def _list(value: object, name: str) -> Iterable[object]:
    if type(value) is not list:
        raise _malformed(f"`{name}` is no list")
    return value


def _object(value: object, what: str) -> Mapping[str, object]:
    if type(value) is not dict:
        raise _malformed(f"{what} is no object")
    return value


def _text(block: Mapping[str, object], name: str) -> str:
    value = block.get(name)
    if type(value) is not str:
        raise _malformed(f"`{name}` of a content is no text")
    return value


def _malformed(what: str) -> McpError:
    return McpError(FaultKind.MALFORMED, f"the server's result is not what MCP says: {what}", sent=True)
