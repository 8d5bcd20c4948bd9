"""The one bounded JSON reader below every boundary.

It takes what RFC 8259 allows and every writer can write again: finite numbers, whole numbers up to 4,096 bits, no key twice
(however it is escaped), no lone surrogate, no byte order mark, nesting up to a cap, and it looks at sizes before it builds.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

import jiter

from ael.types.canonical import EncodeError, digest, encode
from ael.types.json_place import duplicate_place, offset_of, path_at, too_deep_at
from ael.types.limits import DEFAULT_LIMITS, MAX_DECIMAL_DIGITS, MAX_INT, MAX_INT_BITS, Limits, decimal_within
from ael.types.problem import Path, Problem, quote, show_path

__all__ = ["EncodeError", "JsonError", "digest", "encode", "nesting", "read", "replace_lone_surrogates"]

_NO_BRACKETS = bytes(code for code in range(256) if code not in b"[]{}")
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_DIGITS = bytes(48 if code in b"123456789" else 101 if code == 69 else code for code in range(256))
_LONG_RUN = b"0" * 300
_PLACE = re.compile(r"^(.*) at line (\d+) column (\d+)$", re.DOTALL)
_SURROGATE = re.compile(
    rb"(?:\\\\)|(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


class JsonError(ValueError):
    """Text that is not taken. `offset` counts bytes; `kind` is syntax, encoding, duplicate, depth, size or number."""

    def __init__(self, kind: str, message: str, path: Path = (), offset: int = 0) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.path = show_path(path)
        self.offset = offset

    def problem(self) -> Problem:
        """The same as a problem of a value."""
        return Problem(self.path, self.message, "JSON", f"byte {self.offset}")


def read(data: bytes | str, limits: Limits = DEFAULT_LIMITS, *, max_bytes: int | None = None, decimals: bool = False) -> object:
    """The value of a JSON text. Raises JsonError.

    `max_bytes` caps the text (default: a model's output); with `decimals`, numbers that are not whole are exact Decimals.
    """
    data = checked_bytes(data, limits.model_output if max_bytes is None else max_bytes)
    value = parse(data, limits, decimals=decimals)
    outside = data if b'"' not in data else _outside(data)
    plain = outside.translate(_DIGITS)
    if b"0e" in plain or _LONG_RUN in plain:
        _check_numbers(value, ())
    return value


def parse(data: bytes, limits: Limits, *, decimals: bool, bounded: bool = False) -> object:
    """`read` without the look at sizes of numbers, for decoders that look at each themselves.

    With `bounded` the nesting is left to the decoder too: a type that allows only so much refuses what is deeper, and the parser
    itself stops at 200.
    """
    if not bounded and data.count(b"[") + data.count(b"{") > limits.depth:
        _check_depth(data, limits.depth)
    try:
        return jiter.from_json(
            data, allow_inf_nan=False, catch_duplicate_keys=True, cache_mode="keys", float_mode="decimal" if decimals else "float"
        )
    except ValueError as error:
        raise _syntax_error(data, str(error)) from None


def nesting(value: object, limit: int) -> bool:
    """Whether a value built of lists and dicts is nested at most `limit` deep. Ends for cycles too."""
    level = [value]
    for _ in range(limit + 1):
        below: dict[int, object] = {}
        for item in level:
            if type(item) is dict:
                below.update((id(v), v) for v in item.values() if type(v) is dict or type(v) is list)
            elif type(item) is list:
                below.update((id(v), v) for v in item if type(v) is dict or type(v) is list)
        if not below:
            return True if _ < limit else not any(type(item) in (dict, list) for item in level)
        level = list(below.values())
    return False


def replace_lone_surrogates(data: bytes) -> bytes:
    """The text with every escaped half of a surrogate pair as U+FFFD: for what a provider cut in the middle of a character."""
    if b"\\ud" not in data and b"\\uD" not in data:
        return data
    return _SURROGATE.sub(lambda found: found[0] if found[2] is None else b"\\ufffd", data)


def checked_bytes(text: bytes | str, max_bytes: int) -> bytes:
    """`text` as UTF-8, within `max_bytes`. Raises JsonError."""
    if isinstance(text, bytes):
        data = text
    else:
        if len(text) > max_bytes:
            raise JsonError("size", f"the text is longer than {max_bytes:,} bytes", (), max_bytes)
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            offset = len(text[: error.start].encode())
            raise JsonError("encoding", "half of a surrogate pair stands alone in the text", (), offset) from None
    if len(data) > max_bytes:
        raise JsonError("size", f"the text has {len(data):,} bytes, more than the {max_bytes:,} allowed", (), max_bytes)
    return data


def _outside(data: bytes) -> bytes:
    """What stands outside of strings; escaped backslashes and quotes go first, so that quotes alternate."""
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b" ".join(data.split(b'"')[::2])


def _check_depth(data: bytes, depth: int) -> None:
    brackets = _outside(data).translate(_ONE_KIND, _NO_BRACKETS)
    for _ in range(depth):
        # one level of innermost pairs at a time; that they match is the parser's business
        brackets = brackets.replace(b"[]", b"")
        if not brackets:
            return
    place = too_deep_at(data, depth)
    if place is not None:
        path, offset = place
        raise JsonError("depth", f"nested more than {depth} deep", path, offset)


def _syntax_error(data: bytes, message: str) -> JsonError:
    found = _PLACE.match(message)
    what, offset = (found[1], offset_of(data, int(found[2]), int(found[3]))) if found else (message, 0)
    if what.startswith("Detected duplicate key"):
        path, offset = duplicate_place(data)
        return JsonError("duplicate", f"the key {quote(str(path[-1]) if path else '')} is there twice", path, offset)
    if data.startswith(b"\xef\xbb\xbf"):
        return JsonError("encoding", "the text begins with a byte order mark; JSON has none")
    path = path_at(data, offset)
    if what.startswith("recursion limit"):
        return JsonError("depth", "nested too deep", path, offset)
    if what.startswith("number out of range"):
        return JsonError("number", f"a whole number of more than {MAX_INT_BITS:,} bits", path, offset)
    if "unicode code point" in what or "surrogate" in what or "hex escape" in what:
        return JsonError("encoding", "not valid Unicode: a broken character or half of a surrogate pair", path, offset)
    what = what.replace("EOF while parsing a value", "the text ends where a value should begin")
    what = what.replace("EOF while parsing", "the text ends inside").replace("expected ident", "expected true, false or null")
    return JsonError("syntax", f"not JSON: {what}, at byte {offset}", path, offset)


def _check_numbers(value: object, path: Path) -> None:
    match value:
        case dict():
            for key, item in value.items():
                _check_numbers(item, (*path, key))
        case list():
            for at, item in enumerate(value):
                _check_numbers(item, (*path, at))
        case float() if not math.isfinite(value):
            raise JsonError("number", "a number beyond what a Float can hold", path)
        case Decimal() if not decimal_within(value):
            raise JsonError("number", f"a number of more than {MAX_DECIMAL_DIGITS:,} digits", path)
        case int() if not -MAX_INT <= value <= MAX_INT:
            raise JsonError("number", f"a whole number of more than {MAX_INT_BITS:,} bits", path)
