"""Who may do what in a deployment: every effect that a node's code and its model can reach, and who grants or denies it.

Nothing is asked that a run would not ask: the rights are those that a run has, and the answer is that of the check before a call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from ael.check.program import CheckedProgram
from ael.data import dataclass
from ael.hosting.summary import shown_place
from ael.project.connectors import bound
from ael.project.deployment import Deployment
from ael.project.reach import direct, models_of, provided
from ael.run.bindings import Options
from ael.run.call import CallPlan
from ael.run.carrier import CARRY
from ael.run.connector import ASK
from ael.run.engine import Engine
from ael.run.gate import why
from ael.run.node import NodePlan
from ael.run.permission import Denial, Rights, Verdict, denial
from ael.run.service import OperationPlan, StorePlan
from ael.run.tool import ToolPlan
from ael.types.agent import pairs, place_of

Kind = Literal["node", "tool", "operation", "store"]


@dataclass(frozen=True, slots=True)
class Reached:
    """Something that can be called from a node, and whether it may be.

    `name` is qualified; `via` holds the qualified names on the way to it from the node. `verdicts` say who grants its permission and who
    does not, innermost first; `denial` is why it may not be called, None when it may. `approval`: whether a person has to say yes first,
    `role` who (None: anybody), `members` who that is here. `skill` is the skill that alone brings it to the node's model, "" where the
    node names it itself. `places`: where the visits of a node run that leave the process, by the edge that leads there ("" for a call).
    """

    name: str
    kind: Kind
    via: tuple[str, ...]
    permission: str | None
    verdicts: tuple[Verdict, ...]
    denial: Denial | None
    why: str = ""
    approval: Literal["required", "conditional"] | None = None
    role: str | None = None
    members: tuple[str, ...] = ()
    skill: str = ""
    places: tuple[tuple[str, str], ...] = ()


def explain(engine: Engine, program: CheckedProgram, deployment: Deployment, node: str, options: Options) -> list[Reached]:
    """What is reached from `node` (its qualified name) in a run with these options; what may not be called is not looked into."""
    return list(_Walk(engine, program, deployment).inside(node, engine.rights(options), ()))


class _Walk:
    """From calls to what they call, each looked at once for the rights that it is reached with."""

    def __init__(self, engine: Engine, program: CheckedProgram, deployment: Deployment) -> None:
        self._engine = engine
        self._program = program
        self._roles = deployment.roles
        self._deployment = deployment
        self._connectors = bound(program, deployment)
        self._seen: set[tuple[object, ...]] = set()

    def inside(self, node: str, rights: Rights, via: tuple[str, ...]) -> Iterator[Reached]:
        plan = self._engine.plan(node)
        assert isinstance(plan, NodePlan)
        asked = models_of(self._program, frozenset({node}))
        by = [f"{provide}.{ASK}" for model in asked for provide in sorted(self._connectors.get(model, ()))]
        yield from self._calls([*direct(self._program, node), *by], plan.inner(rights), (*via, node))

    def _calls(self, names: Iterable[str], rights: Rights, via: tuple[str, ...]) -> Iterator[Reached]:
        for name in dict.fromkeys(names):
            # Rights only shrink and what they are inside of only grows, so that calls in circles come to an end.
            place = (name, rights.grants, rights.inside, rights.layers)
            if place in self._seen:
                continue
            self._seen.add(place)
            if name in self._program.nodes:
                yield Reached(name, "node", via, None, (), None, skill=self._skill(name, via), places=self._places(name, via[-1]))
                yield from self.inside(name, rights, via)
            elif self._effect(name):
                yield from self._effects(name, rights, via)
            else:
                yield from self._calls(direct(self._program, name), rights, via)

    def _places(self, node: str, caller: str) -> tuple[tuple[str, str], ...]:
        """Where a node runs that `caller` calls or, as an agent, visits."""
        placements, agent = (
            self._deployment.placements,
            self._program.nodes[caller].agent if caller in self._program.nodes else None,
        )
        if agent is None or node not in agent.nodes.values():
            return (("", shown_place(placements[node])),) if node in placements else ()
        ways = {
            edge.shown: place_of(keys, node, placements, self._deployment.here)
            for edge in agent.edges
            if agent.nodes.get(edge.target) == node
            for keys in pairs(caller, edge)
        }
        return tuple((edge, shown_place(place)) for edge, place in ways.items() if place is not None)

    def _effect(self, name: str) -> bool:
        owner = name.rpartition(".")[0]
        program = self._program
        return name in program.tools or owner in program.services or owner in program.stores or owner in program.provides

    def _effects(self, name: str, rights: Rights, via: tuple[str, ...]) -> Iterator[Reached]:
        plan = self._engine.plan(name)
        assert isinstance(plan, CallPlan)
        found = denial(rights, plan)
        yield self._reached(plan, found, rights, via)
        if found is not None:
            return
        carried = self._connectors.get(name.rpartition(".")[0])
        if carried:
            yield from self._calls([f"{provide}.{CARRY}" for provide in sorted(carried)], rights, (*via, name))
        elif isinstance(plan, ToolPlan):
            yield from self._calls(direct(self._program, name), plan.inner(rights), (*via, name))
        elif isinstance(plan, OperationPlan) and plan.provider:
            below = provided(self._program, plan.provider, name.rpartition(".")[2])
            yield from self._calls(below, plan.inner(rights), (*via, name))

    def _reached(self, plan: CallPlan, found: Denial | None, rights: Rights, via: tuple[str, ...]) -> Reached:
        permission = plan.permission
        verdicts = () if permission is None else tuple(rights.verdicts(permission))
        said = "" if found is None else why(found, plan.name, permission, plan.only)
        kind: Kind = "tool" if isinstance(plan, ToolPlan) else "store" if isinstance(plan, StorePlan) else "operation"
        approval, role = plan.approval if isinstance(plan, ToolPlan) else (None, None)
        members = self._roles.get(role, ()) if role is not None else ()
        skill = self._skill(plan.name, via)
        return Reached(plan.name, kind, via, permission, verdicts, found, said, approval, role, members, skill)

    def _skill(self, name: str, via: tuple[str, ...]) -> str:
        """The skill that brings what is called to the node that it is called from."""
        node = self._program.nodes.get(via[-1])
        return "" if node is None else dict(node.brought).get(name, "")
