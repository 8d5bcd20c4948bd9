"""Actions of data, code and service declarations of a module."""

from __future__ import annotations

from ael.source import Span
from ael.syntax import nodes as n
from ael.syntax.actions.context import Context, Head, Signature, items
from ael.syntax.make import (
    make_const_decl,
    make_enum_decl,
    make_error_decl,
    make_extern,
    make_field,
    make_function_decl,
    make_mcp_decl,
    make_mcp_prompt,
    make_mcp_resource,
    make_mcp_tool,
    make_model_decl,
    make_operation,
    make_parameter,
    make_path,
    make_permission_decl,
    make_provide_decl,
    make_record_decl,
    make_role_decl,
    make_service_decl,
    make_setting,
    make_store_decl,
    make_test_decl,
    make_tool_decl,
    make_type_decl,
    make_type_parameter,
    make_use,
    make_use_name,
    make_variant,
)


class ModulePath:
    """`./orders` or `std/text`, with its place."""

    __slots__ = ("end", "start", "text")

    def __init__(self, start: int, end: int, text: str) -> None:
        self.start = start
        self.end = end
        self.text = text


def here(c: Context, s: int, e: int) -> str:
    return "./"


def above(c: Context, s: int, e: int) -> str:
    return "../"


def further(c: Context, s: int, e: int, before: str) -> str:
    return before + "../"


def rooted(c: Context, s: int, e: int, root: str, segments: list[n.Name]) -> ModulePath:
    return ModulePath(s, e, root + "/".join(part.text for part in segments))


def unrooted(c: Context, s: int, e: int, segments: list[n.Name]) -> ModulePath:
    return ModulePath(s, e, "/".join(part.text for part in segments))


def use_item(c: Context, s: int, e: int, name: n.Name, alias: n.Name | None) -> n.UseName:
    return make_use_name(s, e, name, alias)


def use_module(c: Context, s: int, e: int, module: ModulePath, alias: n.Name | None) -> n.Use:
    return make_use(s, e, module.text, module_span(module), (), alias)


def use_name(c: Context, s: int, e: int, module: ModulePath, name: n.Name, alias: n.Name | None) -> n.Use:
    return make_use(s, e, module.text, module_span(module), (make_use_name(name.span.start, e, name, alias),), None)


def use_names(c: Context, s: int, e: int, module: ModulePath, names: list[n.UseName]) -> n.Use:
    return make_use(s, e, module.text, module_span(module), tuple(names), None)


def module_span(module: ModulePath) -> Span:
    """The place of a module path."""
    return Span(module.start, module.end)


def permission(c: Context, s: int, e: int, doc: n.Doc | None, path: n.Path, includes: list[n.Path] | None) -> n.PermissionDecl:
    return make_permission_decl(s, e, doc, path, items(includes))


def role(c: Context, s: int, e: int, doc: n.Doc | None, path: n.Path) -> n.RoleDecl:
    return make_role_decl(s, e, doc, path)


def enum(c: Context, s: int, e: int, head: Head, name: n.Name, variants: list[n.Variant] | None) -> n.EnumDecl:
    return make_enum_decl(s, e, head.doc, head.public, name, items(variants))


def variant(c: Context, s: int, e: int, doc: n.Doc | None, name: n.Name, fields: list[n.Field] | None) -> n.Variant:
    return make_variant(s, e, doc, name, items(fields))


def record(
    c: Context, s: int, e: int, head: Head, opened: int | None, name: n.Name, fields: list[n.Field] | None
) -> n.RecordDecl:
    return make_record_decl(s, e, head.doc, head.public, opened is not None, name, items(fields))


def error(c: Context, s: int, e: int, head: Head, name: n.Name, fields: list[n.Field] | None) -> n.ErrorDecl:
    return make_error_decl(s, e, head.doc, head.public, name, items(fields))


def bare_error(c: Context, s: int, e: int, head: Head, name: n.Name) -> n.ErrorDecl:
    return make_error_decl(s, e, head.doc, head.public, name, ())


def field(
    c: Context,
    s: int,
    e: int,
    doc: n.Doc | None,
    name: n.Name,
    type: n.TypeExpr,
    wire: n.StringLit | None,
    default: n.Expr | None,
) -> n.Field:
    return make_field(s, e, doc, name, False, type, c.plain(wire), default)


def optional_field(
    c: Context,
    s: int,
    e: int,
    doc: n.Doc | None,
    name: n.Name,
    type: n.TypeExpr,
    wire: n.StringLit | None,
    default: n.Expr | None,
) -> n.Field:
    return make_field(s, e, doc, name, True, type, c.plain(wire), default)


def parameter(
    c: Context,
    s: int,
    e: int,
    trusted: int | None,
    name: n.Name,
    type: n.TypeExpr,
    wire: n.StringLit | None,
    default: n.Expr | None,
) -> n.Parameter:
    return make_parameter(s, e, name, trusted is not None, False, type, c.plain(wire), default)


def optional_parameter(
    c: Context,
    s: int,
    e: int,
    trusted: int | None,
    name: n.Name,
    type: n.TypeExpr,
    wire: n.StringLit | None,
    default: n.Expr | None,
) -> n.Parameter:
    return make_parameter(s, e, name, trusted is not None, True, type, c.plain(wire), default)


def type_alias(c: Context, s: int, e: int, head: Head, name: n.Name, type: n.TypeExpr) -> n.TypeDecl:
    return make_type_decl(s, e, head.doc, head.public, name, type)


def const(c: Context, s: int, e: int, head: Head, name: n.Name, type: n.TypeExpr | None, value: n.Expr) -> n.ConstDecl:
    return make_const_decl(s, e, head.doc, head.public, name, type, value)


def type_parameter(c: Context, s: int, e: int, name: n.Name) -> n.TypeParameter:
    return make_type_parameter(s, e, name)


def function(
    c: Context,
    s: int,
    e: int,
    head: Head,
    name: n.Name,
    type_parameters: list[n.TypeParameter] | None,
    signature: Signature,
    body: n.Block,
) -> n.FunctionDecl:
    return make_function_decl(s, e, head.doc, head.public, name, items(type_parameters), *signature, body)


def extern(c: Context, s: int, e: int, target: n.StringLit) -> n.Extern:
    c.plain(target)
    return make_extern(s, e, target)


def tool(
    c: Context,
    s: int,
    e: int,
    head: Head,
    name: n.Name,
    signature: Signature,
    clauses: list[n.Clause] | None,
    body: n.Block | n.Extern,
) -> n.ToolDecl:
    return make_tool_decl(s, e, head.doc, head.public, name, *signature, items(clauses), body)


def service(c: Context, s: int, e: int, head: Head, name: n.Name, operations: list[n.Operation] | None) -> n.ServiceDecl:
    return make_service_decl(s, e, head.doc, head.public, name, items(operations))


def operation(
    c: Context, s: int, e: int, doc: n.Doc | None, name: n.Name, signature: Signature, clauses: list[n.Clause] | None
) -> n.Operation:
    return make_operation(s, e, doc, name, *signature, items(clauses))


def provide(
    c: Context, s: int, e: int, doc: n.Doc | None, service: n.Path, alias: n.Name | None, clauses: list[n.Clause] | None,
    functions: list[n.FunctionDecl] | None,
) -> n.ProvideDecl:  # fmt: skip
    return make_provide_decl(s, e, doc, None, service, alias, items(clauses), items(functions))


def provide_far(
    c: Context, s: int, e: int, doc: n.Doc | None, module: list[n.Name], service: n.Name, alias: n.Name | None,
    clauses: list[n.Clause] | None, functions: list[n.FunctionDecl] | None,
) -> n.ProvideDecl:  # fmt: skip
    path = make_path(service.span.start, service.span.end, (service,))
    return make_provide_decl(s, e, doc, "/".join(part.text for part in module), path, alias, items(clauses), items(functions))


def setting(c: Context, s: int, e: int, name: n.Name, value: n.Expr) -> n.Setting:
    return make_setting(s, e, name, value)


def mcp(
    c: Context, s: int, e: int, head: Head, name: n.Name,
    members: list[n.Setting | n.McpTool | n.McpResource | n.McpPrompt] | None,
) -> n.McpDecl:  # fmt: skip
    found = members or []
    settings = tuple(m for m in found if isinstance(m, n.Setting))
    tools = tuple(m for m in found if isinstance(m, n.McpTool))
    resources = tuple(m for m in found if isinstance(m, n.McpResource))
    prompts = tuple(m for m in found if isinstance(m, n.McpPrompt))
    return make_mcp_decl(s, e, head.doc, head.public, name, settings, tools, resources, prompts)


def mcp_tool(
    c: Context, s: int, e: int, doc: n.Doc | None, name: n.Name, wire: n.StringLit | None, clauses: list[n.Clause] | None
) -> n.McpTool:
    return make_mcp_tool(s, e, doc, name, c.plain(wire), items(clauses))


def mcp_resource(
    c: Context, s: int, e: int, doc: n.Doc | None, name: n.Name, uri: n.StringLit, type: n.TypeExpr | None,
    clauses: list[n.Clause] | None,
) -> n.McpResource:  # fmt: skip
    c.plain(uri)
    return make_mcp_resource(s, e, doc, name, uri, type, items(clauses))


def mcp_prompt(
    c: Context, s: int, e: int, doc: n.Doc | None, name: n.Name, wire: n.StringLit | None, clauses: list[n.Clause] | None
) -> n.McpPrompt:
    return make_mcp_prompt(s, e, doc, name, c.plain(wire), items(clauses))


def model(c: Context, s: int, e: int, head: Head, name: n.Name, settings: list[n.Setting] | None) -> n.ModelDecl:
    return make_model_decl(s, e, head.doc, head.public, name, items(settings))


def store(c: Context, s: int, e: int, head: Head, name: n.Name, type: n.TypeExpr, clauses: list[n.Clause] | None) -> n.StoreDecl:
    return make_store_decl(s, e, head.doc, head.public, name, type, items(clauses))


def test(c: Context, s: int, e: int, doc: n.Doc | None, title: n.StringLit, body: n.Block) -> n.TestDecl:
    c.plain(title)
    return make_test_decl(s, e, doc, title, body)
