"""Patterns of text that take linear time, whatever the pattern and whatever the text.

The syntax is what JSON Schema asks for: ECMA-262 with its `u` flag, without look-around, back references and `\\b`, which are
refused where the pattern is written (conditions at its very start are taken: `pattern_look.py`). `\\d`, `\\w` are ASCII, `$` is the
very end, a search is unanchored. A pattern whose every choice is decided by one character runs in Python's `re`, which then never goes
back; any other runs as a lazily built deterministic automaton.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache

from ael.data import dataclass
from ael.types.pattern_look import looks
from ael.types.pattern_syntax import Alternation, Anchor, CharSet, Item, PatternError, Repeat, Sequence, parse

__all__ = ["PatternError", "check_pattern", "compile_pattern", "matches"]

MAX_STATES = 4_000
"""States of the automaton, after counted repetitions are written out."""
_KEPT = 1_000
"""Deterministic states kept at a time; beyond it they are built anew."""


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
    return _Automaton(tree).search


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


@dataclass(slots=True)
class _State:
    """A state of the automaton: `chars` leads on a character to `next`; without, `split` leads on by itself."""

    chars: CharSet | None = None
    next: int = -1
    split: tuple[int, ...] = ()
    anchor: str = ""


_ACCEPT = 0


class _Node:
    """A deterministic state: the states that it stands for, and where characters lead. Whoever shares it adds to `moves` what anybody
    else would add, so threads need no lock."""

    __slots__ = ("accepts", "moves", "states")

    def __init__(self, states: frozenset[int]) -> None:
        self.states = states
        self.accepts = _ACCEPT in states
        self.moves: dict[int, _Node] = {}


class _Automaton:
    """Thompson's construction, made deterministic while it reads."""

    def __init__(self, tree: Item) -> None:
        self._states = [_State()]
        self._start = self._build(tree, _ACCEPT)
        edges = {0}
        for state in self._states:
            if state.chars is not None:
                for low, high in state.chars.ranges:
                    edges |= {low, high + 1}
        self._edges = sorted(edges)
        self._ascii = [bisect_right(self._edges, code) - 1 for code in range(128)]
        self._beginning = self._closure({self._start}, begin=True, end=False)
        self._nodes: dict[frozenset[int], _Node] = {}

    def _add(self, state: _State) -> int:
        if len(self._states) >= MAX_STATES:
            raise PatternError(f"the pattern is too large: its repetitions stand for more than {MAX_STATES:,} characters", 0)
        self._states.append(state)
        return len(self._states) - 1

    def _build(self, item: Item, then: int) -> int:
        match item:
            case CharSet():
                return self._add(_State(chars=item, next=then))
            case Anchor(kind):
                return self._add(_State(split=(then,), anchor=kind))
            case Sequence(items):
                for part in reversed(items):
                    then = self._build(part, then)
                return then
            case Alternation(options):
                return self._add(_State(split=tuple(self._build(option, then) for option in options)))
            case Repeat(inner, low, high):
                if high is None:
                    loop = self._add(_State())
                    self._states[loop].split = (self._build(inner, loop), then)
                    then = loop
                else:
                    end = then
                    for _ in range(high - low):
                        then = self._add(_State(split=(self._build(inner, then), end)))
                for _ in range(low):
                    before, then = then, self._build(inner, then)
                    if then == before:  # takes nothing, however often
                        break
                return then

    def _closure(self, starts: set[int], *, begin: bool, end: bool) -> frozenset[int]:
        seen = set(starts)
        todo = list(starts)
        while todo:
            state = self._states[todo.pop()]
            if (state.anchor == "^" and not begin) or (state.anchor == "$" and not end):
                continue
            for follower in state.split:
                if follower not in seen:
                    seen.add(follower)
                    todo.append(follower)
        return frozenset(seen)

    def _node(self, states: frozenset[int]) -> _Node:
        nodes = self._nodes
        if len(nodes) >= _KEPT:
            nodes = self._nodes = {}
        return nodes.get(states) or nodes.setdefault(states, _Node(states))

    def _move(self, current: _Node, symbol: int) -> _Node:
        code = self._edges[symbol]
        states = (self._states[number] for number in current.states)
        reached = {state.next for state in states if state.chars is not None and state.chars.has(code)}
        # an unanchored search may begin anew at every place
        following = self._node(self._closure(reached | {self._start}, begin=False, end=False))
        current.moves[symbol] = following
        return following

    def search(self, text: str) -> bool:
        """Whether the pattern occurs in `text`."""
        current = self._node(self._beginning)
        table, edges = self._ascii, self._edges
        for char in text:
            if current.accepts:
                return True
            code = ord(char)
            symbol = table[code] if code < 128 else bisect_right(edges, code) - 1
            current = current.moves.get(symbol) or self._move(current, symbol)
        return _ACCEPT in self._closure(set(current.states), begin=not text, end=True)
