"""The judge that our verdict is compared with: jsonschema, with patterns in ECMA's dialect and formats as annotations.

jsonschema looks for patterns with Python's `re`, whose `$` also stands before a last newline, whose `\\d`, `\\w` and `\\s` are other
sets and whose `.` takes a carriage return. `ecma` writes a pattern anew so that `re` means what JSON Schema asks for (ECMA-262, flag `u`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import jsonschema
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend, validator_for

_SPACES = (
    "\\t\\n\\x0b\\x0c\\r \\xa0\\u1680\\u2000\\u2001\\u2002\\u2003\\u2004\\u2005\\u2006\\u2007\\u2008\\u2009\\u200a\\u2028\\u2029\\u202f"
    "\\u205f\\u3000\\ufeff"
)
_SETS = {"d": "0-9", "w": "A-Za-z0-9_", "s": _SPACES}
_LETTERS = {"n": "\\n", "r": "\\r", "t": "\\t", "f": "\\x0c", "v": "\\x0b", "0": "\\x00"}
_ESCAPE = re.compile(r"\\u\{([0-9a-fA-F]+)\}|\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})|\\(.)", re.DOTALL)


class NotTranslated(ValueError):
    """A pattern with something that is not written anew here (`\\b`, `\\p{…}`, a named group, `\\S` inside of a set)."""


@lru_cache(maxsize=1_024)
def ecma(pattern: str) -> re.Pattern[str]:
    """`pattern` as ECMA-262 reads it, for `re`. Raises NotTranslated, and re.error for what neither reads."""
    made: list[str] = []
    at = 0
    inside = False
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            found = _ESCAPE.match(pattern, at)
            if found is None:
                raise NotTranslated(pattern)
            made.append(_escaped(found, inside))
            at = found.end()
            continue
        at += 1
        if inside:
            inside = char != "]"
            # `re` warns of what may become a set operation; here each is a plain character
            made.append("\\" + char if char in "[&~|" else char)
            if char == "]" and made[-2] in ("[", "[^"):
                made[-2:] = ["(?!)"] if made[-2] == "[" else ["(?s:.)"]
        elif char == "[":
            inside = True
            if pattern[at : at + 1] == "^":
                at += 1
                char = "[^"
            made.append(char)
        elif char == "(" and pattern.startswith("?", at) and pattern[at + 1 : at + 2] not in (":", "=", "!", "<"):
            raise NotTranslated(pattern)
        else:
            made.append({"$": r"\Z", "^": r"\A", ".": "[^\\n\\r\\u2028\\u2029]"}.get(char, char))
    return re.compile("".join(made))


def _escaped(found: re.Match[str], inside: bool) -> str:
    braced, four, two, letter = found.groups()
    if letter is None:
        return re.escape(chr(int(braced or four or two, 16)))
    if letter in _SETS:
        return _SETS[letter] if inside else f"[{_SETS[letter]}]"
    if letter.lower() in _SETS and not inside:
        return f"[^{_SETS[letter.lower()]}]"
    if letter in _LETTERS:
        return _LETTERS[letter]
    if letter.isalnum():
        raise NotTranslated(f"\\{letter}")
    return re.escape(letter)


def _pattern(_: Any, pattern: str, instance: object, schema: object) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not ecma(pattern).search(instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


@lru_cache(maxsize=8)
def _with_ecma(base: type[Any]) -> type[Any]:
    # jsonschema goes over to the class of a subschema's `$schema`; a root that refers to itself has to stay with ours
    made: type[Any] = extend(base, {"pattern": _pattern})  # type: ignore[no-untyped-call]
    return made


def judge(schema: Mapping[str, Any] | bool) -> Any:
    """jsonschema's validator for `schema`, in the dialect that its `$schema` names (2020-12 where it names none)."""
    plain = {key: value for key, value in schema.items() if key != "$schema"} if isinstance(schema, Mapping) else schema
    return _with_ecma(validator_for(schema, default=jsonschema.Draft202012Validator))(plain)


def same(one: object, other: object) -> bool:
    """Whether two values are equal as JSON: `1` is `1.0`, `true` is not `1`, and objects have no order."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other
