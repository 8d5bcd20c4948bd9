"""Messages of Anthropic's form, each encoded once (https://platform.claude.com/docs/en/api/messages)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

import jiter

from ael.models.wire import encode
from ael.run.ports import ModelError, ModelErrorKind, ModelTurn, Opaque, ToolAnswer
from ael.types.value import File

EMPTY = "(empty)"
"""What stands for a text without a visible character: this form refuses one."""


def user(text: str, files: Sequence[File]) -> bytes:
    """Input data, with its files before it. Raises `ModelError` (bad request) for a file that this form cannot carry."""
    blocks: list[object] = [_file(file) for file in files]
    if text.strip() or not blocks:
        blocks.append({"type": "text", "text": text if text.strip() else EMPTY})
    return encode({"role": "user", "content": blocks})


def answers(results: Sequence[tuple[str, ToolAnswer]], unaccepted: Sequence[str], words: str) -> bytes:
    """The answers of one turn's calls: they have to be in one message, right behind the turn."""
    blocks: list[dict[str, object]] = []
    for identity, answer in results:
        block: dict[str, object] = {"type": "tool_result", "tool_use_id": identity}
        if answer.content.strip():
            block["content"] = answer.content
        if answer.is_error:
            block["is_error"] = True
        blocks.append(block)
    blocks += [{"type": "tool_result", "tool_use_id": identity, "content": words, "is_error": True} for identity in unaccepted]
    return encode({"role": "user", "content": blocks})


def assistant(turn: ModelTurn, ids: Sequence[str], final: tuple[str, str] | None, final_text: str, provider: str) -> bytes:
    """A turn of the model; with its opaque blocks in the order and with the bytes in which they came (feature B26)."""
    calls = [
        _call(identity, call.name, call.arguments) for identity, call in zip(ids, turn.calls, strict=True)
    ]  # fmt: skip
    given = None if final is None else _call(final[0], final[1], final_text)
    text = turn.text
    if final is None and turn.final is not None:
        text = final_text
    blocks = _in_order(turn.opaque, provider, text, calls, given)
    if blocks is None:
        blocks = [_text(text)] if text.strip() else []
        blocks += calls
        if given is not None:
            blocks.append(given)
    return b'{"role":"assistant","content":[' + b",".join(blocks or [_text(EMPTY)]) + b"]}"


def marked(message: bytes, marker: bytes) -> bytes:
    """A user message whose last block ends a cached prefix. All messages made here end with their last block."""
    return message[: -len(b"}]}")] + marker + b"}]}"


def _in_order(opaque: Opaque | None, provider: str, text: str, calls: list[bytes], final: bytes | None) -> list[bytes] | None:
    """The blocks by the layout that the turn came with, or None when there is none for this provider (fault kind K37)."""
    if opaque is None or opaque.provider != provider:
        return None
    blocks: list[bytes] = []
    at = 0
    for block in opaque.blocks:
        if not isinstance(block, dict):
            return None
        match block:
            case {"raw": str(raw)}:
                blocks.append(raw.encode())
            case {"text": int(length)}:
                piece, at = text[at : at + length], at + length
                if piece.strip():
                    blocks.append(_text(piece))
            case {"call": int(position)} if position < len(calls):
                blocks.append(calls[position])
            case {"final": _} if final is not None:
                blocks.append(final)
            case _:
                return None
    return blocks


def _text(text: str) -> bytes:
    return encode({"type": "text", "text": text})


def _call(identity: str, name: str, arguments: str | None) -> bytes:
    head = encode({"type": "tool_use", "id": identity, "name": name})
    return head[:-1] + b',"input":' + _input(arguments) + b"}"


def _input(arguments: str | None) -> bytes:
    """The arguments as they came where they are an object; this form has no place for anything else."""
    if arguments is None or not arguments.strip():
        return b"{}"
    try:
        data = arguments.encode()
        return data if isinstance(jiter.from_json(data, allow_inf_nan=False), dict) else b"{}"
    except ValueError:
        return b"{}"


def _file(file: File) -> object:
    media = file.media.lower()
    source: dict[str, object]
    if file.data is None:
        source = {"type": "url", "url": file.uri or ""}
    elif media.startswith("text/"):
        source = {"type": "text", "media_type": "text/plain", "data": file.data.decode("utf-8", "replace") or EMPTY}
    else:
        source = {"type": "base64", "media_type": media, "data": b64encode(file.data).decode()}
    if media.startswith("image/"):
        return {"type": "image", "source": source}
    if media == "application/pdf" or (media.startswith("text/") and file.data is not None):
        return {"type": "document", "source": source}
    raise ModelError(ModelErrorKind.BAD_REQUEST, f"this provider takes no file of type `{file.media[:64]}`")
