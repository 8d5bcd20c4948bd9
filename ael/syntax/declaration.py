"""Nodes of declarations: modules (`*.ael`), packs (`pack.ael`) and deployments (`deploy.ael`)."""

from __future__ import annotations

from typing import TypeAlias

from ael.source import Source, Span
from ael.syntax.clause import Clause
from ael.syntax.code import Argument, Block, Expr, StringLit, TypeExpr
from ael.syntax.tree import Doc, Name, Node, Path, node

# --- parts of declarations -------------------------------------------------------------------------------------------


@node
class Field(Node):
    """A field of a record, error or variant: `name?: T as "wire" = default`."""

    doc: Doc | None
    name: Name
    optional: bool
    type: TypeExpr
    wire: StringLit | None
    default: Expr | None


@node
class Parameter(Node):
    """A parameter: `trusted name?: T as "wire" = default`."""

    name: Name
    trusted: bool
    optional: bool
    type: TypeExpr
    wire: StringLit | None
    default: Expr | None


@node
class TypeParameter(Node):
    name: Name


@node
class Variant(Node):
    """A variant of an enum; plain when it has no fields."""

    doc: Doc | None
    name: Name
    fields: tuple[Field, ...]


# --- declarations ----------------------------------------------------------------------------------------------------


@node
class UseName(Node):
    """One imported name, `Order` or `Order as O`."""

    name: Name
    alias: Name | None


@node
class Use(Node):
    """`use ./orders.{Order, Orders}`, `use std/model.Model`, `use std/text`, `use ./orders as o`.

    `module` is the path as written (`./orders`, `std/text`); `names` is empty when the module itself is used, under `alias` or its
    last part.
    """

    module: str
    module_span: Span
    names: tuple[UseName, ...]
    alias: Name | None


@node
class PermissionDecl(Node):
    doc: Doc | None
    path: Path
    includes: tuple[Path, ...]


@node
class RoleDecl(Node):
    doc: Doc | None
    path: Path


@node
class EnumDecl(Node):
    doc: Doc | None
    public: bool
    name: Name
    variants: tuple[Variant, ...]


@node
class RecordDecl(Node):
    doc: Doc | None
    public: bool
    open: bool
    name: Name
    fields: tuple[Field, ...]


@node
class ErrorDecl(Node):
    doc: Doc | None
    public: bool
    name: Name
    fields: tuple[Field, ...]


@node
class TypeDecl(Node):
    """`type Name = T`."""

    doc: Doc | None
    public: bool
    name: Name
    type: TypeExpr


@node
class ConstDecl(Node):
    doc: Doc | None
    public: bool
    name: Name
    type: TypeExpr | None
    value: Expr


@node
class FunctionDecl(Node):
    """`fn name<T>(parameters) -> T fails E { … }`; also an operation's implementation in a `provide` and a skill's function."""

    doc: Doc | None
    public: bool
    name: Name
    type_parameters: tuple[TypeParameter, ...]
    parameters: tuple[Parameter, ...]
    result: TypeExpr | None
    fails: tuple[Path, ...]
    body: Block


@node
class Extern(Node):
    """`extern "module:function"` in place of a body."""

    target: StringLit


@node
class ToolDecl(Node):
    doc: Doc | None
    public: bool
    name: Name
    parameters: tuple[Parameter, ...]
    result: TypeExpr | None
    fails: tuple[Path, ...]
    clauses: tuple[Clause, ...]
    body: Block | Extern


@node
class Instructions(Node):
    """`instructions "…"`; with `from_file` the template is the path of a text file of the pack: `instructions from "refunds.md"`."""

    template: StringLit
    from_file: bool


@node
class Input(Node):
    """`input expr` in a node's body: what goes into the user message instead of all parameters."""

    value: Expr


@node
class Require(Node):
    """`require condition, "message for the model"`."""

    condition: Expr
    message: Expr | None


@node
class FollowUp(Node):
    """`follow_up "…"`: what the model is told after its result, in the same conversation, for another one."""

    template: StringLit


@node
class Example(Node):
    """One `input => output` of `examples [ … ]`; several parameters are given as a map of their names."""

    input: Expr
    output: Expr


@node
class Examples(Node):
    items: tuple[Example, ...]


ModelItem: TypeAlias = Instructions | Input | Require | FollowUp | Examples


@node
class ModelBody(Node):
    """The body of a model-driven node."""

    items: tuple[ModelItem, ...]


@node
class NodeDecl(Node):
    doc: Doc | None
    public: bool
    name: Name
    parameters: tuple[Parameter, ...]
    result: TypeExpr | None
    fails: tuple[Path, ...]
    clauses: tuple[Clause, ...]
    body: ModelBody | Block


@node
class EdgeTarget(Node):
    """`finish`, `answer(ticket, classify)`, `each research(plan.topics)`; `arguments` is None without parentheses."""

    name: Name
    arguments: tuple[Argument, ...] | None
    each: bool


@node
class Edge(Node):
    """`edge a, b -> c(args) when COND | otherwise | on ERROR, … | up to N`; `joined` for `a & b`."""

    doc: Doc | None
    sources: tuple[Name, ...]
    joined: bool
    target: EdgeTarget
    condition: Expr | None
    otherwise: bool
    errors: tuple[Path, ...]
    limit: Expr | None


@node
class AgentDecl(Node):
    doc: Doc | None
    public: bool
    name: Name
    parameters: tuple[Parameter, ...]
    result: TypeExpr | None
    fails: tuple[Path, ...]
    clauses: tuple[Clause, ...]
    edges: tuple[Edge, ...]


@node
class SkillDecl(Node):
    doc: Doc | None
    public: bool
    name: Name
    clauses: tuple[Clause, ...]
    instructions: Instructions | None
    functions: tuple[FunctionDecl, ...]


@node
class Operation(Node):
    """An operation of a service: a signature with clauses."""

    doc: Doc | None
    name: Name
    parameters: tuple[Parameter, ...]
    result: TypeExpr | None
    fails: tuple[Path, ...]
    clauses: tuple[Clause, ...]


@node
class ServiceDecl(Node):
    doc: Doc | None
    public: bool
    name: Name
    operations: tuple[Operation, ...]


@node
class ProvideDecl(Node):
    """`provide Orders as sql_orders grants … { fn get(id: String) -> Order { … } }`; `module` as in `std/model.Model`, else None."""

    doc: Doc | None
    module: str | None
    service: Path
    alias: Name | None
    clauses: tuple[Clause, ...]
    functions: tuple[FunctionDecl, ...]


@node
class McpTool(Node):
    """`tool get_customer as "get-customer"  needs crm.read  repeat idempotent`: a tool of an MCP server, under its name there."""

    doc: Doc | None
    name: Name
    wire: StringLit | None
    clauses: tuple[Clause, ...]


@node
class McpResource(Node):
    """`resource readme "file:///{path}" -> Type  needs docs.read`: a URI, or a template of URIs whose variables are parameters."""

    doc: Doc | None
    name: Name
    uri: StringLit
    type: TypeExpr | None
    clauses: tuple[Clause, ...]


@node
class McpPrompt(Node):
    """`prompt review as "code_review"  needs docs.read`."""

    doc: Doc | None
    name: Name
    wire: StringLit | None
    clauses: tuple[Clause, ...]


McpMember: TypeAlias = McpTool | McpResource | McpPrompt
"""What an `mcp` block uses of its server."""


@node
class Setting(Node):
    """`name value`: a setting of a model or of an MCP server (`url setting("CRM_URL")`, `temperature 0.2`)."""

    name: Name
    value: Expr


@node
class McpDecl(Node):
    doc: Doc | None
    public: bool
    name: Name
    settings: tuple[Setting, ...]
    tools: tuple[McpTool, ...]
    resources: tuple[McpResource, ...]
    prompts: tuple[McpPrompt, ...]

    @property
    def members(self) -> tuple[McpMember, ...]:
        """What it uses of its server, in the order written."""
        return tuple(sorted((*self.tools, *self.resources, *self.prompts), key=lambda member: member.span.start))


@node
class ModelDecl(Node):
    doc: Doc | None
    public: bool
    name: Name
    settings: tuple[Setting, ...]


@node
class StoreDecl(Node):
    doc: Doc | None
    public: bool
    name: Name
    type: TypeExpr
    clauses: tuple[Clause, ...]


@node
class TestDecl(Node):
    doc: Doc | None
    title: StringLit
    body: Block


# --- pack.ael ----------------------------------------------------------------------------------------------------------


@node
class Depends(Node):
    """`depends refunds "1.2" from "../refunds"`."""

    name: Name
    version: StringLit
    origin: StringLit | None


@node
class PackDecl(Node):
    """`pack support { version "0.1.0"  uses std/process  depends …  extern "module" }`."""

    doc: Doc | None
    name: Name
    version: StringLit | None
    uses: tuple[str, ...]
    depends: tuple[Depends, ...]
    externs: tuple[StringLit, ...]


# --- deploy.ael --------------------------------------------------------------------------------------------------------


@node
class BindingOption(Node):
    """`retry 3`, `limit concurrent 64`, `approval required`: a word with what follows it, after a binding's value."""

    name: Name
    values: tuple[Expr, ...]


@node
class Binding(Node):
    """`model fast = anthropic("…")`, `edge a.b -> a.c = grpc("…")`, `runs = sqlite("…")`, `tool refund_order timeout 20s`.

    `kind` is the first word (`model service node edge store tool mcp role setting secret runs log host command limit default`),
    `subject` what it binds (None for `runs`, `log`), `target` the far end of an edge, `value` what follows `=`.
    """

    doc: Doc | None
    kind: Name
    subject: Path | None
    target: Path | None
    value: Expr | None
    clauses: tuple[Clause, ...]
    options: tuple[BindingOption, ...]


@node
class TenantDecl(Node):
    """`tenant acme { grants …  deny …  budget cost $50 per day }`."""

    doc: Doc | None
    name: Name
    clauses: tuple[Clause, ...]


Declaration: TypeAlias = (
    Use | PermissionDecl | RoleDecl | EnumDecl | RecordDecl | ErrorDecl | TypeDecl | ConstDecl | FunctionDecl | ToolDecl
    | NodeDecl | AgentDecl | SkillDecl | ServiceDecl | ProvideDecl | McpDecl | ModelDecl | StoreDecl | TestDecl | PackDecl
    | Binding | TenantDecl
)  # fmt: skip


@node
class Comment(Node):
    """A `//` comment (doc comments are part of their declaration): its text with the slashes, and whether code stands before it."""

    text: str
    trailing: bool


@node
class Module(Node):
    """A parsed file. Declarations that did not parse are missing here and reported instead."""

    source: Source
    doc: Doc | None
    declarations: tuple[Declaration, ...]
    comments: tuple[Comment, ...]
