"""What an entry can reach through any depth of calls: which models it needs, which tools must have an implementation."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ael.check.program import CallInfo, CheckedProgram, Meaning
from ael.syntax import nodes as n
from ael.types.agent import pairs, place_of


def reachable(program: CheckedProgram, entry: str, elsewhere: Collection[str] = (), here: Collection[str] = ()) -> frozenset[str]:
    """Qualified names of all that `entry` can call: functions, tools, nodes, operations, and what provides them.

    `elsewhere`: services, nodes and edges that run elsewhere, so that what is inside of them is not reached here; `here`: the edges along
    which a node is visited here although it runs elsewhere (both as a `Deployment` has them).
    """
    return _walk(program, entry, elsewhere, here)[0]


def inside(program: CheckedProgram, entry: str, elsewhere: Collection[str], here: Collection[str]) -> frozenset[str]:
    """Those of the `reachable` names that run here, or in which something does."""
    return _walk(program, entry, elsewhere, here)[1]


def _walk(
    program: CheckedProgram, entry: str, elsewhere: Collection[str], here: Collection[str]
) -> tuple[frozenset[str], frozenset[str]]:
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
    return frozenset(found), frozenset(runs_here)


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
    module, declaration = program.declarations.get(provide) or program.declarations[f"provide {provide}"]
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
    declared = program.declarations.get(name)
    if declared is None:
        return
    yield from _called(program, *declared)


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
