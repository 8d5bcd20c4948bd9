"""The MCP servers of a program and where its deployment says they are, before anything is pinned: what `ael mcp` works on.

Nothing is checked but the files' syntax, the lock, and the deployment's lines about servers, so that a program whose calls cannot be
typed yet can be pinned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ael.check.basis import short
from ael.check.mcp_setting import check_settings, server_spec, text_of
from ael.data import dataclass
from ael.diagnostics.diagnostic import Bag
from ael.project.bind import bind_servers
from ael.project.bind_state import ServerFacts
from ael.project.deployment import Deployment, McpBinding
from ael.project.load import Project, load_project, shown
from ael.project.lock import FILE as LOCK
from ael.project.pack import report_unreadable
from ael.source import Source, SourceError, Span, read
from ael.syntax import nodes as n
from ael.syntax.parse import parse_deployment
from ael.types.pin import Pins
from ael.types.spec import ServerSpec


@dataclass(frozen=True, eq=False)
class DeclaredServer:
    """An `mcp` block. `name` is qualified (`main.crm`), `tools` and `prompts` are own name -> name there, `resources` -> URI or template.

    `binding` is how the deployment reaches it, None where it does not say.
    """

    name: str
    spec: ServerSpec
    source: Source
    span: Span
    tools: Mapping[str, str]
    prompts: Mapping[str, str]
    resources: Mapping[str, str]
    binding: McpBinding | None = None

    @property
    def own(self) -> str:
        """The name without the main module: what a person types (`crm`, `orders.crm` of another module)."""
        return short(self.name)


@dataclass(frozen=True, eq=False)
class Servers:
    """The servers of a program. `deployment` has what concerns them alone: settings, secrets, hosts, commands, servers."""

    project: Project
    servers: tuple[DeclaredServer, ...]
    deployment: Deployment
    pins: Pins
    lock: Path
    """Where `ael.lock` is, or would be."""

    def find(self, name: str) -> DeclaredServer | None:
        """The server that a person means by `name`: qualified, or its own name where that is one server's alone."""
        exact = [server for server in self.servers if server.name == name]
        found = exact or [server for server in self.servers if server.name.endswith(f".{name}")]
        return found[0] if len(found) == 1 else None


def open_servers(path: Path, bag: Bag, *, deploy: str | None = None) -> Servers | None:
    """The servers of the program at `path`, under the deployment `deploy` (`deploy.NAME.ael`; None: `deploy.ael`, if there is one).

    Problems go to the bag; None when the program or the deployment cannot be read. Errors in the bag say that what is given is not whole.
    """
    project = load_project(path, bag)
    if project is None:
        return None
    file = project.root / ("deploy.ael" if deploy is None else f"deploy.{deploy}.ael")
    module: n.Module | None = None
    if file.is_file() or deploy is not None:
        try:
            module = parse_deployment(read(file, shown(file)), bag)
        except SourceError as error:
            report_unreadable(error, bag)
            return None
    found = tuple(servers_of(project.modules))
    for server in found:
        declaration = _declaration(project, server)
        check_settings(declaration, server.source, bag)
    facts = {
        s.name: ServerFacts(s.spec, s.source, s.span, {f"{s.name}.{own}": wire for own, wire in s.tools.items()}) for s in found
    }
    packages = project.pack.uses if project.pack is not None else frozenset[str]()
    deployment = bind_servers(module, facts, project.root, deploy or "default", bag, packages=packages)
    bound = tuple(
        DeclaredServer(s.name, s.spec, s.source, s.span, s.tools, s.prompts, s.resources, deployment.servers.get(s.name))
        for s in found
    )
    return Servers(project, bound, deployment, project.pins, project.root / LOCK)


def servers_of(modules: Mapping[str, n.Module]) -> Iterator[DeclaredServer]:
    """The `mcp` blocks of parsed modules, in their order, unbound."""
    for module, tree in modules.items():
        for node in tree.declarations:
            if isinstance(node, n.McpDecl):
                name = f"{module}.{node.name.text}"
                tools = {tool.name.text: wire_of(tool) for tool in node.tools}
                prompts = {prompt.name.text: wire_of(prompt) for prompt in node.prompts}
                resources = {resource.name.text: text_of(resource.uri) or "" for resource in node.resources}
                uses = tuple(f"{name}.{own}" for own in (*tools, *resources, *prompts))
                spec = server_spec(node, name, node.doc.text if node.doc is not None else "", uses)
                yield DeclaredServer(name, spec, tree.source, node.name.span, tools, prompts, resources)


def wire_of(node: n.McpTool | n.McpPrompt) -> str:
    """The name of a tool or a prompt on its server."""
    return (text_of(node.wire) if node.wire is not None else None) or node.name.text


def _declaration(project: Project, server: DeclaredServer) -> n.McpDecl:
    module, _, own = server.name.rpartition(".")
    declarations = project.modules[module].declarations
    return next(d for d in declarations if isinstance(d, n.McpDecl) and d.name.text == own)
