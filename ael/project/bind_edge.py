"""`edge` lines, which place the visits along an edge of an agent: `edge desk.plan -> desk.look = process(workers: 4)`."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from ael.check.basis import short
from ael.data import replace
from ael.project.bind_service import PLACEMENTS, placement
from ael.project.bind_state import ProgramState, declared, subject, value
from ael.project.form import FORMS
from ael.project.wrong import Wrong, listing
from ael.syntax import nodes as n
from ael.types.agent import FINISH, START, AgentSpec, pair


def edge(state: ProgramState, binding: n.Binding) -> None:
    """One line. It holds for all edges from the one point to the other. Raises `Wrong`, `NotConstant`."""
    assert binding.target is not None, "`check_parts` has seen to it"
    agent, source = _end(state, subject(binding))
    other, target = _end(state, binding.target)
    if other != agent:
        message = f"an edge is inside of one agent, and these are `{short(agent)}` and `{short(other)}`"
        raise Wrong("AEL0814", message, binding.target, f"it is written {FORMS['edge']}")
    spec = state.program.nodes[agent].agent
    assert spec is not None
    _known(agent, spec, source, subject(binding), (START, *spec.nodes))
    if target == FINISH:
        raise Wrong("AEL0814", "nothing runs at `finish`, so no edge to it is placed", binding.target)
    _known(agent, spec, target, binding.target, spec.nodes)
    if not any(source in one.sources and one.target == target for one in spec.edges):
        note = listing("its edges are", (one.shown for one in spec.edges))
        raise Wrong("AEL0810", f"the agent `{short(agent)}` has no edge `{source} -> {target}`", subject(binding), note)
    key, node = pair(agent, source, target), spec.nodes[target]
    if key in state.edge_places:
        raise Wrong("AEL0813", f"`edge {short(agent)}.{source} -> {short(agent)}.{target}` is bound twice", subject(binding))
    place = state.edge_places[key] = value(binding)
    found = placement(state, binding, node)
    if found is None:
        raise Wrong("AEL0814", "an edge is placed", place, listing("there is", ("in process", *PLACEMENTS)))
    if found == "here":
        state.here.add(key)
    else:
        state.placements[key] = replace(found, node=node)
        state.placement_places[key] = place


def settle(state: ProgramState) -> None:
    """What all lines together say: an edge that waits for several nodes is one, and has one place."""
    for agent, spec in state.program.nodes.items():
        for one in spec.agent.edges if spec.agent is not None else ():
            if not one.joined:
                continue
            said = [key for source in one.sources if (key := pair(agent, source, one.target)) in state.edge_places]
            for key in said[1:]:
                if state.placements.get(key) != state.placements.get(said[0]):
                    message = f"the edge `{one.shown}` of `{short(agent)}` is one, and is placed in two ways"
                    note = "give it one place, or place it for one of its sources alone"
                    state.bag.report("AEL0813", message, state.source, state.edge_places[key].span, notes=(note,))


def _end(state: ProgramState, path: n.Path) -> tuple[str, str]:
    """An end of an edge: the agent (its qualified name), and its point. Raises `Wrong`."""
    agent, _, point = path.text.rpartition(".")
    if not agent:
        raise Wrong("AEL0814", "an end of an edge is written with its agent", path, f"it is written {FORMS['edge']}")
    agents = (name for name, spec in state.program.nodes.items() if spec.agent is not None)
    return declared(state.program, "agent", agents, agent, path), point


def _known(agent: str, spec: AgentSpec, point: str, path: n.Path, known: Iterable[str]) -> None:
    """Raise `Wrong` where an agent has no such point."""
    names = tuple(known)
    if point in names:
        return
    close = get_close_matches(point, names, 1)
    note = f"did you mean `{short(agent)}.{close[0]}`?" if close else listing("it has", spec.nodes)
    raise Wrong("AEL0810", f"the agent `{short(agent)}` has no node `{point}`", path, note)
