"""Patterns of text that take linear time, whatever the pattern and whatever the text.

The syntax is what JSON Schema asks for: ECMA-262 with its `u` flag, without look-around, back references and `\\b`, which are
refused where the pattern is written (conditions at its very start are taken: `pattern_look.py`). `\\d`, `\\w` are ASCII, `$` is the
very end, a search is unanchored. A pattern whose every choice is decided by one character runs in Python's `re`, which then never goes
back; any other runs as a deterministic automaton that is built as it is needed (`pattern_find.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from ael.types.pattern_find import Automaton
from ael.types.pattern_look import looks
from ael.types.pattern_syntax import Anchor, CharSet, Item, PatternError, Repeat, Sequence, parse

__all__ = ["PatternError", "check_pattern", "compile_pattern", "matches"]

MAX_STATES = 4_000
"""States of the automaton, after counted repetitions are written out."""


def matches(pattern: str, text: str) -> bool:
    """Whether `pattern` occurs in `text`. Raises PatternError for a pattern that is refused."""
    return compile_pattern(pattern)(text)


def check_pattern(pattern: str) -> PatternError | None:
    """What is wrong with a pattern, or None."""
    try:
        compile_pattern(pattern)
    except PatternError as error:
        return error
    return None


@lru_cache(maxsize=1_024)
def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """A function that tells whether `pattern` occurs in a text. Raises PatternError for a pattern that is refused."""
    parts = looks(pattern)
    if parts.wanted != (pattern,):
        wanted, refused = map(compile_pattern, parts.wanted), map(compile_pattern, parts.refused)
        return _all_and_none(tuple(wanted), tuple(refused))
    tree = parse(pattern)
    direct = _direct(tree)
    if direct is not None:
        search = re.compile(direct, re.DOTALL).search
        return lambda text: search(text) is not None
    return Automaton(tree, MAX_STATES).occurs


def _all_and_none(wanted: tuple[Callable[[str], bool], ...], refused: tuple[Callable[[str], bool], ...]) -> Callable[[str], bool]:
    return lambda text: all(one(text) for one in wanted) and not any(one(text) for one in refused)


def _direct(tree: Item) -> str | None:
    """The same pattern for `re`, if it is anchored and no repetition can take a character that what follows could take too."""
    items = tree.items if isinstance(tree, Sequence) else (tree,)
    if not items or items[0] != Anchor("^"):
        return None
    text = [r"\A"]
    pending: list[CharSet] = []
    for at, item in enumerate(items[1:], 1):
        if item == Anchor("$"):
            if at != len(items) - 1:
                return None
            text.append(r"\Z")
            continue
        single, low, high = item if isinstance(item, Repeat) else Repeat(item, 1, 1)
        if not isinstance(single, CharSet) or any(single.meets(before) for before in pending):
            return None
        if low > 0:
            pending.clear()
        if high != low:
            pending.append(single)
        if high is not None and high > 60_000:
            return None
        text.append(single.source() + ("" if low == high == 1 else f"{{{low},{'' if high is None else high}}}"))
    return "".join(text)
