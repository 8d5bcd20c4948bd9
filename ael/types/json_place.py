"""Where in a JSON text something is: only looked at once the text was refused, so that refusals name a path and an offset."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from ael.types.problem import Path

_TOKEN = re.compile(rb'[ \t\r\n]*(?:("(?:[^"\\]|\\.)*"?)|([\[\]{}:,])|([^\s"\[\]{}:,]+))', re.DOTALL)
_MAX_PATH = 64


class _Step(NamedTuple):
    """A token: where it begins, its text, the containers around it (`[` or `{`) and the path of what comes or was last."""

    offset: int
    token: bytes
    depth: int
    path: Path
    key: bool
    twice: bool


def offset_of(data: bytes, line: int, column: int) -> int:
    """The offset of a place that the parser tells by line and column, both from 1."""
    start = 0
    for _ in range(line - 1):
        end = data.find(b"\n", start)
        if end < 0:
            break
        start = end + 1
    return max(0, min(len(data), start + column - 1))


def path_at(data: bytes, offset: int) -> Path:
    """The path of the value at or before `offset`, as far as the text up to there has one."""
    path: Path = ()
    for step in _walk(data):
        if step.offset > offset or (step.offset == offset and step.token in (b"]", b"}")):
            break
        path = step.path
    return path


def too_deep_at(data: bytes, depth: int) -> tuple[Path, int] | None:
    """The first bracket that opens more than `depth` levels."""
    return next(((step.path, step.offset) for step in _walk(data) if step.depth > depth), None)


def duplicate_place(data: bytes) -> tuple[Path, int]:
    """The first key that its object has already."""
    return next(((step.path, step.offset) for step in _walk(data) if step.twice), ((), 0))


def _walk(data: bytes) -> Iterator[_Step]:
    """The tokens with their paths; what is no JSON is walked as far as it makes sense."""
    opened: list[bytes] = []
    path: list[str | int] = []
    keys: list[set[str]] = []
    expects_key = False
    at = 0
    while (found := _TOKEN.match(data, at)) is not None:
        at, start = found.end(), found.start(found.lastindex or 0)
        token, key, twice = found[found.lastindex or 0], False, False
        match token:
            case b"[" | b"{":
                opened.append(token)
                path.append(0 if token == b"[" else "")
                keys.append(set())
                expects_key = token == b"{"
                shown = tuple(path[:-1])
            case b"]" | b"}":
                if opened:
                    opened.pop()
                    path.pop()
                    keys.pop()
                expects_key = False
                shown = tuple(path)
            case b",":
                if opened and opened[-1] == b"[":
                    last = path[-1]
                    path[-1] = last + 1 if isinstance(last, int) else 0
                expects_key = bool(opened) and opened[-1] == b"{"
                shown = tuple(path[:-1]) if expects_key else tuple(path)
            case b":":
                shown = tuple(path)
            case _:
                if expects_key and token.startswith(b'"'):
                    name = _text(token)
                    path[-1], key, expects_key = name, True, False
                    twice = name in keys[-1]
                    keys[-1].add(name)
                shown = tuple(path)
        yield _Step(start, token, len(opened), shown[:_MAX_PATH], key, twice)


def _text(token: bytes) -> str:
    try:
        value = json.loads(token)
    except ValueError:
        return token.decode("utf-8", "replace").strip('"')
    return str(value)
