"""The file of a recorded session: JSON lines, one for the beginning and one for each request, with its hash and what came back.

Only what the model said is kept, never a header or a key; the recording of a test also keeps what it was asked, so that a difference can
be shown. A request's hash covers everything that decides what the model sees:
its
instructions, tools and messages, one after the other, so that the first difference can be named. Which model answered, and with
which
settings, is told in the file and is no part of the hash: a played back session has neither.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ael.models.wire import count_of, encode, list_of, object_of, text_of
from ael.run.ports import (
    ConversationSpec,
    ModelError,
    ModelErrorKind,
    ModelTurn,
    Opaque,
    ProposedCall,
    Stop,
    ToolAnswer,
    Usage,
)  # fmt: skip
from ael.types.value import File

VERSION = 1
MAX_BYTES = 256 * 1024 * 1024
_READABLE = 200_000
"""Characters of a part of a request that are kept to be read."""


class RecordingError(ValueError):
    """A file that is no recording; the message says where."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What came back for a request: a turn, or the error in its place. `steps`: the hashes after each part
    of the request that is new since the conversation's last one; `said`: these parts as text, where they are kept, and `after` the hash
    before them."""

    request: str
    steps: tuple[str, ...]
    turn: ModelTurn | None
    error: ModelError | None
    after: str = ""
    said: tuple[str, ...] = ()


class Trail:
    """The hash of a conversation as it grows. Each part changes it, and `names` says what the part was."""

    def __init__(self, spec: ConversationSpec) -> None:
        self.steps: list[str] = []
        self.names: list[str] = []
        self.parts: list[object] = []
        described = {
            "system": spec.system,
            "tools": [[tool.name, tool.description, tool.schema] for tool in spec.tools],
            "output": [spec.output.schema, spec.output.text],
            "choice": [spec.tool_choice, spec.parallel_calls],
        }
        self._add("the instructions, tools or output type", described)

    def user(self, text: str, files: Sequence[File]) -> None:
        contents = [[file.media, file.uri, hashlib.sha256(file.data or b"").hexdigest()] for file in files]
        self._add("the input", ["user", text, contents])

    def turn(self, turn: ModelTurn) -> None:
        # Ids are the provider's and may differ from one recording to the next without meaning anything.
        self._add("the model's own turn", ["turn", turn.text, [[call.name, call.arguments] for call in turn.calls], turn.final])

    def answers(self, answers: Sequence[ToolAnswer]) -> None:
        self._add(
            "the results of the calls", ["answers", [[answer.call.name, answer.content, answer.is_error] for answer in answers]]
        )

    def request(self, last: bool) -> str:
        """The hash of the request that is made now."""
        return hashlib.sha256(f"{self.steps[-1]} {last}".encode()).hexdigest()[:32]

    def _add(self, name: str, part: object) -> None:
        before = self.steps[-1] if self.steps else ""
        hashed = hashlib.sha256(
            before.encode() + b"\n" + json.dumps(part, sort_keys=True, default=str).encode("utf-8", "surrogatepass")
        )
        self.steps.append(hashed.hexdigest()[:32])
        self.names.append(name)
        self.parts.append(part)


def readable(part: object) -> str:
    """A part of a request as a person reads it: text as it is, everything else as JSON over several lines."""
    match part:
        case {"system": str(system)}:
            return f"{system}\n\n{_pretty({name: value for name, value in object_of(part).items() if name != 'system'})}"
        case ["user", str(text), []]:
            return text
        case [_, *others]:
            return _pretty(others)
        case _:
            return _pretty(part)


def _pretty(part: object) -> str:
    return json.dumps(part, ensure_ascii=False, indent=2, default=_plain)[:_READABLE]


def _plain(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def beginning(model: str, provider: str) -> bytes:
    """The first line of a recording."""
    return encode({"ael": "recording", "version": VERSION, "provider": provider, "model": model}) + b"\n"


def line(entry: Entry) -> bytes:
    """One line of a recording."""
    value: dict[str, object] = {"request": entry.request, "steps": entry.steps}
    if entry.said:
        value["after"], value["said"] = entry.after, entry.said
    if entry.turn is not None:
        value["turn"] = _turn_value(entry.turn)
    if entry.error is not None:
        error = entry.error
        value["error"] = {
            "kind": error.kind.value,
            "message": error.message,
            "status": error.status,
            "retry_after": error.retry_after,
            "usage": None if error.usage is None else asdict(error.usage),
            "limit": error.limit,
        }
    return encode(value) + b"\n"


def read(path: Path) -> list[Entry]:
    """The entries of a recording. Raises `RecordingError`."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise RecordingError(f"the recording `{path}` is longer than {MAX_BYTES // 2**20} MiB")
        lines = path.read_bytes().split(b"\n")
    except OSError as problem:
        raise RecordingError(f"the recording `{path}` cannot be read: {problem.strerror or problem}") from None
    entries = []
    for number, data in enumerate(lines, start=1):
        if not data.strip():
            continue
        try:
            value = object_of(json.loads(data))
        except (ValueError, RecursionError):
            raise RecordingError(f"{path}:{number}: not JSON") from None
        if number == 1:
            if value.get("ael") != "recording" or value.get("version") != VERSION:
                raise RecordingError(f"{path}:1: this is no recording that this version of AEL reads")
            continue
        entries.append(_entry(value, f"{path}:{number}"))
    if not lines[0].strip():
        raise RecordingError(f"{path}:1: this is no recording that this version of AEL reads")
    return entries


def _entry(value: Mapping[str, object], place: str) -> Entry:
    request = text_of(value.get("request"))
    steps = tuple(text_of(step) for step in list_of(value.get("steps")))
    turn, error = value.get("turn"), value.get("error")
    if not request or (turn is None) == (error is None):
        raise RecordingError(f"{place}: expected `request`, `steps`, and one of `turn` and `error`")
    try:
        said = tuple(text_of(part) for part in list_of(value.get("said") or []))
        came = None if turn is None else _turn(object_of(turn))
        failed = None if error is None else _error(object_of(error))
        return Entry(request, steps, came, failed, text_of(value.get("after") or ""), said)
    except ValueError as problem:
        raise RecordingError(f"{place}: {problem}") from None


def _turn_value(turn: ModelTurn) -> dict[str, object]:
    return {
        "text": turn.text,
        "calls": [[call.id, call.name, call.arguments] for call in turn.calls],
        "stop": turn.stop.value,
        "usage": None if turn.usage is None else asdict(turn.usage),
        "final": turn.final,
        "opaque": None if turn.opaque is None else [turn.opaque.provider, list(turn.opaque.blocks)],
        "model": turn.model,
        "detail": turn.detail,
    }


def _turn(value: Mapping[str, object]) -> ModelTurn:
    calls = []
    for call in list_of(value.get("calls")):
        identity, name, arguments = (*list_of(call), None, None, None)[:3]
        calls.append(ProposedCall(text_of(identity), text_of(name), arguments if isinstance(arguments, str) else None))
    opaque = list_of(value.get("opaque"))
    final = value.get("final")
    return ModelTurn(
        text_of(value.get("text")),
        tuple(calls),
        Stop(value.get("stop")),
        _usage(value.get("usage")),
        final if isinstance(final, str) else None,
        Opaque(text_of(opaque[0]), tuple(list_of(opaque[1]))) if len(opaque) == 2 else None,
        text_of(value.get("model")),
        text_of(value.get("detail")),
    )


def _error(value: Mapping[str, object]) -> ModelError:
    status, wait, limit = value.get("status"), value.get("retry_after"), value.get("limit")
    return ModelError(
        ModelErrorKind(value.get("kind")),
        text_of(value.get("message")),
        status=status if isinstance(status, int) else None,
        retry_after=float(wait) if isinstance(wait, int | float) else None,
        usage=_usage(value.get("usage")),
        limit=limit if isinstance(limit, int) else None,
    )


def _usage(value: object) -> Usage | None:
    if not isinstance(value, dict):
        return None
    plain, read, write, output, thought = (
        count_of(value.get(name)) for name in ("input", "cache_read", "cache_write", "output", "reasoning")
    )
    return Usage(plain, read, write, output, thought, value.get("estimated") is True)
