"""The syntax of JSONPath (RFC 9535): a path as functions that select, or what is wrong with it and where."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NoReturn

from ael.data import dataclass
from ael.types.json_path import (
    COMPARE,
    NOTHING,
    Part,
    Query,
    Selector,
    Test,
    Value,
    Work,
    World,
    filtered,
    indexed,
    length,
    matched,
    named,
    sliced,
    wildcard,
)

MAX_LENGTH = 2_000
"""Characters of a path."""
MAX_DEPTH = 16
"""Brackets, filters and functions within each other."""
_MAX_INDEX = (1 << 53) - 1


class PathError(ValueError):
    """A path that is none; `at` is the character where."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at


def select(path: str, value: Any, work: Work | None = None) -> list[Part]:
    """The parts of `value` that `path` selects. Raises PathError, TooMuch."""
    return parse(path).parts(World(value, work or Work()), value)


_SHORT = re.compile(r"[A-Za-z_\u0080-\U0010FFFF][0-9A-Za-z_\u0080-\U0010FFFF]*")
_INT = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"(?:-?0|-?[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_FUNCTION = re.compile(r"[a-z][a-z0-9_]*(?=\()")
_BLANK = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"(?:true|false|null)(?![0-9A-Za-z_])")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "/": "/", "\\": "\\"}
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_TAKES = {
    "length": ("value",),
    "count": ("parts",),
    "value": ("parts",),
    "match": ("value", "value"),
    "search": ("value", "value"),
}


@lru_cache(maxsize=256)
def parse(path: str) -> Query:
    """A path, ready to select. Raises PathError."""
    if len(path) > MAX_LENGTH:
        raise PathError(f"a path of more than {MAX_LENGTH:,} characters", MAX_LENGTH)
    parser = _Parser(path)
    if not path.startswith("$"):
        parser.wrong("a path begins with `$`")
    query = parser.query(0)
    if parser.at < len(path):
        parser.wrong("this is no part of a path")
    return query


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def wrong(self, reason: str) -> NoReturn:
        raise PathError(reason, self.at)

    def skip(self, expected: str) -> bool:
        if self.text.startswith(expected, self.at):
            self.at += len(expected)
            return True
        return False

    def take(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found[0]

    def blank(self) -> None:
        self.take(_BLANK)

    def query(self, depth: int) -> Query:
        relative = self.text[self.at] == "@"
        self.at += 1
        steps: list[tuple[bool, tuple[Selector, ...]]] = []
        single = True
        while True:
            start = self.at
            self.blank()
            if self.skip(".."):
                selectors, one = self.bracket(depth) if self.skip("[") else self.dotted()
                steps.append((True, selectors))
                single = False
            elif self.skip("["):
                selectors, one = self.bracket(depth)
                steps.append((False, selectors))
            elif self.skip("."):
                selectors, one = self.dotted()
                steps.append((False, selectors))
            else:
                self.at = start
                return Query(relative, tuple(steps), single)
            single = single and one

    def dotted(self) -> tuple[tuple[Selector, ...], bool]:
        if self.skip("*"):
            return (wildcard,), False
        name = self.take(_SHORT)
        if name is None:
            self.wrong("a name or `*` is missing here; other names are written `['…']`")
        return (named(name),), True

    def bracket(self, depth: int) -> tuple[tuple[Selector, ...], bool]:
        if depth >= MAX_DEPTH:
            self.wrong(f"more than {MAX_DEPTH} brackets within each other")
        selectors: list[Selector] = []
        single = True
        while True:
            self.blank()
            selector, one = self.selector(depth + 1)
            selectors.append(selector)
            single = single and one
            self.blank()
            if self.skip("]"):
                return tuple(selectors), single and len(selectors) == 1
            if not self.skip(","):
                self.wrong("a `]` or `,` is missing here")

    def selector(self, depth: int) -> tuple[Selector, bool]:
        char = self.text[self.at : self.at + 1]
        if char in ("'", '"') and char:
            return named(self.string()), True
        if self.skip("*"):
            return wildcard, False
        if self.skip("?"):
            self.blank()
            return filtered(self.either(depth)), False
        low = self.integer()
        start = self.at
        self.blank()
        if self.skip(":"):
            self.blank()
            high = self.integer()
            self.blank()
            step: int | None = None
            if self.skip(":"):
                self.blank()
                step = self.integer()
            return sliced(low, high, 1 if step is None else step), False
        self.at = start
        if low is None:
            self.wrong("a name in quotes, an index, `*` or `?` is missing here")
        return indexed(low), True

    def integer(self) -> int | None:
        start = self.at
        digits = self.take(_INT)
        if digits is None:
            return None
        if len(digits) > 17 or abs(int(digits)) > _MAX_INDEX or self.text[self.at : self.at + 1].isdigit():
            self.at = start
            self.wrong("a whole number without zeros in front, of at most 2^53")
        return int(digits)

    def string(self) -> str:
        quote, start = self.text[self.at], self.at
        self.at += 1
        made: list[str] = []
        while True:
            char = self.text[self.at : self.at + 1]
            if not char:
                self.at = start
                self.wrong("this text has no end")
            if char < " ":
                self.wrong("a control character stands in a text as `\\u….`")
            self.at += 1
            if char == quote:
                break
            made.append(self.escaped(quote) if char == "\\" else char)
        text = "".join(made)
        # two halves of a pair that stand beside each other are one character
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if "\\" in self.text else text

    def escaped(self, quote: str) -> str:
        char = self.text[self.at : self.at + 1]
        self.at += 1
        if char == quote:
            return quote
        if char in _ESCAPES and char:
            return _ESCAPES[char]
        digits = self.text[self.at : self.at + 4]
        if char != "u" or re.fullmatch("[0-9A-Fa-f]{4}", digits) is None:
            self.at -= 1
            self.wrong("an unknown escape")
        self.at += 4
        return chr(int(digits, 16))

    def either(self, depth: int) -> Test:
        tests = [self.both(depth)]
        self.blank()
        while self.skip("||"):
            self.blank()
            tests.append(self.both(depth))
            self.blank()
        return tests[0] if len(tests) == 1 else lambda world, current: any(test(world, current) for test in tests)

    def both(self, depth: int) -> Test:
        tests = [self.basic(depth)]
        self.blank()
        while self.skip("&&"):
            self.blank()
            tests.append(self.basic(depth))
            self.blank()
        return tests[0] if len(tests) == 1 else lambda world, current: all(test(world, current) for test in tests)

    def basic(self, depth: int) -> Test:
        if depth > MAX_DEPTH:
            self.wrong(f"more than {MAX_DEPTH} brackets within each other")
        negated = self.skip("!")
        self.blank()
        if self.skip("("):
            self.blank()
            inner = self.either(depth + 1)
            self.blank()
            if not self.skip(")"):
                self.wrong("a `)` is missing here")
        else:
            inner = self.compared(depth, negated=negated)
        return (lambda world, current: not inner(world, current)) if negated else inner

    def compared(self, depth: int, *, negated: bool) -> Test:
        start = self.at
        left = self.operand(depth)
        end = self.at
        self.blank()
        sign = None if negated else next((one for one in COMPARE if self.skip(one)), None)
        if sign is None:
            self.at = end
            if left.test is None:
                self.at = start
                self.wrong("a condition is missing here: this is only a value")
            return left.test
        self.blank()
        between = self.at
        a, b, compare = self.one(left, start), self.one(self.operand(depth), between), COMPARE[sign]
        return lambda world, current: compare(a(world, current), b(world, current))

    def one(self, operand: _Operand, start: int) -> Value:
        if operand.value is None:
            self.at = start
            self.wrong("one value is needed here: a path without `*`, `..`, `:`, `,` and `?`, or a literal")
        return operand.value

    def operand(self, depth: int) -> _Operand:
        char = self.text[self.at : self.at + 1]
        if char in ("$", "@") and char:
            query = self.query(depth)
            return _Operand(
                query.value if query.single else None, lambda world, current: bool(query.parts(world, current)), query
            )
        if char in ("'", '"') and char:
            return _literal(self.string())
        if (word := self.take(_WORD)) is not None:
            return _literal(_WORDS[word])
        if (name := self.take(_FUNCTION)) is not None:
            return self.function(name, depth)
        start = self.at
        digits = self.take(_NUMBER)
        if digits is None:
            self.wrong("a path that begins with `@` or `$`, a value or a function is missing here")
        number = float(digits)
        if len(digits) > 400 or number - number != 0.0:
            self.at = start
            self.wrong("a number that is too large")
        return _literal(int(digits) if digits.lstrip("-").isdigit() else number)

    def function(self, name: str, depth: int) -> _Operand:
        takes = _TAKES.get(name)
        if takes is None:
            self.at -= len(name)
            self.wrong(f"there is no function `{name}`: there are {', '.join(_TAKES)}")
        if depth >= MAX_DEPTH:
            self.wrong(f"more than {MAX_DEPTH} brackets within each other")
        self.at += 1
        values: list[Value] = []
        queries: list[Query] = []
        for count, kind in enumerate(takes):
            self.blank()
            if count > 0:
                if not self.skip(","):
                    self.wrong(f"`{name}` takes {len(takes)} arguments")
                self.blank()
            start = self.at
            operand = self.operand(depth + 1)
            if kind == "value":
                values.append(self.one(operand, start))
            elif operand.query is None:
                self.at = start
                self.wrong(f"`{name}` takes a path")
            else:
                queries.append(operand.query)
        self.blank()
        if not self.skip(")"):
            self.wrong("a `)` is missing here")
        return _called(name, values, queries)


@dataclass(frozen=True, slots=True)
class _Operand:
    """What stands on a side of a comparison or as a condition: None where it cannot be that."""

    value: Value | None
    test: Test | None
    query: Query | None = None


def _literal(value: Any) -> _Operand:
    return _Operand(lambda _world, _current: value, None)


def _called(name: str, values: list[Value], queries: list[Query]) -> _Operand:
    if name == "length":
        (inner,) = values
        return _Operand(lambda world, current: length(inner(world, current)), None)
    if name in ("match", "search"):
        text, pattern = values
        whole = name == "match"
        return _Operand(None, lambda world, current: matched(world, text(world, current), pattern(world, current), whole=whole))
    (query,) = queries
    if name == "count":
        return _Operand(lambda world, current: len(query.parts(world, current)), None)

    def value(world: World, current: Any) -> Any:
        parts = query.parts(world, current)
        return parts[0][0] if len(parts) == 1 else NOTHING

    return _Operand(value, None)
