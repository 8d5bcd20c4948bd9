"""A span as a sink gets it: the record `std/log.Entry` in its JSON form, of bounded size. Secrets are masked before."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from ael.run.ports import Span

LEVELS = ("Debug", "Info", "Warning", "Error")
"""From the least to the most urgent, as `std/log.Level` has them."""
TEXT, CONTENT, DEPTH = 16_384, 16_384, 20
"""Characters of what was logged, and of a span's content as JSON, that an entry has at most; levels of that. Within these, everything that
decodes an entry takes it."""
_ATTRIBUTE = 2_000
_ATTRIBUTES = 64
_TAINT = 64
_NAME, _RUN = 512, 200
_LEVEL = re.compile(r"(debug|info|warning|error): ?", re.IGNORECASE)
_DETAIL = frozenset({"operation", "store", "effect", "release", "server"})
_OUTCOME = {"fault": "Error", "uncertain": "Error", "error": "Warning", "refused": "Warning"}

Entry = dict[str, object]


def entry_of(span: Span, *, content: bool) -> Entry:
    """The entry of a span that ended. `content`: whether it carries what was said and done; what was logged always has its text."""
    logged = span.kind == "effect" and span.name == "log"
    text = str((span.content or {}).get("text", "")) if logged else ""
    level, text = _level(span, text, logged)
    made: Entry = {
        "time": _time(span.end),
        "level": level,
        "kind": "log" if logged else span.kind,
        "name": "" if logged else span.name[:_NAME],
        "outcome": span.outcome,
        "text": _cut(text, TEXT),
        "tenant": span.tenant,
        "run": span.run[:_RUN],
        "path": span.path[:_NAME],
        "seconds": max(0.0, round(span.end - span.start, 6)),
        "taint": [one[:_NAME] for one in span.taint[:_TAINT]],
        "attributes": _attributes(span.attributes),
        "trace": span.trace,
        "span": span.id,
        "above": span.above,
    }
    if content and span.content is not None and not logged:
        made["content"] = _content(span.content)
    return made


def size_of(entry: Entry) -> int:
    """About how many bytes an entry takes."""
    return 1_024 + 2 * len(str(entry["text"])) + (len(str(entry["content"])) if "content" in entry else 0)


def at_least(entry: Entry, level: str) -> bool:
    """Whether an entry is as urgent as `level`, or more."""
    return LEVELS.index(str(entry["level"])) >= LEVELS.index(level)


def _level(span: Span, text: str, logged: bool) -> tuple[str, str]:
    """How urgent it is, and the text without the word that says so: `log("warning: little is left")`."""
    if logged:
        found = _LEVEL.match(text)
        return (found[1].capitalize(), text[found.end() :]) if found is not None else ("Info", text)
    if span.kind == "retry":
        return "Warning", text
    return _OUTCOME.get(span.outcome, "Debug" if span.kind in _DETAIL else "Info"), text


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _attributes(given: Mapping[str, object]) -> dict[str, object]:
    return {name[:_NAME]: _plain(value) for name, value in list(given.items())[:_ATTRIBUTES]}


def _plain(value: object) -> object:
    """An attribute as JSON; a long one is cut to text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return _cut(value, _ATTRIBUTE)
    text = json.dumps(value, default=str, ensure_ascii=False)
    return json.loads(text) if len(text) <= _ATTRIBUTE and not _deep(value, DEPTH) else _cut(text, _ATTRIBUTE)


def _content(content: Mapping[str, object]) -> object:
    """A span's content as JSON; where it is too much, the beginning of its text."""
    text = json.dumps(content, default=str, ensure_ascii=False)
    if len(text) <= CONTENT and not _deep(content, DEPTH):
        return json.loads(text)
    return {"cut": text[:CONTENT], "characters": len(text)}


def _deep(value: object, most: int) -> bool:
    """Whether a value has more than `most` levels."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return not most or any(_deep(one, most - 1) for one in inner)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
