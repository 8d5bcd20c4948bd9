"""A plan for each name of a program, made when it is first used, so that a run pays only for what it reaches."""

from __future__ import annotations

from functools import cache

from ael.run.agent import AgentPlan
from ael.run.delegate import OfferedNode
from ael.run.effect import effects
from ael.run.node import CodeNodePlan, ModelNodePlan, NodePlan
from ael.run.offer import Offered, OfferedTool
from ael.run.permission import closed
from ael.run.placed import PlacedOperation
from ael.run.placed_node import Gone, PlacedNode
from ael.run.placement import Placement
from ael.run.provided import PythonOperation
from ael.run.service import STORE_OPERATIONS, OperationPlan, Serving, StorePlan
from ael.run.tool import ToolPlan
from ael.run.world import Plan, World, short
from ael.types.agent import EdgeSpec, pair, place_of
from ael.types.fault import Fault, FaultKind
from ael.types.signature import Repeat
from ael.types.spec import LimitSpec, NodeSpec, unnamed


class Plans(dict[str, Plan]):
    """Qualified name -> plan."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self._effects = effects(world)

    def __missing__(self, name: str) -> Plan:
        plan = self._make(name)
        if plan is None:
            raise Fault(FaultKind.UNAVAILABLE, f"`{name}` is nothing that can run here", final=True)
        self[name] = plan
        return plan

    def node(self, name: str) -> NodePlan:
        """The plan of a node."""
        plan = self[name]
        assert isinstance(plan, NodePlan)
        return plan

    def along(self, agent: str, edge: EdgeSpec, source: str, node: str) -> NodePlan:
        """What is visited along an edge from `source`: where the deployment places the edge, else where it places the node."""
        world = self._world
        placements = world.bindings.placements
        keys = [pair(agent, one, edge.target) for one in (edge.sources if edge.joined else (source,))]
        placement = place_of(keys, node, placements, world.bindings.here)
        if placement is not None:
            return self._placed(node, placement, delivers=True)
        return self._local(node) if node in placements else self.node(node)

    def _make(self, name: str) -> Plan | None:
        world = self._world
        unit = world.unit
        if (tool := unit.tools.get(name)) is not None:
            return ToolPlan(world, tool, short(name), closed([tool.spec.permission], unit.permissions))
        if name in unit.nodes:
            placement = world.bindings.placements.get(name)
            return self._local(name) if placement is None else self._placed(name, placement)
        if name in self._effects:
            return self._effects[name]
        if name in unit.operations:
            return self._operation(name)
        owner, _, operation = name.rpartition(".")
        if owner in unit.provides:
            return self._own(owner, operation)
        if owner in unit.stores and operation in STORE_OPERATIONS:
            return StorePlan(world, unit.stores[owner], short(owner), operation, world.bindings.stores.get(owner))
        return None

    def _placed(self, name: str, placement: Placement, *, delivers: bool = False) -> NodePlan:
        """A node that runs elsewhere."""
        plan = PlacedNode(self._world, self._world.unit.nodes[name], short(name), placement, delivers=delivers)
        plan.moved = cache(lambda: self._inside(name))
        return plan

    def _local(self, name: str) -> NodePlan:
        """A node that runs in the process."""
        plan = self._inside(name)
        plan.moved = cache(lambda: PlacedNode(self._world, self._world.unit.nodes[name], short(name), Gone(short(name))))
        return plan

    def _inside(self, name: str) -> NodePlan:
        world = self._world
        node = world.unit.nodes[name]
        if node.spec.agent is not None:
            return AgentPlan(node, short(name), self.along)
        if node.spec.model is None:
            assert node.body is not None
            return CodeNodePlan(node, short(name), node.body)
        return ModelNodePlan(world, node, short(name), lambda spec: self._offers(spec))

    def _own(self, provide: str, operation: str) -> OperationPlan:
        """An operation of one certain provider, `main.my_model.ask`: what the deployment itself says it is to be, so no code is asked for
        a permission to call it."""
        world = self._world
        compiled = world.unit.provides[provide]
        spec = world.unit.operations[f"{compiled.spec.service}.{operation}"]
        grants = closed(compiled.spec.grants, world.unit.permissions)
        shown = f"{short(provide)}.{operation}"
        plan = OperationPlan(world, spec, shown, compiled.operations.get(operation), provide, grants, compiled.spec.limit)
        plan.permission = None
        # What is open in its body is told as it is, for what calls it here to decide.
        plan.repeat = Repeat.IDEMPOTENT
        return plan

    def entry(self, name: str) -> Serving:
        """An operation as the entry of a run that is a call from outside."""
        return self._operation(name).entry()

    def _operation(self, name: str) -> Serving:
        """An operation: where the deployment places it, else with its provider in the process."""
        world = self._world
        service = name.rpartition(".")[0]
        placement = world.bindings.placements.get(service)
        if placement is None:
            return self._provided(name)
        provided = any(provide.spec.service == service for provide in world.unit.provides.values())
        plan = PlacedOperation(world, world.unit.operations[name], short(name), placement, provided)
        plan.moved = cache(lambda: self._provided(name))
        return plan

    def _provided(self, name: str) -> OperationPlan:
        """An operation with its provider: the one that the deployment names, else the only one there is."""
        world = self._world
        unit = world.unit
        function = world.bindings.operations.get(name)
        if function is not None:
            return PythonOperation(world, unit.operations[name], short(name), function)
        service, _, own = name.rpartition(".")
        providers = [provide for provide in unit.provides.values() if provide.spec.service == service]
        chosen = world.bindings.provides.get(service)
        if chosen is not None:
            providers = [provide for provide in providers if chosen in (provide.spec.name, provide.spec.name.rpartition(".")[2])]
        else:
            serving = unnamed(provide.spec for provide in providers)
            providers = [provide for provide in providers if provide.spec in serving]
        if len(providers) != 1:
            missing = ""
            if providers:
                names = ", ".join(f"`{provide.spec.name.rpartition('.')[2]}`" for provide in providers)
                missing = f"`{short(service)}` has several providers ({names}), and the deployment does not say which serves"
            return OperationPlan(world, unit.operations[name], short(name), None, "", frozenset(), LimitSpec(), missing)
        provide = providers[0]
        grants = closed(provide.spec.grants, unit.permissions)
        return OperationPlan(
            world, unit.operations[name], short(name), provide.operations.get(own), provide.spec.name, grants, provide.spec.limit
        )

    def _offers(self, spec: NodeSpec) -> dict[str, Offered]:
        """What a node offers, in the order written."""
        offered: dict[str, Offered] = {}
        for name in spec.tools:
            plan = self[name]
            one: Offered
            if isinstance(plan, ToolPlan):
                one = OfferedTool(self._world, plan)
            elif isinstance(plan, NodePlan):
                one = OfferedNode(self._world, plan)
            else:
                continue
            if one.name in offered:
                raise Fault(FaultKind.BAD_ARGUMENTS, f"`{spec.name}` offers two things called `{one.name}`", final=True)
            offered[one.name] = one
        return offered
