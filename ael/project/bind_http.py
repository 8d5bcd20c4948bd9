"""The line of a deployment that says whom `std/http` may ask: `http = client(hosts: ["api.example.com"], bearer: [… secret("…")])`.

Hosts of a `host` line may be asked without being listed here again. What is listed here alone has to be a public address over TLS.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ael import __version__
from ael.data import dataclass, field
from ael.project.bind_state import State, argument, construct, value
from ael.project.form import text_of
from ael.project.literal import Construct
from ael.project.wrong import Wrong, listing
from ael.syntax import nodes as n

FORM = 'it is written `http = client(hosts: ["api.example.com", "*.example.org"], bearer: ["api.example.com": secret("TOKEN")])`'
AGENT = f"ael/{__version__}"
MAX_BYTES = 1 << 20
"""How much of an answer is read: what `HttpResponse` takes."""
_OPTIONS = ("hosts", "headers", "bearer", "agent", "max")
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?"
_HOST = re.compile(rf"(\*\.)?{_LABEL}(?:\.{_LABEL})*\.?(?::[0-9]{{1,5}})?")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_OWN = frozenset({"host", "content-length", "connection", "transfer-encoding", "accept-encoding"})


@dataclass(frozen=True)
class HttpBinding:
    """What a deployment says of `std/http`.

    `hosts`: `api.example.com`, `api.example.com:8443`, `*.example.com`. `headers`: host -> header -> what stands in front of the secret,
    and the name of the secret. `agent`: the `User-Agent`. `max_bytes`: of an answer.
    """

    hosts: tuple[str, ...] = ()
    headers: Mapping[str, Mapping[str, tuple[str, str]]] = field(default_factory=dict)
    agent: str = AGENT
    max_bytes: int = MAX_BYTES

    @property
    def shown(self) -> str:
        """Whom a program may ask beyond the `host` lines, and who gets which headers."""
        told = [", ".join(self.hosts) or "only what `host` lines list"]
        told += [f"{', '.join(sorted(own))} for {host}" for host, own in self.headers.items()]
        return "; ".join(told)


def http(state: State, binding: n.Binding) -> None:
    """`http = client(…)`."""
    if "http" in state.natives:
        raise Wrong("AEL0813", "`http` is bound twice", binding.kind)
    found = construct(binding, ("client",))
    node = value(binding)
    if found.positional:
        raise Wrong("AEL0814", "`client` takes named options alone", node, FORM)
    for word in found.named:
        if word not in _OPTIONS:
            raise Wrong("AEL0814", f"`client` has no `{word}`", argument(node, word), listing("there is", _OPTIONS))
    state.natives["http"] = HttpBinding(
        hosts_of(found, node),
        _headers(state, found, node),
        agent_of(found, node),
        max_of(found, node, MAX_BYTES),
    )


def hosts_of(found: Construct, node: n.Expr) -> tuple[str, ...]:
    """The option `hosts`. Raises `Wrong`."""
    given = found.named.get("hosts", [])
    place = argument(node, "hosts")
    if not isinstance(given, list):
        raise Wrong("AEL0814", "`hosts` is a list of hosts", place, FORM)
    for one in given:
        if not isinstance(one, str) or not host_form(one):
            shown = f"`{one[:60]}` is no host" if isinstance(one, str) else "a host is a text"
            raise Wrong(
                "AEL0814", shown, place, "a name, with a port where it is another one, or `*.example.com` for all names below"
            )
    return tuple(one.lower() for one in given)


def host_form(text: str) -> bool:
    """Whether a text is a host as a deployment lists it. `*.com` is none: it would be half of the world."""
    if not _HOST.fullmatch(text):
        return False
    return not text.startswith("*.") or "." in text[2:].partition(":")[0].rstrip(".")


def agent_of(found: Construct, node: n.Expr) -> str:
    """The option `agent`. Raises `Wrong`."""
    agent = found.named.get("agent", AGENT)
    if not isinstance(agent, str) or not agent.strip() or not agent.isascii() or not agent.isprintable() or len(agent) > 200:
        raise Wrong("AEL0814", "`agent` is one line of ASCII, up to 200 characters", argument(node, "agent"))
    return agent


def max_of(found: Construct, node: n.Expr, most: int) -> int:
    """The option `max`, in bytes. Raises `Wrong`."""
    given = found.named.get("max", most)
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= most:
        raise Wrong("AEL0814", f"`max` is a size of 1 to {most:,} bytes, such as `256KiB`", argument(node, "max"))
    return given


def _headers(state: State, found: Construct, node: n.Expr) -> dict[str, dict[str, tuple[str, str]]]:
    headers: dict[str, dict[str, tuple[str, str]]] = {}
    for host, own in _by_host(found, node, "headers").items():
        if not isinstance(own, dict) or not own:
            raise Wrong("AEL0814", f"the headers of `{host}` are a map from names to secrets", argument(node, "headers"), FORM)
        for name, given in own.items():
            if not _HEADER.fullmatch(name) or name.lower() in _OWN:
                raise Wrong("AEL0814", f"`{name[:60]}` is no header that can be set", argument(node, "headers"))
            headers.setdefault(host, {})[name.lower()] = (
                "",
                secret_of(state, given, argument(node, "headers"), "a header's value"),
            )
    for host, given in _by_host(found, node, "bearer").items():
        if "authorization" in headers.get(host, {}):
            raise Wrong("AEL0813", f"`authorization` of `{host}` is said twice", argument(node, "bearer"))
        secret = secret_of(state, given, argument(node, "bearer"), "a token")
        headers.setdefault(host, {})["authorization"] = ("Bearer ", secret)
    return headers


def _by_host(found: Construct, node: n.Expr, word: str) -> dict[str, object]:
    given = found.named.get(word, {})
    if not isinstance(given, dict):
        raise Wrong("AEL0814", f"`{word}` is a map from hosts", argument(node, word), FORM)
    for host in given:
        if not host_form(host) or host.startswith("*"):
            note = "a credential goes to one host, by its whole name"
            raise Wrong("AEL0814", f"`{host[:60]}` is no host that a credential can be for", argument(node, word), note)
    return {host.lower().rstrip("."): own for host, own in given.items()}


def secret_of(state: State, given: object, place: n.Node, what: str) -> str:
    """The name of the secret that `given` is. Raises `Wrong`."""
    secret = text_of(given) if isinstance(given, Construct) and given.name == "secret" else None
    if secret is None:
        note = 'write `secret("NAME")`, and where it comes from: `secret NAME = env("NAME")`'
        raise Wrong("AEL0815", f"{what} is a named secret, never text in a file", place, note)
    state.want(secret, place)
    return secret
