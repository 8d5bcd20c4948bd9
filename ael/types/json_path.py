"""JSONPath (RFC 9535): which parts of a JSON value a path selects. `json_path_syntax.py` parses paths.

A path is made of functions. Selecting is bounded: a path that looks at more than a million parts (`$..*..*` of a large value)
ends in `TooMuch`, and the patterns of `match` and `search` take linear time (`pattern.py`; they are I-Regexps, RFC 9485, and more).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from ael.data import dataclass, field
from ael.types.pattern import compile_pattern
from ael.types.pattern_syntax import PatternError

MAX_WORK = 1_000_000
"""Parts that are looked at."""

Place: TypeAlias = "tuple[Place, str | int] | None"
"""Where a part is: the place around it and its key or index; None is the whole."""
Part: TypeAlias = "tuple[Any, Place]"


class TooMuch(ValueError):
    """A path looks at more parts of a value than it may."""


@dataclass(slots=True)
class Work:
    """How much a selection may still look at."""

    left: int = field(default_factory=lambda: MAX_WORK)

    def take(self, amount: int = 1) -> None:
        self.left -= amount
        if self.left < 0:
            raise TooMuch


class _Nothing:
    """What a query that selects nothing compares as."""


NOTHING = _Nothing()


@dataclass(slots=True)
class World:
    """The whole value, and the work that is left."""

    root: Any
    work: Work


Selector: TypeAlias = Callable[[World, Part], Iterator[Part]]
Value: TypeAlias = Callable[[World, Any], Any]
Test: TypeAlias = Callable[[World, Any], bool]


@dataclass(frozen=True, slots=True)
class Query:
    """`$` or `@` and what is selected step by step. `single` says that it is one part at most."""

    relative: bool
    steps: tuple[tuple[bool, tuple[Selector, ...]], ...]
    single: bool

    def parts(self, world: World, current: Any) -> list[Part]:
        """The parts that it selects, in order."""
        found: list[Part] = [(current if self.relative else world.root, None)]
        for deep, selectors in self.steps:
            if deep:
                found = [inner for part in found for inner in _all_below(world, part)]
            found = [made for part in found for selector in selectors for made in _counted(world, selector(world, part))]
        return found

    def value(self, world: World, current: Any) -> Any:
        """The value of a single query."""
        found = self.parts(world, current)
        return found[0][0] if found else NOTHING


def pointer(place: Place) -> str:
    """A place as a JSON Pointer (RFC 6901)."""
    keys: list[str] = []
    while place is not None:
        place, key = place
        keys.append("/" + str(key).replace("~", "~0").replace("/", "~1"))
    return "".join(reversed(keys))


def _counted(world: World, parts: Iterator[Part]) -> Iterator[Part]:
    for part in parts:
        world.work.take()
        yield part


def _all_below(world: World, part: Part) -> Iterator[Part]:
    """A part and all parts of it, parents first."""
    todo = [part]
    while todo:
        one = todo.pop()
        world.work.take()
        yield one
        todo.extend(reversed(list(_children(one))))


def _children(part: Part) -> Iterator[Part]:
    value, place = part
    if isinstance(value, dict):
        for key, item in value.items():
            yield item, (place, key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield item, (place, index)


def wildcard(_world: World, part: Part) -> Iterator[Part]:
    yield from _children(part)


def named(name: str) -> Selector:
    def select(_world: World, part: Part) -> Iterator[Part]:
        value, place = part
        if isinstance(value, dict) and name in value:
            yield value[name], (place, name)

    return select


def indexed(index: int) -> Selector:
    def select(_world: World, part: Part) -> Iterator[Part]:
        value, place = part
        if isinstance(value, list) and -len(value) <= index < len(value):
            at = index % len(value)
            yield value[at], (place, at)

    return select


def sliced(low: int | None, high: int | None, step: int) -> Selector:
    def select(_world: World, part: Part) -> Iterator[Part]:
        value, place = part
        if isinstance(value, list) and step != 0:
            for at in range(*slice(low, high, step).indices(len(value))):
                yield value[at], (place, at)

    return select


def filtered(test: Test) -> Selector:
    def select(world: World, part: Part) -> Iterator[Part]:
        for child in _children(part):
            world.work.take()
            if test(world, child[0]):
                yield child

    return select


def equal(a: Any, b: Any) -> bool:
    """Whether two JSON values are the same: numbers by their size, a Bool is no number."""
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
        return a is b
    if isinstance(a, int | float) and isinstance(b, int | float):
        return a == b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(item, b[key]) for key, item in a.items())
    return type(a) is type(b) and bool(a == b)


def _less(a: Any, b: Any) -> bool:
    if isinstance(a, str) and isinstance(b, str):
        return a < b
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (a, b))
    return numbers and a < b


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": equal,
    "!=": lambda a, b: not equal(a, b),
    "<=": lambda a, b: _less(a, b) or equal(a, b),
    ">=": lambda a, b: _less(b, a) or equal(a, b),
    "<": _less,
    ">": lambda a, b: _less(b, a),
}


def length(value: Any) -> Any:
    return len(value) if isinstance(value, str | list | dict) else NOTHING


def matched(world: World, text: Any, pattern: Any, *, whole: bool) -> bool:
    """`match` and `search`: a pattern that is none finds nothing."""
    if not isinstance(text, str) or not isinstance(pattern, str):
        return False
    world.work.take(len(text) // 16 + len(pattern))
    try:
        return compile_pattern(f"^(?:{pattern})$" if whole else pattern)(text)
    except PatternError:
        return False
