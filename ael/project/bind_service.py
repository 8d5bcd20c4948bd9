"""`service` and `node` lines that place something outside of the process: `https("https://…", …)`, `grpc("host:port", …)`,
`process(workers: N)`, and the queues of `ael.project.bind_queue`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from ael.check.basis import short
from ael.check.url import url_problem
from ael.project.bind_model import holds_construct
from ael.project.bind_options import COMMON, WIRE_SERVICE, certified, provider, token
from ael.project.bind_options import options as read_options
from ael.project.bind_queue import QUEUES, queue
from ael.project.bind_state import ProgramState, argument, named, value
from ael.project.connectors import MODEL, TRANSPORT, providers
from ael.project.deployment import StoreBinding
from ael.project.literal import Construct, evaluate
from ael.project.placements import PlacementBinding
from ael.project.reach import reachable
from ael.project.wrong import Wrong, listing
from ael.syntax import nodes as n

PLACEMENTS = ("https", "grpc", "process", *QUEUES)
_ADDRESS = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+):[0-9]{1,5}"
_LOOPBACK = r"(?i)(localhost|127\.[0-9.]+|\[::1\]):"

_FORMS: Mapping[str, str] = {
    "https": '`https("https://…", token: secret("TOKEN"))`',
    "grpc": '`grpc("host:port", token: secret("TOKEN"))`',
    "process": "`process(workers: 4)`",
}
_REMOTE = ("token", "name", "authority", "certificate", "key", *COMMON)
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "https": _REMOTE,
    "grpc": _REMOTE,
    "process": ("workers", "provider", *COMMON),
}
_STARTING = 60_000
"""Milliseconds that a process has to be up."""


def placed(state: ProgramState, binding: n.Binding, name: str) -> bool:
    """Read a placement of the service or node `name`, if the line has one. Raises `Wrong`, `NotConstant`."""
    found = placement(state, binding, name)
    if isinstance(found, PlacementBinding):
        state.placements[name] = found
        state.placement_places[name] = value(binding)
    return found is not None


def placement(state: ProgramState, binding: n.Binding, name: str) -> PlacementBinding | Literal["here"] | None:
    """Where a line places `name`, a service or a node; None where it says something else. Raises `Wrong`, `NotConstant`."""
    node = value(binding)
    found = evaluate(node)
    if not isinstance(found, Construct):
        return None
    if found.name == "in_process" and not found.positional and not found.named:
        return "here"
    transports = providers(state.program, TRANSPORT)
    if found.name in transports and name not in (MODEL, TRANSPORT):
        return _connector(state, found, transports[found.name], node, name)
    if found.name not in PLACEMENTS:
        return None
    match found.name:
        case "https":
            return _https(state, found, node)
        case "grpc":
            return _grpc(state, found, node)
        case "process":
            return _process(state, found, node, name)
        case _:
            return queue(state, found, node, name)


def node(state: ProgramState, binding: n.Binding) -> None:
    """`node research = process(workers: 4)`. Raises `Wrong`, `NotConstant`."""
    name = named(binding, "node", state.program.nodes)
    if not placed(state, binding, name):
        raise Wrong("AEL0814", "a node is placed", value(binding), listing("there is", PLACEMENTS))


def settle(state: ProgramState) -> None:
    """What all lines together say: processes of their own cannot share a store that is in memory."""
    for name, found in state.placements.items():
        if found.kind not in ("process", *QUEUES):
            continue
        inside = reachable(state.program, (found.node or name) if found.provider is None else f"provide {found.provider}")
        for store in sorted(state.program.stores.keys() & _stores(inside)):
            if state.stores.get(store, StoreBinding("memory")).kind == "memory":
                where = "in processes of its own" if found.kind == "process" else "at workers"
                message = f"`{shown(name)}` runs {where}, and each would have another `{short(store)}`: it is in memory"
                note = f'keep it in a file: `store {short(store)} = sqlite("{short(store)}.db")`'
                state.bag.report("AEL0851", message, state.source, state.placement_places[name].span, notes=(note,))


def shown(name: str) -> str:
    """A service, node or edge as its line writes it: `desk.plan -> desk.look`."""
    return " -> ".join(short(end) for end in name.split(" -> "))


def _stores(names: frozenset[str]) -> set[str]:
    """The owners of the names: `main.book` of `main.book.get`."""
    return {name.rpartition(".")[0] for name in names}


def _connector(state: ProgramState, found: Construct, provide: str, node: n.Expr, name: str) -> PlacementBinding | None:
    """`service Orders = mail("https://…", queue: "orders")`: a transport of the program, and what it is told. Raises `Wrong`."""
    if name not in state.program.services:
        note = listing("a node is placed by", PLACEMENTS)
        raise Wrong("AEL0814", f"`{found.name}` carries the calls of services, and `{shown(name)}` is none", node, note)
    own = found.positional[0] if found.positional else ""
    if len(found.positional) > 1 or not isinstance(own, str):
        raise Wrong("AEL0814", f"the one argument of `{found.name}` without a name is an address, a text", node)
    for word, given in found.named.items():
        if holds_construct(given):
            note = 'credentials belong to the hosts that they are for: `http = client(bearer: ["HOST": secret("NAME")])`'
            raise Wrong("AEL0815", f"`{found.name}` is code of the program, which is given no secret", argument(node, word), note)
    settings = dict(found.named)
    wire = settings.pop("name", None)
    if wire is not None and (not isinstance(wire, str) or not re.fullmatch(WIRE_SERVICE, wire)):
        raise Wrong("AEL0814", '`name` is the whole name of a service: `name: "warehouse.Orders"`', argument(node, "name"))
    return PlacementBinding("connector", own, name=wire, provider=provide, settings=settings)


def _https(state: ProgramState, found: Construct, node: n.Expr) -> PlacementBinding:
    options = read_options(found, _OPTIONS[found.name], node)
    url = found.positional[0] if len(found.positional) == 1 else None
    if not isinstance(url, str):
        raise Wrong("AEL0814", "`https` takes one address", node, f"it is written {_FORMS['https']}")
    return _remote(state, "https", url, options, node)


def _grpc(state: ProgramState, found: Construct, node: n.Expr) -> PlacementBinding:
    """`grpc("host:port")`: over TLS, but for a server on this machine that is given no certificates."""
    options = read_options(found, _OPTIONS[found.name], node)
    address = found.positional[0] if len(found.positional) == 1 else None
    if not isinstance(address, str):
        raise Wrong("AEL0814", "`grpc` takes one address", node, f"it is written {_FORMS['grpc']}")
    if not re.fullmatch(_ADDRESS, address):
        raise Wrong(
            "AEL0850", "gRPC is reached by a host and a port alone", node, 'it is written `grpc("orders.example.com:443")`'
        )
    plain = re.match(_LOOPBACK, address) and "authority" not in options and "certificate" not in options
    return _remote(state, "grpc", f"{'http' if plain else 'https'}://{address}", options, node)


def _remote(
    state: ProgramState, kind: Literal["https", "grpc"], url: str, options: dict[str, Any], node: n.Expr
) -> PlacementBinding:
    """What has an address. Raises `Wrong`."""
    problem = url_problem(url, state.hosts, "a service")
    if problem is not None:
        raise Wrong("AEL0815" if problem.secret else "AEL0850", problem.message, node, problem.note)
    if "?" in url:
        raise Wrong("AEL0850", "the address of a service has no `?`", node, "leave it out")
    named_token = token(state, options, node)
    certified(options, node)
    return PlacementBinding(kind, url, named_token, **options)


def _process(state: ProgramState, found: Construct, node: n.Expr, name: str) -> PlacementBinding:
    options = read_options(found, _OPTIONS[found.name], node)
    if found.positional:
        raise Wrong("AEL0814", "`process` has named options alone", node, f"it is written {_FORMS['process']}")
    options.setdefault("connect", _STARTING)
    return PlacementBinding("process", provider=provider(state, options, node, name, "process"), **options)
