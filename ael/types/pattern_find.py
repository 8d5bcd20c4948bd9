"""Where a pattern occurs in a text, with its groups, in time linear in the text whatever the pattern and whatever the text.

All matches of one text are found in two passes (Frisch and Cardelli, *Greedy regular expression matching*, 2004). The first goes from the
end to the beginning and notes for each place from which characters of the pattern the end of a match can be reached: a deterministic
automaton on Glushkov's positions, built as it is needed. The second goes from the beginning to the end and takes at each choice the first
way that leads to a match, which the first pass knows; so it never goes back, and finds what an engine that goes back would find: the
leftmost match, of those the one that the pattern prefers. Looking for the next match costs nothing again, where engines that look for
one match at a time take quadratic time for all.

A set of characters of the pattern is a whole number, a bit for each. Numbers do not change, so threads may share a `Finder`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import repeat
from typing import TypeAlias, TypeVar

from ael.data import dataclass
from ael.types.pattern_syntax import (
    Alternation,
    Anchor,
    CharSet,
    Group,
    Item,
    Lazy,
    PatternError,
    Repeat,
    Sequence,
    parse_marked,
)

MAX_STATES = 2_000
"""States of a `Finder`, after counted repetitions are written out."""
_KEPT = 4_096
"""Entries of a table of what was found out; beyond it the table begins anew."""
_SHIFTS = 3
_FEW = 16
"""Sets that are gone through one by one."""
_BLOCK = 32_768
"""Places that are known at a time."""
_START = 1
"""The bit of the beginning of a match; those of the pattern's characters come after it."""
_NONE, _LINE_END, _WORD, _OTHER = range(4)
_WORDS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")

K = TypeVar("K")
V = TypeVar("V")
Trail: TypeAlias = "tuple[int, Trail] | None"
"""The slots that were passed, the last first."""
Span: TypeAlias = tuple[int, int]
"""From a place up to another."""


@dataclass(slots=True)
class _State:
    """A place between the characters of a pattern. `bit` and `chars` lead on a character to `ways[0]`; without, all ways are free, the
    first is preferred. Passing through notes the place in `slot`; with `anchor` only where that holds."""

    ways: tuple[int, ...] = ()
    chars: CharSet | None = None
    bit: int = 0
    slot: int = -1
    anchor: str = ""


_ACCEPT = 0


class _Builder:
    """Thompson's construction, from the end of the pattern to its beginning."""

    def __init__(self, limit: int) -> None:
        self.states = [_State()]
        self.characters = 0
        self._limit = limit

    def add(self, state: _State) -> int:
        if len(self.states) >= self._limit:
            raise PatternError(f"the pattern is too large: its repetitions stand for more than {self._limit:,} characters", 0)
        self.states.append(state)
        return len(self.states) - 1

    def build(self, item: Item, then: int) -> int:
        match item:
            case CharSet():
                self.characters += 1
                return self.add(_State((then,), item, _START << self.characters))
            case Anchor(kind):
                return self.add(_State((then,), anchor=kind))
            case Group(items, index=index):
                end = self.add(_State((then,), slot=2 * index + 1))
                return self.add(_State((self.build(items[0], end),), slot=2 * index))
            case Lazy((Repeat() as repeat,)):
                return self.repeat(repeat, then, lazy=True)
            case Sequence(items):
                for part in reversed(items):
                    then = self.build(part, then)
                return then
            case Alternation(options):
                return self.add(_State(tuple(self.build(option, then) for option in options)))
            case Repeat():
                return self.repeat(item, then, lazy=False)

    def repeat(self, item: Repeat, then: int, *, lazy: bool) -> int:
        inner, low, high = item

        def choice(again: int, end: int) -> tuple[int, ...]:
            return (end, again) if lazy else (again, end)

        if high is None:
            end = then
            loop = self.add(_State())
            again = self.build(inner, loop)
            self.states[loop].ways = choice(again, end)
            # once around at least, or a way in of its own, so that an empty round does not hide the rounds that are not
            then = again if low > 0 else self.add(_State(choice(again, end)))
            low -= 1
        else:
            end = then
            for _ in range(high - low):
                then = self.add(_State(choice(self.build(inner, then), end)))
        for _ in range(low):
            before, then = then, self.build(inner, then)
            if then == before:  # takes nothing, however often
                break
        return then


class Automaton:
    """A pattern by its tree, of at most `limit` states. Raises PatternError for one that has more."""

    def __init__(self, tree: Item, limit: int) -> None:
        builder = _Builder(limit)
        self._start = builder.build(tree, _ACCEPT)
        self._states = builder.states
        anchors = {state.anchor for state in self._states} - {""}
        self.anchored = bool(anchors)
        self._local = bool(anchors - {"^", "$"})
        """Whether an anchor looks at the characters around it, and not only for the ends of the text."""
        self._inside = _OTHER * 4 + _OTHER if anchors else 0
        self._more: bool | None = None
        self._by_edge: dict[int, int] = {}
        edges = {0}
        for state in self._states:
            for low, high in state.chars.ranges if state.chars is not None else ():
                edges |= {low, high + 1}
        self._edges = sorted(edges)
        self._masks: dict[str, int] = {}
        self._before: dict[int, _Before] = {}

    def occurs(self, text: str) -> bool:
        """Whether the pattern is found anywhere in a text."""
        end = self.before(self.context(text, len(text))).of(0)
        return bool(end & _START) or any(reached & _START for reached in self.backwards(text, 0, len(text), end))

    def backwards(self, text: str, low: int, high: int, end: int) -> Iterator[int]:
        """For each place before `high`, down to `low`, after which characters of the pattern the end of a match can be reached there;
        `end` says so for `high`. It ends early where nothing can be reached any more."""
        inside = self.before(self._inside)
        masks, table = self._masks, inside.found
        for at in range(high - 1, low - 1, -1):
            char = text[at]
            mask = masks.get(char)
            viable = end & (self.mask(char) if mask is None else mask)
            if self._local or (at == 0 and self.anchored):
                end = self.before(self.context(text, at)).of(viable)
            else:
                if viable == 0 and self._needs_more():
                    return
                found = table.get(viable)
                end = inside.of(viable) if found is None else found
            yield end

    def _needs_more(self) -> bool:
        """Whether every match ends at the end of the text: where nothing leads there any more, there is none."""
        if self._more is None:
            contexts = (self._inside, _NONE * 4 + _OTHER) if self.anchored else (0,)
            self._more = not self._local and all(self.before(context).end == 0 for context in contexts)
        return self._more

    def mask(self, char: str) -> int:
        """The characters of the pattern that `char` is one of."""
        found = self._masks.get(char)
        if found is None:
            edge = bisect_right(self._edges, ord(char)) - 1
            found = self._by_edge.get(edge)
            if found is None:
                code = self._edges[edge]
                found = sum(state.bit for state in self._states if state.chars is not None and state.chars.has(code))
                self._by_edge[edge] = found
            _kept(self._masks, char, found)
        return found

    def before(self, context: int) -> _Before:
        """What comes before what, where the characters around are of these kinds."""
        found = self._before.get(context)
        if found is None:
            found = self._before[context] = _Before(self._states, self._start, context)
        return found

    def context(self, text: str, at: int) -> int:
        """The kinds of the characters on both sides of a place, where the pattern asks for them."""
        if not self.anchored:
            return 0
        return (_kind(text[at - 1]) if at > 0 else _NONE) * 4 + (_kind(text[at]) if at < len(text) else _NONE)


class Finder(Automaton):
    """A pattern, ready to look for; with `whole` it is found where it takes all of the text. `names` has a name or None for each group.
    Raises PatternError."""

    def __init__(self, pattern: str, *, whole: bool = False) -> None:
        tree, self.names = parse_marked(pattern)
        super().__init__(Sequence((Anchor("^"), tree, Anchor("$"))) if whole else tree, MAX_STATES)
        self._chosen: dict[tuple[int, int, int], tuple[int, Trail]] = {}

    def find(self, text: str) -> Iterator[list[Span | None]]:
        """The matches, from left to right, none within another: the whole of each, then its groups. After an empty match the search goes
        on one character further, as in ECMA-262."""
        known = _Known(self, text)
        at = 0
        while at <= len(text):
            if known.reached(at) & _START:
                spans = self._walk(known, text, at)
                yield spans
                assert spans[0] is not None
                at = spans[0][1] if spans[0][1] > at else at + 1
            else:
                at += 1

    def _walk(self, known: _Known, text: str, start: int) -> list[Span | None]:
        """The match that begins at `start`, where one does."""
        slots = [-1] * (2 * len(self.names) + 2)
        state, at = self._start, start
        while True:
            viable = known.reached(at + 1) & self.mask(text[at]) if at < len(text) else 0
            key = (state, self.context(text, at), viable)
            chosen = self._chosen.get(key)
            if chosen is None:
                chosen = _kept(self._chosen, key, self._choose(*key))
            state, trail = chosen
            while trail is not None:
                slots[trail[0]] = at
                trail = trail[1]
            if state == _ACCEPT:
                break
            (state,) = self._states[state].ways
            at += 1
        slots[0], slots[1] = start, at
        return [(low, high) if low >= 0 and high >= 0 else None for low, high in zip(slots[::2], slots[1::2], strict=True)]

    def _choose(self, state: int, context: int, viable: int) -> tuple[int, Trail]:
        """The first state that takes a character from which a match is reached, or the end of the pattern; and the slots on the way."""
        seen: set[int] = set()
        todo: list[tuple[int, Trail]] = [(state, None)]
        while todo:
            number, trail = todo.pop()
            if number in seen:
                continue
            seen.add(number)
            found = self._states[number]
            if number == _ACCEPT or found.bit & viable:
                return number, trail
            if found.bit or (found.anchor and not _holds(found.anchor, context)):
                continue
            if found.slot >= 0:
                trail = (found.slot, trail)
            todo.extend((way, trail) for way in reversed(found.ways))
        raise AssertionError("the first pass knew of a way")


class _Before:
    """For each character of a pattern, and its end, those that may stand right before it in a match, with the beginning of a match as
    one of them."""

    def __init__(self, states: list[_State], start: int, context: int) -> None:
        reach = [0] * len(states)
        reach[start] = _START
        for state in states:
            if state.bit:
                reach[state.ways[0]] |= state.bit
        changed = True
        while changed:  # once more for each loop within another
            changed = False
            for number in range(len(states) - 1, -1, -1):
                state = states[number]
                if state.bit or (state.anchor and not _holds(state.anchor, context)):
                    continue
                for way in state.ways:
                    if reach[number] & ~reach[way]:
                        reach[way] |= reach[number]
                        changed = True
        self.end = reach[_ACCEPT]
        # Most characters follow those that were built right after them: a shift moves them all at once. What is left is the same for
        # many (whatever comes before a loop), or else is looked up byte by byte.
        self._shifts = [0] * _SHIFTS
        self._left: dict[int, int] = {}
        self._rest = [0]
        for bit, found in sorted((state.bit, reach[number]) for number, state in enumerate(states) if state.bit):
            for by in range(_SHIFTS):
                if found & bit << by + 1:
                    self._shifts[by] |= bit
                    found &= ~(bit << by + 1)
            self._rest.append(found)
            if found:
                self._left[found] = self._left.get(found, 0) | bit
        self._parts: list[dict[int, int]] = [{} for _ in range(len(self._rest) // 8 + 1)]
        self.found: dict[int, int] = {}

    def of(self, characters: int) -> int:
        """Those before any of `characters`, or before the end."""
        found = self.found.get(characters)
        if found is None:
            found = self.end
            for by, mask in enumerate(self._shifts, 1):
                found |= (characters & mask) << by
            if len(self._left) <= _FEW:
                for left, mask in self._left.items():
                    if characters & mask:
                        found |= left
            else:
                found |= self._looked_up(characters)
            _kept(self.found, characters, found)
        return found

    def _looked_up(self, characters: int) -> int:
        found = 0
        for at, byte in enumerate(characters.to_bytes(len(self._parts), "little")):
            if byte:
                part = self._parts[at].get(byte)
                if part is None:
                    part = 0
                    for bit in range(8):
                        if byte >> bit & 1:
                            part |= self._rest[8 * at + bit]
                    self._parts[at][byte] = part
                found |= part
        return found


class _Known:
    """What the first pass found out about a text, a block at a time: where it is long, the ends of blocks are kept and the rest is
    worked out again when the second pass comes there."""

    def __init__(self, finder: Finder, text: str) -> None:
        self._finder = finder
        self._text = text
        self._low = max(len(text) - 1, 0) // _BLOCK * _BLOCK
        self._ends: dict[int, int] = {}
        self._block = self._work_out(self._low, len(text), finder.before(finder.context(text, len(text))).of(0))
        while self._low > 0:
            self._ends[self._low] = self._block[0]
            self._block = self._work_out(self._low - _BLOCK, self._low, self._block[0])
            self._low -= _BLOCK

    def reached(self, at: int) -> int:
        """The characters of the pattern after which, at this place, the end of a match can be reached; with the bit of the beginning, if
        a match begins here. Places are asked for from left to right."""
        index = at - self._low
        if index >= len(self._block):
            self._low += _BLOCK
            high = min(self._low + _BLOCK, len(self._text))
            end = self._ends.get(high)
            if end is None:
                end = self._finder.before(self._finder.context(self._text, high)).of(0)
            self._block = self._work_out(self._low, high, end)
            index = at - self._low
        return self._block[index]

    def _work_out(self, low: int, high: int, end: int) -> list[int]:
        """The places from `low` to `high`, of which `end` is the last."""
        found = [end, *self._finder.backwards(self._text, low, high, end)]
        found += repeat(0, high - low + 1 - len(found))
        found.reverse()
        return found


def _kept(table: dict[K, V], key: K, value: V) -> V:
    """`value`, kept under `key`."""
    if len(table) >= _KEPT:
        table.clear()
    table[key] = value
    return value


def _kind(char: str) -> int:
    return _LINE_END if char == "\n" else _WORD if char in _WORDS else _OTHER


def _holds(anchor: str, context: int) -> bool:
    before, after = divmod(context, 4)
    match anchor:
        case "^":
            return before == _NONE
        case "$":
            return after == _NONE
        case "^^":
            return before in (_NONE, _LINE_END)
        case "$$":
            return after in (_NONE, _LINE_END)
        case "b":
            return (before == _WORD) != (after == _WORD)
        case _:
            return (before == _WORD) == (after == _WORD)


@lru_cache(maxsize=256)
def finder(pattern: str, *, whole: bool = False) -> Finder:
    """A pattern, ready to look for, kept for the next time. Raises PatternError for one that is refused."""
    return Finder(pattern, whole=whole)
