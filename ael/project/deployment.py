"""A deployment: which models, stores, settings, secrets, prices, roles and limits a program gets. It binds, and may only tighten.

`Deployment` is data. `ael.project.bind` makes it from a `deploy.ael`; `ael.host` turns it into connections.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Literal

from ael.data import dataclass, field
from ael.project.logs import LogBinding
from ael.project.placements import PlacementBinding
from ael.project.runs import RunsBinding
from ael.project.serving import Serving
from ael.project.tenants import TenantBinding
from ael.types.spec import BudgetSpec


@dataclass(frozen=True)
class SecretSource:
    """Where a secret's value comes from: an environment variable, a file, or the keyring of the operating system.

    `service`: what the keyring files it under, beside its name.
    """

    kind: Literal["env", "file", "keyring"]
    name: str
    service: str = ""


@dataclass(frozen=True)
class ModelBinding:
    """`model fast = anthropic("claude-haiku-4-5", key: secret("KEY"), temperature: 0.2)`."""

    provider: str
    model: str | None
    key: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class StoreBinding:
    """`store notes = memory` or `sqlite("notes.db")`; the path is relative to the deployment's folder."""

    kind: Literal["memory", "sqlite"]
    path: str | None = None


@dataclass(frozen=True)
class ToolBinding:
    """`tool refund_order timeout 20s approval required by finance`: both may only tighten. `timeout` in milliseconds.

    `only`: the nodes (qualified names) inside of which alone it may be called, because its MCP server is theirs.
    """

    timeout: int | None = None
    approval: bool = False
    role: str | None = None
    denied: bool = False
    only: frozenset[str] | None = None


@dataclass(frozen=True)
class NamedSecret:
    """`secret("CRM_TOKEN")`: stands where its value goes, which the deployment's `secret` line of that name finds."""

    name: str


@dataclass(frozen=True)
class ClientCredentials:
    """`oauth: client_credentials(id: "…", secret: secret("S"), scopes: ["a"], issuer: "https://…")`; `secret` is the secret's name.

    `issuer`: the one authorization server that may see it; None: the one that the server names first.
    """

    id: str | NamedSecret
    secret: str
    scopes: tuple[str, ...] = ()
    issuer: str | None = None


@dataclass(frozen=True)
class McpBinding:
    """`mcp crm = http("https://…", bearer: secret("T"))`, `sse(…)`, `stdio("npx", "-y", "server", env: {…}, folder: ".")`.

    Also what `url` and `credential` of the program's own declaration come to, where no line binds the server: `http`, with the
    credential as `bearer`. `bearer` is the name of a secret. `folder` is relative to the deployment's. Times in milliseconds; None is
    "not said". `tools` are the wire names that are let through (None: all that the program uses); the others are denied as tools
    (`ToolBinding.denied`), so nobody else has to look at it.
    """

    kind: Literal["http", "sse", "stdio"]
    url: str = ""
    headers: Mapping[str, str | NamedSecret] = field(default_factory=dict)
    bearer: str | None = None
    oauth: ClientCredentials | None = None
    command: str = ""
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str | NamedSecret] = field(default_factory=dict)
    folder: str | None = None
    connect: int = 60_000
    timeout: int | None = None
    idle: int | None = None
    concurrent: int = 8
    retries: int = 2
    manifest: int = 300_000
    failures: int = 5
    cooldown: int = 30_000
    elicitation: bool = False
    tools: frozenset[str] | None = None


@dataclass(frozen=True)
class PriceEntry:
    """`price "gpt-5-mini" input $0.25 output $2.00`: per million tokens."""

    model: str
    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    since: str = ""


@dataclass(frozen=True)
class Defaults:
    """What holds where neither the program nor the deployment says anything (language.md, section 6). Times in milliseconds."""

    steps: int = 8
    tool_calls: int = 16
    tokens: int = 50_000
    cost: Decimal | None = None
    time: int = 300_000
    tool_timeout: int = 30_000
    attempts: int = 3


@dataclass(frozen=True)
class SizeLimits:
    """Bytes, except `depth` (levels of nesting)."""

    input: int = 256 * 1024
    result: int = 64 * 1024
    output: int = 256 * 1024
    depth: int = 32


@dataclass(frozen=True)
class Deployment:
    """Everything that a deployment says; the empty one is the printed default."""

    name: str = "default"
    folder: str = "."
    models: Mapping[str, ModelBinding] = field(default_factory=dict)
    stores: Mapping[str, StoreBinding] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    secrets: Mapping[str, SecretSource] = field(default_factory=dict)
    owned_secrets: Mapping[tuple[str, str], SecretSource] = field(default_factory=dict)
    """(tenant or `tenant/caller`, secret) -> where their own is: a caller's goes before its tenant's, that before the common one."""
    tools: Mapping[str, ToolBinding] = field(default_factory=dict)
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    services: Mapping[str, str] = field(default_factory=dict)
    """Service -> the provide that is bound, by alias."""
    placements: Mapping[str, PlacementBinding] = field(default_factory=dict)
    """What runs elsewhere: services and nodes by qualified name, edges by `ael.types.agent.pair`."""
    here: frozenset[str] = frozenset()
    """The edges whose visits stay in the process although their node runs elsewhere."""
    servers: Mapping[str, McpBinding] = field(default_factory=dict)
    """MCP servers by the qualified name of their declaration (`main.crm`)."""
    commands: frozenset[str] = frozenset()
    """The programs that may be started as servers: `command "npx"`."""
    serving: Serving = field(default_factory=Serving)
    runs: RunsBinding = field(default_factory=RunsBinding)
    natives: Mapping[str, object] = field(default_factory=dict)
    """What it says of a topic of the standard library's native effects (`files = …`), by topic."""
    logs: tuple[LogBinding, ...] = ()
    """Where the log entries and traces of the runs are sent."""
    prices: tuple[PriceEntry, ...] = ()
    hosts: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    """Permissions that the operator denies to everybody here."""
    allowed: frozenset[str] | None = None
    """The only permissions that the operator allows here; None: all that are not denied."""
    tenants: Mapping[str, TenantBinding] = field(default_factory=dict)
    """The tenants whose runs are taken; empty: any tenant's, without limits of their own."""
    run_budget: BudgetSpec = field(default_factory=BudgetSpec)
    defaults: Defaults = field(default_factory=Defaults)
    limits: SizeLimits = field(default_factory=SizeLimits)
