"""One effect of a kept run as data: its records together, the attempts of a model's turn with what each took (feature A16.7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ael.journal.entry import Ending, Entry, Kind, State
from ael.observe.turns import tokens
from ael.run.budget import cost_of
from ael.run.ports import Price, Usage
from ael.run.turn import failed_in, from_record, paid_in


def effects(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """The records of each effect together, in the order in which they began."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.path, []).append(entry)
    return iter(found.values())


def attempts(entry: Entry, price: Price | None) -> list[dict[str, object]]:
    """The wire attempts of a model's turn: the failed ones first, each with its model, tokens by class, cost, and why it failed.

    The cost is what was paid by the record; in records of older releases, what it is at `price`. None: not known.
    """
    record = entry.value
    if entry.kind is not Kind.MODEL or entry.state is not State.ANSWERED or not isinstance(record, Mapping):
        return []
    made = [_attempt(one.model, one.usage, None if one.cost is None else str(one.cost), one.reason) for one in failed_in(record)]
    if entry.ending is Ending.VALUE and "usage" in record:
        turn, usage, *_ = from_record({"text": "", "calls": [], "final": None, "opaque": None, "detail": "", **record})
        paid = paid_in(record)
        if paid is None and price is not None:
            paid = f"{cost_of(usage, price).normalize():f}"
        made.append(_attempt(turn.model, usage, paid, ""))
    return made


def _attempt(model: str, usage: Usage, cost: str | None, reason: str) -> dict[str, object]:
    """`input` and `output` count all classes of theirs, `classes` each by itself."""
    classes = {word: number for word, number in tokens(usage).items() if word != "estimated"}
    return {
        "model": model,
        "input": usage.input + usage.cache_read + usage.cache_write,
        "output": usage.output + usage.reasoning,
        "classes": classes,
        "estimated": usage.estimated,
        "cost": cost,
        "reason": reason or None,
    }


def effect_json(records: Sequence[Entry], price: Price | None) -> dict[str, object]:
    """An effect as JSON. Times in seconds since the epoch, costs as text in dollars."""
    first, last = records[0], records[-1]
    return {
        "path": last.path,
        "kind": last.kind.value,
        "target": last.target,
        "state": last.state.value,
        "key": last.key or None,
        "arguments": first.value if first.state is State.PROPOSED else None,
        "ending": last.ending.value if last.ending is not None else None,
        "value": last.value if last.state is State.ANSWERED else None,
        "began": first.at,
        "ended": last.at if last.state is State.ANSWERED else None,
        "taint": list(last.taint),
        "derived": list(last.derived),
        "attempts": attempts(last, price),
    }
