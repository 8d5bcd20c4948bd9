"""The syntax of patterns: a tree of character sets, repetitions, sequences and alternations, or what is wrong and where."""

from __future__ import annotations

import re
import sys
import unicodedata
from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from ael.data import dataclass

_LAST = 0x10FFFF
_DEPTH = 60
_MAX_LENGTH = 4_000
_COUNT_LIMIT = 100_000


class PatternError(ValueError):
    """A pattern that is refused; `at` is the character of the pattern where."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


@dataclass(frozen=True, slots=True)
class CharSet:
    """Characters, as sorted ranges that do not touch, both ends included."""

    ranges: tuple[tuple[int, int], ...]

    def has(self, code: int) -> bool:
        at = bisect_right(self.ranges, (code, _LAST)) - 1
        return at >= 0 and self.ranges[at][1] >= code

    def meets(self, other: CharSet) -> bool:
        """Whether some character is in both."""
        return any(low <= high2 and low2 <= high for low, high in self.ranges for low2, high2 in other.ranges)

    def inverse(self) -> CharSet:
        gaps, start = [], 0
        for low, high in self.ranges:
            if low > start:
                gaps.append((start, low - 1))
            start = high + 1
        if start <= _LAST:
            gaps.append((start, _LAST))
        return CharSet(tuple(gaps))

    def source(self) -> str:
        """The set as Python's `re` writes it."""
        if not self.ranges:
            return r"[^\x00-\U0010FFFF]"
        return "[" + "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in self.ranges) + "]"


@dataclass(frozen=True, slots=True)
class Anchor:
    """`^` the very beginning, `$` the very end. What is found may also ask for `b`, the edge of a word, `B`, no such edge, and the
    beginning and end of a line, `^^` and `$$`."""

    kind: str


class Repeat(NamedTuple):
    """`item` at least `low` and at most `high` times (None: without end)."""

    item: Item
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class Sequence:
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Group(Sequence):
    """What is remembered of a match: the group `index`, counted from 1, with its name."""

    index: int
    name: str | None


@dataclass(frozen=True, slots=True)
class Lazy(Sequence):
    """A repetition that takes as little as it can."""


@dataclass(frozen=True, slots=True)
class Alternation:
    options: tuple[Item, ...]


Item: TypeAlias = "CharSet | Anchor | Repeat | Sequence | Alternation"


def charset(*ranges: tuple[int, int]) -> CharSet:
    """The union of `ranges`."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return CharSet(tuple(merged))


ANY = CharSet(((0, _LAST),))
_LINE_ENDS = charset((10, 10), (13, 13), (0x2028, 0x2029))
_DIGIT = charset((48, 57))
_WORD = charset((48, 57), (65, 90), (95, 95), (97, 122))
_SPACE = charset((9, 13), (32, 32), (160, 160), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F),
                 (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF))  # fmt: skip
_CLASSES = {"d": _DIGIT, "D": _DIGIT.inverse(), "w": _WORD, "W": _WORD.inverse(), "s": _SPACE, "S": _SPACE.inverse()}
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "0": 0}
_CASED = 0x1F000
"""No character from here on has another case."""
_FLAGS = re.compile(r"\(\?([ims]{1,3})\)")
_PLAIN_ESCAPES = frozenset("^$\\.*+?()[]{}|/-")
_CATEGORY_NAMES = {"Letter": "L", "Number": "N", "Punctuation": "P", "Symbol": "S", "Mark": "M", "Separator": "Z",
                   "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Decimal_Number": "Nd"}  # fmt: skip


@lru_cache(maxsize=64)
def _category(name: str) -> CharSet:
    """The characters of a Unicode general category, by its short name or a first letter."""
    ranges: list[tuple[int, int]] = []
    start = -1
    for code in range(sys.maxunicode + 2):
        inside = code <= sys.maxunicode and unicodedata.category(chr(code)).startswith(name)
        if inside and start < 0:
            start = code
        elif not inside and start >= 0:
            ranges.append((start, code - 1))
            start = -1
    return CharSet(tuple(ranges))


@lru_cache(maxsize=1)
def _cases() -> tuple[tuple[int, int], ...]:
    """Each character that has another of its own in the other case, with it."""
    found = set()
    for code in range(_CASED):
        for other in (chr(code).lower(), chr(code).upper()):
            if len(other) == 1 and ord(other) != code:
                found |= {(code, ord(other)), (ord(other), code)}
    return tuple(sorted(found))


@lru_cache(maxsize=256)
def either_case(chars: CharSet) -> CharSet:
    """The characters with those that they are in the other case."""
    return charset(*chars.ranges, *((other, other) for code, other in _cases() if chars.has(code)))


def parse(text: str) -> Item:
    """The tree of a pattern. Raises PatternError."""
    if len(text) > _MAX_LENGTH:
        raise PatternError(f"the pattern is longer than {_MAX_LENGTH:,} characters", _MAX_LENGTH)
    parser = _Parser(text)
    tree = parser.alternation(0)
    if parser.at < len(text):
        raise PatternError("a `)` without its `(`", parser.at)
    return tree


def parse_marked(text: str) -> tuple[Item, tuple[str | None, ...]]:
    """The tree of a pattern whose matches are to be found, and the names of its groups: `Group`s and `Lazy` repetitions are kept, the
    edges of words are known, and `(?ims)` may stand at the beginning: `i` takes a letter for its other case, `m` lines for texts, `s`
    every character for `.`. Raises PatternError."""
    flags = _FLAGS.match(text)
    if len(text) > _MAX_LENGTH:
        raise PatternError(f"the pattern is longer than {_MAX_LENGTH:,} characters", _MAX_LENGTH)
    parser = _Parser(text, flags[1] if flags else "")
    parser.at = flags.end() if flags else 0
    tree = parser.alternation(0)
    if parser.at < len(text):
        raise PatternError("a `)` without its `(`", parser.at)
    return tree, tuple(parser.groups)


def group_end(text: str, start: int) -> int:
    """Where the `)` of a group stands whose inside begins at `start`. Raises PatternError."""
    parser = _Parser(text)
    parser.at = start
    parser.alternation(1)
    if parser.at >= len(text):
        raise PatternError("a `(` without its `)`", start)
    return parser.at


class _Parser:
    def __init__(self, text: str, flags: str | None = None) -> None:
        self.text = text
        self.at = 0
        self.marked = flags is not None
        self.flags = flags or ""
        self.groups: list[str | None] = []

    def _peek(self, length: int = 1) -> str:
        return self.text[self.at : self.at + length]

    def _skip(self, expected: str) -> bool:
        if self.text.startswith(expected, self.at):
            self.at += len(expected)
            return True
        return False

    def alternation(self, depth: int) -> Item:
        if depth > _DEPTH:
            raise PatternError("the pattern is nested too deeply", self.at)
        options = [self._sequence(depth)]
        while self._skip("|"):
            options.append(self._sequence(depth))
        return options[0] if len(options) == 1 else Alternation(tuple(options))

    def _sequence(self, depth: int) -> Item:
        items: list[Item] = []
        while self._peek() not in ("", "|", ")"):
            start = self.at
            item = self._atom(depth)
            counted = self._count()
            if counted is not None:
                if isinstance(item, Anchor):
                    raise PatternError("nothing to repeat", start)
                item = Repeat(item, *counted)
                if self._skip("?") and self.marked:  # without marks, lazy or not finds the same texts
                    item = Lazy((item,))
            items.append(item)
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def _count(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._skip(sign):
                return bounds
        if self._peek() != "{":
            return None
        start, end = self.at, self.text.find("}", self.at)
        low, comma, high = self.text[start + 1 : end].partition(",")
        if end < 0 or not _count_text(low) or (high and not _count_text(high)):
            raise PatternError("a `{` that begins no count; write `\\{`", start)
        self.at = end + 1
        least = int(low)
        most = least if not comma else int(high) if high else None
        if most is not None and most < least:
            raise PatternError("a count that ends before it begins", start)
        return least, most

    def _atom(self, depth: int) -> Item:
        start = self.at
        char = self._peek()
        self.at += 1
        match char:
            case "^" | "$":
                return Anchor(char * 2 if "m" in self.flags else char)
            case ".":
                return ANY if "s" in self.flags else _LINE_ENDS.inverse()
            case "[":
                return self._set(start)
            case "\\" if self.marked and self._peek() in ("b", "B"):
                self.at += 1
                return Anchor(self.text[self.at - 1])
            case "\\" if self._peek() in _CLASSES:
                return self._escape(start, in_set=False)
            case "\\":
                return self._cased(self._escape(start, in_set=False))
            case "(":
                return self._group(start, depth)
            case "*" | "+" | "?" | "{":
                raise PatternError("nothing to repeat", start)
            case "]" | "}":
                raise PatternError(f"a lone `{char}`; write `\\{char}`", start)
        return self._cased(charset((ord(char), ord(char))))

    def _cased(self, chars: CharSet) -> CharSet:
        return either_case(chars) if "i" in self.flags else chars

    def _group(self, start: int, depth: int) -> Item:
        name: str | None = None
        kept = self.marked
        if self._skip("?"):
            if self._skip(":"):
                kept = False
            else:
                name = self._group_name(start)
                if kept and name in self.groups:
                    raise PatternError(f"the name `{name}` is given to two groups", start)
        if kept:
            self.groups.append(name)
        index = len(self.groups)
        inner = self.alternation(depth + 1)
        if not self._skip(")"):
            raise PatternError("a `(` without its `)`", start)
        return Group((inner,), index, name) if kept else inner

    def _group_name(self, start: int) -> str:
        if self._peek() == "<" and self._peek(2) not in ("<=", "<!"):
            end = self.text.find(">", self.at)
            if end > 0 and (name := self.text[self.at + 1 : end]).isidentifier():
                self.at = end + 1
                return name
        raise PatternError("look-around and flags inside a pattern are not supported", start)

    def _set(self, start: int) -> CharSet:
        negated = self._skip("^")
        ranges: list[tuple[int, int]] = []
        while not self._skip("]"):
            if not self._peek():
                raise PatternError("a `[` without its `]`", start)
            begin = self.at
            low = self._set_part()
            if self._peek() == "-" and self._peek(2) not in ("-]", "-"):
                self.at += 1
                high = self._set_part()
                if len(low.ranges) != 1 or len(high.ranges) != 1 or low.ranges[0][0] != low.ranges[0][1]:
                    raise PatternError("a range needs a character on both sides", begin)
                if high.ranges[0][0] != high.ranges[0][1] or high.ranges[0][0] < low.ranges[0][0]:
                    raise PatternError("a range that ends before it begins", begin)
                ranges.append((low.ranges[0][0], high.ranges[0][0]))
            else:
                ranges.extend(low.ranges)
        found = self._cased(charset(*ranges))
        return found.inverse() if negated else found

    def _set_part(self) -> CharSet:
        start = self.at
        char = self._peek()
        if not char:
            raise PatternError("a `[` without its `]`", start)
        self.at += 1
        if char == "\\":
            return self._escape(start, in_set=True)
        return charset((ord(char), ord(char)))

    def _escape(self, start: int, *, in_set: bool) -> CharSet:
        char = self._peek()
        self.at += 1
        if char in _CLASSES:
            return _CLASSES[char]
        if char in ("p", "P") and char:
            return self._property(start, negated=char == "P")
        if char == "b" and in_set:
            return charset((8, 8))
        code = _CONTROLS.get(char)
        if code is None and char in ("x", "u"):
            code = self._hex(start, char)
        if code is None and char in _PLAIN_ESCAPES and char:
            code = ord(char)
        if code is None:
            if char.isdigit() or char in ("b", "B", "k"):
                raise PatternError("back references and word boundaries are not supported", start)
            raise PatternError(f"an unknown escape `\\{char}`" if char else "a lone `\\` at the end", start)
        return charset((code, code))

    def _hex(self, start: int, kind: str) -> int:
        if kind == "u" and self._skip("{"):
            end = self.text.find("}", self.at)
            digits, self.at = self.text[self.at : end], end + 1
        else:
            length = 4 if kind == "u" else 2
            digits = self._peek(length)
            self.at += length
            if len(digits) != length:
                digits = ""
        if not digits or len(digits) > 6 or any(d not in "0123456789abcdefABCDEF" for d in digits) or int(digits, 16) > _LAST:
            raise PatternError("a character number needs hexadecimal digits", start)
        return int(digits, 16)

    def _property(self, start: int, *, negated: bool) -> CharSet:
        end = self.text.find("}", self.at)
        name = self.text[self.at + 1 : end] if self._peek() == "{" and end > 0 else ""
        self.at = end + 1
        short = _CATEGORY_NAMES.get(name, name)
        if not 1 <= len(short) <= 2 or not short.isalpha() or not (found := _category(short)).ranges:
            raise PatternError("only general categories such as `\\p{L}` are known", start)
        return found.inverse() if negated else found


def _count_text(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 6 and int(text) <= _COUNT_LIMIT
