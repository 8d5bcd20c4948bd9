"""What an evaluation could change outside: what its entry and its graders reach and that is not this program's own code.

Stores are each sample's own and a folder is a copy. Everything else that may take effect has to be allowed by name: `allow send_mail`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ael.durable.fork import Doers
from ael.durable.pinned import bound_of
from ael.journal.entry import Kind
from ael.lower.unit import CompiledUnit
from ael.project import connectors
from ael.project.knowledge import KnowledgeBinding
from ael.project.program import Opened
from ael.project.reach import reachable

APART = ("std:files.", "std:code.", "std:process.", "std:human.")
"""Native effects that stay in the copy of the folder, or only ask."""


def outside(opened: Opened, unit: CompiledUnit, entries: Iterable[str], allowed: frozenset[str]) -> list[str]:
    """The qualified names of what may act outside and is not allowed, sorted. A tool of AEL code acts through what it calls alone."""
    program, deployment = opened.program, opened.deployment
    elsewhere = frozenset(deployment.placements)
    doers = Doers(unit, bound_of(opened).reads, elsewhere)
    by = connectors.bound(program, deployment)
    names = frozenset[str]().union(*(reachable(program, one, elsewhere, deployment.here, by) for one in entries))
    knowledge = deployment.natives.get("knowledge")
    apart: tuple[str, ...] = APART
    if not isinstance(knowledge, KnowledgeBinding) or knowledge.kind != "postgres":
        apart = (*APART, "std:knowledge.")
    found: set[str] = set()
    for name in names:
        spec = program.tools.get(name)
        if spec is not None:
            own = unit.tools[name].body is not None and name not in elsewhere
            binding = deployment.tools.get(name)
            if spec.permission in deployment.denied or (binding is not None and binding.denied):
                continue  # whoever calls it is refused
            if not own and not (spec.extern or "").startswith(apart) and doers.act(Kind.TOOL, name):
                found.add(name)
        elif (name in program.operations and name.rpartition(".")[0] in elsewhere) or (
            name in program.nodes and name in elsewhere
        ):
            found.add(name)
    return sorted(found - allowed)
