"""The lines of a deployment about serving: `serve`, `caller` and `listen`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from ael.check.basis import short
from ael.data import replace
from ael.project.bind_options import WIRE_SERVICE
from ael.project.bind_state import ProgramState, argument, construct, declared_node, dotted, matching, permissions, subject, value
from ael.project.bind_tenant import period_of, shared_budget
from ael.project.form import FORMS, text_of
from ael.project.literal import Construct, evaluate
from ael.project.serving import CallerBinding, Listen, Serving
from ael.project.tenants import DEFAULT_TENANT, NAME
from ael.project.wrong import Wrong, listing
from ael.syntax import nodes as n
from ael.types.naming import wire_name

WIRE_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
"""A tool's name in the Model Context Protocol."""

_HOST = r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?"
_ORIGIN = re.compile(rf"https?://{_HOST}")
_COUNTS = {"body": 1, "concurrent": 1, "queue": 0, "sessions": 1, "connections": 1}
_TIMES = ("timeout", "approval", "drain")
_NAMES = ("hosts", "origins")
_FILES = ("certificate", "key", "clients")


def serve(state: ProgramState, binding: n.Binding) -> None:
    """`serve = [answer, classify]`, `serve answer as "ask"`: nodes that are exposed, by their own names or by another."""
    if binding.subject is not None and binding.value is None and len(binding.options) == 1:
        option = binding.options[0]
        name = evaluate(option.values[0]) if option.name.text == "as" and len(option.values) == 1 else None
        if isinstance(name, str):
            _expose(state, binding.subject.text, name, binding.subject)
            return
    if binding.subject is None and isinstance(binding.value, n.ListLit) and not binding.options:
        for item in binding.value.items:
            text = dotted(item)
            with state.told():
                if text is None:
                    raise Wrong("AEL0814", "this list holds names of nodes", item, f"it is written {FORMS['serve']}")
                _expose(state, text, None, item)
        return
    raise Wrong("AEL0814", "this `serve` line is not whole", binding, f"it is written {FORMS['serve']}")


def caller(state: ProgramState, binding: n.Binding) -> None:
    """`caller alice = bearer(secret("ALICE_TOKEN")) …`: one who may call, with the secret that holds the token."""
    found = construct(binding, ("bearer",))
    place = value(binding)
    token = found.positional[0] if len(found.positional) == 1 else None
    if token is None:
        raise Wrong("AEL0814", "a caller is known by a token", place, f"it is written {FORMS['caller']}")
    secret = text_of(token) if isinstance(token, Construct) and token.name == "secret" else None
    if secret is None:
        note = 'write `bearer(secret("NAME"))`, and where it comes from: `secret NAME = env("NAME")`'
        raise Wrong("AEL0815", "a token is a named secret, never text in a file", place, note)
    named = dict(found.named)
    tenant, concurrent = named.pop("tenant", DEFAULT_TENANT), named.pop("concurrent", None)
    if not isinstance(tenant, str) or not NAME.fullmatch(tenant):
        state.report(Wrong("AEL0814", '`tenant` is a name: `tenant: "acme"`', argument(place, "tenant")))
        tenant = DEFAULT_TENANT
    for word in named:
        state.report(Wrong("AEL0814", f"`bearer` has no `{word}`", argument(place, word), "it has `tenant` and `concurrent`"))
    made = CallerBinding(subject(binding).text, secret, tenant)
    if concurrent is not None:
        with state.told():
            made = replace(made, concurrent=_count("concurrent", concurrent, 1, argument(place, "concurrent")))
    for clause in binding.clauses:
        with state.told():
            match clause:
                case n.Grants(permissions=paths, deny=False):
                    made = replace(made, grants=permissions(state, paths))
                case n.Budget():
                    made = replace(made, budget=shared_budget(state, clause), period=period_of(clause, "caller"))
                case _:
                    raise Wrong("AEL0814", "a caller has `grants` and a `budget`", clause, f"it is written {FORMS['caller']}")
    state.want(secret, place)
    state.callers[made.name] = made
    state.caller_places[made.name] = place


def listen(state: ProgramState, binding: n.Binding) -> None:
    """`listen = http(…)`: the limits of the server, and the names that it goes by."""
    if state.listen is not None:
        raise Wrong("AEL0813", "`listen` is said twice", binding.kind)
    found = construct(binding, ("http",))
    if found.positional:
        raise Wrong("AEL0814", "the limits of `http` have names", value(binding), f"it is written {FORMS['listen']}")
    limits: dict[str, Any] = {}
    for word, given in found.named.items():
        with state.told():
            limits[word] = _limit(word, given, argument(value(binding), word))
            if word == "metrics":
                state.want(limits[word], argument(value(binding), word))
    state.listen = Listen(**limits)
    if ("certificate" in limits) != ("key" in limits) or ("clients" in limits and "key" not in limits):
        note = 'write `listen = http(certificate: "server.pem", key: "server.key")`; `clients: "authority.pem"` may stand beside them'
        raise Wrong("AEL0814", "a server that speaks TLS has a `certificate` and its `key`", value(binding), note)


def serving(state: ProgramState) -> Serving:
    """What the lines said."""
    return Serving(state.exposed, state.exposed_services, state.callers, state.listen or Listen())


def _expose(state: ProgramState, text: str, given: str | None, place: n.Node) -> None:
    service = matching(text, state.program.services)
    if len(service) == 1 and not matching(text, state.program.nodes):
        _expose_service(state, service[0], given, place)
        return
    node = declared_node(state.program, text, place)
    wire = wire_name(node.removeprefix(f"{state.program.main}.")) if given is None else given
    if not WIRE_NAME.fullmatch(wire):
        raise Wrong("AEL0814", "a name for clients has 1 to 128 letters, digits, `_`, `-` and `.`", place)
    if wire in state.exposed or node in state.exposed.values():
        what = f"`{wire}`" if wire in state.exposed else f"`{text}`"
        raise Wrong("AEL0813", f"{what} is served already", place)
    state.exposed[wire] = node


def _expose_service(state: ProgramState, service: str, given: str | None, place: n.Node) -> None:
    """`serve = [Orders]`, `serve Orders as "warehouse.Orders"`."""
    if given is not None and not re.fullmatch(WIRE_SERVICE, given):
        raise Wrong("AEL0814", 'a service goes by a whole name: `serve Orders as "warehouse.Orders"`', place)
    if service in state.exposed_services:
        raise Wrong("AEL0813", f"`{short(service)}` is served already", place)
    state.exposed_services[service] = given


def _limit(word: str, given: object, place: n.Node) -> object:
    if word in _COUNTS:
        return _count(word, given, _COUNTS[word], place)
    if word in _TIMES:
        if not isinstance(given, timedelta) or given <= timedelta(0):
            raise Wrong("AEL0814", f"`{word}` is a time, such as `60s`", place)
        return int(given / timedelta(milliseconds=1))
    if word in _FILES:
        if not isinstance(given, str) or not given or "\0" in given:
            raise Wrong("AEL0814", f'`{word}` is the path of a file: `{word}: "server.pem"`', place)
        return given
    if word == "metrics":
        secret = text_of(given) if isinstance(given, Construct) and given.name == "secret" else None
        if secret is None:
            note = 'write `metrics: secret("NAME")`, and where it comes from: `secret NAME = env("NAME")`'
            raise Wrong("AEL0815", "a token is a named secret, never text in a file", place, note)
        return secret
    if word not in _NAMES:
        raise Wrong(
            "AEL0814", f"`http` has no `{word}`", place, listing("it has", (*_NAMES, *_COUNTS, *_TIMES, *_FILES, "metrics"))
        )
    if not isinstance(given, list) or not given or not all(isinstance(one, str) and one for one in given):
        raise Wrong("AEL0814", f"`{word}` is a list of texts", place)
    check = _host if word == "hosts" else _origin
    return tuple(check(one, place) for one in given)


def _count(word: str, given: object, least: int, place: n.Node) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        raise Wrong("AEL0814", f"`{word}` is a whole number from {least}", place)
    return given


def _host(text: str, place: n.Node) -> str:
    if not re.fullmatch(_HOST, text):
        raise Wrong("AEL0814", 'a host is a name, with a port where it has one: `"agents.example.com"`', place)
    return text.lower()


def _origin(text: str, place: n.Node) -> str:
    if not _ORIGIN.fullmatch(text):
        raise Wrong("AEL0814", 'an origin is a scheme and a host: `"https://app.example.com"`', place)
    return text.lower()
