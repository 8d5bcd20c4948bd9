"""`mcp` lines: where an MCP server is, how it is asked, and what it is given; checked like code before anything is connected."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from difflib import get_close_matches
from typing import Any, Literal

from ael.check.basis import short
from ael.check.program import CheckedProgram
from ael.check.url import names_credential, url_problem
from ael.data import replace
from ael.diagnostics.hidden import without_strings
from ael.project.bind_state import ProgramState, ServerFacts, State, declared_node, dotted, matching, named, value
from ael.project.deployment import ClientCredentials, McpBinding, NamedSecret, ToolBinding
from ael.project.environment import NAME as VARIABLE
from ael.project.environment import dangerous
from ael.project.form import FORMS, text_of
from ael.project.known_servers import KNOWN
from ael.project.literal import Construct, evaluate
from ael.project.wrong import Wrong, listing
from ael.source import Source, Span
from ael.syntax import nodes as n
from ael.types.pin import Pins

KINDS = ("http", "sse", "stdio", "known")
PACKAGE = "std/process"
"""The optional package without which no server is a child process."""

_NETWORK = frozenset({"headers", "bearer", "oauth"})
_PROCESS = frozenset({"env", "folder"})
_COMMON = frozenset(
    {"connect", "timeout", "idle", "concurrent", "retries", "manifest", "failures", "cooldown", "elicitation", "tools", "nodes"}
)
_COUNTS: Mapping[str, tuple[int, int]] = {"concurrent": (1, 1_000), "retries": (0, 10), "failures": (1, 1_000)}
_TIMES: Mapping[str, tuple[int, int]] = {
    "connect": (1, 600_000),
    "timeout": (1, 86_400_000),
    "idle": (1, 86_400_000),
    "manifest": (0, 86_400_000),
    "cooldown": (1, 3_600_000),
}
"""Milliseconds, least and most. `manifest: 0s` asks for the definitions at each connection."""
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OWN_HEADERS = frozenset(
    {
        "host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection", "accept", "accept-encoding",
        "te", "upgrade", "trailer", "expect", "origin", "mcp-session-id", "mcp-protocol-version", "last-event-id", "traceparent",
        "idempotency-key",
    }
)  # fmt: skip
"""Headers that the transport itself writes."""


def facts(program: CheckedProgram, pins: Pins) -> dict[str, ServerFacts]:
    """What a deployment has to know of the servers of a program that checks."""
    found: dict[str, ServerFacts] = {}
    for name, spec in program.servers.items():
        module, declaration = program.declarations[name]
        assert isinstance(declaration, n.McpDecl)
        tools = {
            key: tool.remote.wire
            for key, tool in program.tools.items()
            if tool.remote is not None and tool.remote.server == name and tool.remote.kind == "tool"
        }
        pinned = frozenset(pins[name].tools) if name in pins else None
        found[name] = ServerFacts(spec, program.modules[module].tree.source, declaration.name.span, tools, pinned)
    return found


def line(state: State, binding: n.Binding) -> None:
    """`mcp crm = http("https://…", bearer: secret("T"))`. Raises `Wrong`, `NotConstant`."""
    name = named(binding, "MCP server", state.declared)
    call = value(binding)
    if not isinstance(call, n.Call) or not isinstance(call.callee, n.Reference) or call.callee.name.text not in KINDS:
        raise Wrong("AEL0814", "an MCP server is bound to a way to reach it", call, listing("there is", KINDS))
    kind: Literal["http", "sse", "stdio", "known"] = call.callee.name.text  # type: ignore[assignment]
    options = _options(state, call, _COMMON | (_NETWORK if kind in ("http", "sse") else _PROCESS))
    positional = [argument.value for argument in call.arguments if argument.name is None]
    reader = _Reader(state, name)
    match kind:
        case "stdio" | "known":
            found = reader.process(kind, call, positional, options)
        case _:
            found = reader.network(kind, call, positional, options)
    found = replace(found, **reader.common(options))
    state.servers[name] = found
    _filter(state, state.declared[name], found)
    if "nodes" in options and isinstance(state, ProgramState):
        _reserve(state, name, options["nodes"])


def settle(state: State, *, required: bool) -> None:
    """Bind by the program's own `url` and `credential` what no line binds; with `required`, report what stays unbound."""
    for name, server in state.declared.items():
        spec = server.spec
        if name in state.servers:
            given = state.servers[name]
            has = given.bearer is not None or given.oauth is not None or any(h.lower() == "authorization" for h in given.headers)
            if spec.credential is not None and not has and given.kind != "stdio":
                state.servers[name] = replace(given, bearer=spec.credential)
                state.wanted.append((spec.credential, server.source, server.span))
            continue
        if any(kind == "mcp" and matching(said.strip(), [name]) for kind, said in state.seen):
            continue  # its line is wrong, and that is told
        url, problem = _own_url(state, server)
        if url is not None:
            state.servers[name] = McpBinding("http", url, bearer=spec.credential)
            if spec.credential is not None:
                state.wanted.append((spec.credential, server.source, server.span))
        elif required and server.spec.uses and problem is not None and not state.doubtful:
            state.bag.report("AEL0842", problem[0], problem[1], problem[2], notes=problem[3])


def _own_url(state: State, server: ServerFacts) -> tuple[str | None, tuple[str, Source, Span, tuple[str, ...]] | None]:
    spec = server.spec
    own = short(spec.name)
    if spec.url is not None:
        source, span, url = server.source, server.span, spec.url
    elif spec.url_setting is None:
        message = f"the deployment does not say where the MCP server `{own}` is"
        return None, (message, server.source, server.span, (f'add a line to it: `mcp {own} = http("https://…")`',))
    else:
        given = state.settings.get(spec.url_setting)
        if given is None:
            message = f'the MCP server `{own}` is at `setting("{spec.url_setting}")`, which the deployment does not say'
            note = f'add a line to it: `setting {spec.url_setting} = "https://…"` or `mcp {own} = http("https://…")`'
            return None, (message, server.source, server.span, (note,))
        binding = state.seen.get(("setting", f" {spec.url_setting}"))
        source, span = (state.source, (binding.value or binding).span) if binding is not None else (server.source, server.span)
        if not isinstance(given, str):
            message = f"`{spec.url_setting}` is the address of the MCP server `{own}`: a text"
            state.bag.report("AEL0843", message, source, span, notes=("it is written `https://host/path`",))
            return None, None
        url = given
    problem = url_problem(url, state.hosts)
    if problem is None:
        return url, None
    if problem.secret:
        state.bag.report("AEL0815", problem.message, without_strings(source, span), span, notes=(problem.note,))
    else:
        state.bag.report("AEL0843", problem.message, source, span, notes=(problem.note,))
    return None, None


def _options(state: State, call: n.Call, known: frozenset[str]) -> dict[str, n.Expr]:
    found: dict[str, n.Expr] = {}
    for argument in call.arguments:
        if argument.name is None:
            continue
        word = argument.name.text
        with state.told():
            if word not in known:
                close = get_close_matches(word, known, 1)
                note = f"did you mean `{close[0]}`?" if close else listing("there is", sorted(known))
                raise Wrong("AEL0814", f"there is no option `{word}` here", argument, note)
            if word in found:
                raise Wrong("AEL0813", f"`{word}` is said twice", argument)
            found[word] = argument.value
    return found


class _Reader:
    """Reads the parts of one `mcp` line."""

    def __init__(self, state: State, name: str) -> None:
        self.state = state
        self.name = name

    # --- over the network ------------------------------------------------------------------------------------------------

    def network(
        self, kind: Literal["http", "sse", "stdio"], call: n.Call, positional: list[n.Expr], options: dict[str, n.Expr]
    ) -> McpBinding:
        if len(positional) != 1:
            raise Wrong("AEL0814", f"`{kind}` takes one address", call, f'it is written `mcp NAME = {kind}("https://…")`')
        url = self._url(positional[0])
        headers = self._headers(options["headers"]) if "headers" in options else {}
        bearer = self._secret(options["bearer"], "bearer") if "bearer" in options else None
        oauth = self._oauth(options["oauth"]) if "oauth" in options else None
        ways = [word for word in options if word in ("bearer", "oauth")]
        if any(name.lower() == "authorization" for name in headers):
            ways.insert(0, "headers")
        if len(ways) > 1:
            message = f"`{ways[0]}` and `{ways[1]}` both say who asks"
            raise Wrong("AEL0813", message, options[ways[1]], "one credential goes to a server")
        return McpBinding(kind, url, headers, bearer, oauth)

    def _url(self, node: n.Expr) -> str:
        given = evaluate(node)
        if isinstance(given, Construct) and given.name == "setting" and (name := text_of(given)) is not None:
            if name not in self.state.settings:
                message = f"the deployment has no setting `{name}`"
                raise Wrong("AEL0810", message, node, f'add a line to it: `setting {name} = "https://…"`')
            given = self.state.settings[name]
        if not isinstance(given, str):
            raise Wrong("AEL0843", "the address of a server is a text", node, "it is written `https://host/path`")
        problem = url_problem(given, self.state.hosts)
        if problem is not None:
            raise Wrong("AEL0815" if problem.secret else "AEL0843", problem.message, node, problem.note)
        return given

    def _headers(self, node: n.Expr) -> dict[str, str | NamedSecret]:
        found: dict[str, str | NamedSecret] = {}
        seen: set[str] = set()
        for key, name, entry in _entries(node, "headers", 'headers: ["X-Key": secret("KEY")]'):
            lower = name.lower()
            with self.state.told():
                if not _HEADER.fullmatch(name):
                    raise Wrong("AEL0814", f"`{name[:60]}` is no name of a header", key)
                if lower in _OWN_HEADERS:
                    raise Wrong("AEL0814", f"AEL itself writes the header `{name}`", key, "leave it out")
                if lower in seen:
                    raise Wrong("AEL0813", f"the header `{name}` is said twice", key)
                seen.add(lower)
                found[name] = self._text(entry, name, "header")
        return found

    def _oauth(self, node: n.Expr) -> ClientCredentials:
        form = 'oauth: client_credentials(id: "…", secret: secret("SECRET"), scopes: ["read"])'
        if (
            not isinstance(node, n.Call)
            or not isinstance(node.callee, n.Reference)
            or node.callee.name.text != "client_credentials"
        ):
            raise Wrong("AEL0814", "`oauth` takes `client_credentials`", node, f"it is written `{form}`")
        options = _options(self.state, node, frozenset({"id", "secret", "scopes", "issuer"}))
        for word in ("id", "secret"):
            if word not in options:
                raise Wrong("AEL0814", f"`client_credentials` says the `{word}` of the client", node, f"it is written `{form}`")
        if any(argument.name is None for argument in node.arguments):
            raise Wrong("AEL0814", "the parts of `client_credentials` have names", node, f"it is written `{form}`")
        own = evaluate(options["id"])
        id = own if isinstance(own, str) and own else NamedSecret(self._secret(options["id"], "id"))
        scopes = evaluate(options["scopes"]) if "scopes" in options else []
        if not isinstance(scopes, list) or not all(isinstance(s, str) and re.fullmatch(r"[!#-\[\]-~]+", s) for s in scopes):
            raise Wrong("AEL0814", "`scopes` is a list of texts without blanks", options["scopes"])
        issuer = self._url(options["issuer"]) if "issuer" in options else None
        return ClientCredentials(id, self._secret(options["secret"], "secret"), tuple(scopes), issuer)

    # --- child processes -------------------------------------------------------------------------------------------------

    def process(
        self, kind: Literal["stdio", "known"], call: n.Call, positional: list[n.Expr], options: dict[str, n.Expr]
    ) -> McpBinding:
        state = self.state
        if PACKAGE not in state.packages:
            note = f"add `uses {PACKAGE}` to `pack.ael`: what a pack does not list does not exist for the program"
            raise Wrong("AEL0845", "starting a program as a server needs the optional package `std/process`", call, note)
        words = [self._word(node) for node in positional]
        if not words:
            takes = "a program and its arguments" if kind == "stdio" else 'the name of a public server: `known("fetch")`'
            raise Wrong("AEL0814", f"`{kind}` takes {takes}", call, f"it is written {FORMS['mcp']}")
        if kind == "known":
            if words[0] not in KNOWN:
                raise Wrong("AEL0814", f"no public server is known as `{words[0]}`", positional[0], listing("there is", KNOWN))
            words = [*KNOWN[words[0]], *words[1:]]
        if words[0] not in state.commands:
            note = f'the deployment lists what may be started: `command "{words[0]}"`'
            raise Wrong("AEL0844", f"the deployment does not allow the program `{words[0]}` to be started", positional[0], note)
        folder = evaluate(options["folder"]) if "folder" in options else None
        if folder is not None and (not isinstance(folder, str) or not folder or "\0" in folder):
            raise Wrong("AEL0814", '`folder` is the path of a folder: `folder: "."`', options["folder"])
        environment = self._environment(options["env"]) if "env" in options else {}
        return McpBinding("stdio", command=words[0], arguments=tuple(words[1:]), environment=environment, folder=folder)

    def _word(self, node: n.Expr) -> str:
        given = evaluate(node)
        if isinstance(given, Construct) and given.name == "secret":
            note = 'hand it over in the environment: `env: ["TOKEN": secret("TOKEN")]`'
            raise Wrong("AEL0815", "everybody on the machine can read the arguments of a program", node, note)
        if not isinstance(given, str) or "\0" in given:
            raise Wrong("AEL0814", "a program and its arguments are texts", node, f"it is written {FORMS['mcp']}")
        return given

    def _environment(self, node: n.Expr) -> dict[str, str | NamedSecret]:
        found: dict[str, str | NamedSecret] = {}
        for key, name, entry in _entries(node, "env", 'env: ["TOKEN": secret("TOKEN")]'):
            with self.state.told():
                if not VARIABLE.fullmatch(name):
                    raise Wrong("AEL0814", f"`{name[:60]}` is no name of a variable", key)
                if dangerous(name):
                    note = "a server gets PATH, HOME, LANG and TMPDIR; other such variables are not handed on"
                    message = f"the variable `{name}` decides which code a program runs, or whom it trusts"
                    raise Wrong("AEL0846", message, key, note)
                if name in found:
                    raise Wrong("AEL0813", f"the variable `{name}` is said twice", key)
                found[name] = self._text(entry, name, "variable")
        return found

    # --- values ----------------------------------------------------------------------------------------------------------

    def common(self, options: dict[str, n.Expr]) -> dict[str, Any]:
        """The options that every kind has."""
        found: dict[str, Any] = {}
        for word, node in options.items():
            if word in _COMMON and word != "nodes":
                with self.state.told():
                    found[word] = self._common(word, node)
        return found

    def _common(self, word: str, node: n.Expr) -> object:
        if word in _TIMES:
            return _time(word, node)
        given = evaluate(node)
        if word in _COUNTS:
            low, high = _COUNTS[word]
            if not isinstance(given, int) or isinstance(given, bool) or not low <= given <= high:
                raise Wrong("AEL0814", f"`{word}` is a whole number from {low} to {high:,}", node)
            return given
        if word == "elicitation":
            if not isinstance(given, bool):
                message = "`elicitation` is `true` or `false`: whether a server may ask a person something"
                raise Wrong("AEL0814", message, node)
            return given
        if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
            raise Wrong("AEL0814", "`tools` is a list of the names of tools, as the server calls them", node)
        for name in given:
            with self.state.told():
                self._offered(name, node)
        return frozenset(given)

    def _offered(self, name: str, node: n.Expr) -> None:
        """Feature A9.21: letting something through that is not there is reported."""
        server = self.state.declared[self.name]
        if server.pinned is None or name in server.pinned:
            return
        close = get_close_matches(name, server.pinned, 1)
        note = f"did you mean `{close[0]}`?" if close else listing("it offers", sorted(server.pinned)[:20])
        raise Wrong("AEL0848", f"the server `{short(self.name)}` offers no tool `{name[:60]}`", node, note)

    def _text(self, node: n.Expr, name: str, what: str) -> str | NamedSecret:
        given = evaluate(node)
        if isinstance(given, Construct) and given.name == "secret":
            return NamedSecret(self._secret(node, name))
        if not isinstance(given, str) or any(ord(c) < 32 or ord(c) == 127 for c in given):
            raise Wrong("AEL0814", f"a {what} is one line of text, or a secret", node)
        if names_credential(name):
            note = f'write `"{name}": secret("NAME")`, and where it comes from: `secret NAME = env("NAME")`'
            raise Wrong("AEL0815", f"the {what} `{name}` is a credential: a named secret, never text in a file", node, note)
        return given

    def _secret(self, node: n.Expr, word: str) -> str:
        given = evaluate(node)
        name = text_of(given) if isinstance(given, Construct) and given.name == "secret" else None
        if name is None:
            note = f'write `{word}: secret("NAME")`, and where it comes from: `secret NAME = env("NAME")`'
            raise Wrong("AEL0815", "a credential is a named secret, never text in a file", node, note)
        self.state.want(name, node)
        return name


def _entries(node: n.Expr, word: str, form: str) -> list[tuple[n.Node, str, n.Expr]]:
    if not isinstance(node, n.MapLit):
        raise Wrong("AEL0814", f"`{word}` is a map", node, f"it is written `{form}`")
    found: list[tuple[n.Node, str, n.Expr]] = []
    for entry in node.entries:
        name = evaluate(entry.key)
        if not isinstance(name, str):
            raise Wrong("AEL0814", "a name is a text", entry.key, f"it is written `{form}`")
        found.append((entry.key, name, entry.value))
    return found


def _time(word: str, node: n.Expr) -> int:
    low, high = _TIMES[word]
    given = evaluate(node)
    length = given / timedelta(milliseconds=1) if isinstance(given, timedelta) else -1
    if not low <= length <= high:
        longest = f"{high // 3_600_000}h" if high >= 3_600_000 else f"{high // 60_000}min"
        least = "" if low else ", or `0s` for none"
        raise Wrong("AEL0814", f"`{word}` is a duration of at most {longest}, such as `20s`{least}", node)
    return int(length)


def _filter(state: State, server: ServerFacts, binding: McpBinding) -> None:
    """A tool that is not let through is denied, as by a `deny` line."""
    if binding.tools is None:
        return
    for name, wire in server.tools.items():
        if wire not in binding.tools:
            state.tools[name] = replace(state.tools.get(name, ToolBinding()), denied=True)


def _reserve(state: ProgramState, server: str, node: n.Expr) -> None:
    """`nodes: [answer]`: what is used of the server is called inside of these nodes alone (feature A4.13)."""
    if not isinstance(node, n.ListLit):
        raise Wrong("AEL0814", "`nodes` is a list of nodes: those that may use the server", node)
    allowed: set[str] = set()
    for item in node.items:
        with state.told():
            text = dotted(item)
            if text is None:
                raise Wrong("AEL0814", "this list holds names of nodes", item, "it is written `nodes: [answer]`")
            allowed.add(declared_node(state.program, text, item))
    for name, spec in state.program.tools.items():
        if spec.remote is not None and spec.remote.server == server:
            state.tools[name] = replace(state.tools.get(name, ToolBinding()), only=frozenset(allowed))
