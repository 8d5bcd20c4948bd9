"""The edges of an agent: what they join, the values that they carry, the conditions and errors that choose them (language.md, section 6).

In an edge a node's name is its latest output. What surely is there is worked out over all ways (`ael.check.route`); how the edges of an
agent fit together is looked at in `ael.check.wiring`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ael.check.arguments import Wanted, assign, check_all, look_at_all, wanted_of
from ael.check.checker import UNKNOWN, Body, Checker
from ael.check.constant import FAILED
from ael.check.edge_error import met_by, unmet
from ael.check.enter import enter, parameters_of
from ael.check.kind import INT
from ael.check.module import kind_text, report_unknown, seen, visible
from ael.check.narrow import facts
from ael.check.program import EdgeInfo, Local
from ael.check.route import arrived
from ael.check.wiring import check_wiring, way_without
from ael.data import dataclass, replace
from ael.syntax import nodes as n
from ael.types.agent import FINISH, START, EdgeSpec, Routes, join_of, routes
from ael.types.signature import Signature
from ael.types.type import ListType, Type, UnitType, Unknown, unchecked


@dataclass(eq=False)
class Agent:
    """An agent while its edges are looked at. `nodes`: name in the edges -> signature of what it means, None after a report."""

    node: n.AgentDecl
    name: str
    signature: Signature
    nodes: dict[str, Signature | None]
    outputs: dict[str, Type]
    """What a node's name means in an edge: its result, a list of them where `each` leads to it."""


def check_agent(c: Checker, node: n.AgentDecl, name: str, signature: Signature) -> None:
    """Check an agent's edges, and fill in what they mean."""
    enter(c, Body("node", name, None, signature.fails, node))
    parameters_of(c, node.parameters)
    errors = c.bag.errors
    agent = Agent(node, name, signature, _nodes(c, node), {})
    known = c.bag.errors == errors
    agent.outputs = _outputs(c, agent)
    _declare(c, agent)
    specs = [_spec(c, agent, edge) for edge in node.edges]
    found = routes(specs)
    before = arrived(found)
    for edge, spec in zip(node.edges, specs, strict=True):
        c.tables.edges[edge] = _edge(c, agent, edge, spec, found, before)
    unmet(c, node, name, signature, agent.nodes, specs)
    if known:  # else what is wrong with a name would be told again, as what it does to the ways
        check_wiring(c, node, specs, found, errors)


# --- nodes ---------------------------------------------------------------------------------------------------------------


def _nodes(c: Checker, node: n.AgentDecl) -> dict[str, Signature | None]:
    """The nodes that the edges name, in the order of their first mention."""
    found: dict[str, Signature | None] = {}
    visited = c.tables.visited.setdefault(node, {})
    ends: set[str] = set()
    for edge in node.edges:
        for name in (*edge.sources, edge.target.name):
            text = name.text
            if text in found:
                continue
            symbol = seen(c.module, text)
            if text in (START, FINISH):
                _end(c, edge, name)
                if symbol is not None and symbol.kind in ("node", "agent") and text not in ends:
                    message = (
                        f"`{text}` is an end of the agent, and {kind_text(symbol)} is called so, too: give that another name"
                    )
                    c.report("AEL1313", message, name.span)
                ends.add(text)
                continue
            if symbol is not None and symbol.kind in ("node", "agent"):
                found[text] = c.collected.signatures.get(symbol.name)
                visited[text] = symbol.name
                continue
            found[text] = None
            if symbol is None:
                known = [START, FINISH, *visible(c.module, "node", "agent")]
                report_unknown(c.collected, c.module, name, "node", "AEL1301", c.bag, known, frozenset({"node", "agent"}))
            elif symbol.kind != "unknown":
                notes = (f"a node may call it: `node …(…) -> … {{ {text}(…) }}`",) if symbol.kind in ("tool", "function") else ()
                message = f"`{text}` is {kind_text(symbol)}, and edges join nodes and agents"
                c.report("AEL1301", message, name.span, notes=notes)
    return found


def _end(c: Checker, edge: n.Edge, name: n.Name) -> None:
    if name.text == START and name is edge.target.name:
        c.report("AEL1302", "an edge cannot lead to `start`: that is where the agent begins", name.span)
    elif name.text == FINISH and name is not edge.target.name:
        c.report("AEL1302", "no edge leaves `finish`: that is where the agent ends", name.span)
    elif name.text == START and len(edge.sources) > 1:
        c.report("AEL1302", "an edge from `start` has no other source: nothing has come before it", name.span)


def _outputs(c: Checker, agent: Agent) -> dict[str, Type]:
    """The type of each node's output, as edges see it."""
    each: dict[str, n.Edge] = {}
    whole: dict[str, n.Edge] = {}
    for edge in agent.node.edges:
        (each if edge.target.each else whole).setdefault(edge.target.name.text, edge)
    for name, edge in each.items():
        if (other := whole.get(name)) is not None:
            labels = (c.label(other.target.span, "visited once here"),)
            message = f"`{name}` is visited for each item here, and once elsewhere: its output would be a list or not"
            c.report("AEL1311", message, edge.target.span, labels=labels)
    found: dict[str, Type] = {}
    for name, signature in agent.nodes.items():
        result = UNKNOWN if signature is None else unchecked(signature.result)
        found[name] = ListType(result) if name in each and not isinstance(result, Unknown) else result
    return found


def _declare(c: Checker, agent: Agent) -> None:
    """A local for the latest output of each node; the code of all edges shares them."""
    names = c.tables.outputs.setdefault(agent.node, {})
    taken = {parameter.name.text: parameter for parameter in agent.node.parameters}
    for name, type in agent.outputs.items():
        first = next(one for edge in agent.node.edges for one in (*edge.sources, edge.target.name) if one.text == name)
        if (parameter := taken.get(name)) is not None:
            labels = (c.label(first.span, "a node of this name is joined here"),)
            message = f"`{name}` would mean this parameter and a node's output: give the parameter another name"
            c.report("AEL1313", message, parameter.name.span, labels=labels)
            continue
        at = n.Name(first.span, name)
        names[name] = at
        c.tables.locals[at] = Local(name, name, False, type)


# --- one edge ------------------------------------------------------------------------------------------------------------


def _spec(c: Checker, agent: Agent, edge: n.Edge) -> EdgeSpec:
    """The edge as the ways through the agent need it."""
    limit = _limit(c, edge)
    errors = met_by(c, edge, agent.nodes)
    each = 0 if edge.target.each else None
    choice = edge.condition is not None or edge.otherwise or (edge.limit is not None and not edge.target.each)
    sources = tuple(dict.fromkeys(name.text for name in edge.sources))
    if len(sources) < len(edge.sources):
        c.report("AEL1307", "a source stands in this edge twice", edge.sources[0].span.to(edge.sources[-1].span))
    joined = edge.joined and len(sources) > 1
    return EdgeSpec(sources, joined, edge.target.name.text, each, choice, edge.otherwise, errors, limit)


def _limit(c: Checker, edge: n.Edge) -> int | None:
    if edge.limit is None:
        return None
    before = c.bag.errors
    c.check(edge.limit, INT, " as the bound of an edge")
    if c.bag.errors != before:
        return 1
    value = c.constants.value(c.module, edge.limit, INT)
    if type(value) is int and value >= 1:
        return value
    if c.bag.errors == before:
        why = "is known before the program runs" if value is FAILED else "is a whole number of at least 1"
        c.report("AEL1314", f"how often an edge may be taken {why}", edge.limit.span)
    return 1


def _edge(
    c: Checker, agent: Agent, edge: n.Edge, spec: EdgeSpec, found: Routes, before: Mapping[str, frozenset[str]]
) -> EdgeInfo:
    there = _there(spec, before)
    enter(c, Body("clause", agent.name, None, frozenset(), edge))
    parameters_of(c, agent.node.parameters)
    for name, at in c.tables.outputs[agent.node].items():
        c.locals[-1][name] = c.tables.locals[at]
        c.slots[name] = 1
    if edge.condition is not None:
        _surely(c, agent, edge, edge.condition, there, found)
        c.check_condition(edge.condition, "an edge")
        when_true, _ = facts(c, edge.condition)
        c.narrowed = {**c.narrowed, **when_true}
    for argument in edge.target.arguments or ():
        _surely(c, agent, edge, argument.value, there, found)
    target = edge.target.name.text
    signature = agent.nodes.get(target)
    qualified = c.tables.visited[agent.node].get(target, "")
    if target == FINISH and edge.target.each:
        c.report("AEL1311", "`each` leads to a node, not to `finish`", edge.target.span)
    if signature is None and (target != FINISH or edge.target.each):
        for argument in edge.target.arguments or ():
            c.infer(argument.value)
        return EdgeInfo(spec, qualified)
    wanted = _wanted(agent) if signature is None else wanted_of(signature.parameters)
    if edge.target.arguments is None:
        return EdgeInfo(spec, qualified, passes=_passes(c, agent, edge, spec, wanted))
    call = n.Call(edge.target.span, n.Reference(edge.target.name.span, edge.target.name), edge.target.arguments)
    arguments, fine = assign(c, call, f"`{target}`", wanted)
    if not fine:
        look_at_all(c, call)
    elif edge.target.each:
        spec = replace(spec, each=_each(c, edge, arguments, wanted))
    else:
        if signature is None and agent.node.result is not None:
            c.origin = (agent.signature.result, "", agent.node.result.span)
        check_all(c, arguments, wanted, "" if signature is None else signature.name)
    return EdgeInfo(spec, qualified, arguments)


def _wanted(agent: Agent) -> list[Wanted]:
    """What `finish` takes: the agent's result."""
    result = agent.signature.result
    return [] if isinstance(result, UnitType) else [Wanted("result", result, True)]


def _there(spec: EdgeSpec, before: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The nodes whose output is surely there when an edge is taken. What is never reached is reported elsewhere, and lacks nothing."""
    if spec.joined:
        return before.get(join_of(spec.sources), _ALL)
    found: frozenset[str] | None = None
    for source in spec.sources:
        names = before.get(source)
        if names is None:
            continue
        if source != START and not spec.errors:
            names |= {source}
        found = names if found is None else found & names
    return _ALL if found is None else found


class _All(frozenset[str]):
    """Every name."""

    def __contains__(self, name: object) -> bool:
        return True


_ALL = _All()


def _surely(c: Checker, agent: Agent, edge: n.Edge, e: n.Expr, there: frozenset[str], found: Routes) -> None:
    """Report names of nodes whose output may not be there when the edge is taken."""
    hidden = {one.name.text for one in n.walk(e) if isinstance(one, n.LambdaParameter)}
    told: set[str] = set()
    for one in n.walk(e):
        if not isinstance(one, n.Reference):
            continue
        name = one.name.text
        if name not in c.tables.outputs[agent.node] or name in there or name in hidden or name in told:
            continue
        told.add(name)
        sources = [source.text for source in edge.sources]
        if edge.errors and name in sources:
            notes: tuple[str, ...] = (f"this edge is taken because `{name}` gave nothing",)
        else:
            way = way_without(found, sources, joined=edge.joined, name=name)
            notes = (f"there is a way without it: {' -> '.join(way)}",) if way else ()
        c.report("AEL1306", f"`{name}` may not have given anything when this edge is taken", one.span, notes=notes)


# --- what is carried -------------------------------------------------------------------------------------------------------


def _passes(c: Checker, agent: Agent, edge: n.Edge, spec: EdgeSpec, wanted: Sequence[Wanted]) -> bool:
    """An edge without arguments hands on what its source gave; whether there is anything to hand on."""
    target = spec.target
    if edge.target.each:
        c.report("AEL1311", f"`each` says over which list it goes: `each {target}(…)`", edge.target.span)
        return False
    if not wanted:
        return False
    if len(wanted) > 1 or spec.joined or spec.errors:
        why = (
            f"`{target}` takes {len(wanted)} arguments"
            if len(wanted) > 1
            else "several values come together here" if spec.joined else "what fails gives no value to hand on"
        )  # fmt: skip
        names = ", ".join(one.name for one in wanted)
        c.report("AEL1312", f"{why}, so the edge says what it carries: `{target}({names})`", edge.target.span)
        return False
    for source in spec.sources:
        given = _given(c, agent, edge, source, target)
        if given is None:
            return False
        if not c.fits(given, wanted[0].type):
            what = "the result of the agent" if target == FINISH else f"`{wanted[0].name}` of `{target}`"
            at = edge.sources[[one.text for one in edge.sources].index(source)]
            c.mismatch(at, given, wanted[0].type, f" as {what}")
    return True


def _given(c: Checker, agent: Agent, edge: n.Edge, source: str, target: str) -> Type | None:
    """The type of what a source hands on; None after a report."""
    if source != START:
        return agent.outputs.get(source, UNKNOWN)
    parameters = wanted_of(agent.signature.parameters)
    if len(parameters) == 1:
        return parameters[0].type
    message = f"the agent has {len(parameters) or 'no'} parameters, so the edge says what it carries: `{target}(…)`"
    c.report("AEL1312", message, edge.target.span)
    return None


def _each(c: Checker, edge: n.Edge, arguments: Sequence[n.Expr | None], wanted: Sequence[Wanted]) -> int | None:
    """Check the arguments of an `each`; gives the place of the one that is a list. The others are the same for each visit."""
    target = edge.target.name.text
    given = [at for at, value in enumerate(arguments) if value is not None]
    if len(given) == 1:
        value = arguments[given[0]]
        assert value is not None
        c.check(value, ListType(wanted[given[0]].type), f" for each `{wanted[given[0]].name}`")
        return given[0]
    lists: list[int] = []
    for at in given:
        value, one = arguments[at], wanted[at]
        assert value is not None
        before = c.bag.errors
        found = c.expand(c.infer(value))
        if isinstance(found, ListType) and c.fits(found.item, one.type) and not c.fits(found, one.type):
            lists.append(at)
        elif c.bag.errors == before:
            c.check(value, one.type, f" for `{one.name}`")
    if len(lists) == 1:
        return lists[0]
    if not lists:
        c.report("AEL1311", f"`each {target}` takes a list for one of its parameters, and here is none", edge.target.span)
    else:
        names = " and ".join(f"`{wanted[at].name}`" for at in lists)
        c.report("AEL1311", f"`each {target}` goes over one list, and here are several: for {names}", edge.target.span)
    return None
