"""A trace as a tree of lines: what ran under what, how long, what it cost, how it ended, and where outside data came in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ael.run.ports import Span

_SHOWN = ("model", "tokens", "cost", "attempt", "reason", "key", "approved_by", "flag")
"""Attributes that are shown, in this order; all of them are in `--json`."""


def lines(spans: Iterable[Span], *, times: bool = True, short: bool = False) -> Iterator[str]:
    """The tree, in the order in which the spans began. Without `times` the text is the same for every run of the same work.

    `short` is for people: names without their module, the first eight digits of keys.
    """
    below: dict[int | None, list[Span]] = defaultdict(list)
    found = sorted(spans, key=lambda s: s.sequence)
    numbers = {span.sequence for span in found}
    for span in found:
        below[span.parent if span.parent in numbers else None].append(span)
    yield from _tree(below, None, "", _Style(times, short))


def _tree(below: dict[int | None, list[Span]], parent: int | None, lead: str, style: _Style) -> Iterator[str]:
    children = below.get(parent, [])
    for index, span in enumerate(children):
        last = index == len(children) - 1
        top = parent is None
        yield f"{lead}{'' if top else '└─ ' if last else '├─ '}{_told(span, style)}"
        yield from _tree(below, span.sequence, lead + ("" if top else "   " if last else "│  "), style)


@dataclass(frozen=True)
class _Style:
    times: bool
    short: bool


def _told(span: Span, style: _Style) -> str:
    name = span.name.partition(".")[2] or span.name if style.short else span.name
    parts = [f"{span.kind} {name}"]
    if style.times:
        parts.append(f"{(span.end - span.start) * 1000:.1f} ms")
    for attribute in (*_SHOWN, "by") if style.short else _SHOWN:
        if _told_value(span, attribute):
            value = _value(span.attributes[attribute])
            parts.append(f"{attribute} {value[:8] if style.short and attribute == 'key' else value}")
    if span.taint:
        parts.append(f"from {', '.join(span.taint)}")
    if span.outcome != "value":
        parts.append(span.outcome.upper())
    return " · ".join(parts)


def _told_value(span: Span, name: str) -> bool:
    value = span.attributes.get(name)
    return any(value.values()) if isinstance(value, dict) else value is not None and value != ""


def _value(value: object) -> str:
    if not isinstance(value, dict):
        return str(value)
    classes = ", ".join(f"{name} {number}" for name, number in value.items() if number and name != "estimated")
    return f"{classes} (estimated)" if value.get("estimated") else classes


def plain(span: Span) -> dict[str, object]:
    """A span as JSON."""
    told: dict[str, object] = {
        "run": span.run,
        "sequence": span.sequence,
        "parent": span.parent,
        "kind": span.kind,
        "name": span.name,
        "path": span.path,
        "start": span.start,
        "end": span.end,
        "outcome": span.outcome,
        "taint": list(span.taint),
        "attributes": {name: _json(value) for name, value in span.attributes.items()},
    }
    if span.content is not None:
        told["content"] = {name: _json(value) for name, value in span.content.items()}
    return told


def _json(value: object) -> object:
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    return str(value)
