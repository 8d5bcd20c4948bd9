"""What a checked declaration amounts to, without code: the facts that the check establishes and the run time enforces.

Durations are milliseconds, sizes bytes, money a Decimal in US dollars. `None` means "not said": the deployment's default holds.
Zero means zero, never "no limit" (K03).
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Literal

from ael.data import dataclass, field
from ael.types.agent import AgentSpec
from ael.types.definition import EnumDef, RecordDef
from ael.types.signature import Repeat, Signature
from ael.types.type import Type


@dataclass(frozen=True, slots=True)
class RetrySpec:
    """Retries of something idempotent after a temporary failure; `attempts` counts the first one."""

    attempts: int = 3
    backoff: Literal["fixed", "linear", "exponential"] = "exponential"
    base: int = 200
    cap: int = 10_000


@dataclass(frozen=True, slots=True)
class BudgetSpec:
    """What may be spent; also what a policy's `steps` and `tool_calls` say. `time` in milliseconds."""

    tokens: int | None = None
    cost: Decimal | None = None
    time: int | None = None
    steps: int | None = None
    tool_calls: int | None = None


@dataclass(frozen=True, slots=True)
class LimitSpec:
    """Sizes in bytes of a tool's whole input and result; `concurrent` calls at once."""

    input: int | None = None
    output: int | None = None
    concurrent: int | None = None


@dataclass(frozen=True, slots=True)
class ApprovalSpec:
    """`approval required by ROLE when COND`; the condition is compiled beside (`CompiledTool.approval_when`)."""

    role: str | None
    conditional: bool = False


@dataclass(frozen=True, slots=True)
class PermissionSpec:
    """A declared permission; `includes` is transitive and holds the permission itself."""

    name: str
    doc: str
    includes: frozenset[str]


@dataclass(frozen=True, slots=True)
class RoleSpec:
    name: str
    doc: str


@dataclass(frozen=True, slots=True)
class RemoteSpec:
    """What of an MCP server a tool stands for: `server` is the declaration's qualified name (`main.crm`).

    `wire` is the tool's or prompt's name there, or the URI (template) of a resource. `sha256` is its pin ("" for a resource, which has
    none). `text` says that the result is the text of the answer's content, since the tool declares no output schema. `extra` names the
    parameter whose entries are arguments of their own, where the input schema takes any others. `input` is the exact meaning of the input
    schema where it asks more of the object that is sent than the types of the parameters do (None: it does not).
    """

    server: str
    kind: Literal["tool", "resource", "prompt"]
    wire: str
    sha256: str = ""
    text: bool = False
    extra: str | None = None
    input: Type | None = None


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """A declared MCP server and the qualified names of what is used of it. `url` and `credential` as the program says them.

    `url` is a constant or the name of a setting (`url_setting`); `credential` the name of a secret. A deployment's `mcp` line goes first.
    """

    name: str
    doc: str = ""
    uses: tuple[str, ...] = ()
    url: str | None = None
    url_setting: str | None = None
    credential: str | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """`timeout` None is "not said", -1 is `timeout none`. `extern` is "module:function" for a Python function, `remote` an MCP tool."""

    name: str
    signature: Signature
    doc: str
    permission: str
    repeat: Repeat
    timeout: int | None = None
    limit: LimitSpec = field(default_factory=LimitSpec)
    approval: ApprovalSpec | None = None
    retry: RetrySpec | None = None
    taints: bool = False
    parallel: bool = False
    extern: str | None = None
    remote: RemoteSpec | None = None


@dataclass(frozen=True, slots=True)
class PolicySpec:
    """`one_call`, or `loop` with its bounds in the node's `BudgetSpec`."""

    kind: Literal["one_call", "loop"]


@dataclass(frozen=True, slots=True)
class SkillSpec:
    """A skill. `tools` and `skills` are the qualified names of what it names itself, in the order written; `instructions` its own text."""

    name: str
    version: str
    doc: str = ""
    instructions: str = ""
    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """`model` None means deterministic. `tools` are qualified names of tools, nodes and agents, in the order written, those of its
    skills after its own; `brought` has those that only a skill names, each with the skill that does.

    `instructions` is the node's own trusted text, each parameter that it names replaced by `<input name="…"/>`. `skills` are the skills
    that it (or the agent) uses, each once and after those that it uses itself. `grants` is closed under
    `includes`. `follow_ups` are told to its model one after another, each after a result, in the same conversation; the last result is
    the node's. `history_keep` is the N of `history keep N`; `history_summarize` the other form. `agent` is what an agent, which is
    visited as any other node, is made of.
    """

    name: str
    signature: Signature
    doc: str
    grants: frozenset[str]
    model: str | None = None
    policy: PolicySpec | None = None
    tools: tuple[str, ...] = ()
    budget: BudgetSpec = field(default_factory=BudgetSpec)
    attempts: int | None = None
    tool_choice: str = "auto"
    instructions: str = ""
    history_keep: int | None = None
    history_summarize: bool = False
    agent: AgentSpec | None = None
    skills: tuple[SkillSpec, ...] = ()
    brought: tuple[tuple[str, str], ...] = ()
    follow_ups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OperationSpec:
    """An operation of a service; `name` is `module.Service.operation`."""

    name: str
    signature: Signature
    doc: str
    permission: str | None
    repeat: Repeat
    timeout: int | None = None
    retry: RetrySpec | None = None
    limit: LimitSpec = field(default_factory=LimitSpec)


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    name: str
    doc: str
    operations: tuple[OperationSpec, ...]


@dataclass(frozen=True, slots=True)
class ProvideSpec:
    """An implementation of `service`; `name` is the alias or the service's name, qualified by the providing module.

    `automatic`: it serves where it is the only one. One of a pack that neither is the program's own nor declares the service serves only
    where the deployment names it. `standard`: it is the standard library's own, which serves where the program has none.
    """

    name: str
    service: str
    grants: frozenset[str]
    limit: LimitSpec = field(default_factory=LimitSpec)
    automatic: bool = True
    standard: bool = False


def unnamed(provides: Iterable[ProvideSpec]) -> list[ProvideSpec]:
    """Those of a service's providers that serve where the deployment names none; only a single one can.

    The standard library's own gives way to the program's: a connector takes its place by being there.
    """
    found = [provide for provide in provides if provide.automatic]
    return [provide for provide in found if not provide.standard] or found


@dataclass(frozen=True, slots=True)
class StoreSpec:
    """`store notes: Map<String, Note> needs notes.write`; `value` is the type of the map's values.

    Reading needs `permission` or a permission that it includes only when it is declared; all its operations need it. `outside`: the program
    may write outside data to it. `relied`: what is read of it goes where only clean values may, because the program writes none.
    """

    name: str
    value: Type
    permission: str | None
    doc: str = ""
    outside: bool = True
    relied: bool = False


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A declared model: `provider`, `model` (the provider's name of it), other settings, and the qualified name of its fallback."""

    name: str
    provider: str | None
    model: str | None
    settings: tuple[tuple[str, object], ...] = ()
    fallback: str | None = None


@dataclass(frozen=True, slots=True)
class TestSpec:
    """A `test` block; `name` is its title, `line` where it starts."""

    name: str
    module: str
    line: int


Declared = RecordDef | EnumDef
