"""What a node offers to its model: tools, and nodes as `delegate__name`. Made once for a node; names are exact (feature A7.7)."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from ael.run.codec import InputCodec
from ael.run.ports import ToolOffer
from ael.run.scope import Scope
from ael.run.tool import Done, ToolPlan
from ael.run.world import World
from ael.types.naming import wire_name
from ael.types.schema import record_schema

MANY = 32
"""A node that offers more shows its model the first ones, and a search for the others (`ael.run.search`)."""


class Offered(Protocol):
    """Something that a model may propose to call. `target` is its qualified name, `offer` what the model sees, `server` the MCP
    server that it is on."""

    @property
    def name(self) -> str: ...

    @property
    def target(self) -> str: ...

    @property
    def offer(self) -> ToolOffer: ...

    @property
    def input(self) -> InputCodec: ...

    @property
    def permission(self) -> str | None: ...

    @property
    def denied(self) -> bool: ...

    @property
    def only(self) -> frozenset[str] | None: ...

    @property
    def parallel(self) -> bool: ...

    @property
    def max_output(self) -> int: ...

    @property
    def server(self) -> str | None: ...

    def run(self, scope: Scope, depth: int, path: str, arguments: dict[str, object], text: bytes) -> Awaitable[Done]:
        """Run an admitted call. Raises `Failure`, `Fault` (also when it was refused, and not run) or `Uncertain`."""


class OfferedTool:
    """A tool of the program, offered under its own name."""

    __slots__ = ("denied", "input", "max_output", "name", "offer", "only", "parallel", "permission", "plan", "server", "target")

    def __init__(self, world: World, plan: ToolPlan) -> None:
        spec = plan.spec
        self.plan = plan
        # What is of a server goes by that server's name too, so that two servers may call their tools the same (A9.22).
        self.name = wire_name(plan.short if spec.remote is not None else spec.name.rpartition(".")[2])
        self.target = spec.name
        self.server = None if spec.remote is None else spec.remote.server
        self.input = plan.input
        self.permission = plan.permission
        self.denied = plan.denied
        self.only = plan.only
        self.parallel = plan.parallel
        self.max_output = plan.max_output
        schema = record_schema(plan.input.record, world.codecs.definitions)
        self.offer = ToolOffer(self.name, spec.doc, schema)

    def run(self, scope: Scope, depth: int, path: str, arguments: dict[str, object], text: bytes) -> Awaitable[Done]:
        plan = self.plan
        return plan.admitted(scope, depth, plan.step(scope, path, arguments, text), arguments, from_model=True)
