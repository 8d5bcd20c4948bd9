"""Documents of an authorization: JSON objects from outside, bounded, read strictly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite

from ael.mcp.failure import McpError
from ael.types.fault import FaultKind
from ael.types.json import JsonError, read

MAX_BYTES = 256 * 1024
MAX_TEXT = 16 * 1024
MAX_ITEMS = 256


@dataclass(frozen=True)
class Document:
    """The members of a document. `what` names it in messages, which never show a value. All readers raise `McpError` (`Malformed`)."""

    what: str
    values: Mapping[str, object] = field(repr=False)

    def text(self, key: str) -> str | None:
        """A text that is not empty; None where the key is absent or null."""
        match self.values.get(key):
            case None:
                return None
            case str() as found if 0 < len(found) <= MAX_TEXT:
                return found
            case _:
                raise self._malformed(key, "is no text of a plain length")

    def needed(self, key: str) -> str:
        """A text that has to be there."""
        found = self.text(key)
        if found is None:
            raise self._malformed(key, "is missing")
        return found

    def texts(self, key: str) -> tuple[str, ...] | None:
        """A list of texts."""
        match self.values.get(key):
            case None:
                return None
            case list() as items if len(items) <= MAX_ITEMS:
                if all(isinstance(item, str) and len(item) <= MAX_TEXT for item in items):
                    return tuple(str(item) for item in items)
        raise self._malformed(key, f"is no list of at most {MAX_ITEMS} texts")

    def flag(self, key: str) -> bool:
        """A Bool, false where it is absent."""
        match self.values.get(key):
            case None:
                return False
            case bool() as found:
                return found
            case _:
                raise self._malformed(key, "is neither true nor false")

    def seconds(self, key: str) -> float | None:
        """A span or point of time in seconds, not negative. A text of digits counts: some servers write one."""
        match self.values.get(key):
            case None:
                return None
            case bool():
                pass
            case int() | float() as found if isfinite(found) and found >= 0:
                return float(found)
            case str() as digits if digits.isascii() and digits.isdigit() and len(digits) <= 15:
                return float(digits)
        raise self._malformed(key, "is no number of seconds")

    def _malformed(self, key: str, problem: str) -> McpError:
        return McpError(FaultKind.MALFORMED, f"{self.what}: `{key}` {problem}")


def document(data: bytes, what: str) -> Document:
    """Read a document. Raises `McpError` (`Malformed`): not JSON, a key twice, no object."""
    try:
        value = read(data, max_bytes=MAX_BYTES)
    except JsonError as problem:
        # The reader's own message may quote a key, which is outside text.
        raise McpError(FaultKind.MALFORMED, f"{what} cannot be read ({problem.kind})") from None
    if not isinstance(value, dict):
        raise McpError(FaultKind.MALFORMED, f"{what} is no JSON object")
    return Document(what, value)
