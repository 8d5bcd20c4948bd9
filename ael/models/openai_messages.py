"""Messages of the chat completions form, each encoded once (https://platform.openai.com/docs/api-reference/chat)."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence

from ael.models.wire import encode
from ael.run.ports import ModelError, ModelErrorKind, ModelTurn, Opaque, ToolAnswer
from ael.types.value import File

_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def system(text: str) -> bytes:
    """The instructions."""
    return encode({"role": "system", "content": text})


def user(text: str, files: Sequence[File]) -> bytes:
    """Input data, with its files. Raises `ModelError` (bad request) for a file that this form cannot carry."""
    if not files:
        return encode({"role": "user", "content": text})
    parts: list[object] = [_file(file) for file in files]
    if text:
        parts.append({"type": "text", "text": text})
    return encode({"role": "user", "content": parts})


def assistant(turn: ModelTurn, ids: Sequence[str], final: tuple[str, str] | None, final_text: str, provider: str) -> bytes:
    """A turn of the model. `final` is the id and name of the final tool's call; without one a final result is the content."""
    extras = opaque_of(turn.opaque, provider)
    calls: list[object] = []
    for position, (identity, call) in enumerate(zip(ids, turn.calls, strict=True)):
        entry = {"id": identity, "type": "function", "function": {"name": call.name, "arguments": _arguments(call.arguments)}}
        calls.append({**entry, **extras.get(f"call {position}", {})})
    content = turn.text
    if final is not None:
        calls.append({"id": final[0], "type": "function", "function": {"name": final[1], "arguments": final_text}})
    elif turn.final is not None:
        content = final_text
    message: dict[str, object] = {"role": "assistant", "content": content or (None if calls else "")}
    if calls:
        message["tool_calls"] = calls
        # Reasoning goes back only with calls: that is where the servers that give it want it.
        message.update(extras.get("message", {}))
    return encode(message)


def answer(identity: str, given: ToolAnswer | str) -> bytes:
    """The answer to a call. This form has no flag for errors, so an error says that it is one."""
    if isinstance(given, str):
        return encode({"role": "tool", "tool_call_id": identity, "content": given})
    content = f"Error: {given.content}" if given.is_error else given.content
    return encode({"role": "tool", "tool_call_id": identity, "content": content})


def opaque_of(opaque: Opaque | None, provider: str) -> dict[str, dict[str, object]]:
    """The fields that go back as they came, by where they belong: `message`, or `call N`. Nothing of another provider (fault
    kind K37).
    """
    if opaque is None or opaque.provider != provider:
        return {}
    found: dict[str, dict[str, object]] = {}
    for block in opaque.blocks:
        if isinstance(block, dict) and isinstance(block.get("at"), str) and isinstance(block.get("raw"), str):
            found[block["at"]] = json.loads(block["raw"])
    return found


def _arguments(given: str | None) -> str:
    # Servers parse the arguments of their own calls again: what is empty has to be an object.
    return given if given and given.strip() else "{}"


def _file(file: File) -> object:
    media = file.media.lower()
    if media.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": _url(file)}}
    if media.startswith("text/") and file.data is not None:
        return {"type": "text", "text": file.data.decode("utf-8", "replace")}
    if media in _AUDIO and file.data is not None:
        return {"type": "input_audio", "input_audio": {"data": b64encode(file.data).decode(), "format": _AUDIO[media]}}
    if media == "application/pdf" and file.data is not None:
        return {"type": "file", "file": {"filename": "file.pdf", "file_data": _url(file)}}
    by = "by reference" if file.data is None else "as content"
    raise ModelError(ModelErrorKind.BAD_REQUEST, f"this provider takes no file of type `{file.media[:64]}` {by}")


def _url(file: File) -> str:
    if file.data is not None:
        return f"data:{file.media};base64,{b64encode(file.data).decode()}"
    return file.uri or ""
