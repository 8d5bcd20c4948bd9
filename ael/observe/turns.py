"""A journaled turn in a trace: the model, its tokens, what it cost, and the attempts that failed before it (feature A16.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from ael.observe.shown import Shown
from ael.run.ports import Usage
from ael.run.turn import failed_in, from_record, looks_like_call, paid_in


def turn_attributes(record: object) -> dict[str, object]:
    """What the span of a turn says, as that of a run under way does."""
    turn, usage, cut, failed = from_record(record)
    told: dict[str, object] = {"model": turn.model, "stop": turn.stop.value, **tokens(usage), "cost": paid_in(record)}
    if failed:
        told["attempts"] = len(failed) + 1
    if cut:
        told["cut"] = True
    if turn.text and looks_like_call(turn.text):
        told["looks_like_call"] = True
    return told


def failed_attempts(record: object) -> list[dict[str, object]]:
    """The wire attempts that gave no turn, first to last: model, reason, tokens, cost."""
    return [
        {
            "attempt": index + 1,
            "model": one.model,
            "reason": one.reason or None,
            "cost": None if one.cost is None else str(one.cost),
            **tokens(one.usage),
        }
        for index, one in enumerate(failed_in(record))
    ]


def turn_content(record: object, show: Shown) -> dict[str, object]:
    """What the model said."""
    turn, *_ = from_record(record)
    calls = [{"name": call.name, "arguments": show.said(call.arguments)} for call in turn.calls]
    found: dict[str, object] = {"text": turn.text and show.said(turn.text), "final": show.said(turn.final), "calls": calls}
    return {word: value for word, value in found.items() if value}


def tokens(usage: Usage) -> dict[str, object]:
    """Tokens by class."""
    return {
        "input": usage.input,
        "output": usage.output,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "reasoning": usage.reasoning,
        "estimated": usage.estimated,
    }


CLASSES = ("input", "output", "cache_read", "cache_write", "reasoning")


def spent(turns: Iterable[Mapping[str, object]]) -> dict[str, object]:
    """What several turns took in all; a cost that one of them does not know is not known. Nothing for no turns."""
    steps, cost, attempts = 0, Decimal(0), 0
    priced = True
    total = dict.fromkeys(CLASSES, 0)
    for turn in turns:
        steps += 1
        made = turn.get("attempts", 1)
        attempts += made if isinstance(made, int) else 1
        for word in CLASSES:
            number = turn.get(word, 0)
            total[word] += number if isinstance(number, int) else 0
        paid = turn.get("cost")
        if isinstance(paid, str):
            cost += Decimal(paid)
        else:
            priced = priced and "model" not in turn
    if not steps:
        return {}
    return {
        "steps": steps,
        "attempts": attempts,
        "tokens": {k: v for k, v in total.items() if v},
        "cost": str(cost) if priced else None,
    }
