"""The line of a deployment that says where the traces of its runs are sent: `log = otlp("https://collector.example.com")`."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from ael.check.url import names_credential
from ael.project.bind_state import State, value
from ael.project.form import text_of
from ael.project.literal import Construct, evaluate
from ael.project.logs import OtlpBinding
from ael.project.wrong import Wrong, listing
from ael.syntax import nodes as n

FORM = 'it is written `log = otlp("https://collector.example.com", headers: ["x-api-key": secret("KEY")], content: true)`'
_OPTIONS = ("headers", "content")
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def log(state: State, binding: n.Binding) -> None:
    """An exporter of traces. Everything but `otlp` comes later."""
    plain = binding.subject is None and binding.target is None and binding.value is not None
    found = evaluate(value(binding)) if plain else None
    if not isinstance(found, Construct) or found.name != "otlp":
        raise Wrong("AEL1004", "log sinks other than `otlp` are read and formatted, but come in a later release", binding, FORM)
    node = value(binding)
    if binding.clauses or binding.options:
        raise Wrong("AEL0814", "a `log` line has no place for this", (*binding.clauses, *binding.options)[0], FORM)
    for word in found.named:
        if word not in _OPTIONS:
            raise Wrong("AEL0814", f"`otlp` has no `{word}`", node, listing("there is", _OPTIONS))
    content = found.named.get("content", False)
    if not isinstance(content, bool):
        raise Wrong("AEL0814", "`content` is `true` or `false`: whether what was said and done goes out too", node)
    headers, secrets = _headers(state, found.named.get("headers", {}), node)
    state.logs.append(OtlpBinding(_url(found, node), headers, secrets, content))


def _url(found: Construct, node: n.Node) -> str:
    """The collector: over TLS, but on this machine. Raises `Wrong`."""
    url = text_of(Construct("otlp", found.positional))
    if url is None:
        raise Wrong("AEL0814", "`otlp` takes the address of a collector", node, FORM)
    problem = address_problem(url)
    if problem is not None:
        secret = "@" in url or "?" in url
        raise Wrong("AEL0815" if secret else "AEL0814", problem, node, FORM)
    return url


def address_problem(url: str) -> str | None:
    """What keeps `url` from being the address of a collector; None when nothing does."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "this is no address of a collector"
    if parts.scheme not in ("http", "https") or not host or not url.isascii() or not url.isprintable() or " " in url:
        return "this is no address of a collector"
    if parts.username is not None or parts.query or parts.fragment:
        return "the address of a collector holds no user, no password and no `?`: a credential goes into `headers`"
    if parts.scheme == "http" and host not in _LOOPBACK:
        return "traces leave this machine over `https` alone"
    return None


def _headers(state: State, given: object, node: n.Node) -> tuple[dict[str, str], dict[str, str]]:
    """Headers that are texts, and the secrets that are headers. Raises `Wrong`."""
    if not isinstance(given, dict):
        raise Wrong("AEL0814", "`headers` is a map", node, FORM)
    texts: dict[str, str] = {}
    secrets: dict[str, str] = {}
    for name, found in given.items():
        if not _NAME.fullmatch(name):
            raise Wrong("AEL0814", f"`{name[:60]}` is no name of a header", node)
        secret = text_of(found) if isinstance(found, Construct) and found.name == "secret" else None
        if secret is not None:
            state.want(secret, node)
            secrets[name] = secret
        elif not isinstance(found, str) or not found.isprintable() or not found.isascii():
            raise Wrong("AEL0814", "a header is one line of text, or a secret", node)
        elif names_credential(name):
            note = f'write `"{name}": secret("NAME")`, and where it comes from: `secret NAME = env("NAME")`'
            raise Wrong("AEL0815", f"the header `{name}` is a credential: a named secret, never text in a file", node, note)
        else:
            texts[name] = found
    return texts, secrets
