"""Runs and what they did as the page gets them: data of bounded size, without content, times in seconds since the epoch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import cast

from ael.durable.compare import cost_in, tokens_in
from ael.durable.fork import fork_of
from ael.durable.told import row_json
from ael.journal.durable import RunRow
from ael.observe.turns import CLASSES
from ael.project.program import Opened
from ael.run.ports import Span
from ael.studio.desk import Traced
from ael.types.spec import BudgetSpec

_HIDDEN = frozenset({*CLASSES, "estimated", "tokens", "tenant", "caller"})


def row_of(row: RunRow) -> dict[str, object]:
    """A run in a list."""
    told = {word: value for word, value in row_json(row).items() if word not in ("outcome", "deadline", "owner")}
    cost = cost_in(row)
    entry = row.header.entry
    return {
        **told,
        "name": entry.partition(".")[2] or entry,
        "digest": row.header.program,
        "tokens": tokens_in(row),
        "cost": None if cost is None else f"{cost:f}",
        "cancelling": row.cancel is not None and row.ended is None,
    }


def head_of(traced: Traced, opened: Opened | None) -> dict[str, object]:
    """A run above its timeline: what it is, what it was forked from, what it has used of what it may use."""
    row, root = traced.row, traced.spans[0]
    fork = fork_of(traced.pinned)
    same = opened is not None and fork_digest(opened, row)
    return {
        **row_of(row),
        "records": traced.records,
        "notes": list(traced.notes),
        "begun": begun(traced.spans),
        "end": root.end,
        "outcome": root.outcome,
        "fork": None
        if fork is None
        else {"of": fork.of, "at": fork.at, "changes": [one.partition("=")[0] for one in fork.changes]},
        "spent": {word: root.attributes.get(word) for word in ("tokens", "cost", "steps", "tool_calls", "attempts")},
        "parked": root.attributes.get("parked"),
        "limits": _limits(row, traced.pinned, opened if same else None),
    }


def fork_digest(opened: Opened, row: RunRow) -> bool:
    """Whether the program has the entry of a run: its picture and its budgets say something about it then."""
    return row.header.entry in opened.program.nodes


def _limits(row: RunRow, pinned: Mapping[str, object], opened: Opened | None) -> dict[str, object]:
    """What a run may use: the narrowest of what it was given, what its entry declares, and what the deployment allows."""
    found: dict[str, Decimal] = {}
    said: list[Mapping[str, object]] = []
    budget = pinned.get("budget")
    if isinstance(budget, Mapping):
        said.append(budget)
    if opened is not None:
        spec = opened.program.nodes[row.header.entry].budget
        said += [_spec(spec), _spec(opened.deployment.run_budget)]
    for limits in said:
        for word, value in limits.items():
            if isinstance(value, int | Decimal | str):
                amount = Decimal(str(value))
                found[word] = min(found.get(word, amount), amount)
    return {word: f"{amount:f}" if word == "cost" else int(amount) for word, amount in found.items()}


def _spec(budget: BudgetSpec) -> dict[str, object]:
    words = ("tokens", "cost", "time", "steps", "tool_calls")
    return {word: value for word in words if (value := getattr(budget, word)) is not None}


def begun(spans: Sequence[Span]) -> float:
    """When the first of it began: in a fork, what it took over from its original, before itself."""
    return min(span.start for span in spans)


def spans_of(spans: Sequence[Span], start: int, most: int) -> Iterator[dict[str, object]]:
    """A part of a timeline: times in seconds from `begun` on."""
    began = begun(spans)
    for span in spans[start : start + most]:
        told = {word: value for word, value in span.attributes.items() if word not in _HIDDEN and value not in (None, "", [], {})}
        classes = [number for word in CLASSES if isinstance(number := span.attributes.get(word), int)]
        total = span.attributes.get("tokens")
        if not classes and isinstance(total, Mapping):
            classes = [number for word, number in total.items() if word in CLASSES and isinstance(number, int)]
        one: dict[str, object] = {
            "n": span.sequence,
            "up": span.parent,
            "kind": span.kind,
            "name": span.name.partition(".")[2] or span.name if span.kind != "edge" else span.name,
            "path": span.path,
            "at": round(span.start - began, 6),
            "for": round(span.end - span.start, 6),
        }
        if span.outcome not in ("value", ""):
            one["out"] = span.outcome
        if sum(classes):
            one["tokens"] = sum(classes)
        if span.attributes.get("estimated"):
            one["estimated"] = True
        if span.taint:
            one["from"] = list(span.taint)
        if told:
            one["more"] = told
        yield one


def classes_of(span: Span) -> dict[str, int]:
    """The tokens of a span by class."""
    return {word: cast(int, span.attributes[word]) for word in CLASSES if isinstance(span.attributes.get(word), int)}
