"""A conversation in the records of `std/model`, and a `Turn` of a connector as a turn of a model.

What a connector gives is decoded by the types of its service already; here it gets the meaning that every provider's turn has.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import cast

from ael.run.ports import ConversationSpec, ModelError, ModelErrorKind, ModelTurn, Opaque, ProposedCall, Stop, ToolAnswer, Usage
from ael.types.value import File

MOST = 1_000_000_000
"""Tokens that one turn may say it used."""

_STOPS: Mapping[str, Stop] = {
    "Done": Stop.DONE,
    "Calls": Stop.CALLS,
    "Cut": Stop.CUT,
    "Refused": Stop.REFUSED,
    "Filtered": Stop.FILTERED,
}


class Dialogue:
    """What is said in one conversation. Ids of calls are the connector's where they are usable, else made here (K06)."""

    def __init__(self, provide: str, spec: ConversationSpec) -> None:
        tools = [{"name": tool.name, "description": tool.description, "input": dict(tool.schema)} for tool in spec.tools]
        output = spec.output
        self._provide = provide
        self._frame: dict[str, object] = {
            "instructions": spec.system,
            "tools": tools,
            "tool_choice": spec.tool_choice,
            "parallel_calls": spec.parallel_calls,
            "output": {
                "name": output.name, "description": output.description, "schema": dict(output.schema), "text": output.text
            },
        }  # fmt: skip
        self.size = _size(self._frame)
        self.messages_size = 0
        self._messages: list[dict[str, object]] = []
        self._ids: list[str] = []
        self._known: set[str] = set()
        self._made = 0

    def user(self, text: str, files: Sequence[File] = ()) -> None:
        self._add({"kind": "Said", "text": text, "files": list(files)})
        self.messages_size += sum([4 * len(file.data or b"") // 3 for file in files])

    def turn(self, turn: ModelTurn) -> None:
        self._ids = [self._id(call.id) for call in turn.calls]
        calls = [_call(own, call) for own, call in zip(self._ids, turn.calls, strict=True)]
        opaque = turn.opaque.blocks[0] if turn.opaque is not None and turn.opaque.provider == identity(self._provide) else None
        self._add({"kind": "Replied", "text": turn.text, "final": turn.final, "calls": calls, "opaque": opaque})

    def answers(self, answers: Sequence[ToolAnswer]) -> None:
        # Paired by position: ids are a connector's, and may be anything.
        for own, answer in zip(self._ids, answers, strict=True):
            told = {"id": own, "name": answer.call.name[:1_024], "content": answer.content, "failed": answer.is_error}
            self._add({"kind": "Answered", **told})

    def whole(self, last: bool) -> dict[str, object]:
        """All of it, as fields of a `std/model.Request`."""
        choice = "none" if last and self._frame["tools"] else self._frame["tool_choice"]
        return {**self._frame, "tool_choice": choice, "messages": list(self._messages)}

    def _add(self, message: dict[str, object]) -> None:
        self._messages.append(message)
        self.messages_size += _size({name: value for name, value in message.items() if name != "files"})

    def _id(self, given: str) -> str:
        if given and given not in self._known and len(given) <= 256:
            self._known.add(given)
            return given
        while True:
            self._made += 1
            made = f"call_{self._made}"
            if made not in self._known:
                self._known.add(made)
                return made


def _call(own: str, call: ProposedCall) -> dict[str, object]:
    told: dict[str, object] = {"id": own, "name": call.name[:1_024]}
    return told if call.arguments is None else {**told, "arguments": call.arguments}


def identity(provide: str) -> str:
    """Whose the opaque parts of a connector's turns are: they go back to the same one alone (K37)."""
    return f"connector {provide}"


def model_turn(turn: Mapping[str, object], spec: ConversationSpec, provide: str, nothing: Usage | None) -> ModelTurn:
    """A `std/model.Turn` as the loop reads it (K33). `nothing`: what it used where it does not say; None: it is estimated.

    A turn that says it has calls and has none is one that nobody understands; one with calls that says it is done has calls.
    """
    calls = tuple(
        [
            ProposedCall(str(call.get("id", "")), str(call["name"]), cast("str | None", call.get("arguments")))
            for call in cast("Sequence[Mapping[str, object]]", turn.get("calls", ()))
        ]
    )
    final = cast("str | None", turn.get("final"))
    detail = str(turn.get("detail", ""))
    stop = _STOPS.get(str(turn["stop"]), Stop.UNKNOWN)
    if stop is Stop.CALLS and not calls:
        stop = Stop.DONE if final is not None else Stop.UNKNOWN
        detail = detail or ("" if final is not None else "it ended with calls and has none")
    elif stop is Stop.DONE and calls:
        stop = Stop.CALLS
    told = turn.get("usage")
    usage = used(told) if isinstance(told, Mapping) else nothing
    opaque = turn.get("opaque")
    kept = None if opaque is None else Opaque(identity(provide), (opaque,))
    return ModelTurn(str(turn.get("text", "")), calls, stop, usage, final, kept, spec.model, detail)


def used(told: Mapping[str, int]) -> Usage:
    """A `std/model.Usage`. Raises `ModelError` for what nobody can have used."""
    at = told.get
    wrong = next((f"{told[name]:,} {name}" for name in told if not 0 <= told[name] <= MOST), None)
    if wrong is not None:
        raise ModelError(ModelErrorKind.MALFORMED, f"the turn says that it used {wrong[:60]} tokens")
    return Usage(at("input", 0), at("cache_read", 0), at("cache_write", 0), at("output", 0), at("reasoning", 0))


def outgoing(value: object) -> object:
    """A request as JSON to look at: a file by its content in base64, or where it is."""
    match value:
        case File(media=media, data=data, uri=uri):
            return {"media": media, "uri": uri} if data is None else {"media": media, "data": base64.b64encode(data).decode()}
        case Mapping():
            return {str(name): outgoing(one) for name, one in value.items()}
        case list():
            return [outgoing(one) for one in value]
        case _:
            return value


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))
