"""What a change of a pack's interface is called."""

from __future__ import annotations

from enum import IntEnum

from ael.data import dataclass


class Level(IntEnum):
    """How much a change means to those who use a pack, least first."""

    SAME = 0
    INTERNAL = 1
    COMPATIBLE = 2
    BREAKING = 3

    @property
    def word(self) -> str:
        """The word for people."""
        return self.name.lower()


@dataclass(frozen=True)
class Change:
    """One difference. `name` is what changed (`refund`, `permission orders.refund`), `text` how, as the rest of a sentence."""

    level: Level
    name: str
    text: str


def broken(name: str, text: str) -> Change:
    """A change that may break those who use it."""
    return Change(Level.BREAKING, name, text)


def added(name: str, text: str) -> Change:
    """A change that they may take no notice of."""
    return Change(Level.COMPATIBLE, name, text)
