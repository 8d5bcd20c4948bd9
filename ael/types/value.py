"""Values that have no Python type of their own. All others are plain: see the table in `docs/architecture.md`."""

from __future__ import annotations

from ael.data import dataclass


@dataclass(frozen=True, slots=True)
class File:
    """Content with a media type: by value (`data`) or by reference (`uri`)."""

    media: str
    data: bytes | None = None
    uri: str | None = None


class Secret:
    """A value that only connectors and credentials may open. It has no text form, cannot be pickled, copied into a journal or compared."""

    __slots__ = ("_value", "name")

    def __init__(self, name: str, value: str) -> None:
        self.name = name
        self._value = value

    def reveal(self) -> str:
        """The value, for the adapter that sends it."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({self.name})"

    __str__ = __repr__

    def __reduce__(self) -> str:
        raise TypeError("a secret cannot be stored")
