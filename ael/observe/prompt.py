"""A request to a model as data: the messages that it was sent, the tools that it was offered (feature A16.7)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

from ael.observe.shown import Shown
from ael.run.conversation import Request
from ael.run.turn import Exchange


def prompt(request: Request, show: Shown) -> dict[str, object]:
    """The whole of it."""
    setup = request.setup
    offered = [{"name": one.name, "description": show.said(one.description), "schema": dict(one.schema)} for one in setup.offers]
    output = {"text": setup.output.text, "schema": dict(setup.output.schema)}
    return {
        "system": show.said(setup.system),
        "tools": offered,
        "tool_choice": setup.tool_choice,
        "output": output,
        "messages": messages(request, show),
    }


def messages(request: Request, show: Shown) -> list[dict[str, object]]:
    """What the model reads after the system message, in its order: of the user, of itself, and of its tools."""
    first: dict[str, object] = {"role": "user", "text": show.said(request.first)}
    if request.files:
        first["files"] = [file.media for file in request.files]
    return [first, *(message for exchange in request.exchanges for message in _exchange(exchange, show))]


def added(requests: Sequence[Request], at: int, show: Shown) -> list[dict[str, object]]:
    """The messages of a visit's request that the one before it did not have: told once each, however many turns there are.

    A history that was trimmed or summed up begins anew.
    """
    now = messages(requests[at], show)
    if at == 0:
        return now
    before = messages(requests[at - 1], show)
    return now[len(before) :] if now[: len(before)] == before else now


def told(message: Mapping[str, object]) -> tuple[str, str]:
    """A message for people: who says it, and what, with a line for each call."""
    about = [str(message[word]) for word in ("name",) if word in message]
    about += ["error"] if message.get("error") else []
    about += [f"files {', '.join(_list(message['files']))}"] if "files" in message else []
    lines = [_plain(message[word]) for word in ("text", "content", "final") if message.get(word)]
    calls = cast("Sequence[Mapping[str, object]]", message.get("calls", ()))
    lines += [f"call {call['name']} {_plain(call['arguments'])}" for call in calls]
    lines += [f"({message['opaque']})"] if "opaque" in message else []
    return f"{message['role']} {', '.join(about)}".rstrip(), "\n".join(lines)


def _list(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []


def _plain(value: object) -> str:
    """Text as it is, lines and all; what has a form of its own, as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _exchange(exchange: Exchange, show: Shown) -> list[dict[str, object]]:
    turn = exchange.turn
    said: dict[str, object] = {"role": "model", "text": show.said(turn.text)}
    if turn.final is not None:
        said["final"] = show.said(turn.final)
    if turn.calls:
        said["calls"] = [{"id": call.id, "name": call.name, "arguments": show.said(call.arguments)} for call in turn.calls]
    if turn.opaque is not None:
        # What a provider gives in order to get it back: nobody else can read it.
        said["opaque"] = f"{len(turn.opaque.blocks)} opaque of {turn.opaque.provider}"
    told = [said]
    for answer in exchange.answers:
        content = show.said(answer.content)
        told.append(
            {"role": "tool", "id": answer.call.id, "name": answer.call.name, "content": content, "error": answer.is_error}
        )
    if exchange.said:
        told.append({"role": "user", "text": show.said(exchange.said)})
    return told
