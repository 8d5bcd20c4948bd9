"""What an agent is: nodes joined by edges, resolved and in the order written, and the ways that they make (language.md, section 6)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from ael.data import dataclass, field

Place = TypeVar("Place")
START, FINISH = "start", "finish"
"""The ends of an agent, as edges name them."""


@dataclass(frozen=True, slots=True)
class EdgeSpec:
    """One edge, by the names of its agent.

    `sources`: one, or several of which each comes by itself (`a, b -> c`), or all together where `joined` (`a & b -> c`). `each` is the
    place of the argument that is a list, one item for each visit. `choice` says that it is taken instead of the others of its source,
    because of a `when`, an `otherwise` or an `up to`; an edge without one is always taken. `errors` are qualified names of declared
    errors, kinds of faults, `Fault` for any, `Uncertain`; empty for an edge that carries a value. `limit`: how often it may be taken in
    one visit of the agent, None for any number; for an `each`, how many items it may carry.
    """

    sources: tuple[str, ...]
    joined: bool
    target: str
    each: int | None = None
    choice: bool = False
    otherwise: bool = False
    errors: tuple[str, ...] = ()
    limit: int | None = None

    @property
    def shown(self) -> str:
        """The edge as source writes its ends."""
        return f"{(' & ' if self.joined else ', ').join(self.sources)} -> {'each ' if self.each is not None else ''}{self.target}"


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """`nodes`: name in the edges -> qualified name of the node or agent, in the order of their first mention."""

    nodes: Mapping[str, str] = field(default_factory=dict)
    edges: tuple[EdgeSpec, ...] = ()


class Exit(NamedTuple):
    """A way out of a point: the number of its edge, and where it leads."""

    edge: int
    target: str


@dataclass(eq=False)
class Routes:
    """The points of an agent (its ends, its nodes, its joins) and the ways between them."""

    exits: dict[str, list[Exit]] = field(default_factory=dict)
    """Point -> its edges that carry a value, in the order written."""
    errors: dict[str, list[Exit]] = field(default_factory=dict)
    """Node -> its edges that are taken when it fails."""
    joins: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Join -> what it waits for."""
    arrives: dict[str, list[str]] = field(default_factory=dict)
    """Point -> the joins that wait for it."""
    choices: set[str] = field(default_factory=set)
    """The points that take one of their edges instead of all."""
    bounded: set[int] = field(default_factory=set)
    """The edges with an `up to` that says how often they are taken."""

    def next(self, point: str) -> Iterator[str]:
        """Where a point leads, whatever happens."""
        for way in (*self.exits.get(point, ()), *self.errors.get(point, ())):
            yield way.target
        yield from self.arrives.get(point, ())


def pair(agent: str, source: str, target: str) -> str:
    """All edges of an agent (its qualified name) from one point to another, as a deployment knows them: `main.desk.plan -> main.desk.look`.

    No service and no node is called so, which makes it a name among theirs.
    """
    return f"{agent}.{source} -> {agent}.{target}"


def pairs(agent: str, edge: EdgeSpec) -> list[list[str]]:
    """The `pair`s of an edge: all of one that waits for several nodes together, else each by itself."""
    found = [pair(agent, source, edge.target) for source in edge.sources]
    return [found] if edge.joined else [[one] for one in found]


def place_of(keys: Iterable[str], node: str, placements: Mapping[str, Place], here: Collection[str]) -> Place | None:
    """Where a deployment places the visits along an edge that goes by `keys` (`pairs`): the edge's own place, else that of its node.

    None: in the process.
    """
    names = list(keys)
    own = next((placements[name] for name in names if name in placements), None)
    return own if own is not None or any(name in here for name in names) else placements.get(node)


def join_of(sources: Sequence[str]) -> str:
    """How the point is called at which `sources` come together; the order in which they are written makes no other."""
    return " & ".join(sorted(sources))


def routes(edges: Sequence[EdgeSpec]) -> Routes:
    """The points and ways that edges make."""
    found = Routes()
    for number, edge in enumerate(edges):
        way = Exit(number, edge.target)
        if edge.limit is not None and edge.each is None:
            found.bounded.add(number)
        if edge.joined:
            at = join_of(edge.sources)
            if at not in found.joins:
                found.joins[at] = tuple(sorted(edge.sources))
                for source in found.joins[at]:
                    found.arrives.setdefault(source, []).append(at)
            sources: tuple[str, ...] = (at,)
        else:
            sources = edge.sources
        for source in sources:
            (found.errors if edge.errors else found.exits).setdefault(source, []).append(way)
            if edge.choice and not edge.errors:
                found.choices.add(source)
    return found
