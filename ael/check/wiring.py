"""How the edges of an agent fit together: none is ambiguous, each node is reached and comes to an end, no way is without bound."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from ael.check.checker import Checker
from ael.check.edge_error import ANY_FAULT
from ael.check.route import Trouble, cycles, finishing, reached, trouble
from ael.syntax import nodes as n
from ael.syntax.tree import same
from ael.types.agent import FINISH, START, EdgeSpec, Routes, join_of


def check_wiring(c: Checker, node: n.AgentDecl, specs: Sequence[EdgeSpec], found: Routes, before: int) -> None:
    """Report what is wrong with the edges of an agent as a whole; `specs` are those of its edges.

    `before`: how many errors there were when the agent was begun. What its branches come to is looked at when all else is in order.
    """
    if START not in found.exits:
        message = f"the agent `{node.name.text}` begins nowhere: `edge start -> …` says what comes first"
        c.report("AEL1302", message, node.name.span)
        return
    _choices(c, node, specs, found)
    _errors(c, node, specs)
    _reach(c, node, found)
    _loops(c, node, found)
    if c.bag.errors == before and (problem := trouble(found)) is not None:
        _branches(c, node, found, problem)


# --- what an edge says beside the others of its source ------------------------------------------------------------------------


def _choices(c: Checker, node: n.AgentDecl, specs: Sequence[EdgeSpec], found: Routes) -> None:
    told: set[int] = set()
    for point, exits in found.exits.items():
        if point not in found.choices:
            continue
        edges = [(way.edge, node.edges[way.edge], specs[way.edge]) for way in exits]
        _mixed(c, node, point, edges, found, told)
        for at, (number, edge, spec) in enumerate(edges):
            if number in told or not spec.choice:
                continue
            for _, earlier, one in edges[:at]:
                if one.limit is not None or not one.choice:
                    continue
                if one.otherwise or _same_condition(edge, earlier):
                    told.add(number)
                    why = "after an `otherwise`" if one.otherwise else "after one with the same condition"
                    labels = (c.label(earlier.span, "this one is taken instead"),)
                    c.report("AEL1307", f"this edge is never taken: it stands {why}", edge.span, labels=labels)
                    break


def _mixed(
    c: Checker, node: n.AgentDecl, point: str, edges: list[tuple[int, n.Edge, EdgeSpec]], found: Routes, told: set[int]
) -> None:
    """A point takes all of its edges, or one of them: both at once would leave open which of the two an edge means."""
    chosen = next(edge for _, edge, spec in edges if spec.choice)
    labels = (c.label(chosen.span, "this edge is taken instead of others"),)
    for number, edge, spec in edges:
        if not spec.choice and number not in told:
            told.add(number)
            message = f"`{point}` takes one of its edges, and this one does not say when: `when …` or `otherwise`"
            c.report("AEL1307", message, edge.span, labels=labels)
    for join in found.arrives.get(point, ()):
        number = next(way.edge for way in (*found.exits.get(join, ()), *found.errors.get(join, ())))
        if number not in told:
            told.add(number)
            message = f"`{point}` takes one of its edges, and `{join}` would wait for it whichever that is"
            notes = ("lead the edges that choose from a node after the `&`, or join what they lead to",)
            c.report("AEL1307", message, node.edges[number].span, labels=labels, notes=notes)


def _same_condition(left: n.Edge, right: n.Edge) -> bool:
    return left.condition is not None and right.condition is not None and same(left.condition, right.condition)


def _errors(c: Checker, node: n.AgentDecl, specs: Sequence[EdgeSpec]) -> None:
    """An error that an edge before meets already never comes to a later one."""
    met: dict[str, dict[str, n.Edge]] = {}
    for edge, spec in zip(node.edges, specs, strict=True):
        for at, error in enumerate(spec.errors):
            first = [met.get(source, {}).get(error) or _any_fault(c, met.get(source, {}), error) for source in spec.sources]
            before = next((one for one in first if one is not None), None)
            if before is not None and len(spec.errors) == len(edge.errors):
                labels = (c.label(before.span, "met here"),)
                c.report("AEL1307", f"`{edge.errors[at].text}` is met by an edge before", edge.errors[at].span, labels=labels)
        if spec.limit is None:
            for source in spec.sources:
                for error in spec.errors:
                    met.setdefault(source, {}).setdefault(error, edge)


def _any_fault(c: Checker, met: dict[str, n.Edge], error: str) -> n.Edge | None:
    """The edge that meets every fault, where `error` is a fault."""
    symbol = c.collected.symbols.get(error)
    return met.get(ANY_FAULT) if symbol is None and error != "Uncertain" else None


# --- ways through the agent ---------------------------------------------------------------------------------------------------


def _names(node: n.AgentDecl) -> Iterator[tuple[str, n.Name]]:
    """The nodes of an agent with their first mention."""
    seen = {START, FINISH}
    for edge in node.edges:
        for name in (*edge.sources, edge.target.name):
            if name.text not in seen:
                seen.add(name.text)
                yield name.text, name


def _reach(c: Checker, node: n.AgentDecl, found: Routes) -> None:
    reachable, ending = reached(found), finishing(found)
    targets = {edge.target.name.text for edge in node.edges}
    lost = [(name, at) for name, at in _names(node) if name not in reachable]
    joined = {source for join, sources in found.joins.items() if join in reachable for source in sources}
    first = [(name, at) for name, at in lost if name not in targets] or lost[:1]
    for name, at in first:
        more = ", and an `&` waits for it" if name in joined else ""
        c.report("AEL1303", f"no way leads from `start` to `{name}`{more}", at.span)
    if lost:
        return
    if FINISH not in reachable:
        message = f"no way leads through `{node.name.text}` to `finish`, so it gives no result"
        c.report("AEL1304", message, node.name.span, notes=("say what the result is: `edge … -> finish`",))
        return
    ends = [(name, at) for name, at in _names(node) if name not in found.exits and name not in found.arrives]
    for name, at in ends:
        notes = (f"`edge {name} -> finish` ends the agent with its output",)
        c.report("AEL1304", f"`{name}` is a dead end: no edge says what comes after it", at.span, notes=notes)
    trapped = [(name, at) for name, at in _names(node) if name not in ending]
    if trapped and not ends:
        name, at = trapped[0]
        c.report("AEL1304", f"no way leads from `{name}` to `finish`", at.span)


def _loops(c: Checker, node: n.AgentDecl, found: Routes) -> None:
    for group in cycles(found):
        inside = set(group)
        ways = [
            way
            for point in group
            for way in (*found.exits.get(point, ()), *found.errors.get(point, ()))
            if way.target in inside and way.edge not in found.bounded
        ]
        edge = node.edges[max(way.edge for way in ways)]
        shown = " -> ".join(_round(found, group))
        end = edge.span.end
        fix = c.edit("bound it with `up to`", (type(edge.span)(end, end), " up to 3"), safe=False)
        notes = ("when it has been taken that often, the other edges of its source are looked at, such as `otherwise`",)
        message = f"this can go round for ever ({shown}): say how often with `up to N` on one of the edges"
        c.report("AEL1305", message, edge.span, notes=notes, fix=fix)


def _round(found: Routes, group: Sequence[str]) -> list[str]:
    """A way round: from the first of the points back to it."""
    start = min(group)
    return [start, *_way(found, [one for one in found.next(start) if one in group], start, set(group))]


def _way(found: Routes, first: Sequence[str], end: str, inside: set[str] | None = None) -> list[str]:
    """The shortest way from one of `first` to `end`, both among it; empty where there is none."""
    came: dict[str, str | None] = dict.fromkeys(first)
    queue = deque(came)
    while queue:
        point = queue.popleft()
        if point == end:
            way = [point]
            while (before := came[way[-1]]) is not None:
                way.append(before)
            return way[::-1]
        for target in found.next(point):
            if target not in came and (inside is None or target in inside):
                came[target] = point
                queue.append(target)
    return []


def way_without(found: Routes, sources: Sequence[str], *, joined: bool, name: str) -> list[str]:
    """A way from the start to one of `sources` on which `name` gives nothing; empty where none is that simple."""
    ends = [join_of(sources)] if joined else [one for one in sources if one != name]
    points = {START, FINISH, *found.exits, *found.errors, *found.arrives, *found.joins} - {name}
    for end in ends:
        way = _way(found, [START], end, points | {end})
        if way:
            return way
    return []


# --- branches -------------------------------------------------------------------------------------------------------------------


def _sources(edge: n.Edge) -> list[str]:
    return [name.text for name in edge.sources]


def _branches(c: Checker, node: n.AgentDecl, found: Routes, problem: Trouble) -> None:
    others = " and ".join(f"`{one}`" for one in problem.others)
    match problem.kind:
        case "waits":
            edge = node.edges[found.exits[problem.at][0].edge]
            message = f"this can wait for ever: on some way {others} {'does' if len(problem.others) == 1 else 'do'} not come"
            notes = ("an `&` waits for all of its sources, so every branch that leads to it comes whenever one does",)
            c.report("AEL1308", message, edge.span, notes=notes)
        case "beside" if problem.at == FINISH:
            edge = next(edge for edge in node.edges if edge.target.name.text == FINISH)
            message = f"`finish` can be reached while {others} {'is' if len(problem.others) == 1 else 'are'} still under way"
            if FINISH in problem.others:
                message = "several branches can reach `finish`: the first would end the agent while the others are under way"
            notes = ("edges of one node without a condition are all taken: join their branches with `&` before the finish",)
            c.report("AEL1309", message, edge.span, notes=notes)
        case "beside":
            edge = next(edge for edge in node.edges if problem.at in (edge.target.name.text, join_of(_sources(edge))))
            message = f"two branches can come to `{problem.at}` at once, and it would be open which is first"
            notes = ("edges of one node without a condition are all taken: join their branches with `&`",)
            c.report("AEL1309", message, edge.span, notes=notes)
        case _:
            message = f"the branches of `{node.name.text}` can stand in too many ways beside each other to be looked at"
            notes = ("make an agent of some of the nodes, and a node of that agent",)
            c.report("AEL1309", message, node.name.span, notes=notes)
