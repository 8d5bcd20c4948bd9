"""What an entry can reach through any depth of calls: which models it needs, which tools must have an implementation."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ael.check.program import CallInfo, CheckedProgram, Meaning
from ael.project.connectors import Connectors, declared
from ael.syntax import nodes as n
from ael.types.agent import pairs, place_of


def reachable(
    program: CheckedProgram,
    entry: str,
    elsewhere: Collection[str] = (),
    here: Collection[str] = (),
    connectors: Connectors | None = None,
) -> frozenset[str]:
    """Qualified names of all that `entry` can call: functions, tools, nodes, operations, and what provides them.

    `elsewhere`: services, nodes and edges that run elsewhere, so that what is inside of them is not reached here; `here`: the edges along
    which a node is visited here although it runs elsewhere (both as a `Deployment` has them). `connectors`: the code of the program by
    which models and services go; None: as the program declares it.
    """
    return _walk(program, entry, elsewhere, here, connectors)[0]


def inside(
    program: CheckedProgram, entry: str, elsewhere: Collection[str], here: Collection[str], connectors: Connectors | None = None
) -> frozenset[str]:
    """Those of the `reachable` names that run here, or in which something does."""
    return _walk(program, entry, elsewhere, here, connectors)[1]


def _walk(
    program: CheckedProgram, entry: str, elsewhere: Collection[str], here: Collection[str], connectors: Connectors | None
) -> tuple[frozenset[str], frozenset[str]]:
    connected = declared(program) if connectors is None else connectors
    providers: dict[str, list[str]] = {}
    for name, spec in program.provides.items():
        # A provider is declared under a name that nothing else can have.
        providers.setdefault(spec.service, []).extend((name, f"provide {name}"))
    found: set[str] = set()
    runs_here: set[str] = set()
    open_names = [(entry, True)]
    while open_names:
        name, runs = open_names.pop()
        found.add(name)
        if not runs or name in runs_here:
            continue
        runs_here.add(name)
        visited = _visited(program, name, elsewhere, here)
        open_names.extend(visited.items())
        open_names.extend((called, called not in elsewhere) for called in direct(program, name) if called not in visited)
        service = name.rpartition(".")[0]
        if service in program.services and service not in elsewhere:
            open_names.extend((provide, True) for provide in providers.get(service, ()))
        if connected:
            open_names.extend(_by_connectors(program, name, connected))
    return frozenset(found), frozenset(runs_here)


def _by_connectors(program: CheckedProgram, name: str, connectors: Connectors) -> Iterator[tuple[str, bool]]:
    """The code that is called to ask the models of a node, or to carry a call of an operation; its operation runs as that alone."""
    spec = program.nodes.get(name)
    through = name.rpartition(".")[0] if name in program.operations else ""
    asked = models_of(program, frozenset({name})) if spec is not None and spec.model is not None else ()
    for one in (*asked, through):
        for provide in connectors.get(one, ()):
            service = program.provides[provide].service
            yield from ((operation, False) for operation in program.operations if operation.rpartition(".")[0] == service)
            yield from ((provide, True), (f"provide {provide}", True))


def _visited(program: CheckedProgram, name: str, elsewhere: Collection[str], here: Collection[str]) -> dict[str, bool]:
    """The nodes that an agent visits, and whether along any of its edges they run here."""
    found: dict[str, bool] = {}
    spec = program.nodes.get(name)
    if spec is None or spec.agent is None:
        return found
    places = dict.fromkeys(elsewhere, True)
    for edge in spec.agent.edges:
        node = spec.agent.nodes.get(edge.target)
        if node is None:
            continue
        for keys in pairs(name, edge):
            found[node] = found.get(node, False) or place_of(keys, node, places, here) is None
    return found


def models_of(program: CheckedProgram, names: frozenset[str]) -> tuple[str, ...]:
    """The models that the nodes among `names` use, in a fixed order, each before its fallback."""
    found: dict[str, None] = {}
    for name in sorted(names):
        spec = program.nodes.get(name)
        model = spec.model if spec is not None else None
        while model is not None and model not in found:
            found[model] = None
            model = program.models[model].fallback if model in program.models else None
    return tuple(found)


def servers_of(program: CheckedProgram, names: frozenset[str] | None) -> tuple[str, ...]:
    """The MCP servers of the tools among `names`, in a fixed order; None: of all tools that the program uses."""
    tools = program.tools if names is None else names & program.tools.keys()
    return tuple(sorted({remote.server for name in tools if (remote := program.tools[name].remote) is not None}))


def provided(program: CheckedProgram, provide: str, operation: str) -> Iterator[str]:
    """What the body of an operation calls in the `provide` of this qualified name."""
    module, declaration = program.declarations.get(f"provide {provide}") or program.declarations[provide]
    assert isinstance(declaration, n.ProvideDecl)
    for function in declaration.functions:
        if function.name.text == operation:
            yield from _called(program, module, function)


def direct(program: CheckedProgram, name: str) -> Iterator[str]:
    """What the declaration `name` itself calls, offers to its model, or has as nodes; more than once where it does so."""
    if name in program.nodes:
        spec = program.nodes[name]
        yield from spec.tools
        yield from spec.agent.nodes.values() if spec.agent is not None else ()
    found = program.declarations.get(name)
    if found is None:
        return
    yield from _called(program, *found)


def _called(program: CheckedProgram, module: str, declaration: n.Node) -> Iterator[str]:
    tables = program.modules[module].tables
    for node in n.walk(declaration):
        if isinstance(node, n.Call):
            info: CallInfo | None = tables.calls.get(node)
            if info is not None and info.kind in ("function", "effect"):
                yield info.name
        elif isinstance(node, n.Reference | n.FieldAccess):
            meaning = tables.resolved.get(node)
            if isinstance(meaning, Meaning) and meaning.kind in ("function", "tool", "node", "agent"):
                yield meaning.name
