"""Printers of declarations of modules."""

from __future__ import annotations

from ael.syntax import nodes as n
from ael.syntax.format.lists import braced, bracketed, comma_list
from ael.syntax.format.statements import assert_, value
from ael.syntax.format.stream import Printer, Stream


def begin(p: Stream, *words: str) -> None:
    """`pub` and `open` where they stand, and the words of the declaration."""
    while p.peek() in ("pub", "open") and p.peek() not in words:
        p.take()
        p.space()
    for index, word in enumerate(words):
        if index:
            p.space()
        p.take(word)


def titled(p: Stream, word: str) -> None:
    """The word of a declaration and its name."""
    begin(p, word)
    p.space()
    p.take()


def signature(p: Stream, node: n.FunctionDecl | n.ToolDecl | n.NodeDecl | n.AgentDecl | n.Operation) -> None:
    """Parameters, result and errors."""
    bracketed(p, "(", ")", node.parameters)
    if node.result is not None:
        p.space()
        p.take("->")
        p.space()
        p.show(node.result)
    if node.fails:
        p.space()
        p.take("fails")
        p.space()
        comma_list(p, node.fails)


def clause_lines(p: Stream, clauses: tuple[n.Clause, ...]) -> None:
    """Each clause on a line of its own."""
    with p.indent():
        for clause in clauses:
            p.hard()
            p.lead(first=True)
            p.show(clause)


def clause_line(p: Stream, clauses: tuple[n.Clause, ...]) -> None:
    """Clauses on the line of what they belong to, if they fit and the source has the first of them there."""
    if clauses:
        with p.group(broken=p.breaks_next()), p.indent():
            for clause in clauses:
                p.line("  ")
                p.show(clause)


def before_body(p: Stream, clauses: tuple[n.Clause, ...]) -> None:
    """The clauses, and the place of the body's `{`."""
    if clauses:
        clause_lines(p, clauses)
        p.hard()
        p.lead(first=True)
    else:
        p.space()


def use(p: Stream, node: n.Use) -> None:
    p.take("use")
    p.space()
    while p.start < node.module_span.end:
        p.take()
    if p.peek() == ".":
        p.take(".")
        if p.peek() == "{":
            bracketed(p, "{", "}", node.names)
        else:
            p.show(node.names[0])
    elif node.alias is not None:
        alias(p)


def alias(p: Stream) -> None:
    """`as name`."""
    p.space()
    p.take("as")
    p.space()
    p.take()


def use_name(p: Stream, node: n.UseName) -> None:
    p.take()
    if node.alias is not None:
        alias(p)


def permission(p: Stream, node: n.PermissionDecl) -> None:
    p.take("permission")
    p.space()
    p.show(node.path)
    if node.includes:
        p.space()
        p.take("includes")
        p.space()
        comma_list(p, node.includes)


def role(p: Stream, node: n.RoleDecl) -> None:
    p.take("role")
    p.space()
    p.show(node.path)


def enum(p: Stream, node: n.EnumDecl) -> None:
    titled(p, "enum")
    p.space()
    braced(p, node.variants)


def variant(p: Stream, node: n.Variant) -> None:
    p.take()
    if node.fields:
        bracketed(p, "(", ")", node.fields)


def record(p: Stream, node: n.RecordDecl) -> None:
    titled(p, "record")
    p.space()
    braced(p, node.fields)


def error(p: Stream, node: n.ErrorDecl) -> None:
    titled(p, "error")
    if p.peek() == "{":
        p.space()
        braced(p, node.fields)


def field(p: Stream, node: n.Field | n.Parameter) -> None:
    if isinstance(node, n.Parameter) and node.trusted:
        p.take("trusted")
        p.space()
    p.take()
    if node.optional:
        p.take("?")
    p.take(":")
    p.space()
    p.show(node.type)
    if node.wire is not None:
        p.space()
        p.take("as")
        p.space()
        p.show(node.wire)
    if node.default is not None:
        p.space()
        p.take("=")
        p.space()
        p.show(node.default)


def type_alias(p: Stream, node: n.TypeDecl) -> None:
    titled(p, "type")
    p.space()
    p.take("=")
    p.space()
    p.show(node.type)


def const(p: Stream, node: n.ConstDecl) -> None:
    titled(p, "const")
    if node.type is not None:
        p.take(":")
        p.space()
        p.show(node.type)
    p.space()
    p.take("=")
    value(p, node.value)


def function(p: Stream, node: n.FunctionDecl) -> None:
    titled(p, "table" if isinstance(node.body, n.Rows) else "fn")
    if node.type_parameters:
        bracketed(p, "<", ">", node.type_parameters, trailing=False)
    signature(p, node)
    before_body(p, node.body.clauses if isinstance(node.body, n.Rows) else ())
    p.show(node.body)


def name(p: Stream, node: n.TypeParameter) -> None:
    p.take()


def tool(p: Stream, node: n.ToolDecl) -> None:
    titled(p, "tool")
    signature(p, node)
    if isinstance(node.body, n.Extern):
        clause_lines(p, node.clauses)
        with p.indent():
            p.hard()
            p.lead(first=True)
            p.show(node.body)
    else:
        before_body(p, node.clauses)
        p.show(node.body)


def extern(p: Stream, node: n.Extern) -> None:
    p.take("extern")
    p.space()
    p.show(node.target)


def node(p: Stream, node: n.NodeDecl) -> None:
    titled(p, "node")
    signature(p, node)
    before_body(p, node.clauses)
    p.show(node.body)


def model_body(p: Stream, node: n.ModelBody) -> None:
    braced(p, node.items, flat=None)


def follow_up(p: Stream, node: n.FollowUp) -> None:
    p.take("follow_up")
    p.space()
    p.show(node.template)


def instructions(p: Stream, node: n.Instructions) -> None:
    p.take("instructions")
    p.space()
    if node.from_file:
        p.take("from")
        p.space()
    p.show(node.template)


def input_(p: Stream, node: n.Input) -> None:
    p.take("input")
    p.space()
    p.show(node.value)


def examples(p: Stream, node: n.Examples) -> None:
    p.take("examples")
    p.space()
    bracketed(p, "[", "]", node.items, keep=True)


def example(p: Stream, node: n.Example) -> None:
    p.show(node.input)
    p.space()
    p.take("=>")
    p.space()
    p.show(node.output)


def agent(p: Stream, node: n.AgentDecl) -> None:
    titled(p, "agent")
    signature(p, node)
    before_body(p, node.clauses)
    braced(p, node.edges, flat=None)


def edge(p: Stream, node: n.Edge) -> None:
    p.take("edge")
    p.space()
    for index in range(len(node.sources)):
        if index:
            if node.joined:
                p.space()
            p.take("&" if node.joined else ",")
            p.space()
        p.take()
    p.space()
    p.take("->")
    p.space()
    p.show(node.target)
    with p.group(), p.indent():
        if node.condition is not None:
            _edge_word(p, "when")
            p.show(node.condition)
        elif node.otherwise:
            p.line()
            p.take("otherwise")
        elif node.errors:
            _edge_word(p, "on")
            comma_list(p, node.errors)
        if node.limit is not None:
            _edge_word(p, "up")
            p.take("to")
            p.space()
            p.show(node.limit)


def _edge_word(p: Stream, word: str) -> None:
    p.line()
    p.take(word)
    p.space()


def edge_target(p: Stream, node: n.EdgeTarget) -> None:
    if node.each:
        p.take("each")
        p.space()
    p.take()
    if node.arguments is not None:
        bracketed(p, "(", ")", node.arguments)


def skill(p: Stream, node: n.SkillDecl) -> None:
    titled(p, "skill")
    body = _body(p, node)
    outer = tuple(c for c in node.clauses if c.span.start < body)
    before_body(p, outer)
    inner = [c for c in node.clauses if c.span.start > body]
    members = [*inner, *node.functions, *((node.instructions,) if node.instructions else ())]
    braced(p, sorted(members, key=lambda m: m.span.start), flat=None)


def _body(p: Stream, node: n.SkillDecl) -> int:
    """Where the body begins: at the first `{` that stands in no clause."""
    return next(
        item.start
        for item in p.items[p.at :]
        if item.text == "{" and not any(c.span.start <= item.start < c.span.end for c in node.clauses)
    )


def service(p: Stream, node: n.ServiceDecl) -> None:
    titled(p, "service")
    p.space()
    braced(p, node.operations, flat=None)


def operation(p: Stream, node: n.Operation) -> None:
    p.take()
    signature(p, node)
    clause_line(p, node.clauses)


def provide(p: Stream, node: n.ProvideDecl) -> None:
    p.take("provide")
    p.space()
    while p.start < node.service.span.end:
        p.take()
    if node.alias is not None:
        alias(p)
    before_body(p, node.clauses)
    braced(p, node.functions, flat=None)


def setting(p: Stream, node: n.Setting) -> None:
    p.take()
    p.space()
    p.show(node.value)


def mcp(p: Stream, node: n.McpDecl) -> None:
    titled(p, "mcp")
    p.space()
    members = [*node.settings, *node.tools, *node.resources, *node.prompts]
    braced(p, sorted(members, key=lambda m: m.span.start), flat=None)


def mcp_tool(p: Stream, node: n.McpTool) -> None:
    _member(p, "tool", node)


def mcp_prompt(p: Stream, node: n.McpPrompt) -> None:
    _member(p, "prompt", node)


def _member(p: Stream, word: str, node: n.McpTool | n.McpPrompt) -> None:
    p.take(word)
    p.space()
    p.take()
    if node.wire is not None:
        p.space()
        p.take("as")
        p.space()
        p.show(node.wire)
    clause_line(p, node.clauses)


def mcp_resource(p: Stream, node: n.McpResource) -> None:
    p.take("resource")
    p.space()
    p.take()
    p.space()
    p.show(node.uri)
    if node.type is not None:
        p.space()
        p.take("->")
        p.space()
        p.show(node.type)
    clause_line(p, node.clauses)


def model(p: Stream, node: n.ModelDecl) -> None:
    titled(p, "model")
    p.space()
    braced(p, node.settings)


def store(p: Stream, node: n.StoreDecl) -> None:
    titled(p, "store")
    p.take(":")
    p.space()
    p.show(node.type)
    for clause in node.clauses:
        p.space()
        p.show(clause)


def test(p: Stream, node: n.TestDecl) -> None:
    p.take("test")
    p.space()
    p.show(node.title)
    p.space()
    p.show(node.body)


PRINTERS: dict[type[n.Node], Printer] = {
    n.Use: use,
    n.UseName: use_name,
    n.PermissionDecl: permission,
    n.RoleDecl: role,
    n.EnumDecl: enum,
    n.Variant: variant,
    n.RecordDecl: record,
    n.ErrorDecl: error,
    n.Field: field,
    n.Parameter: field,
    n.TypeDecl: type_alias,
    n.ConstDecl: const,
    n.FunctionDecl: function,
    n.TypeParameter: name,
    n.ToolDecl: tool,
    n.Extern: extern,
    n.NodeDecl: node,
    n.ModelBody: model_body,
    n.Instructions: instructions,
    n.Input: input_,
    n.Require: assert_,
    n.FollowUp: follow_up,
    n.Examples: examples,
    n.Example: example,
    n.AgentDecl: agent,
    n.Edge: edge,
    n.EdgeTarget: edge_target,
    n.SkillDecl: skill,
    n.ServiceDecl: service,
    n.Operation: operation,
    n.ProvideDecl: provide,
    n.Setting: setting,
    n.McpDecl: mcp,
    n.McpTool: mcp_tool,
    n.McpResource: mcp_resource,
    n.McpPrompt: mcp_prompt,
    n.ModelDecl: model,
    n.StoreDecl: store,
    n.TestDecl: test,
}
