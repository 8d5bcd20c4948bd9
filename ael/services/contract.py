"""What a served program offers, as data: its methods with their types, for the files that describe them to others."""

from __future__ import annotations

from dataclasses import dataclass

from ael.types.definition import Definitions
from ael.types.signature import Repeat, Signature


@dataclass(frozen=True)
class MethodContract:
    """A method: its path (`/desk.Orders/Get`), types, doc comment, and repeat safety (None: of a node, which has inferred ones)."""

    path: str
    signature: Signature
    doc: str = ""
    repeat: Repeat | None = None

    @property
    def service(self) -> str:
        """`desk.Orders`."""
        return self.path[1:].partition("/")[0]

    @property
    def name(self) -> str:
        """`Get`."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Contract:
    """Everything that is served. `methods` are in the order of their paths, so that the files are the same each time."""

    title: str
    version: str
    methods: tuple[MethodContract, ...]
    definitions: Definitions
