"""What all runs of one program in one deployment share: the unit, its bindings, and a plan for each name that can be called."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from ael.lower.unit import CompiledUnit
from ael.run.bindings import Bindings
from ael.run.codec import Codecs
from ael.run.halt import Watchdog
from ael.run.masker import Masker

if TYPE_CHECKING:
    from ael.run.frame import RunFrame
    from ael.run.run import Run


class Plan(Protocol):
    """What stands behind a name that compiled code can act on, with all that does not change over calls made once."""

    @property
    def short(self) -> str:
        """The name in structural paths: without its module."""

    def call(self, frame: RunFrame, path: str, arguments: tuple[object, ...]) -> Awaitable[object]:
        """Call it from code at `frame`; `path` is the structural path of this call."""


class World:
    """Shared by the runs of an `Engine`. Holds no value of any run."""

    __slots__ = ("bindings", "clock", "codecs", "masker", "observer", "plans", "unit", "watchdog")

    def __init__(self, unit: CompiledUnit, bindings: Bindings, codecs: Codecs, watchdog: Watchdog | None) -> None:
        self.unit = unit
        self.bindings = bindings
        self.clock = bindings.clock
        self.codecs = codecs
        self.masker = Masker(bindings.secrets.values())
        self.watchdog = watchdog
        self.plans: Mapping[str, Plan] = {}
        self.observer: Callable[[Run], None] | None = None
        """Hears of each run before it begins."""


def short(name: str) -> str:
    """`Orders.get` of `orders.Orders.get`: a qualified name without its module."""
    return name.partition(".")[2] or name
