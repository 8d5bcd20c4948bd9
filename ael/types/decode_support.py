"""What generated decoders call: the few things that are no single expression, and the collector of problems."""

from __future__ import annotations

import re
from base64 import b64encode
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import TypeAlias

from ael.types.limits import MAX_INT, Limits, decimal_within
from ael.types.problem import Path, Problem, describe, names, quote, show_path
from ael.types.value import File

_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,6})?")
_MEDIA = re.compile(r"[a-z0-9!#$&^_.+-]{1,127}/[a-z0-9!#$&^_.+-]{1,127}")
FLOAT_MAX = 1.7976931348623157e308


class Misfit(Exception):
    """A value does not fit. Carries nothing: the second, slower decoder then says everything that is wrong."""


class Spent(Exception):
    """Too many members of unions were tried."""


class Budget:
    """How often members of unions may be tried for one value: it grows with the value where they are told apart, and without end where
    they nest and only differ at their ends."""

    __slots__ = ("left", "tries")

    def __init__(self, tries: int) -> None:
        self.left = self.tries = tries

    def spend(self) -> None:
        """One try; raises Spent where there were too many."""
        self.left -= 1
        if self.left < 0:
            raise Spent

    def refused(self) -> Problem:
        """What is told of a value that spent it."""
        return Problem("", f"it takes more than {self.tries:,} tries to tell which alternatives the parts of this value are")


class Enough(Exception):
    """As many problems as are told were found."""


class Collector:
    """The problems of one value, in order, up to a number."""

    def __init__(self, limit: int) -> None:
        self.problems: list[Problem] = []
        self._limit = limit

    def add(self, path: Path, message: str, expected: str, got: str) -> None:
        """Note a problem; raises Enough where there were enough."""
        if len(self.problems) >= self._limit:
            raise Enough
        self.problems.append(Problem(show_path(path), message, expected, got))

    def kind(self, path: Path, expected: str, value: object) -> None:
        got = describe(value)
        self.add(path, f"expected {expected}, got {got}", expected, got)

    def size(self, path: Path, count: int, low: int | None, high: int | None, unit: str) -> None:
        """A length outside of its bounds."""
        bound, number = ("at least", low) if low is not None and count < low else ("at most", high)
        name = unit if number != 1 else {"characters": "character", "entries": "entry", "bytes": "byte"}[unit]
        expected = f"{bound} {number:,} {name}"
        self.add(path, f"expected {expected}, got {count:,}", expected, f"{count:,}")

    def range(self, path: Path, value: object, low: object, high: object, expected: str) -> None:
        """A number outside of its bounds."""
        got = describe(value)
        if low is not None and value < low:  # type: ignore[operator]
            words = f"at least {low}"
        else:
            words = f"at most {high}" if high is not None and value > high else expected  # type: ignore[operator]
        self.add(path, f"expected {words}, got {got}", expected, got)

    def missing(self, path: Path, key: str, expected: str) -> None:
        self.add((*path, key), f"is missing; expected {expected}", expected, "nothing")

    def unknown(self, path: Path, key: object, known: Sequence[str]) -> None:
        shown = key if isinstance(key, str) else repr(key)
        expected = f"the known keys are {names(known, 40)}" if known else "no keys are known here"
        self.add((*path, shown), f"is not known; {expected}", expected, f"key {quote(shown)}")

    def choose(self, path: Path, value: object, parsers: Sequence[FullDecoder], expected: str) -> object:
        """The value by the first parser that takes it, else the problems of the one that came closest."""
        tries: list[list[Problem]] = []
        for parser in parsers:
            inner = Collector(self._limit)
            result, complete = inner.run(parser, value, path)
            if not inner.problems and complete:
                return result
            tries.append(inner.problems)
        fewest = min(len(problems) for problems in tries)
        closest = [problems for problems in tries if len(problems) == fewest]
        here = show_path(path)
        if len(closest) == 1 and any(problem.path != here for problem in closest[0]):
            for problem in closest[0]:
                if len(self.problems) >= self._limit:
                    raise Enough
                self.problems.append(problem)
        else:
            self.kind(path, expected, value)
        return None

    def one(self, path: Path, value: object, parsers: Sequence[FullDecoder], expected: str) -> object:
        """The value by the only parser that takes it (the `oneOf` of a schema)."""
        taken = []
        for parser in parsers:
            inner = Collector(1)
            result, _ = inner.run(parser, value, path)
            if not inner.problems:
                taken.append(result)
        if len(taken) == 1:
            return taken[0]
        if not taken:
            return self.choose(path, value, parsers, expected)
        self.add(path, f"fits {len(taken)} of {expected}, and may fit only one", expected, describe(value))
        return None

    def run(self, parser: FullDecoder, value: object, path: Path) -> tuple[object, bool]:
        """What `parser` gives, and whether it looked at all of the value."""
        try:
            return parser(value, path, self), True
        except Enough:
            return None, False


FullDecoder: TypeAlias = Callable[[object, Path, Collector], object]
Decoder: TypeAlias = Callable[[object], object]


def only_one(value: object, parsers: Iterable[Decoder]) -> object:
    """The value by the only parser that takes it; Misfit where none or several do."""
    taken = []
    for parser in parsers:
        try:
            taken.append(parser(value))
        except Misfit:
            continue
    if len(taken) != 1:
        raise Misfit
    return taken[0]


def too_long(text: str, limit: int) -> bool:
    """Whether `text` has more than `limit` bytes in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass")) > limit


def clean(text: str) -> bool:
    """Whether no half of a surrogate pair stands alone in `text`."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


WHOLE_MAX = 2**53
"""The largest whole number that is taken where it is written with a fraction or an exponent: beyond it such a text is not exact."""


def whole(value: object) -> int | None:
    """The int that a number with a fraction or an exponent is (`1.0`, `1e3`: JSON Schema's rule), or None."""
    if isinstance(value, float | Decimal) and -WHOLE_MAX <= value <= WHOLE_MAX and value == int(value):
        return int(value)
    return None


def to_decimal(value: object) -> Decimal | None:
    """The Decimal of its JSON form: a text or a number. A binary float gives its shortest decimal form."""
    match value:
        case Decimal():
            number = value
        case str():
            if len(value) > 2_100 or _DECIMAL.fullmatch(value) is None:
                return None
            number = Decimal(value)
        case bool():
            return None
        case int():
            number = Decimal(value)
        case float():
            number = Decimal(repr(value))
        case _:
            return None
    return number if decimal_within(number) else None


def to_bytes(text: str) -> bytes | None:
    """The bytes of standard base64 with its padding."""
    try:
        data = a2b_base64(text, strict_mode=True)
    except (Base64Error, ValueError):
        return None
    # bits beyond the last byte would be lost: two texts for one value
    return data if b64encode(data).decode() == text else None


def to_file(value: object) -> File | None:
    """The File of `{"media": …, "data" or "uri": …}`."""
    if not isinstance(value, dict) or len(value) != 2:
        return None
    match value:
        case {"media": str(media), "data": str(text)} if _MEDIA.fullmatch(media):
            data = to_bytes(text)
            return None if data is None else File(media, data=data)
        case {"media": str(media), "uri": str(uri)} if _MEDIA.fullmatch(media) and uri:
            return File(media, uri=uri)
    return None


def media_fits(media: str, pattern: str | None) -> bool:
    """Whether a media type is what `image/*` or `application/pdf` asks for."""
    if pattern is None or pattern in ("*/*", media):
        return True
    return pattern.endswith("/*") and media.startswith(pattern[:-1])


class JsonWalk:
    """Looks at a value of type Json: sizes, depth, numbers."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._short = limits.string_bytes // 4

    def fits(self, value: object, depth: int | None = None) -> bool:
        """Whether a value is JSON within the default bounds."""
        left = self._limits.depth if depth is None else depth
        kind = type(value)
        if kind is str:
            return self._text_fits(value)  # type: ignore[arg-type]
        if kind is dict:
            return left > 0 and self._object_fits(value, left)  # type: ignore[arg-type]
        if kind is list:
            return left > 0 and self._list_fits(value, left)  # type: ignore[arg-type]
        if kind is int:
            return -MAX_INT <= value <= MAX_INT  # type: ignore[operator]
        if kind is float:
            return -FLOAT_MAX <= value <= FLOAT_MAX  # type: ignore[operator]
        if kind is Decimal:
            return -FLOAT_MAX <= value <= FLOAT_MAX  # type: ignore[operator]
        return kind is bool or value is None

    def _object_fits(self, value: dict[object, object], left: int) -> bool:
        return len(value) <= self._limits.entries and all(
            type(key) is str and self._text_fits(key) and self.fits(item, left - 1) for key, item in value.items()
        )

    def _list_fits(self, value: list[object], left: int) -> bool:
        return len(value) <= self._limits.entries and all(self.fits(item, left - 1) for item in value)

    def _text_fits(self, text: str) -> bool:
        if len(text) > self._short and too_long(text, self._limits.string_bytes):
            return False
        return text.isascii() or clean(text)

    def tell(self, value: object, path: Path, problems: Collector, depth: int | None = None) -> None:
        """Note everything that keeps a value from being JSON within the bounds."""
        left = self._limits.depth if depth is None else depth
        if isinstance(value, dict | list) and type(value) in (dict, list):
            if left <= 0:
                problems.add(path, f"nested more than {self._limits.depth} deep", "Json", describe(value))
                return
            if len(value) > self._limits.entries:
                problems.size(path, len(value), None, self._limits.entries, "entries")
                return
            for key, item in value.items() if isinstance(value, dict) else enumerate(value):
                if type(key) is str and not self._text_fits(key):
                    problems.add(path, "a key is too long or not valid Unicode", "Json", describe(value))
                elif type(key) not in (str, int) or (isinstance(value, dict) and type(key) is int):
                    problems.add(path, f"a key is {describe(key)}, no text", "text", describe(key))
                else:
                    self.tell(item, (*path, key), problems, left - 1)
        elif type(value) is str and not self.fits(value):
            problems.add(path, f"a text of more than {self._limits.string_bytes:,} bytes, or not valid Unicode", "Json", "a text")
        elif not self.fits(value):
            problems.kind(path, "a JSON value", value)


def without_decimals(value: object) -> object:
    """JSON whose exact numbers are Floats, as Json has them."""
    match value:
        case Decimal():
            return float(value)
        case dict():
            return {key: without_decimals(item) for key, item in value.items()}
        case list():
            return [without_decimals(item) for item in value]
        case _:
            return value
