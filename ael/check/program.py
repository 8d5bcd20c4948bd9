"""What the check gives: side tables keyed by node, and the specs of everything declared. Nothing here holds a value or code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from ael.check.packs import ALONE, Packs
from ael.data import dataclass, field
from ael.syntax import nodes as n
from ael.types.agent import EdgeSpec
from ael.types.definition import Definition
from ael.types.signature import Effects, Signature
from ael.types.spec import (
    ModelSpec,
    NodeSpec,
    OperationSpec,
    PermissionSpec,
    ProvideSpec,
    RoleSpec,
    ServerSpec,
    ServiceSpec,
    SkillSpec,
    StoreSpec,
    TestSpec,
    ToolSpec,
)
from ael.types.type import Type


@dataclass(frozen=True, eq=False)
class Local:
    """A local name: a parameter, `let`, `var`, binder. `slot` is unique within its top-level callable (`x`, `x_2`)."""

    name: str
    slot: str
    mutable: bool
    type: Type


@dataclass(frozen=True)
class Meaning:
    """What a `Reference` or a `FieldAccess` means when it is no field read.

    `kind`: `const`, `function` (a function value), `variant` (plain, the value is `member`), `record`, `enum`, `error`, `service`,
    `store`, `model`, `tool`, `node`, `agent`, `type` (a built-in or alias, before `.check`), `module`, `call_key` (`call.key` in a body),
    `fault`. `name` is qualified.
    """

    kind: Literal[
        "const", "function", "variant", "record", "enum", "error", "service", "store", "model", "tool", "node", "agent", "type", "module",
        "call_key", "fault", "provide", "permission", "builtin",
    ]  # fmt: skip
    name: str
    member: str = ""


Resolved: TypeAlias = Local | Meaning


@dataclass(frozen=True)
class CallInfo:
    """What a call does.

    `kind`:
    - `function`: an AEL `fn`, `name` qualified; compiled to `def`, or `async def` when it acts.
    - `effect`: a tool, node, operation or store operation (`main.notes.put`), or a built-in effect (`std.now`), through `Step`.
    - `record`, `error`, `variant` (`name` is `Enum.Variant` qualified): makes a value.
    - `builtin`: a pure function of the language or a method of a built-in type, by its name in the back end (`list.map`, `string.trim`).
    - `value`: a function value (a local, a parameter).
    - `check`: `T.check(x)`; the type is in `CheckedProgram.type_arguments[call]`.

    `arguments` are in parameter order (for a method the receiver first); None where the default or absence holds. `acts` says whether
    the call must be awaited.
    """

    kind: Literal["function", "effect", "record", "error", "variant", "builtin", "value", "check"]
    name: str
    arguments: tuple[n.Expr | None, ...]
    acts: bool = False


@dataclass(frozen=True)
class PatternInfo:
    """What a `TypePattern` or `VariantPattern` tests.

    `kind`: `error` (a declared error by qualified name, in a `catch`, or a record that is an error in a union), `fault` (a
    `FaultKind` or `Fault` for any), `uncertain`, `variant` (`name` is the variant; plain ones are strings), `type` (a union
    member: `type` says which).
    """

    kind: Literal["error", "fault", "uncertain", "variant", "type"]
    name: str
    type: Type | None = None


@dataclass(frozen=True)
class EdgeInfo:
    """What an edge of an agent means.

    `target` is qualified, "" for `finish`. `arguments` are those of its target in parameter order, None where the default or absence
    holds; for `finish` the one value. `passes`: nothing is written, and what the source gave is the one argument.
    """

    spec: EdgeSpec
    target: str
    arguments: tuple[n.Expr | None, ...] = ()
    passes: bool = False


@dataclass
class Tables:
    """The side tables of one module, filled in by the check and read-only afterwards."""

    types: dict[n.Node, Type] = field(default_factory=dict)
    resolved: dict[n.Node, Resolved] = field(default_factory=dict)
    """For `Reference` and `FieldAccess` expressions that are names, and `Assign.name`."""
    locals: dict[n.Node, Local] = field(default_factory=dict)
    """For what declares it: `Parameter`, `LambdaParameter`, `Let`, and the `Name` of a binder in a pattern, `for` or `parallel`."""
    calls: dict[n.Call, CallInfo] = field(default_factory=dict)
    patterns: dict[n.Node, PatternInfo] = field(default_factory=dict)
    fields: dict[n.Node, str] = field(default_factory=dict)
    """The wire name that a `FieldAccess`, `FieldValue`, or `FieldPattern` reads."""
    optional_reads: set[n.Node] = field(default_factory=set)
    """The `FieldAccess` nodes that read an optional field, so that an absent key gives null."""
    written: dict[n.Node, Type] = field(default_factory=dict)
    """What each `TypeExpr` means."""
    type_arguments: dict[n.Node, Type] = field(default_factory=dict)
    acting: set[n.Node] = field(default_factory=set)
    """`FunctionDecl`, `Lambda`, `ToolDecl`, `NodeDecl`, `ParallelFor` … whose code awaits something."""
    edges: dict[n.Edge, EdgeInfo] = field(default_factory=dict)
    outputs: dict[n.AgentDecl, dict[str, n.Name]] = field(default_factory=dict)
    """For an agent: the nodes that its edges name, with what declares the latest output of each (a key of `locals`)."""
    visited: dict[n.AgentDecl, dict[str, str]] = field(default_factory=dict)
    """For an agent: the nodes that its edges name, with their qualified names."""
    remote: dict[n.Node, tuple[n.Name, ...]] = field(default_factory=dict)
    """For a tool of an `mcp` block with code in its clauses: a name for each parameter, which is a key of `locals`."""
    failures: dict[n.Node, frozenset[str]] = field(default_factory=dict)
    """For `Try` and `Catch`: the errors (qualified), `Uncertain` included, that can come out of the operand."""


@dataclass(frozen=True)
class CheckedModule:
    """A module that was checked. `name` qualifies what it declares (`main`, `orders`, `std/text`)."""

    name: str
    tree: n.Module
    tables: Tables


@dataclass(frozen=True)
class CheckedProgram:
    """A whole program without errors. Keys are qualified names (`main.answer`, `orders.Orders.get`)."""

    modules: Mapping[str, CheckedModule]
    main: str
    definitions: Mapping[str, Definition]
    signatures: Mapping[str, Signature]
    effects: Mapping[str, Effects]
    declarations: Mapping[str, tuple[str, n.Declaration]]
    """Qualified name -> (module, node) of functions, tools, nodes, consts …; those of services and provides in their declaration."""
    permissions: Mapping[str, PermissionSpec]
    roles: Mapping[str, RoleSpec]
    tools: Mapping[str, ToolSpec]
    nodes: Mapping[str, NodeSpec]
    services: Mapping[str, ServiceSpec]
    operations: Mapping[str, OperationSpec]
    provides: Mapping[str, ProvideSpec]
    stores: Mapping[str, StoreSpec]
    models: Mapping[str, ModelSpec]
    tests: tuple[TestSpec, ...]
    constants: Mapping[str, object]
    """Values of `const`s and of defaults that are literal; a `const` is always a constant expression."""
    digest: str
    skills: Mapping[str, SkillSpec] = field(default_factory=dict)
    servers: Mapping[str, ServerSpec] = field(default_factory=dict)
    """MCP servers by the qualified name of their declaration; what is used of them is among `tools`."""
    packs: Packs = field(default_factory=lambda: ALONE)
    """The packs that it is made of."""
