"""Which services and nodes can be called over the Connect protocol, by which paths: `/desk.Orders/GetOrder`, `/desk.Nodes/Answer`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ael.check.packs import foreign
from ael.check.program import CheckedProgram
from ael.host import Host, HostError
from ael.project.program import Opened
from ael.run.placement import ResultCodec
from ael.server.exposure import expose
from ael.services import names
from ael.services.contract import Contract, MethodContract
from ael.syntax import nodes as n
from ael.types.signature import Signature
from ael.types.text import show


@dataclass(frozen=True, eq=False)
class Method:
    """One that can be called. `entry` is the qualified name of the operation or node that a run of it starts.

    `once`: what it does must not be done twice, so what a key gave stands, a fault too.
    """

    path: str
    entry: str
    result: ResultCodec
    once: bool = False


@dataclass(frozen=True)
class Exposed:
    """A method before anything runs: its path, its entry, and its types."""

    path: str
    entry: str
    signature: Signature


def exposed(opened: Opened, chosen: Sequence[str] = ()) -> tuple[Exposed, ...]:
    """What is served: services and nodes that `chosen` or the deployment's `serve` lines name, else the public ones.

    Raises `HostError` (AEL0871, AEL0877): there is nothing to serve, no such service, or two go by one name.
    """
    program = opened.program
    pack = opened.project.pack.name if opened.project.pack is not None else program.main
    found: list[Exposed] = []
    for wire, service in _services(opened, chosen):
        found.extend(
            Exposed(f"/{wire}/{names.method(_own(operation.name))}", operation.name, operation.signature)
            for operation in program.services[service].operations
        )
    for name, node in _nodes(opened, chosen).items():
        found.append(Exposed(f"/{names.nodes(pack)}/{names.method(name)}", node, program.nodes[node].signature))
    paths: dict[str, str] = {}
    for one in found:
        if one.path in paths:
            message = f"`{paths[one.path]}` and `{one.entry}` would both be called as `{one.path}`"
            raise HostError("AEL0877", message, 'give one another name: `serve NAME as "other"` in the deployment')
        paths[one.path] = one.entry
    return tuple(found)


def method_of(opened: Opened, entry: str, signature: Signature) -> Exposed:
    """An operation or node by the pack's own names."""
    pack = opened.project.pack.name if opened.project.pack is not None else opened.program.main
    owner, _, own = entry.rpartition(".")
    service = names.service(pack, owner) if owner in opened.program.services else names.nodes(pack)
    return Exposed(f"/{service}/{names.method(own)}", entry, signature)


def methods(found: Iterable[Exposed], host: Host) -> dict[str, Method]:
    """The methods by path, ready to be called."""
    world = host.engine.world
    most = world.bindings.limits.result
    made = {}
    for one in found:
        operation = host.unit.operations.get(one.entry)
        limit = None if operation is None else operation.limit.output
        repeat = one.signature.effects.repeat if operation is None else operation.repeat
        codec = ResultCodec(one.signature.result, world.codecs, limit or most)
        made[one.path] = Method(one.path, one.entry, codec, repeat.can_be_uncertain)
    return made


def contract(opened: Opened, chosen: Sequence[str] = ()) -> Contract:
    """What is served, described for others. Raises `HostError`."""
    program, pack = opened.program, opened.project.pack
    made = []
    for one in sorted(exposed(opened, chosen), key=lambda one: one.path):
        operation = program.operations.get(one.entry)
        doc = operation.doc if operation is not None else program.nodes[one.entry].doc
        made.append(MethodContract(one.path, one.signature, doc, None if operation is None else operation.repeat))
    title, version = (program.main, "0.0.0") if pack is None else (pack.name, pack.version)
    return Contract(title, version, tuple(made), program.definitions)


def described(found: Iterable[Exposed]) -> list[str]:
    """A line for each method, for people: `/desk.Orders/Get(id: String) -> Order`."""
    lines = []
    for one in found:
        inside = ", ".join(f"{p.name}{'?' if p.optional else ''}: {show(p.type)}" for p in one.signature.parameters)
        lines.append(f"{one.path}({inside}) -> {show(one.signature.result)}")
    return lines


def _services(opened: Opened, chosen: Sequence[str]) -> list[tuple[str, str]]:
    """Whole names for clients, and the services."""
    program, serving = opened.program, opened.deployment.serving
    pack = opened.project.pack.name if opened.project.pack is not None else program.main
    if not chosen and (serving.services or serving.exposed):
        return [(wire or names.service(pack, name), name) for name, wire in serving.services.items()]
    return [(names.service(pack, name), name) for name in (_matching(program, chosen) if chosen else _public(program))]


def nodes(opened: Opened, chosen: Sequence[str], *, required: bool) -> Sequence[str] | None:
    """The nodes among `chosen`, empty for those of the deployment or the public ones; None where only services are served.

    `required`: the protocol has nothing else to serve. Raises `HostError` (AEL0871).
    """
    own = [name for name in chosen if not _matching(opened.program, [name])]
    serving = opened.deployment.serving
    services = bool(serving.services) and not chosen
    if not (chosen and not own) and not (services and not serving.exposed):
        if required or own or serving.exposed or not (services or _public(opened.program)):
            return own
        try:
            expose(opened)
        except HostError:
            return None
        return own
    if required:
        raise HostError(
            "AEL0871", "only services are named, and this protocol serves nodes", "name a node too, or use `--connect`"
        )
    return None


def _nodes(opened: Opened, chosen: Sequence[str]) -> Mapping[str, str]:
    """Name for clients -> node."""
    own = nodes(opened, chosen, required=False)
    return {} if own is None else {name: tool.node for name, tool in expose(opened, own).items()}


def _matching(program: CheckedProgram, chosen: Sequence[str]) -> list[str]:
    """The services among `chosen`."""
    return [name for name in program.services for text in chosen if name == text or name.endswith(f".{text}")]


def _public(program: CheckedProgram) -> list[str]:
    """The public services of this program that a provider of its own serves."""
    provided = {spec.service for spec in program.provides.values()}
    found = []
    for name in program.services:
        _, declaration = program.declarations[name]
        if foreign(program.packs, name):
            continue  # what a dependency shows is shown to the program, which decides what it serves
        if name in provided and isinstance(declaration, n.ServiceDecl) and declaration.public:
            found.append(name)
    return found


def _own(name: str) -> str:
    return name.rpartition(".")[2]
