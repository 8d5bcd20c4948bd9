"""A span of a kept run while its tree is made."""

from __future__ import annotations

from ael.data import dataclass, field


@dataclass
class Made:
    """A span while the tree is made. `order` tells those apart that began at one time: by the way the program went, as far as it is known,
    else by the place of the first record in the journal."""

    path: str
    kind: str
    name: str
    start: float
    end: float
    order: tuple[int, int]
    outcome: str = "value"
    taint: frozenset[str] = frozenset()
    attributes: dict[str, object] = field(default_factory=dict)
    content: dict[str, object] | None = None
    above: Made | None = None
    sequence: int = 0
