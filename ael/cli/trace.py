"""Show what a run did: each visit, turn, call, approval and effect, with times, tokens, cost, outcome, and where outside data came in.

    ael trace r1f2e                              as a tree
    ael trace r1f2e --format html --out run.html    as one page to look at, without a network
    ael trace r1f2e --format outline             what is the same for every run of the same work, wherever its services are
    ael trace r1f2e --content                    with arguments, results and what the model said
    ael trace r1f2e --readers                    who has read its content

It is made from the journal of the run, and nothing is done again. Edges, and nodes that only compute, are in no journal: they are shown
where the program is here, unchanged. Content is shown only where it is asked for, as the deployment's `evidence` allows; that it was read,
by whom and when is recorded first. Secrets are masked.
Exit code 0; 1 when the store cannot be used; 2 for bad usage.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import cast

from ael.data import replace
from ael.observe.turns import CLASSES
from ael.run.ports import Span

_SHOWN = ("placement", "model", "skills", "tokens", "cost", "attempt", "reason", "key", "approved_by", "flag")
"""Attributes that are shown, in this order; all of them are in `--json`."""
_CLASS = {"input": "in", "output": "out", "cache_read": "from cache", "cache_write": "to cache", "reasoning": "reasoning"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael trace`."""
    parser.add_argument("run", metavar="RUN", help="the id of a run, or its beginning")
    parser.add_argument("path", nargs="?", type=Path, default=Path(), metavar="FILE", help="the program (default: the one here)")
    parser.add_argument("--deploy", metavar="NAME", help="use `deploy.NAME.ael`")
    parser.add_argument("--format", choices=("text", "outline", "json", "html"), default="text", help="how to print it")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write it to a file")
    parser.add_argument(
        "--content", action="store_true", help="show arguments, results and texts; that they are read is recorded"
    )
    parser.add_argument("--readers", action="store_true", help="list who has read the content of the run, and when")


def run(args: argparse.Namespace) -> int:
    """Print it."""
    kept, opening = import_module("ael.cli.trace_kept"), import_module("ael.cli.runs_open")
    try:
        return cast(int, asyncio.run(kept.act(args)))
    except opening.Stopped as stopped:
        if stopped.text:
            print(stopped.text, file=sys.stderr)
        return cast(int, stopped.exit_code)


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


def outline(spans: Iterable[Span]) -> Iterator[str]:
    """The tree without what differs from run to run and from place to place: times, keys, tokens, costs, who approved, failed attempts,
    and what is inside of the operations of services, which is seen only where these are in the process."""
    found = {span.sequence: span for span in spans}

    def inside(span: Span) -> bool:
        above = found.get(span.parent) if span.parent is not None else None
        return above is not None and (above.kind == "operation" or inside(above))

    shown = [replace(span, attributes={}) for span in found.values() if span.kind != "retry" and not inside(span)]
    return lines(shown, times=False, short=True)


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
    parked = span.attributes.get("parked")
    if style.times:
        parts.append(lasted(span.end - span.start - (parked if isinstance(parked, float) else 0.0)))
    if style.times and isinstance(parked, float):
        parts.append(f"parked {lasted(parked)}")
    if style.short and span.kind in ("turn", "retry") and (told := token_text(span)):
        parts.append(told)
    for attribute in (*_SHOWN, "by") if style.short else _SHOWN:
        if _told_value(span, attribute):
            value = _value(span.attributes[attribute])
            parts.append(f"{attribute} {value[:8] if style.short and attribute == 'key' else value}")
    if span.taint:
        parts.append(f"from {', '.join(span.taint)}")
    if span.outcome not in ("value", ""):
        parts.append(span.outcome.upper())
    return " · ".join(parts)


def _told_value(span: Span, name: str) -> bool:
    value = span.attributes.get(name)
    return any(value.values()) if isinstance(value, dict) else value is not None and value != ""


def lasted(seconds: float) -> str:
    """A length of time: milliseconds while that can be read."""
    if seconds < 60:
        return f"{seconds * 1000:.1f} ms" if seconds < 10 else f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return (
        f"{minutes} min"
        if minutes < 120
        else f"{minutes // 60} h {minutes % 60} min"
        if minutes < 2_880
        else f"{minutes // 1_440} d"
    )


def token_text(span: Span) -> str:
    """The tokens of a turn: `1,200 in, 80 out`."""
    found = {word: number for word in CLASSES if isinstance(number := span.attributes.get(word), int) and number}
    told = ", ".join(f"{number:,} {_CLASS.get(word, word)}" for word, number in found.items())
    return f"{told} (estimated)" if told and span.attributes.get("estimated") else told


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
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
