"""`service` and `node` lines that place something outside of the process: `https("https://…", …)`, `grpc("host:port", …)` and
`process(workers: N)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from difflib import get_close_matches
from typing import Any, Literal

from ael.check.basis import short
from ael.check.url import url_problem
from ael.project.bind_state import ProgramState, named, value
from ael.project.deployment import StoreBinding
from ael.project.form import text_of
from ael.project.literal import Construct, evaluate
from ael.project.placements import PlacementBinding
from ael.project.reach import reachable
from ael.project.wrong import Wrong, listing
from ael.syntax import nodes as n

PLACEMENTS = ("https", "grpc", "process")
LATER = ("nats",)
WIRE_SERVICE = r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+"
_ADDRESS = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+):[0-9]{1,5}"
_LOOPBACK = r"(?i)(localhost|127\.[0-9.]+|\[::1\]):"

_FORMS: Mapping[str, str] = {
    "https": '`https("https://…", token: secret("TOKEN"))`',
    "grpc": '`grpc("host:port", token: secret("TOKEN"))`',
    "process": "`process(workers: 4)`",
}
_COMMON = ("connect", "concurrent", "failures", "cooldown")
_REMOTE = ("token", "name", "authority", "certificate", "key", *_COMMON)
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "https": _REMOTE,
    "grpc": _REMOTE,
    "process": ("workers", "provider", *_COMMON),
}
_STARTING = 60_000
"""Milliseconds that a process has to be up."""
_COUNTS: Mapping[str, tuple[int, int]] = {"workers": (1, 256), "concurrent": (1, 10_000), "failures": (1, 1_000)}
_TIMES: Mapping[str, tuple[int, int]] = {"connect": (1, 600_000), "cooldown": (1, 3_600_000)}
"""Milliseconds, least and most."""


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
    if found.name in LATER:
        message = f"the placement `{found.name}(…)` is read and formatted, but comes in a later release"
        raise Wrong("AEL1004", message, node, f"until then there is {_FORMS['https']}, {_FORMS['grpc']} and {_FORMS['process']}")
    if found.name not in PLACEMENTS:
        return None
    match found.name:
        case "https":
            return _https(state, found, node)
        case "grpc":
            return _grpc(state, found, node)
        case _:
            return _process(state, found, node, name)


def node(state: ProgramState, binding: n.Binding) -> None:
    """`node research = process(workers: 4)`. Raises `Wrong`, `NotConstant`."""
    name = named(binding, "node", state.program.nodes)
    if not placed(state, binding, name):
        raise Wrong("AEL0814", "a node is placed", value(binding), listing("there is", PLACEMENTS))


def settle(state: ProgramState) -> None:
    """What all lines together say: processes of their own cannot share a store that is in memory."""
    for name, found in state.placements.items():
        if found.kind != "process":
            continue
        inside = reachable(state.program, (found.node or name) if found.provider is None else f"provide {found.provider}")
        for store in sorted(state.program.stores.keys() & _stores(inside)):
            if state.stores.get(store, StoreBinding("memory")).kind == "memory":
                message = (
                    f"`{shown(name)}` runs in processes of its own, and each would have another `{short(store)}`: it is in memory"
                )
                note = f'keep it in a file: `store {short(store)} = sqlite("{short(store)}.db")`'
                state.bag.report("AEL0851", message, state.source, state.placement_places[name].span, notes=(note,))


def shown(name: str) -> str:
    """A service, node or edge as its line writes it: `desk.plan -> desk.look`."""
    return " -> ".join(short(end) for end in name.split(" -> "))


def _stores(names: frozenset[str]) -> set[str]:
    """The owners of the names: `main.book` of `main.book.get`."""
    return {name.rpartition(".")[0] for name in names}


def _https(state: ProgramState, found: Construct, node: n.Expr) -> PlacementBinding:
    options = _options(found, node)
    url = found.positional[0] if len(found.positional) == 1 else None
    if not isinstance(url, str):
        raise Wrong("AEL0814", "`https` takes one address", node, f"it is written {_FORMS['https']}")
    return _remote(state, "https", url, options, node)


def _grpc(state: ProgramState, found: Construct, node: n.Expr) -> PlacementBinding:
    """`grpc("host:port")`: over TLS, but for a server on this machine that is given no certificates."""
    options = _options(found, node)
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
    token = options.pop("token", None)
    if token is not None:
        secret = text_of(token) if isinstance(token, Construct) and token.name == "secret" else None
        if secret is None:
            note = 'write `token: secret("NAME")`, and where it comes from: `secret NAME = env("NAME")`'
            raise Wrong("AEL0815", "a token is a named secret, never text in a file", node, note)
        state.want(secret, node)
        token = secret
    if ("certificate" in options) != ("key" in options):
        raise Wrong("AEL0814", "a certificate is shown with its key: say both `certificate` and `key`", node)
    return PlacementBinding(kind, url, token, **options)


def _process(state: ProgramState, found: Construct, node: n.Expr, name: str) -> PlacementBinding:
    options = _options(found, node)
    if found.positional:
        raise Wrong("AEL0814", "`process` has named options alone", node, f"it is written {_FORMS['process']}")
    options.setdefault("connect", _STARTING)
    given = options.pop("provider", None)
    if name not in state.program.services:
        if given is not None:
            raise Wrong("AEL0814", "a node has no provider", node)
        return PlacementBinding("process", **options)
    provides = {p.rpartition(".")[2]: p for p, spec in state.program.provides.items() if spec.service == name}
    own = given.name if isinstance(given, Construct) and not given.positional and not given.named else None
    if (given is not None and own not in provides) or not provides:
        raise Wrong("AEL0816", f"processes of this program run a `provide` of `{name}`", node, listing("there is", provides))
    if own is None and len(provides) > 1:
        note = f"say which: `process(provider: {next(iter(provides))})`; " + listing("there is", provides)
        raise Wrong("AEL0816", f"`{name}` has more than one `provide`", node, note)
    return PlacementBinding("process", provider=provides[own or next(iter(provides))], **options)


def _options(found: Construct, node: n.Expr) -> dict[str, Any]:
    """The named options, each in its bounds."""
    known = _OPTIONS[found.name]
    read: dict[str, Any] = {}
    for word, given in found.named.items():
        if word not in known:
            close = get_close_matches(word, known, 1)
            note = f"did you mean `{close[0]}`?" if close else listing("it has", known)
            raise Wrong("AEL0814", f"`{found.name}` has no option `{word}`", node, note)
        read[word] = _option(word, given, node)
    return read


def _option(word: str, given: object, node: n.Expr) -> object:
    if word in _COUNTS:
        low, high = _COUNTS[word]
        if not isinstance(given, int) or isinstance(given, bool) or not low <= given <= high:
            raise Wrong("AEL0814", f"`{word}` is a whole number from {low} to {high:,}", node)
    elif word in _TIMES:
        low, high = _TIMES[word]
        length = given / timedelta(milliseconds=1) if isinstance(given, timedelta) else -1
        if not low <= length <= high:
            raise Wrong("AEL0814", f"`{word}` is a duration of at most {high // 60_000}min, such as `20s`", node)
        return int(length)
    elif word in ("authority", "certificate", "key"):
        if not isinstance(given, str) or not given or "\0" in given:
            raise Wrong("AEL0814", f'`{word}` is the path of a file: `{word}: "client.pem"`', node)
    elif word == "name" and (not isinstance(given, str) or not re.fullmatch(WIRE_SERVICE, given)):
        raise Wrong("AEL0814", '`name` is the whole name of a service: `name: "warehouse.Orders"`', node)
    return given
