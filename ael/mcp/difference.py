"""What changed between a pinned definition and the one that a server lists now, for people (feature B11).

Every difference is told by its path; text by lines, everything else as old → new. All of it is outside text: bounded and escaped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from ael.mcp.outside import visible, visible_lines
from ael.types.problem import Path, show_path

MOST = 60
"""Lines of one definition's difference; the rest is counted."""
_VALUE = 160
_DEPTH = 64


class _Absent:
    """Stands for what is not there, which null is not."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = _Absent()


@dataclass(frozen=True)
class Change:
    """One difference: at `path`, `old` became `new`; `ABSENT` is a key or an item that is not there."""

    path: Path
    old: object
    new: object


def changes(old: object, new: object) -> tuple[Change, ...]:
    """Every difference between two JSON values, in the order of their keys: those of `old`, then those that are new."""
    return tuple(_changes(old, new, ()))


def difference(old: Mapping[str, object], new: Mapping[str, object] | None, most: int = MOST) -> list[str]:
    """The difference of two definitions as lines; `new` None: the server lists it no more. Empty: they are equal."""
    if new is None:
        return ["the server does not list it any more"]
    lines: list[str] = []
    for change in changes(old, new):
        lines += _told(change)
        if len(lines) > most * 4:
            break
    return lines if len(lines) <= most else [*lines[:most], "… (more differences)"]


def _changes(old: object, new: object, path: Path) -> Iterator[Change]:
    if isinstance(old, Mapping) and isinstance(new, Mapping) and len(path) < _DEPTH:
        for key in [*old, *(key for key in new if key not in old)]:
            yield from _changes(old.get(key, ABSENT), new.get(key, ABSENT), (*path, key))
    elif isinstance(old, list) and isinstance(new, list) and len(path) < _DEPTH:
        yield from _items(old, new, path)
    elif not _equal(old, new):
        yield Change(path, old, new)


def _items(old: list[object], new: list[object], path: Path) -> Iterator[Change]:
    """Items are matched by what they are, so that one put in front is one difference."""
    before, after = [_key(item) for item in old], [_key(item) for item in new]
    for kind, i, end, j, stop in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        pairs = min(end - i, stop - j)
        for at in range(pairs):
            yield from _changes(old[i + at], new[j + at], (*path, j + at))
        for at in range(i + pairs, end):
            yield Change((*path, at), old[at], ABSENT)
        for at in range(j + pairs, stop):
            yield Change((*path, at), ABSENT, new[at])


def _key(item: object) -> str:
    return json.dumps(item, sort_keys=True)


def _equal(old: object, new: object) -> bool:
    """As JSON: `true` is not 1, and the text of two numbers decides, as it does for the digest."""
    if isinstance(old, _Absent) or isinstance(new, _Absent):
        return old is new
    return _key(old) == _key(new)


def _told(change: Change) -> list[str]:
    where = visible(show_path(change.path))
    old, new = change.old, change.new
    if isinstance(old, str) and isinstance(new, str) and (len(old) + len(new) > 80 or "\n" in old + new):
        return [f"{where}:", *_text(old, new)]
    if old is ABSENT:
        return [f"{where}: new, {_value(new)}"]
    if new is ABSENT:
        return [f"{where}: gone, was {_value(old)}"]
    return [f"{where}: {_value(old)} → {_value(new)}"]


def _text(old: str, new: str) -> list[str]:
    """The lines of a text that differ. A line that differs is told even when it looks the same, as escapes."""
    before, after = old.split("\n"), new.split("\n")
    lines: list[str] = []
    for kind, i, end, j, stop in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            lines += [f"  - {line}" for line in visible_lines("\n".join(before[i:end]), MOST // 3)] if end > i else []
            lines += [f"  + {line}" for line in visible_lines("\n".join(after[j:stop]), MOST // 3)] if stop > j else []
    return lines


def _value(value: object) -> str:
    return visible(json.dumps(value, ensure_ascii=False), _VALUE)
