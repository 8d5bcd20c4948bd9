"""The lines of a deployment that say where its runs' log entries and traces go: `log = file("run.jsonl")`, `log = stderr`,
`log = otlp("https://collector.example.com")`, `log = my_sink`. Several lines are several sinks."""

from __future__ import annotations

import re
from typing import Any, cast
from urllib.parse import urlsplit

from ael.check.basis import short
from ael.check.url import names_credential
from ael.project.bind_state import ProgramState, State, argument, value
from ael.project.form import text_of
from ael.project.literal import Construct, evaluate
from ael.project.logs import SINK, Level, LinesBinding, LogBinding, OtlpBinding, SinkBinding
from ael.project.reach import models_of, provided, reachable
from ael.project.wrong import Wrong, listing
from ael.syntax import nodes as n

FORM = 'it is written `log = otlp("https://collector.example.com", headers: ["x-api-key": secret("KEY")], content: true)`'
_FILE = 'it is written `log = file("run.jsonl", max: 10MB, keep: 5, level: "info", content: false)`'
_OPTIONS = ("headers", "content")
_LEVELS = ("debug", "info", "warning", "error")
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_LEAST, _MOST = 4_096, 10 * 1024 * 1024
_KEPT, _KEEP = 5, 100


def log(state: ProgramState, binding: n.Binding) -> None:
    """A sink of log entries, or an exporter of traces. Raises `Wrong`, `NotConstant`."""
    if binding.subject is not None or binding.target is not None or binding.clauses or binding.options:
        spot = next(one for one in (binding.subject, binding.target, *binding.clauses, *binding.options) if one is not None)
        raise Wrong("AEL0814", "a `log` line has no place for this", spot, FORM)
    node = value(binding)
    found = evaluate(node)
    made: LogBinding
    match found:
        case Construct(name="otlp"):
            made = _otlp(state, found, node)
        case Construct(name="file"):
            made = _file(found, node)
        case Construct(name="stderr"):
            _nothing(found, node, "`stderr`")
            made = LinesBinding(**_common(found, node, ()))
        case Construct():
            made = _own(state, found, node)
        case _:
            raise _unknown(state, node, "this")
    if made in state.logs:
        raise Wrong("AEL0813", "this sink is bound already: each entry would come to it twice", node)
    state.logs.append(made)


def _own(state: ProgramState, found: Construct, node: n.Expr) -> SinkBinding:
    provides = _sinks(state)
    if found.name not in provides:
        raise _unknown(state, node, f"`{found.name}`")
    _nothing(found, node, f"`{found.name}`")
    called = provided(state.program, provides[found.name], "write")
    asked = models_of(state.program, frozenset().union(*(reachable(state.program, name) for name in called)))
    if asked:
        message = f"the sink `{found.name}` asks the model `{short(asked[0])}`, and a log sink asks none"
        note = "it is called for every step of every run, and in nobody's budget: keep the entries, and have an agent read them"
        raise Wrong("AEL0814", message, node, note)
    return SinkBinding(provides[found.name], **_common(found, node, ()))


def _sinks(state: ProgramState) -> dict[str, str]:
    """The program's providers of `std/log.Sink`, by the ends of their names."""
    return {name.rpartition(".")[2]: name for name, spec in state.program.provides.items() if spec.service == SINK}


def _unknown(state: ProgramState, node: n.Expr, what: str) -> Wrong:
    own = [f"`{name}`" for name in _sinks(state)]
    known = ", ".join(['`otlp("https://…")`', '`file("run.jsonl")`', "`stderr`", *own])
    note = f"a sink is one of {known}" + ("" if own else "; one of your own is a `provide std/log.Sink as my_sink { … }`")
    return Wrong("AEL0814", f"{what} is no log sink", node, note)


def _file(found: Construct, node: n.Expr) -> LinesBinding:
    path = text_of(Construct("file", found.positional))
    if path is None or "\0" in path or path.endswith("/"):
        raise Wrong("AEL0814", "`file` takes the path of a file", node, _FILE)
    options = _common(found, node, ("max", "keep"))
    most, keep = options.pop("max", _MOST), options.pop("keep", _KEPT)
    if not _number(most) or most < _LEAST:
        raise Wrong("AEL0814", "`max` is a size of at least 4 KiB, at which the file is rotated", argument(node, "max"), _FILE)
    if not _number(keep) or not 0 <= keep <= _KEEP:
        raise Wrong("AEL0814", f"`keep` is a number of older files, up to {_KEEP}", argument(node, "keep"), _FILE)
    return LinesBinding(path, most, keep, **options)


def _number(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool)


def _nothing(found: Construct, node: n.Expr, what: str) -> None:
    if found.positional:
        raise Wrong("AEL0814", f"{what} takes named options alone", node, listing("there is", ("level", "content")))


def _common(found: Construct, node: n.Expr, more: tuple[str, ...]) -> dict[str, Any]:
    """The options of every sink, `level` and `content`, and those of the names `more` as they are written. Raises `Wrong`."""
    known = (*more, "level", "content")
    for word in found.named:
        if word not in known:
            raise Wrong("AEL0814", f"`{found.name}` has no `{word}`", argument(node, word), listing("there is", known))
    made = {word: found.named[word] for word in more if word in found.named}
    level = found.named.get("level", "debug")
    if level not in _LEVELS:
        raise Wrong(
            "AEL0814", "`level` is the least urgent that is written", argument(node, "level"), listing("there is", _LEVELS)
        )
    made["level"] = cast(Level, str(level).capitalize())
    made["content"] = _content(found, node)
    return made


def _content(found: Construct, node: n.Expr) -> bool:
    content = found.named.get("content", False)
    if not isinstance(content, bool):
        raise Wrong(
            "AEL0814", "`content` is `true` or `false`: whether what was said and done goes out too", argument(node, "content")
        )
    return content


def _otlp(state: State, found: Construct, node: n.Expr) -> OtlpBinding:
    for word in found.named:
        if word not in _OPTIONS:
            raise Wrong("AEL0814", f"`otlp` has no `{word}`", node, listing("there is", _OPTIONS))
    content = _content(found, node)
    headers, secrets = _headers(state, found.named.get("headers", {}), node)
    return OtlpBinding(_url(found, node), headers, secrets, content)


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
