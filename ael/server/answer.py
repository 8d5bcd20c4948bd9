"""How a run ended, as the result of a tool call: a value with its structure, or what went wrong in words and as data.

The structure of an error stands in a second text block and under `_meta`, not in `structuredContent`: clients check that against the
output schema for errors too, and would lose the message.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import assert_never

from ael.net.redact import bounded
from ael.run.outcome import DeclaredError, Faulted, Outcome, Suspended, Unsettled, Value
from ael.server.exposure import RESULT, ExposedTool
from ael.types.fault import FaultKind
from ael.types.value import File

OUTCOME_META = "ael/outcome"
RUN_META = "ael/run"
MAX_ANSWER = 4 * 1024 * 1024
"""Bytes of a result; a larger one is the fault `TooLarge`."""
_MESSAGE = 2_000
_FILES = 32
_SHOWN = ("limit", "spender", "used", "of", "problems", "retry_after", "path")
"""The details of a fault that a caller may see. The others (transcripts, usage) are the operator's."""
_WAITS = {"approval": "a person's approval", "uncertain": "a person who says what became of a call", "time": "its time"}


def answer(tool: ExposedTool, run: str, outcome: Outcome) -> dict[str, object]:
    """The `CallToolResult` of a run that ended."""
    match outcome:
        case Value(value=value, plain=plain):
            text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
            size = len(text.encode("utf-8", "surrogatepass"))
            if size > MAX_ANSWER:
                message = f"the result has {size:,} bytes, more than the {MAX_ANSWER:,} that are sent"
                return failed(FaultKind.TOO_LARGE, message, run)
            blocks = _blocks(value, plain, text)
            structured = {RESULT: plain} if tool.wrapped else plain
            return {"content": blocks, "structuredContent": structured, "isError": False, "_meta": {RUN_META: run}}
        case DeclaredError(error=error, plain=plain):
            name = error.rpartition(".")[2]
            told = {"outcome": "error", "error": name, "value": plain}
            return _error(f"the call failed with {name}", told, run)
        case Faulted(kind=kind, message=message, details=details):
            lost = details.get("uncertain")
            for one in lost if isinstance(lost, list) else ():
                # What was cut off in the middle weighs more than why.
                why = f"{kind.value}: {_message(kind, message, run)}"
                return _doubtful(run, str(one.get("operation")), str(one.get("key")), str(one.get("step")), why)
            return failed(kind, _message(kind, message, run), run, details)
        case Unsettled(operation=operation, key=key, step=step):
            return _doubtful(run, operation, key, step)
        case Suspended(waits=waits):
            return unfinished(run, [wait.kind for wait in waits])
        case _:
            assert_never(outcome)


def _doubtful(run: str, operation: str, key: str, step: str, why: str = "") -> dict[str, object]:
    """The result of a call in which an effect is in doubt. `why`: the fault that the run ended with, where it ended with one."""
    told: dict[str, object] = {"outcome": "uncertain", "operation": operation, "key": key, "step": step}
    if why:
        told["why"] = why
    said = (
        f"UNCERTAIN: {operation} may or may not have taken effect (key {key}, step {step}). "
        "Look there before anything is done again; nothing was repeated."
    )
    return _error(f"{said} The call ended with {why}" if why else said, told, run)


def unfinished(run: str, waits: Sequence[str] = ()) -> dict[str, object]:
    """The result of a call whose run goes on without it. `waits`: what the run is parked for, nothing where it is under way."""
    told: dict[str, object] = {
        "outcome": "parked" if waits else "running",
        "run": run,
        **({"waits": list(waits)} if waits else {}),
    }
    what = f"PARKED: the run {run} waits for {' and '.join(_WAITS.get(wait, wait) for wait in dict.fromkeys(waits))}"
    said = (
        f"{what if waits else f'UNFINISHED: the run {run} is under way'}, and goes on without this call. Do not do it again: "
        "the same call under the same idempotency key gives its answer, and so does its operator."
    )
    return _error(said, told, run)


def forgotten(run: str, ending: str) -> dict[str, object]:
    """The result of a call whose run ended as `ending` says, so long ago that what it gave is not kept any more."""
    told: dict[str, object] = {"outcome": "forgotten", "run": run, "ending": ending}
    return _error(f"FORGOTTEN: the run {run} has ended ({ending}), and what it gave is not kept. Do not do it again.", told, run)


def failed(
    kind: FaultKind, message: str, run: str | None = None, details: Mapping[str, object] | None = None
) -> dict[str, object]:
    """The result of a call that ended with a fault, or never began."""
    text = message if len(message) <= _MESSAGE else message[: _MESSAGE - 1] + "…"
    told: dict[str, object] = {"outcome": "fault", "fault": kind.value, "message": text}
    shown = {name: details[name] for name in _SHOWN if details is not None and name in details}
    if shown:
        told["details"] = shown
    return _error(f"{kind.value}: {text}", told, run)


def _message(kind: FaultKind, message: str, run: str) -> str:
    if kind is FaultKind.CRASHED:
        # What crashed and why is for whoever runs the server: it may quote the inside of the program.
        return f"something inside the program failed; its operator finds it as run {run}"
    return "\n".join(bounded(line, _MESSAGE) for line in message.split("\n"))


def _error(said: str, told: dict[str, object], run: str | None) -> dict[str, object]:
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"), default=str)
    meta: dict[str, object] = {OUTCOME_META: json.loads(text)}
    if run is not None:
        meta[RUN_META] = run
    blocks = [{"type": "text", "text": said}, {"type": "text", "text": text}]
    return {"content": blocks, "isError": True, "_meta": meta}


def _blocks(value: object, plain: object, text: str) -> list[dict[str, object]]:
    """What a model reads: the text, and the files that are in the value as what they are."""
    files: list[File] = []
    shown = _shown(value, plain, files)
    if not files:
        return [{"type": "text", "text": plain if isinstance(plain, str) else text}]
    if isinstance(value, File):
        return [_file(value)]
    whole: dict[str, object] = {"type": "text", "text": json.dumps(shown, ensure_ascii=False, separators=(",", ":"))}
    return [whole, *map(_file, files)]


def _shown(value: object, plain: object, files: list[File]) -> object:
    """The JSON form with a marker in the place of each file; the files are collected, at most so many."""
    match value, plain:
        case File(), _ if len(files) < _FILES:
            files.append(value)
            size = "" if value.data is None else f", {len(value.data):,} bytes"
            return f"[{value.media}{size}]"
        case dict(), dict() if value.keys() == plain.keys():
            return {key: _shown(inner, plain[key], files) for key, inner in value.items()}
        case list(), list() if len(value) == len(plain):
            return [_shown(inner, outer, files) for inner, outer in zip(value, plain, strict=True)]
        case _:
            return plain


def _file(file: File) -> dict[str, object]:
    if file.data is None:
        return {
            "type": "resource_link",
            "uri": file.uri or "",
            "name": (file.uri or "").rpartition("/")[2],
            "mimeType": file.media,
        }
    data = b64encode(file.data).decode()
    kind = file.media.partition("/")[0]
    if kind in ("image", "audio"):
        return {"type": kind, "data": data, "mimeType": file.media}
    return {"type": "resource", "resource": {"uri": "file:///result", "mimeType": file.media, "blob": data}}
