"""What is known of a callable's data flow, and what all flows of a check share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ael.data import dataclass, field
from ael.syntax import nodes as n

TAINTED = 1
"""The bit of outside data."""
ROUTE = "<route>"
"""What stands for the parameter of a sink where a value decides an edge of a strict agent."""
CHOICE = "<choice>"
"""The same where a value decides whether something is called that acts."""


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


@dataclass(frozen=True, eq=False)
class Choice(Sink):
    """The place in a node of a strict agent where something decides whether `called` is called; `target` is the agent."""

    called: str = ""


class Picked(NamedTuple):
    """What decides whether something is called: its bits, the sink, and a call that brought outside data into it, with what was called."""

    mask: int
    sink: Sink
    source: n.Node | None
    name: str


@dataclass(eq=False)
class Summary:
    """What a callable does with its parameters. `passes`: what it hands to function values; `stores`: what it writes.

    `picks`: the parameters that decide whether something is called that acts; `picked`: what does so whatever it is given, by its place.
    """

    result: int = 0
    errors: int = 0
    passes: int = 0
    stores: dict[str, int] = field(default_factory=dict)
    sinks: dict[int, Sink] = field(default_factory=dict)
    picks: dict[int, Sink] = field(default_factory=dict)
    picked: dict[n.Node, Picked] = field(default_factory=dict)
    chosen_values: int = 0
    """What decides whether a function value that it was given is called."""

    def state(self) -> tuple[object, ...]:
        """What a caller can see, to tell whether it changed."""
        picked = tuple([one.mask for one in self.picked.values()])
        return (
            *(self.result, self.errors, self.passes, tuple(sorted(self.stores.items())), tuple(sorted(self.sinks))),
            *(tuple(sorted(self.picks)), picked, self.chosen_values),
        )


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
    given: frozenset[str] = frozenset()
    """The names of what the main module is given and outside data had a hand in."""
    acts: Callable[[str], bool] | None = None
    """Whether calling something by this name does anything in the world; None where no agent says `policy strict`."""

    def common(self, mask: int) -> int:
        """The bits that do not depend on a callable's own parameters."""
        return mask & ((1 << self.first_parameter) - 1)
