"""Patterns of paths: `*` and `?` within a name, `[a-z]` one of some characters, `**` any number of folders, `{a,b}` one of some texts.

A match takes time in proportion to the pattern times the path, whatever both are: nothing is tried twice.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

MAX_PATTERN = 1_024
"""Characters of a pattern."""
MAX_CHOICES = 64
"""Patterns that the `{a,b}` of one may stand for."""


class BadPattern(ValueError):
    """A pattern that is refused, and why."""


class Glob(NamedTuple):
    """One or more patterns, each in parts; `**` is a part of its own."""

    choices: tuple[tuple[str, ...], ...]

    def matches(self, parts: tuple[str, ...]) -> bool:
        """Whether the path fits."""
        return any(_path(choice, parts) for choice in self.choices)

    def may_hold(self, parts: tuple[str, ...]) -> bool:
        """Whether something below the folder `parts` may fit: else it need not be opened."""
        return any(_begins(choice, parts) for choice in self.choices)


@lru_cache(maxsize=256)
def glob(pattern: str, *, braces: bool = True) -> Glob:
    """Read a pattern, in which `{` is a letter like others without `braces`. Raises `BadPattern`."""
    if len(pattern) > MAX_PATTERN:
        raise BadPattern(f"a pattern of paths has at most {MAX_PATTERN:,} characters")
    if pattern.startswith("/") or "\\" in pattern or "\0" in pattern:
        raise BadPattern("a pattern of paths begins at the workspace's own folder, and has `/` between its parts")
    choices = []
    for text in _alternatives(pattern) if braces else [pattern]:
        parts = tuple(part for part in text.split("/") if part not in ("", "."))
        if ".." in parts:
            raise BadPattern("`..` leads out of a folder")
        if not parts:
            raise BadPattern("the pattern is empty")
        # Two in a row say nothing more than one.
        choices.append(tuple(part for at, part in enumerate(parts) if part != "**" or at == 0 or parts[at - 1] != "**"))
    return Glob(tuple(choices))


def _alternatives(pattern: str) -> list[str]:
    """The patterns without `{a,b}` that one with them stands for."""
    done: list[str] = []
    open_ones = [pattern]
    while open_ones:
        text = open_ones.pop()
        end = text.find("}")
        start = text.rfind("{", 0, end) if end >= 0 else -1
        if start < 0:
            done.append(text)
        else:
            open_ones += [text[:start] + one + text[end + 1 :] for one in reversed(text[start + 1 : end].split(","))]
        if len(done) + len(open_ones) > MAX_CHOICES:
            raise BadPattern(f"the braces of a pattern stand for at most {MAX_CHOICES} patterns")
    return done


def _path(pattern: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    """Whether the path fits the pattern as a whole. The set of places in the pattern that each part may stand at is followed."""
    places = _skip(pattern, {0})
    for part in parts:
        places = _step(pattern, places, part)
        if not places:
            return False
    return len(pattern) in places


def _begins(pattern: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    places = _skip(pattern, {0})
    for part in parts:
        places = _step(pattern, places, part)
    return any(place < len(pattern) for place in places)


def _step(pattern: tuple[str, ...], places: set[int], part: str) -> set[int]:
    reached: set[int] = set()
    for place in places:
        if place == len(pattern):
            continue
        if pattern[place] == "**":
            reached.add(place)
        elif name_matches(pattern[place], part):
            reached.add(place + 1)
    return _skip(pattern, reached)


def _skip(pattern: tuple[str, ...], places: set[int]) -> set[int]:
    """With the places behind a `**`, which may stand for nothing."""
    return places | {place + 1 for place in places if place < len(pattern) and pattern[place] == "**"}


def name_matches(pattern: str, name: str) -> bool:
    """Whether one name fits: the last `*` alone is tried again, which is enough."""
    at = place = 0
    star, tried = -1, 0
    while at < len(name):
        if place < len(pattern) and pattern[place] == "*":
            star, tried = place, at
            place += 1
            continue
        length = _one(pattern, place, name[at]) if place < len(pattern) else 0
        if length:
            place += length
            at += 1
        elif star >= 0:
            tried += 1
            at, place = tried, star + 1
        else:
            return False
    return all(c == "*" for c in pattern[place:])


def _one(pattern: str, place: int, character: str) -> int:
    """How many characters of the pattern stand for `character` at `place`; 0 when they do not."""
    sign = pattern[place]
    if sign == "?":
        return 1
    if sign == "[":
        end = pattern.find("]", place + 2)
        if end > 0:
            inside = pattern[place + 1 : end]
            no = inside[0] in "!^"
            return (end + 1 - place) if _within(inside[no:], character) is not no else 0
    return 1 if sign == character else 0


def _within(inside: str, character: str) -> bool:
    at = 0
    while at < len(inside):
        if at + 2 < len(inside) and inside[at + 1] == "-":
            if inside[at] <= character <= inside[at + 2]:
                return True
            at += 3
        else:
            if inside[at] == character:
                return True
            at += 1
    return False
