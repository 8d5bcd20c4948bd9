"""Makes nodes, one function for each class, built by `python -m grammar.build`: not edited by hand.

A node is filled as its open twin and then given its class: half the time of a constructor, which the parser spends most of its time in.
"""

# mypy: disable-error-code="misc,assignment"
# fmt: off
# ruff: noqa

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from ael.source import Source, Span
from ael.syntax.nodes import (
    AgentDecl,
    Amount,
    Approval,
    Argument,
    Arm,
    Assert,
    Assign,
    Attempts,
    Binary,
    BinaryOp,
    BinderPattern,
    Binding,
    BindingOption,
    Block,
    BoolLit,
    Bound,
    Break,
    Budget,
    Call,
    Catch,
    Clause,
    Comment,
    Compensate,
    ConstDecl,
    Continue,
    Declaration,
    Depends,
    Doc,
    DurationLit,
    Edge,
    EdgeTarget,
    EnumDecl,
    ErrorDecl,
    Example,
    Examples,
    Expr,
    ExprStatement,
    Extern,
    Fail,
    Field,
    FieldAccess,
    FieldPattern,
    FieldValue,
    FloatLit,
    FollowUp,
    For,
    FunctionDecl,
    FunctionType,
    Grants,
    History,
    If,
    Index,
    Input,
    Instructions,
    IntLit,
    Lambda,
    LambdaParameter,
    Let,
    Limit,
    ListLit,
    ListPattern,
    LiteralPattern,
    LiteralType,
    MapEntry,
    MapLit,
    Match,
    McpDecl,
    McpPrompt,
    McpResource,
    McpTool,
    ModelBody,
    ModelClause,
    ModelDecl,
    ModelItem,
    Module,
    MoneyLit,
    Name,
    NamedType,
    Needs,
    NodeDecl,
    NullLit,
    Operation,
    OptionalType,
    OrPattern,
    PackDecl,
    ParallelClause,
    ParallelFor,
    ParallelRecord,
    Parameter,
    Path,
    Pattern,
    PermissionDecl,
    Policy,
    ProvideDecl,
    Range,
    RecordDecl,
    Reference,
    RepeatClause,
    Require,
    Retry,
    Return,
    RoleDecl,
    Row,
    Rows,
    Script,
    ServiceDecl,
    Setting,
    SizeLit,
    SkillDecl,
    Skills,
    Statement,
    StoreDecl,
    StringLit,
    Taints,
    TenantDecl,
    TestDecl,
    TextPart,
    Timeout,
    ToolChoice,
    ToolDecl,
    Tools,
    Try,
    TypeDecl,
    TypeExpr,
    TypeParameter,
    TypePattern,
    Unary,
    UnaryOp,
    UnionType,
    Use,
    UseName,
    Variant,
    VariantPattern,
    Version,
    While,
    WildcardPattern,
    With,
)
from ael.syntax.tree import open_twin

_new = object.__new__
_tuple = tuple.__new__

_AgentDecl = open_twin(AgentDecl)


def make_agent_decl(start: int, end: int, doc: Doc | None, public: bool, name: Name, parameters: tuple[Parameter, ...], result: TypeExpr | None, fails: tuple[Path, ...], clauses: tuple[Clause, ...], edges: tuple[Edge, ...]) -> AgentDecl:
    o = _new(_AgentDecl)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.public = public
    o.name = name
    o.parameters = parameters
    o.result = result
    o.fails = fails
    o.clauses = clauses
    o.edges = edges
    o.__class__ = AgentDecl
    return o


_Amount = open_twin(Amount)


def make_amount(start: int, end: int, name: Name, value: Expr, per: Name | None) -> Amount:
    o = _new(_Amount)
    o.span = _tuple(Span, (start, end))
    o.name = name
    o.value = value
    o.per = per
    o.__class__ = Amount
    return o


_Approval = open_twin(Approval)


def make_approval(start: int, end: int, role: Path | None, condition: Expr | None) -> Approval:
    o = _new(_Approval)
    o.span = _tuple(Span, (start, end))
    o.role = role
    o.condition = condition
    o.__class__ = Approval
    return o


_Argument = open_twin(Argument)


def make_argument(start: int, end: int, name: Name | None, value: Expr) -> Argument:
    o = _new(_Argument)
    o.span = _tuple(Span, (start, end))
    o.name = name
    o.value = value
    o.__class__ = Argument
    return o


_Arm = open_twin(Arm)


def make_arm(start: int, end: int, pattern: Pattern, guard: Expr | None, body: Expr | Block) -> Arm:
    o = _new(_Arm)
    o.span = _tuple(Span, (start, end))
    o.pattern = pattern
    o.guard = guard
    o.body = body
    o.__class__ = Arm
    return o


_Assert = open_twin(Assert)


def make_assert(start: int, end: int, condition: Expr, message: Expr | None) -> Assert:
    o = _new(_Assert)
    o.span = _tuple(Span, (start, end))
    o.condition = condition
    o.message = message
    o.__class__ = Assert
    return o


_Assign = open_twin(Assign)


def make_assign(start: int, end: int, name: Name, value: Expr) -> Assign:
    o = _new(_Assign)
    o.span = _tuple(Span, (start, end))
    o.name = name
    o.value = value
    o.__class__ = Assign
    return o


_Attempts = open_twin(Attempts)


def make_attempts(start: int, end: int, value: Expr) -> Attempts:
    o = _new(_Attempts)
    o.span = _tuple(Span, (start, end))
    o.value = value
    o.__class__ = Attempts
    return o


_Binary = open_twin(Binary)


def make_binary(start: int, end: int, op: BinaryOp, left: Expr, right: Expr) -> Binary:
    o = _new(_Binary)
    o.span = _tuple(Span, (start, end))
    o.op = op
    o.left = left
    o.right = right
    o.__class__ = Binary
    return o


_BinderPattern = open_twin(BinderPattern)


def make_binder_pattern(start: int, end: int, name: Name) -> BinderPattern:
    o = _new(_BinderPattern)
    o.span = _tuple(Span, (start, end))
    o.name = name
    o.__class__ = BinderPattern
    return o


_Binding = open_twin(Binding)


def make_binding(start: int, end: int, doc: Doc | None, kind: Name, subject: Path | None, target: Path | None, value: Expr | None, clauses: tuple[Clause, ...], options: tuple[BindingOption, ...]) -> Binding:
    o = _new(_Binding)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.kind = kind
    o.subject = subject
    o.target = target
    o.value = value
    o.clauses = clauses
    o.options = options
    o.__class__ = Binding
    return o


_BindingOption = open_twin(BindingOption)


def make_binding_option(start: int, end: int, name: Name, values: tuple[Expr, ...]) -> BindingOption:
    o = _new(_BindingOption)
    o.span = _tuple(Span, (start, end))
    o.name = name
    o.values = values
    o.__class__ = BindingOption
    return o


_Block = open_twin(Block)


def make_block(start: int, end: int, statements: tuple[Statement, ...]) -> Block:
    o = _new(_Block)
    o.span = _tuple(Span, (start, end))
    o.statements = statements
    o.__class__ = Block
    return o


_BoolLit = open_twin(BoolLit)


def make_bool_lit(start: int, end: int, value: bool) -> BoolLit:
    o = _new(_BoolLit)
    o.span = _tuple(Span, (start, end))
    o.value = value
    o.__class__ = BoolLit
    return o


_Bound = open_twin(Bound)


def make_bound(start: int, end: int, name: Name | None, value: Expr) -> Bound:
    o = _new(_Bound)
    o.span = _tuple(Span, (start, end))
    o.name = name
    o.value = value
    o.__class__ = Bound
    return o


_Break = open_twin(Break)


def make_break(start: int, end: int) -> Break:
    o = _new(_Break)
    o.span = _tuple(Span, (start, end))
    o.__class__ = Break
    return o


_Budget = open_twin(Budget)


def make_budget(start: int, end: int, amounts: tuple[Amount, ...]) -> Budget:
    o = _new(_Budget)
    o.span = _tuple(Span, (start, end))
    o.amounts = amounts
    o.__class__ = Budget
    return o


_Call = open_twin(Call)


def make_call(start: int, end: int, callee: Expr, arguments: tuple[Argument, ...]) -> Call:
    o = _new(_Call)
    o.span = _tuple(Span, (start, end))
    o.callee = callee
    o.arguments = arguments
    o.__class__ = Call
    return o


_Catch = open_twin(Catch)


def make_catch(start: int, end: int, operand: Expr, arms: tuple[Arm, ...], passes: bool) -> Catch:
    o = _new(_Catch)
    o.span = _tuple(Span, (start, end))
    o.operand = operand
    o.arms = arms
    o.passes = passes
    o.__class__ = Catch
    return o


_Comment = open_twin(Comment)


def make_comment(start: int, end: int, text: str, trailing: bool) -> Comment:
    o = _new(_Comment)
    o.span = _tuple(Span, (start, end))
    o.text = text
    o.trailing = trailing
    o.__class__ = Comment
    return o


_Compensate = open_twin(Compensate)


def make_compensate(start: int, end: int, body: Block) -> Compensate:
    o = _new(_Compensate)
    o.span = _tuple(Span, (start, end))
    o.body = body
    o.__class__ = Compensate
    return o


_ConstDecl = open_twin(ConstDecl)


def make_const_decl(start: int, end: int, doc: Doc | None, public: bool, name: Name, type: TypeExpr | None, value: Expr) -> ConstDecl:
    o = _new(_ConstDecl)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.public = public
    o.name = name
    o.type = type
    o.value = value
    o.__class__ = ConstDecl
    return o


_Continue = open_twin(Continue)


def make_continue(start: int, end: int) -> Continue:
    o = _new(_Continue)
    o.span = _tuple(Span, (start, end))
    o.__class__ = Continue
    return o


_Depends = open_twin(Depends)


def make_depends(start: int, end: int, name: Name, version: StringLit, origin: StringLit | None) -> Depends:
    o = _new(_Depends)
    o.span = _tuple(Span, (start, end))
    o.name = name
    o.version = version
    o.origin = origin
    o.__class__ = Depends
    return o


_Doc = open_twin(Doc)


def make_doc(start: int, end: int, text: str) -> Doc:
    o = _new(_Doc)
    o.span = _tuple(Span, (start, end))
    o.text = text
    o.__class__ = Doc
    return o


_DurationLit = open_twin(DurationLit)


def make_duration_lit(start: int, end: int, milliseconds: int, text_form: str) -> DurationLit:
    o = _new(_DurationLit)
    o.span = _tuple(Span, (start, end))
    o.milliseconds = milliseconds
    o.text_form = text_form
    o.__class__ = DurationLit
    return o


_Edge = open_twin(Edge)


def make_edge(start: int, end: int, doc: Doc | None, sources: tuple[Name, ...], joined: bool, target: EdgeTarget, condition: Expr | None, otherwise: bool, errors: tuple[Path, ...], limit: Expr | None) -> Edge:
    o = _new(_Edge)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.sources = sources
    o.joined = joined
    o.target = target
    o.condition = condition
    o.otherwise = otherwise
    o.errors = errors
    o.limit = limit
    o.__class__ = Edge
    return o


_EdgeTarget = open_twin(EdgeTarget)


def make_edge_target(start: int, end: int, name: Name, arguments: tuple[Argument, ...] | None, each: bool) -> EdgeTarget:
    o = _new(_EdgeTarget)
    o.span = _tuple(Span, (start, end))
    o.name = name
    o.arguments = arguments
    o.each = each
    o.__class__ = EdgeTarget
    return o


_EnumDecl = open_twin(EnumDecl)


def make_enum_decl(start: int, end: int, doc: Doc | None, public: bool, name: Name, variants: tuple[Variant, ...]) -> EnumDecl:
    o = _new(_EnumDecl)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.public = public
    o.name = name
    o.variants = variants
    o.__class__ = EnumDecl
    return o


_ErrorDecl = open_twin(ErrorDecl)


def make_error_decl(start: int, end: int, doc: Doc | None, public: bool, name: Name, fields: tuple[Field, ...]) -> ErrorDecl:
    o = _new(_ErrorDecl)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.public = public
    o.name = name
    o.fields = fields
    o.__class__ = ErrorDecl
    return o


_Example = open_twin(Example)


def make_example(start: int, end: int, input: Expr, output: Expr) -> Example:
    o = _new(_Example)
    o.span = _tuple(Span, (start, end))
    o.input = input
    o.output = output
    o.__class__ = Example
    return o


_Examples = open_twin(Examples)


def make_examples(start: int, end: int, items: tuple[Example, ...]) -> Examples:
    o = _new(_Examples)
    o.span = _tuple(Span, (start, end))
    o.items = items
    o.__class__ = Examples
    return o


_ExprStatement = open_twin(ExprStatement)


def make_expr_statement(start: int, end: int, value: Expr) -> ExprStatement:
    o = _new(_ExprStatement)
    o.span = _tuple(Span, (start, end))
    o.value = value
    o.__class__ = ExprStatement
    return o


_Extern = open_twin(Extern)


def make_extern(start: int, end: int, target: StringLit) -> Extern:
    o = _new(_Extern)
    o.span = _tuple(Span, (start, end))
    o.target = target
    o.__class__ = Extern
    return o


_Fail = open_twin(Fail)


def make_fail(start: int, end: int, value: Expr) -> Fail:
    o = _new(_Fail)
    o.span = _tuple(Span, (start, end))
    o.value = value
    o.__class__ = Fail
    return o


_Field = open_twin(Field)


def make_field(start: int, end: int, doc: Doc | None, name: Name, optional: bool, type: TypeExpr, wire: StringLit | None, default: Expr | None) -> Field:
    o = _new(_Field)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.name = name
    o.optional = optional
    o.type = type
    o.wire = wire
    o.default = default
    o.__class__ = Field
    return o


_FieldAccess = open_twin(FieldAccess)


def make_field_access(start: int, end: int, target: Expr, name: Name) -> FieldAccess:
    o = _new(_FieldAccess)
    o.span = _tuple(Span, (start, end))
    o.target = target
    o.name = name
    o.__class__ = FieldAccess
    return o


_FieldPattern = open_twin(FieldPattern)


def make_field_pattern(start: int, end: int, name: Name | None, pattern: Pattern) -> FieldPattern:
    o = _new(_FieldPattern)
    o.span = _tuple(Span, (start, end))
    o.name = name
    o.pattern = pattern
    o.__class__ = FieldPattern
    return o


_FieldValue = open_twin(FieldValue)


def make_field_value(start: int, end: int, name: Name, value: Expr) -> FieldValue:
    o = _new(_FieldValue)
    o.span = _tuple(Span, (start, end))
    o.name = name
    o.value = value
    o.__class__ = FieldValue
    return o


_FloatLit = open_twin(FloatLit)


def make_float_lit(start: int, end: int, text: str) -> FloatLit:
    o = _new(_FloatLit)
    o.span = _tuple(Span, (start, end))
    o.text = text
    o.__class__ = FloatLit
    return o


_FollowUp = open_twin(FollowUp)


def make_follow_up(start: int, end: int, template: StringLit) -> FollowUp:
    o = _new(_FollowUp)
    o.span = _tuple(Span, (start, end))
    o.template = template
    o.__class__ = FollowUp
    return o


_For = open_twin(For)


def make_for(start: int, end: int, index: Name | None, binder: Name, iterable: Expr, body: Block) -> For:
    o = _new(_For)
    o.span = _tuple(Span, (start, end))
    o.index = index
    o.binder = binder
    o.iterable = iterable
    o.body = body
    o.__class__ = For
    return o


_FunctionDecl = open_twin(FunctionDecl)


def make_function_decl(start: int, end: int, doc: Doc | None, public: bool, name: Name, type_parameters: tuple[TypeParameter, ...], parameters: tuple[Parameter, ...], result: TypeExpr | None, fails: tuple[Path, ...], body: Block) -> FunctionDecl:
    o = _new(_FunctionDecl)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.public = public
    o.name = name
    o.type_parameters = type_parameters
    o.parameters = parameters
    o.result = result
    o.fails = fails
    o.body = body
    o.__class__ = FunctionDecl
    return o


_FunctionType = open_twin(FunctionType)


def make_function_type(start: int, end: int, parameters: tuple[TypeExpr, ...], result: TypeExpr) -> FunctionType:
    o = _new(_FunctionType)
    o.span = _tuple(Span, (start, end))
    o.parameters = parameters
    o.result = result
    o.__class__ = FunctionType
    return o


_Grants = open_twin(Grants)


def make_grants(start: int, end: int, permissions: tuple[Path, ...], deny: bool) -> Grants:
    o = _new(_Grants)
    o.span = _tuple(Span, (start, end))
    o.permissions = permissions
    o.deny = deny
    o.__class__ = Grants
    return o


_History = open_twin(History)


def make_history(start: int, end: int, keep: Expr | None) -> History:
    o = _new(_History)
    o.span = _tuple(Span, (start, end))
    o.keep = keep
    o.__class__ = History
    return o


_If = open_twin(If)


def make_if(start: int, end: int, condition: Expr, then: Block, otherwise: Block | If | None) -> If:
    o = _new(_If)
    o.span = _tuple(Span, (start, end))
    o.condition = condition
    o.then = then
    o.otherwise = otherwise
    o.__class__ = If
    return o


_Index = open_twin(Index)


def make_index(start: int, end: int, target: Expr, index: Expr) -> Index:
    o = _new(_Index)
    o.span = _tuple(Span, (start, end))
    o.target = target
    o.index = index
    o.__class__ = Index
    return o


_Input = open_twin(Input)


def make_input(start: int, end: int, value: Expr) -> Input:
    o = _new(_Input)
    o.span = _tuple(Span, (start, end))
    o.value = value
    o.__class__ = Input
    return o


_Instructions = open_twin(Instructions)


def make_instructions(start: int, end: int, template: StringLit, from_file: bool) -> Instructions:
    o = _new(_Instructions)
    o.span = _tuple(Span, (start, end))
    o.template = template
    o.from_file = from_file
    o.__class__ = Instructions
    return o


_IntLit = open_twin(IntLit)


def make_int_lit(start: int, end: int, value: int, text_form: str) -> IntLit:
    o = _new(_IntLit)
    o.span = _tuple(Span, (start, end))
    o.value = value
    o.text_form = text_form
    o.__class__ = IntLit
    return o


_Lambda = open_twin(Lambda)


def make_lambda(start: int, end: int, parameters: tuple[LambdaParameter, ...], body: Expr | Block) -> Lambda:
    o = _new(_Lambda)
    o.span = _tuple(Span, (start, end))
    o.parameters = parameters
    o.body = body
    o.__class__ = Lambda
    return o


_LambdaParameter = open_twin(LambdaParameter)


def make_lambda_parameter(start: int, end: int, name: Name, type: TypeExpr | None) -> LambdaParameter:
    o = _new(_LambdaParameter)
    o.span = _tuple(Span, (start, end))
    o.name = name
    o.type = type
    o.__class__ = LambdaParameter
    return o


_Let = open_twin(Let)


def make_let(start: int, end: int, name: Name, type: TypeExpr | None, value: Expr, mutable: bool) -> Let:
    o = _new(_Let)
    o.span = _tuple(Span, (start, end))
    o.name = name
    o.type = type
    o.value = value
    o.mutable = mutable
    o.__class__ = Let
    return o


_Limit = open_twin(Limit)


def make_limit(start: int, end: int, amounts: tuple[Amount, ...]) -> Limit:
    o = _new(_Limit)
    o.span = _tuple(Span, (start, end))
    o.amounts = amounts
    o.__class__ = Limit
    return o


_ListLit = open_twin(ListLit)


def make_list_lit(start: int, end: int, items: tuple[Expr, ...]) -> ListLit:
    o = _new(_ListLit)
    o.span = _tuple(Span, (start, end))
    o.items = items
    o.__class__ = ListLit
    return o


_ListPattern = open_twin(ListPattern)


def make_list_pattern(start: int, end: int, items: tuple[Pattern, ...], rest: BinderPattern | WildcardPattern | None) -> ListPattern:
    o = _new(_ListPattern)
    o.span = _tuple(Span, (start, end))
    o.items = items
    o.rest = rest
    o.__class__ = ListPattern
    return o


_LiteralPattern = open_twin(LiteralPattern)


def make_literal_pattern(start: int, end: int, value: StringLit | IntLit | FloatLit | BoolLit | NullLit | Unary | MoneyLit | DurationLit) -> LiteralPattern:
    o = _new(_LiteralPattern)
    o.span = _tuple(Span, (start, end))
    o.value = value
    o.__class__ = LiteralPattern
    return o


_LiteralType = open_twin(LiteralType)


def make_literal_type(start: int, end: int, value: StringLit | IntLit | FloatLit | BoolLit | NullLit) -> LiteralType:
    o = _new(_LiteralType)
    o.span = _tuple(Span, (start, end))
    o.value = value
    o.__class__ = LiteralType
    return o


_MapEntry = open_twin(MapEntry)


def make_map_entry(start: int, end: int, key: Expr, value: Expr) -> MapEntry:
    o = _new(_MapEntry)
    o.span = _tuple(Span, (start, end))
    o.key = key
    o.value = value
    o.__class__ = MapEntry
    return o


_MapLit = open_twin(MapLit)


def make_map_lit(start: int, end: int, entries: tuple[MapEntry, ...]) -> MapLit:
    o = _new(_MapLit)
    o.span = _tuple(Span, (start, end))
    o.entries = entries
    o.__class__ = MapLit
    return o


_Match = open_twin(Match)


def make_match(start: int, end: int, subject: Expr, arms: tuple[Arm, ...]) -> Match:
    o = _new(_Match)
    o.span = _tuple(Span, (start, end))
    o.subject = subject
    o.arms = arms
    o.__class__ = Match
    return o


_McpDecl = open_twin(McpDecl)


def make_mcp_decl(start: int, end: int, doc: Doc | None, public: bool, name: Name, settings: tuple[Setting, ...], tools: tuple[McpTool, ...], resources: tuple[McpResource, ...], prompts: tuple[McpPrompt, ...]) -> McpDecl:
    o = _new(_McpDecl)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.public = public
    o.name = name
    o.settings = settings
    o.tools = tools
    o.resources = resources
    o.prompts = prompts
    o.__class__ = McpDecl
    return o


_McpPrompt = open_twin(McpPrompt)


def make_mcp_prompt(start: int, end: int, doc: Doc | None, name: Name, wire: StringLit | None, clauses: tuple[Clause, ...]) -> McpPrompt:
    o = _new(_McpPrompt)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.name = name
    o.wire = wire
    o.clauses = clauses
    o.__class__ = McpPrompt
    return o


_McpResource = open_twin(McpResource)


def make_mcp_resource(start: int, end: int, doc: Doc | None, name: Name, uri: StringLit, type: TypeExpr | None, clauses: tuple[Clause, ...]) -> McpResource:
    o = _new(_McpResource)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.name = name
    o.uri = uri
    o.type = type
    o.clauses = clauses
    o.__class__ = McpResource
    return o


_McpTool = open_twin(McpTool)


def make_mcp_tool(start: int, end: int, doc: Doc | None, name: Name, wire: StringLit | None, clauses: tuple[Clause, ...]) -> McpTool:
    o = _new(_McpTool)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.name = name
    o.wire = wire
    o.clauses = clauses
    o.__class__ = McpTool
    return o


_ModelBody = open_twin(ModelBody)


def make_model_body(start: int, end: int, items: tuple[ModelItem, ...]) -> ModelBody:
    o = _new(_ModelBody)
    o.span = _tuple(Span, (start, end))
    o.items = items
    o.__class__ = ModelBody
    return o


_ModelClause = open_twin(ModelClause)


def make_model_clause(start: int, end: int, path: Path) -> ModelClause:
    o = _new(_ModelClause)
    o.span = _tuple(Span, (start, end))
    o.path = path
    o.__class__ = ModelClause
    return o


_ModelDecl = open_twin(ModelDecl)


def make_model_decl(start: int, end: int, doc: Doc | None, public: bool, name: Name, settings: tuple[Setting, ...]) -> ModelDecl:
    o = _new(_ModelDecl)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.public = public
    o.name = name
    o.settings = settings
    o.__class__ = ModelDecl
    return o


_Module = open_twin(Module)


def make_module(start: int, end: int, source: Source, doc: Doc | None, declarations: tuple[Declaration, ...], comments: tuple[Comment, ...]) -> Module:
    o = _new(_Module)
    o.span = _tuple(Span, (start, end))
    o.source = source
    o.doc = doc
    o.declarations = declarations
    o.comments = comments
    o.__class__ = Module
    return o


_MoneyLit = open_twin(MoneyLit)


def make_money_lit(start: int, end: int, value: Decimal, text_form: str) -> MoneyLit:
    o = _new(_MoneyLit)
    o.span = _tuple(Span, (start, end))
    o.value = value
    o.text_form = text_form
    o.__class__ = MoneyLit
    return o


_Name = open_twin(Name)


def make_name(start: int, end: int, text: str) -> Name:
    o = _new(_Name)
    o.span = _tuple(Span, (start, end))
    o.text = text
    o.__class__ = Name
    return o


_NamedType = open_twin(NamedType)


def make_named_type(start: int, end: int, path: Path, arguments: tuple[TypeExpr, ...], bounds: tuple[Bound, ...]) -> NamedType:
    o = _new(_NamedType)
    o.span = _tuple(Span, (start, end))
    o.path = path
    o.arguments = arguments
    o.bounds = bounds
    o.__class__ = NamedType
    return o


_Needs = open_twin(Needs)


def make_needs(start: int, end: int, permissions: tuple[Path, ...]) -> Needs:
    o = _new(_Needs)
    o.span = _tuple(Span, (start, end))
    o.permissions = permissions
    o.__class__ = Needs
    return o


_NodeDecl = open_twin(NodeDecl)


def make_node_decl(start: int, end: int, doc: Doc | None, public: bool, name: Name, parameters: tuple[Parameter, ...], result: TypeExpr | None, fails: tuple[Path, ...], clauses: tuple[Clause, ...], body: ModelBody | Block) -> NodeDecl:
    o = _new(_NodeDecl)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.public = public
    o.name = name
    o.parameters = parameters
    o.result = result
    o.fails = fails
    o.clauses = clauses
    o.body = body
    o.__class__ = NodeDecl
    return o


_NullLit = open_twin(NullLit)


def make_null_lit(start: int, end: int) -> NullLit:
    o = _new(_NullLit)
    o.span = _tuple(Span, (start, end))
    o.__class__ = NullLit
    return o


_Operation = open_twin(Operation)


def make_operation(start: int, end: int, doc: Doc | None, name: Name, parameters: tuple[Parameter, ...], result: TypeExpr | None, fails: tuple[Path, ...], clauses: tuple[Clause, ...]) -> Operation:
    o = _new(_Operation)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.name = name
    o.parameters = parameters
    o.result = result
    o.fails = fails
    o.clauses = clauses
    o.__class__ = Operation
    return o


_OptionalType = open_twin(OptionalType)


def make_optional_type(start: int, end: int, inner: TypeExpr) -> OptionalType:
    o = _new(_OptionalType)
    o.span = _tuple(Span, (start, end))
    o.inner = inner
    o.__class__ = OptionalType
    return o


_OrPattern = open_twin(OrPattern)


def make_or_pattern(start: int, end: int, alternatives: tuple[Pattern, ...]) -> OrPattern:
    o = _new(_OrPattern)
    o.span = _tuple(Span, (start, end))
    o.alternatives = alternatives
    o.__class__ = OrPattern
    return o


_PackDecl = open_twin(PackDecl)


def make_pack_decl(start: int, end: int, doc: Doc | None, name: Name, version: StringLit | None, uses: tuple[str, ...], depends: tuple[Depends, ...], externs: tuple[StringLit, ...]) -> PackDecl:
    o = _new(_PackDecl)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.name = name
    o.version = version
    o.uses = uses
    o.depends = depends
    o.externs = externs
    o.__class__ = PackDecl
    return o


_ParallelClause = open_twin(ParallelClause)


def make_parallel_clause(start: int, end: int) -> ParallelClause:
    o = _new(_ParallelClause)
    o.span = _tuple(Span, (start, end))
    o.__class__ = ParallelClause
    return o


_ParallelFor = open_twin(ParallelFor)


def make_parallel_for(start: int, end: int, binder: Name, iterable: Expr, limit: Expr | None, body: Block) -> ParallelFor:
    o = _new(_ParallelFor)
    o.span = _tuple(Span, (start, end))
    o.binder = binder
    o.iterable = iterable
    o.limit = limit
    o.body = body
    o.__class__ = ParallelFor
    return o


_ParallelRecord = open_twin(ParallelRecord)


def make_parallel_record(start: int, end: int, branches: tuple[FieldValue, ...]) -> ParallelRecord:
    o = _new(_ParallelRecord)
    o.span = _tuple(Span, (start, end))
    o.branches = branches
    o.__class__ = ParallelRecord
    return o


_Parameter = open_twin(Parameter)


def make_parameter(start: int, end: int, name: Name, trusted: bool, optional: bool, type: TypeExpr, wire: StringLit | None, default: Expr | None) -> Parameter:
    o = _new(_Parameter)
    o.span = _tuple(Span, (start, end))
    o.name = name
    o.trusted = trusted
    o.optional = optional
    o.type = type
    o.wire = wire
    o.default = default
    o.__class__ = Parameter
    return o


_Path = open_twin(Path)


def make_path(start: int, end: int, parts: tuple[Name, ...]) -> Path:
    o = _new(_Path)
    o.span = _tuple(Span, (start, end))
    o.parts = parts
    o.__class__ = Path
    return o


_PermissionDecl = open_twin(PermissionDecl)


def make_permission_decl(start: int, end: int, doc: Doc | None, path: Path, includes: tuple[Path, ...]) -> PermissionDecl:
    o = _new(_PermissionDecl)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.path = path
    o.includes = includes
    o.__class__ = PermissionDecl
    return o


_Policy = open_twin(Policy)


def make_policy(start: int, end: int, name: Name, arguments: tuple[Argument, ...]) -> Policy:
    o = _new(_Policy)
    o.span = _tuple(Span, (start, end))
    o.name = name
    o.arguments = arguments
    o.__class__ = Policy
    return o


_ProvideDecl = open_twin(ProvideDecl)


def make_provide_decl(start: int, end: int, doc: Doc | None, module: str | None, service: Path, alias: Name | None, clauses: tuple[Clause, ...], functions: tuple[FunctionDecl, ...]) -> ProvideDecl:
    o = _new(_ProvideDecl)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.module = module
    o.service = service
    o.alias = alias
    o.clauses = clauses
    o.functions = functions
    o.__class__ = ProvideDecl
    return o


_Range = open_twin(Range)


def make_range(start: int, end: int, low: Expr | None, high: Expr | None) -> Range:
    o = _new(_Range)
    o.span = _tuple(Span, (start, end))
    o.low = low
    o.high = high
    o.__class__ = Range
    return o


_RecordDecl = open_twin(RecordDecl)


def make_record_decl(start: int, end: int, doc: Doc | None, public: bool, open: bool, name: Name, fields: tuple[Field, ...]) -> RecordDecl:
    o = _new(_RecordDecl)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.public = public
    o.open = open
    o.name = name
    o.fields = fields
    o.__class__ = RecordDecl
    return o


_Reference = open_twin(Reference)


def make_reference(start: int, end: int, name: Name) -> Reference:
    o = _new(_Reference)
    o.span = _tuple(Span, (start, end))
    o.name = name
    o.__class__ = Reference
    return o


_RepeatClause = open_twin(RepeatClause)


def make_repeat_clause(start: int, end: int, kind: Literal['never', 'idempotent', 'reconcile'], key: Expr | None) -> RepeatClause:
    o = _new(_RepeatClause)
    o.span = _tuple(Span, (start, end))
    o.kind = kind
    o.key = key
    o.__class__ = RepeatClause
    return o


_Require = open_twin(Require)


def make_require(start: int, end: int, condition: Expr, message: Expr | None) -> Require:
    o = _new(_Require)
    o.span = _tuple(Span, (start, end))
    o.condition = condition
    o.message = message
    o.__class__ = Require
    return o


_Retry = open_twin(Retry)


def make_retry(start: int, end: int, arguments: tuple[Argument, ...]) -> Retry:
    o = _new(_Retry)
    o.span = _tuple(Span, (start, end))
    o.arguments = arguments
    o.__class__ = Retry
    return o


_Return = open_twin(Return)


def make_return(start: int, end: int, value: Expr | None) -> Return:
    o = _new(_Return)
    o.span = _tuple(Span, (start, end))
    o.value = value
    o.__class__ = Return
    return o


_RoleDecl = open_twin(RoleDecl)


def make_role_decl(start: int, end: int, doc: Doc | None, path: Path) -> RoleDecl:
    o = _new(_RoleDecl)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.path = path
    o.__class__ = RoleDecl
    return o


_Rows = open_twin(Rows)


def make_rows(start: int, end: int, statements: tuple[Statement, ...], clauses: tuple[Clause, ...], rows: tuple[Row, ...]) -> Rows:
    o = _new(_Rows)
    o.span = _tuple(Span, (start, end))
    o.statements = statements
    o.clauses = clauses
    o.rows = rows
    o.__class__ = Rows
    return o


_Script = open_twin(Script)


def make_script(start: int, end: int, model: Path, turns: Expr) -> Script:
    o = _new(_Script)
    o.span = _tuple(Span, (start, end))
    o.model = model
    o.turns = turns
    o.__class__ = Script
    return o


_ServiceDecl = open_twin(ServiceDecl)


def make_service_decl(start: int, end: int, doc: Doc | None, public: bool, name: Name, operations: tuple[Operation, ...]) -> ServiceDecl:
    o = _new(_ServiceDecl)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.public = public
    o.name = name
    o.operations = operations
    o.__class__ = ServiceDecl
    return o


_Setting = open_twin(Setting)


def make_setting(start: int, end: int, name: Name, value: Expr) -> Setting:
    o = _new(_Setting)
    o.span = _tuple(Span, (start, end))
    o.name = name
    o.value = value
    o.__class__ = Setting
    return o


_SizeLit = open_twin(SizeLit)


def make_size_lit(start: int, end: int, bytes: int, text_form: str) -> SizeLit:
    o = _new(_SizeLit)
    o.span = _tuple(Span, (start, end))
    o.bytes = bytes
    o.text_form = text_form
    o.__class__ = SizeLit
    return o


_SkillDecl = open_twin(SkillDecl)


def make_skill_decl(start: int, end: int, doc: Doc | None, public: bool, name: Name, clauses: tuple[Clause, ...], instructions: Instructions | None, functions: tuple[FunctionDecl, ...]) -> SkillDecl:
    o = _new(_SkillDecl)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.public = public
    o.name = name
    o.clauses = clauses
    o.instructions = instructions
    o.functions = functions
    o.__class__ = SkillDecl
    return o


_Skills = open_twin(Skills)


def make_skills(start: int, end: int, paths: tuple[Path, ...]) -> Skills:
    o = _new(_Skills)
    o.span = _tuple(Span, (start, end))
    o.paths = paths
    o.__class__ = Skills
    return o


_StoreDecl = open_twin(StoreDecl)


def make_store_decl(start: int, end: int, doc: Doc | None, public: bool, name: Name, type: TypeExpr, clauses: tuple[Clause, ...]) -> StoreDecl:
    o = _new(_StoreDecl)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.public = public
    o.name = name
    o.type = type
    o.clauses = clauses
    o.__class__ = StoreDecl
    return o


_StringLit = open_twin(StringLit)


def make_string_lit(start: int, end: int, parts: tuple[TextPart | Expr, ...], form: Literal['plain', 'raw', 'block']) -> StringLit:
    o = _new(_StringLit)
    o.span = _tuple(Span, (start, end))
    o.parts = parts
    o.form = form
    o.__class__ = StringLit
    return o


_Taints = open_twin(Taints)


def make_taints(start: int, end: int) -> Taints:
    o = _new(_Taints)
    o.span = _tuple(Span, (start, end))
    o.__class__ = Taints
    return o


_TenantDecl = open_twin(TenantDecl)


def make_tenant_decl(start: int, end: int, doc: Doc | None, name: Name, clauses: tuple[Clause, ...]) -> TenantDecl:
    o = _new(_TenantDecl)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.name = name
    o.clauses = clauses
    o.__class__ = TenantDecl
    return o


_TestDecl = open_twin(TestDecl)


def make_test_decl(start: int, end: int, doc: Doc | None, title: StringLit, body: Block) -> TestDecl:
    o = _new(_TestDecl)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.title = title
    o.body = body
    o.__class__ = TestDecl
    return o


_TextPart = open_twin(TextPart)


def make_text_part(start: int, end: int, text: str) -> TextPart:
    o = _new(_TextPart)
    o.span = _tuple(Span, (start, end))
    o.text = text
    o.__class__ = TextPart
    return o


_Timeout = open_twin(Timeout)


def make_timeout(start: int, end: int, value: Expr | None) -> Timeout:
    o = _new(_Timeout)
    o.span = _tuple(Span, (start, end))
    o.value = value
    o.__class__ = Timeout
    return o


_ToolChoice = open_twin(ToolChoice)


def make_tool_choice(start: int, end: int, path: Path) -> ToolChoice:
    o = _new(_ToolChoice)
    o.span = _tuple(Span, (start, end))
    o.path = path
    o.__class__ = ToolChoice
    return o


_ToolDecl = open_twin(ToolDecl)


def make_tool_decl(start: int, end: int, doc: Doc | None, public: bool, name: Name, parameters: tuple[Parameter, ...], result: TypeExpr | None, fails: tuple[Path, ...], clauses: tuple[Clause, ...], body: Block | Extern) -> ToolDecl:
    o = _new(_ToolDecl)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.public = public
    o.name = name
    o.parameters = parameters
    o.result = result
    o.fails = fails
    o.clauses = clauses
    o.body = body
    o.__class__ = ToolDecl
    return o


_Tools = open_twin(Tools)


def make_tools(start: int, end: int, paths: tuple[Path, ...]) -> Tools:
    o = _new(_Tools)
    o.span = _tuple(Span, (start, end))
    o.paths = paths
    o.__class__ = Tools
    return o


_Try = open_twin(Try)


def make_try(start: int, end: int, operand: Expr) -> Try:
    o = _new(_Try)
    o.span = _tuple(Span, (start, end))
    o.operand = operand
    o.__class__ = Try
    return o


_TypeDecl = open_twin(TypeDecl)


def make_type_decl(start: int, end: int, doc: Doc | None, public: bool, name: Name, type: TypeExpr) -> TypeDecl:
    o = _new(_TypeDecl)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.public = public
    o.name = name
    o.type = type
    o.__class__ = TypeDecl
    return o


_TypeParameter = open_twin(TypeParameter)


def make_type_parameter(start: int, end: int, name: Name) -> TypeParameter:
    o = _new(_TypeParameter)
    o.span = _tuple(Span, (start, end))
    o.name = name
    o.__class__ = TypeParameter
    return o


_TypePattern = open_twin(TypePattern)


def make_type_pattern(start: int, end: int, path: Path, binder: Name | None) -> TypePattern:
    o = _new(_TypePattern)
    o.span = _tuple(Span, (start, end))
    o.path = path
    o.binder = binder
    o.__class__ = TypePattern
    return o


_Unary = open_twin(Unary)


def make_unary(start: int, end: int, op: UnaryOp, operand: Expr) -> Unary:
    o = _new(_Unary)
    o.span = _tuple(Span, (start, end))
    o.op = op
    o.operand = operand
    o.__class__ = Unary
    return o


_UnionType = open_twin(UnionType)


def make_union_type(start: int, end: int, members: tuple[TypeExpr, ...]) -> UnionType:
    o = _new(_UnionType)
    o.span = _tuple(Span, (start, end))
    o.members = members
    o.__class__ = UnionType
    return o


_Use = open_twin(Use)


def make_use(start: int, end: int, module: str, module_span: Span, names: tuple[UseName, ...], alias: Name | None) -> Use:
    o = _new(_Use)
    o.span = _tuple(Span, (start, end))
    o.module = module
    o.module_span = module_span
    o.names = names
    o.alias = alias
    o.__class__ = Use
    return o


_UseName = open_twin(UseName)


def make_use_name(start: int, end: int, name: Name, alias: Name | None) -> UseName:
    o = _new(_UseName)
    o.span = _tuple(Span, (start, end))
    o.name = name
    o.alias = alias
    o.__class__ = UseName
    return o


_Variant = open_twin(Variant)


def make_variant(start: int, end: int, doc: Doc | None, name: Name, fields: tuple[Field, ...]) -> Variant:
    o = _new(_Variant)
    o.span = _tuple(Span, (start, end))
    o.doc = doc
    o.name = name
    o.fields = fields
    o.__class__ = Variant
    return o


_VariantPattern = open_twin(VariantPattern)


def make_variant_pattern(start: int, end: int, path: Path, fields: tuple[FieldPattern, ...]) -> VariantPattern:
    o = _new(_VariantPattern)
    o.span = _tuple(Span, (start, end))
    o.path = path
    o.fields = fields
    o.__class__ = VariantPattern
    return o


_Version = open_twin(Version)


def make_version(start: int, end: int, value: StringLit) -> Version:
    o = _new(_Version)
    o.span = _tuple(Span, (start, end))
    o.value = value
    o.__class__ = Version
    return o


_While = open_twin(While)


def make_while(start: int, end: int, condition: Expr, limit: Expr | None, body: Block) -> While:
    o = _new(_While)
    o.span = _tuple(Span, (start, end))
    o.condition = condition
    o.limit = limit
    o.body = body
    o.__class__ = While
    return o


_WildcardPattern = open_twin(WildcardPattern)


def make_wildcard_pattern(start: int, end: int) -> WildcardPattern:
    o = _new(_WildcardPattern)
    o.span = _tuple(Span, (start, end))
    o.__class__ = WildcardPattern
    return o


_With = open_twin(With)


def make_with(start: int, end: int, base: Expr, fields: tuple[FieldValue, ...]) -> With:
    o = _new(_With)
    o.span = _tuple(Span, (start, end))
    o.base = base
    o.fields = fields
    o.__class__ = With
    return o
