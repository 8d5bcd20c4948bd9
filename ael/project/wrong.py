"""A line of a deployment that has no meaning, and the words that its message is made of."""

from __future__ import annotations

from collections.abc import Iterable

from ael.syntax import nodes as n


class Wrong(Exception):
    """Raised where a line is read, reported where it is caught: a code, a sentence, the place, and what to do. `first`: what it repeats."""

    def __init__(self, code: str, message: str, node: n.Node, *notes: str, first: n.Node | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.node, self.notes, self.first = code, message, node, notes, first


def listing(lead: str, names: Iterable[str]) -> str:
    """`lead` and the names, or that there are none."""
    listed = ", ".join(f"`{name}`" for name in names)
    return f"{lead} {listed}" if listed else "there are none"
