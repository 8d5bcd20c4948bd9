"""MCP servers as a deployment binds them. Imported only by a program that reaches one."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from pathlib import Path

from ael.hosting.failure import HostError
from ael.hosting.secrets import Secrets
from ael.mcp.endpoint import Authorizer, Endpoint, HttpEndpoint, StdioEndpoint
from ael.mcp.failure import McpError
from ael.mcp.manifest import Expected, Uses
from ael.mcp.oauth import ServerFacts, Tokens, bearer, client_credentials
from ael.mcp.port import Connected
from ael.mcp.remote import Policy, Remote
from ael.mcp.session import Listener, open_session
from ael.project.deployment import Deployment, McpBinding, NamedSecret
from ael.project.program import Opened
from ael.run.breaker import Thresholds
from ael.run.ports import Clock, RemoteServer
from ael.types.pin import ServerPins
from ael.types.value import Secret


def bind_servers(opened: Opened, names: frozenset[str], secrets: Secrets, clock: Clock) -> dict[str, RemoteServer]:
    """The servers whose tools are among `names`. Raises `HostError`; nothing is connected yet."""
    bound: dict[str, RemoteServer] = {}
    for server in servers_of(opened, names):
        binding = opened.deployment.servers.get(server)
        if binding is None:
            short = server.rpartition(".")[2]
            note = f'add a line to the deployment: `mcp {short} = http("https://…")`, or `stdio("program", …)`'
            raise HostError("AEL0842", f"the deployment does not say where the MCP server `{short}` is", note)
        opener = Opening(binding, opened.deployment, secrets)
        # What is wrong with a secret or an address is told before anything runs, and what is secret is known before anything is shown.
        for tenant in opened.deployment.tenants or ("",):
            opener.endpoint(tenant)
        for owner, _ in opened.deployment.owned_secrets:
            opener.endpoint(*owner.split("/"))
        bound[server] = Remote(uses_of(opened, names, server), opener, policy_of(binding), clock)
    return bound


def servers_of(opened: Opened, names: frozenset[str]) -> tuple[str, ...]:
    """The servers that the tools among `names` are on, in a fixed order."""
    tools = (opened.program.tools.get(name) for name in sorted(names))
    return tuple(dict.fromkeys(tool.remote.server for tool in tools if tool is not None and tool.remote is not None))


def uses_of(opened: Opened, names: frozenset[str], server: str) -> Uses:
    """The definitions of a server that the tools among `names` were checked against."""
    pins = opened.project.pins.get(server, ServerPins())
    expected = []
    for name in sorted(names):
        tool = opened.program.tools.get(name)
        if tool is None or tool.remote is None or tool.remote.server != server or tool.remote.kind == "resource":
            continue
        kind, wire = tool.remote.kind, tool.remote.wire
        pin = (pins.tools if kind == "tool" else pins.prompts).get(wire)
        expected.append(Expected(kind, wire, tool.remote.sha256, None if pin is None else pin.definition))
    return Uses(server, tuple(expected))


def policy_of(binding: McpBinding) -> Policy:
    """A deployment's milliseconds as seconds."""
    return Policy(
        connect=binding.connect / 1000,
        timeout=None if binding.timeout is None else binding.timeout / 1000,
        idle=None if binding.idle is None else binding.idle / 1000,
        concurrent=binding.concurrent,
        retries=binding.retries,
        manifest=binding.manifest / 1000,
        elicitation=binding.elicitation,
        breaker=Thresholds(binding.failures, binding.cooldown / 1000),
    )


class Opening:
    """Opens sessions of one server, each tenant with tokens of its own. What it was made from is not looked at again (A9.16)."""

    def __init__(self, binding: McpBinding, deployment: Deployment, secrets: Secrets) -> None:
        self._binding = binding
        self._deployment = deployment
        self._secrets = secrets
        # All that is kept of a tenant, and only of the last ones: an endpoint is made anew for each connection.
        self._tokens = Tokens(told=secrets.learn)

    def __call__(self, listener: Listener, tenant: str, caller: str) -> Awaitable[Connected]:
        binding = self._binding
        return open_session(
            self.endpoint(tenant, caller), listener, connect=binding.connect / 1000, elicitation=binding.elicitation
        )

    def endpoint(self, tenant: str, caller: str = "") -> Endpoint:
        """Where the server is, for one tenant and caller. Raises `HostError`."""
        return endpoint_of(self._binding, self._deployment, self._secrets, tenant, self._tokens, caller)


def endpoint_of(
    binding: McpBinding,
    deployment: Deployment,
    secrets: Secrets,
    tenant: str = "",
    tokens: Tokens | None = None,
    caller: str = "",
) -> Endpoint:
    """Where a server is and how it is asked, secrets resolved. Raises `HostError`."""
    if binding.kind == "stdio":
        folder = Path(deployment.folder, binding.folder or ".")
        return StdioEndpoint(binding.command, binding.arguments, _resolved(binding.environment, secrets, tenant, caller), folder)
    authorizer: Authorizer | None = None
    try:
        if binding.bearer is not None:
            authorizer = bearer(secrets.get(binding.bearer, tenant, caller))
        elif binding.oauth is not None:
            oauth = binding.oauth
            id = secrets.get(oauth.id.name, tenant, caller).reveal() if isinstance(oauth.id, NamedSecret) else oauth.id
            facts = ServerFacts(
                binding.url, tenant, deployment.hosts, oauth.scopes, oauth.issuer, Tokens() if tokens is None else tokens
            )
            authorizer = client_credentials(facts, id, secret=secrets.get(oauth.secret, tenant, caller))
    except McpError as error:
        raise HostError("AEL0843", f"{binding.url.partition('?')[0]} gets no credential: {error.message}") from None
    return HttpEndpoint(
        binding.url, binding.kind, _resolved(binding.headers, secrets, tenant, caller), authorizer, deployment.hosts
    )


def _resolved(values: Mapping[str, str | NamedSecret], secrets: Secrets, tenant: str, caller: str) -> dict[str, str | Secret]:
    return {
        name: secrets.get(value.name, tenant, caller) if isinstance(value, NamedSecret) else value
        for name, value in values.items()
    }
