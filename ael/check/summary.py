"""What is known of a callable's data flow, and what all flows of a check share."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ael.data import dataclass, field
from ael.syntax import nodes as n

TAINTED = 1
"""The bit of outside data."""
ROUTE = "<route>"
"""What stands for the parameter of a sink where a value decides an edge of a strict agent."""


@dataclass(frozen=True, eq=False)
class Sink:
    """A trusted parameter that a value reaches: the argument, whose parameter it is, and the way on when it is not reached at once.

    So is the condition of an edge of a strict agent, whose `parameter` is `ROUTE`.
    """

    module: str
    node: n.Node
    target: str
    parameter: str
    onward: Sink | None = None

    @property
    def end(self) -> Sink:
        """The sink where the trusted parameter stands."""
        sink = self
        while sink.onward is not None:
            sink = sink.onward
        return sink


@dataclass(eq=False)
class Summary:
    """What a callable does with its parameters. `passes`: what it hands to function values; `stores`: what it writes."""

    result: int = 0
    errors: int = 0
    passes: int = 0
    stores: dict[str, int] = field(default_factory=dict)
    sinks: dict[int, Sink] = field(default_factory=dict)

    def state(self) -> tuple[int, int, int, tuple[tuple[str, int], ...], tuple[int, ...]]:
        """What a caller can see, to tell whether it changed."""
        return self.result, self.errors, self.passes, tuple(sorted(self.stores.items())), tuple(sorted(self.sinks))


@dataclass(frozen=True, eq=False)
class Target:
    """A callee as a call sees it: its parameters' names, which are trusted, and the summaries of what may run (None: outside)."""

    name: str
    parameters: tuple[str, ...]
    trusted: tuple[bool, ...]
    summaries: tuple[Summary | None, ...]


@dataclass(eq=False)
class Shared:
    """What all flows of a check share."""

    targets: Callable[[str], Target | None]
    store_bits: Mapping[str, int]
    first_parameter: int
    contents: dict[str, int] = field(default_factory=dict)
    violations: dict[tuple[n.Node, str], tuple[int, Sink, str, n.Node | None, str]] = field(default_factory=dict)
    """(argument, parameter) -> what reaches it, the sink, the module, and a source of it with words for it."""
    releases: dict[n.Call, tuple[str, int]] = field(default_factory=dict)

    def common(self, mask: int) -> int:
        """The bits that do not depend on a callable's own parameters."""
        return mask & ((1 << self.first_parameter) - 1)
