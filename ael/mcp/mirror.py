"""Arguments that a tool's schema wants repeated as HTTP headers (`x-mcp-header`, revision 2026-07-28).

A server's schema decides here what leaves in a header, so a definition with a mark that is not allowed is refused as a whole.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import deque
from collections.abc import Iterator, Mapping

from ael.mcp.version import HEADER_METHOD, HEADER_NAME, HEADER_PARAM, HEADER_VERSION

MARK = "x-mcp-header"
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+\-.^_`|~]{1,128}")
_PLAIN = re.compile(r"[\x20-\x7e]*")
_WRAPPED = re.compile(r"=\?base64\?.*\?=")
_SCALARS = ("string", "integer", "boolean")
_ONE = frozenset(
    (
        *("items", "contains", "unevaluatedItems", "additionalProperties", "propertyNames", "unevaluatedProperties"),
        *("not", "if", "then", "else", "contentSchema"),
    )
)
_LIST = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
_MAP = frozenset(("patternProperties", "dependentSchemas", "$defs", "definitions"))
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

Marks = Mapping[tuple[str, ...], str]
"""By the path of an argument, the end of its header's name."""


class BadMark(Exception):
    """A mark that the specification does not allow; `reason` quotes nothing but its place."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def marks(schema: object) -> Marks:
    """The marks of an input schema. Raises `BadMark`."""
    found: dict[tuple[str, ...], str] = {}
    taken: set[str] = set()
    for path, node in _schemas(schema):
        if MARK not in node:
            continue
        if not path:
            raise BadMark(f"`{MARK}` stands where no single argument is meant")
        name, kind = node[MARK], node.get("type")
        where = ".".join(path)
        if type(name) is not str or not _TOKEN.fullmatch(name):
            raise BadMark(f"`{MARK}` of `{where}` is no name that a header can have")
        if kind not in _SCALARS:
            raise BadMark(f"`{MARK}` of `{where}` stands at something that is neither text, whole number nor truth value")
        if name.lower() in taken:
            raise BadMark(f"`{MARK}` of `{where}` is that of another argument too")
        taken.add(name.lower())
        found[path] = name
    return found


def _schemas(root: object) -> Iterator[tuple[tuple[str, ...] | None, Mapping[str, object]]]:
    """Every schema inside, with the path of properties that leads to it; None where something else is on the way."""
    waiting: deque[tuple[tuple[str, ...] | None, object]] = deque([((), root)])
    while waiting:
        path, node = waiting.popleft()
        if type(node) is not dict:
            continue
        yield path, node
        for keyword, value in node.items():
            if keyword == "properties" and type(value) is dict:
                waiting += [(None if path is None else (*path, name), inner) for name, inner in value.items()]
            elif keyword in _ONE:
                waiting.append((None, value))
            elif keyword in _LIST and type(value) is list:
                waiting += [(None, inner) for inner in value]
            elif keyword in _MAP and type(value) is dict:
                waiting += [(None, inner) for inner in value.values()]


def request_headers(protocol: str, method: str, params: Mapping[str, object], marked: Marks) -> list[str]:
    """The header lines of a request in the stateless protocol: what proxies may read without opening the body."""
    lines = [f"{HEADER_VERSION}: {protocol}", f"{HEADER_METHOD}: {method}"]
    named = params.get(_NAMED.get(method, ""))
    if isinstance(named, str):
        lines.append(f"{HEADER_NAME}: {header_value(named)}")
    for path, name in marked.items():
        value = _at(params.get("arguments"), path)
        if isinstance(value, bool):
            lines.append(f"{HEADER_PARAM}{name}: {'true' if value else 'false'}")
        elif isinstance(value, str | int | float):
            lines.append(f"{HEADER_PARAM}{name}: {header_value(str(value))}")
    return lines


def header_value(text: str) -> str:
    """Text as a header can carry it: as it is where that is safe, else packed in base64, marked."""
    if _PLAIN.fullmatch(text) and text == text.strip() and not _WRAPPED.fullmatch(text):
        return text
    return f"=?base64?{b64encode(text.encode()).decode()}?="


def _at(value: object, path: tuple[str, ...]) -> object:
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value
