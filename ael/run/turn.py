"""A model's turn as data: its journal form, whether it was cut, its usage when none was told, and text that only looks like a call."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple, cast

from ael.data import replace
from ael.run.ports import ModelTurn, Opaque, ProposedCall, Stop, ToolAnswer, Usage

BYTES_PER_TOKEN = 4
"""What tokens are estimated from where a provider does not tell them; such usage is marked estimated."""

_LOOKS_LIKE_CALL = re.compile(
    r"<\|?(?:tool_call|function_call|function|tool_use|invoke|python_tag)\b|\[TOOL_CALLS?\]|<function=|\"(?:tool_calls|function_call)\"\s*:|"
    r"\{\s*\"(?:name|tool|function)\"\s*:\s*\"[^\"]{1,80}\"\s*,\s*\"(?:arguments|parameters|args|input)\"\s*:",
    re.IGNORECASE,
)
_TRANSCRIPT_TEXT = 4_000
_LONE = re.compile("[\ud800-\udfff]")
KEPT_ARGUMENTS = 4_096
"""Characters of refused arguments that stay in the history."""


def estimated_tokens(size: int) -> int:
    """Tokens of `size` bytes, rounded up."""
    return -(-size // BYTES_PER_TOKEN)


def usage_of(turn: ModelTurn, prompt: int) -> Usage:
    """What a turn used: as reported, else estimated and marked so (K04)."""
    if turn.usage is not None:
        return turn.usage
    said = len(turn.text) + len(turn.final or "") + sum([len(call.name) + len(call.arguments or "") for call in turn.calls])
    return Usage(input=prompt, output=estimated_tokens(said) + 1, estimated=True)


def writable(turn: ModelTurn) -> ModelTurn:
    """The turn with every lone surrogate as U+FFFD, so that nothing after it fails to write it (K13). Opaque parts stay as they are."""
    said = turn.text + (turn.final or "") + turn.detail + turn.model
    for call in turn.calls:
        said += call.id + call.name + (call.arguments or "")
    if said.isascii() or not _LONE.search(said):
        return turn
    final = None if turn.final is None else replaced(turn.final)
    calls = tuple(
        [
            ProposedCall(replaced(call.id), replaced(call.name), None if call.arguments is None else replaced(call.arguments))
            for call in turn.calls
        ]
    )
    return replace(
        turn, text=replaced(turn.text), calls=calls, final=final, model=replaced(turn.model), detail=replaced(turn.detail)
    )


def replaced(text: str) -> str:
    """`text` with every lone surrogate as U+FFFD."""
    if text.isascii():
        return text
    return _LONE.sub("\ufffd", text)


def was_cut(turn: ModelTurn, max_tokens: int) -> bool:
    """Whether a turn was cut: by its stop reason, or by reaching its token maximum whatever the reason says (K32)."""
    if turn.stop is Stop.CUT:
        return True
    usage = turn.usage
    return usage is not None and not usage.estimated and usage.output + usage.reasoning >= max_tokens


def looks_like_call(text: str) -> bool:
    """Whether text holds what looks like a tool call. It stays text; the trace says so (K15)."""
    return ("{" in text or "<" in text or "[" in text) and _LOOKS_LIKE_CALL.search(text) is not None


class Failed(NamedTuple):
    """A wire attempt that gave no turn: the model that was asked, what it used and cost (None: no price is known), and why it failed."""

    model: str
    usage: Usage
    cost: Decimal | None
    reason: str


def to_record(turn: ModelTurn, usage: Usage, cut: bool, failed: Sequence[Failed], cost: Decimal | None) -> dict[str, object]:
    """The journal form of a turn: plain data, opaque parts as they came. `failed`: the wire attempts before it that gave no turn.

    `paid` says what was paid, at the prices of that day, for whoever reads the journal later; a replay does not look at it.
    """
    opaque = turn.opaque
    return {
        "text": turn.text,
        "calls": [[call.id, call.name, call.arguments] for call in turn.calls],
        "stop": turn.stop.value,
        "usage": _numbers(usage),
        "final": turn.final,
        "opaque": None if opaque is None else [opaque.provider, list(opaque.blocks)],
        "model": turn.model,
        "detail": turn.detail,
        "cut": cut,
        **failed_record(failed),
        "paid": _money(cost),
    }


def failed_record(failed: Sequence[Failed]) -> dict[str, object]:
    """The wire attempts that gave no turn, as they stand in the record of a turn, and in that of the fault that ended it."""
    return {
        "failed": [_numbers(one.usage) for one in failed],
        "attempts": [[one.model, _money(one.cost), one.reason] for one in failed],
    }


def _money(cost: Decimal | None) -> str | None:
    return None if cost is None else str(cost)


def paid_in(value: object) -> str | None:
    """What a record says was paid for its turn; None where no price was known, and in records of older releases."""
    paid = cast("Mapping[str, object]", value).get("paid")
    return paid if isinstance(paid, str) else None


def failed_in(value: object) -> list[Failed]:
    """The failed attempts in the record of a turn or of the fault that ended it. Those of older releases have tokens alone."""
    record = cast("Mapping[str, object]", value)
    usages = cast("Sequence[object]", record.get("failed") or [])
    told = cast("Sequence[tuple[str, str | None, str]]", record.get("attempts") or [("", None, "")] * len(usages))
    return [
        Failed(model, _usage(usage), None if cost is None else Decimal(cost), reason)
        for usage, (model, cost, reason) in zip(usages, told, strict=True)
    ]


def _numbers(usage: Usage) -> list[int]:
    return [usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning, usage.estimated]


def _usage(numbers: object) -> Usage:
    plain, read, write, output, reasoning, estimated = cast("Sequence[int]", numbers)
    return Usage(plain, read, write, output, reasoning, bool(estimated))


def from_record(value: object) -> tuple[ModelTurn, Usage, bool, list[Usage]]:
    """The turn, its usage, whether it was cut, and the usage of wire attempts that failed before it."""
    record = cast("Mapping[str, object]", value)
    usage = _usage(record["usage"])
    calls = tuple([ProposedCall(*cast("Sequence[str]", call)) for call in cast("Sequence[object]", record["calls"])])
    kept = cast("Sequence[object] | None", record["opaque"])
    opaque = None if kept is None else Opaque(str(kept[0]), tuple(cast("Sequence[object]", kept[1])))
    final = cast("str | None", record["final"])
    turn = ModelTurn(
        str(record["text"]), calls, Stop(record["stop"]), usage, final, opaque, str(record["model"]), str(record["detail"])
    )
    return turn, usage, bool(record["cut"]), [_usage(one) for one in cast("Sequence[object]", record["failed"])]


class Exchange:
    """A turn with the answers of its calls, and what the user's side said after it. Always kept, and trimmed, as a whole."""

    __slots__ = ("answers", "said", "turn")

    def __init__(self, turn: ModelTurn) -> None:
        self.turn = turn
        self.answers: tuple[ToolAnswer, ...] = ()
        self.said = ""


def bounded(turn: ModelTurn, answers: tuple[ToolAnswer, ...]) -> tuple[ModelTurn, tuple[ToolAnswer, ...]]:
    """The pair as it goes into the history: long arguments that were refused are left out, so that junk is not sent again (K07)."""
    if not any(answer.is_error and len(answer.call.arguments or "") > KEPT_ARGUMENTS for answer in answers):
        return turn, answers
    kept = tuple(
        [
            replace(answer, call=replace(answer.call, arguments="{}"))
            if answer.is_error and len(answer.call.arguments or "") > KEPT_ARGUMENTS
            else answer
            for answer in answers
        ]
    )
    return replace(turn, calls=tuple([answer.call for answer in kept])), kept


def transcript(first: str, exchanges: Sequence[Exchange]) -> list[dict[str, object]]:
    """What was said, as plain data, for the fault that ends a node. Long texts are cut."""
    told: list[dict[str, object]] = [{"role": "user", "text": _cut(first)}]
    for exchange in exchanges:
        turn = exchange.turn
        entry: dict[str, object] = {"role": "model", "text": _cut(turn.text), "stop": turn.stop.value}
        if turn.final is not None:
            entry["final"] = _cut(turn.final)
        if turn.calls:
            entry["calls"] = [{"id": call.id, "name": call.name, "arguments": _cut(call.arguments or "")} for call in turn.calls]
        told.append(entry)
        told += [
            {
                "role": "tool",
                "id": answer.call.id,
                "name": answer.call.name,
                "content": _cut(answer.content),
                "error": answer.is_error,
            }
            for answer in exchange.answers
        ]
        if exchange.said:
            told.append({"role": "user", "text": _cut(exchange.said)})
    return told


def _cut(text: str) -> str:
    return text if len(text) <= _TRANSCRIPT_TEXT else f"{text[:_TRANSCRIPT_TEXT]}… ({len(text):,} characters)"


def cut_text(text: str, max_bytes: int) -> str:
    """`text` within `max_bytes` of UTF-8, with a marker that says what was left out."""
    data = text.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return text
    marker = f"\n… [cut: {max_bytes:,} of {len(data):,} bytes]"
    kept = max(0, max_bytes - len(marker.encode()))
    return data[:kept].decode("utf-8", "ignore") + marker
