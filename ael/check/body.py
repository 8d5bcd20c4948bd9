"""The bodies of a module, one after the other: functions, tools, nodes, providers, tests, and the code in clauses."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ael.check.checker import DISCARD, NEVER, UNIT, UNKNOWN, Body, Checker
from ael.check.enter import enter, parameters_of
from ael.check.exhaustive import TooLarge
from ael.check.failure import check_model_node, short
from ael.check.kind import BOOL, STRING
from ael.check.module import far_service
from ael.check.program import Local
from ael.check.sign import UNCERTAIN
from ael.check.table import table
from ael.syntax import nodes as n
from ael.types.signature import Signature
from ael.types.text import show
from ael.types.type import Type, Unknown, optional

__all__ = ["TooLarge", "check_bodies", "check_declaration"]


def check_bodies(c: Checker) -> None:
    """Check everything in a module that is code."""
    for node in c.module.tree.declarations:
        check_declaration(c, node)


def check_declaration(c: Checker, node: n.Declaration) -> None:
    """Check what is code in one declaration. Nothing of it is asked by another one's code but what `Collected` holds."""
    match node:
        case n.FunctionDecl():
            errors = c.bag.errors
            _function(c, node, f"{c.module.name}.{node.name.text}")
            if isinstance(node.body, n.Rows):
                table(c, node, node.body, typed=c.bag.errors == errors)
        case n.ToolDecl():
            _tool(c, node)
        case n.NodeDecl():
            _node(c, node)
        case n.AgentDecl():
            _agent(c, node)
        case n.ProvideDecl(functions=functions):
            _provided(c, node, functions)
        case n.SkillDecl():
            _skill(c, node)
        case n.ServiceDecl(operations=operations):
            for operation in operations:
                _clauses(
                    c,
                    operation,
                    f"{c.module.name}.{node.name.text}.{operation.name.text}",
                    operation.parameters,
                    operation.clauses,
                )
        case n.McpDecl(members=members):
            for member in members:
                _remote(c, member, f"{c.module.name}.{node.name.text}.{member.name.text}")
        case n.TestDecl():
            _test(c, node)
        case n.ConstDecl():
            _constant(c, node)
        case n.RecordDecl(fields=fields) | n.ErrorDecl(fields=fields):
            _defaults(c, fields)
        case n.EnumDecl(variants=variants):
            for variant in variants:
                _defaults(c, variant.fields)
        case _:
            pass


def _code(c: Checker, body: Body, block: n.Block, parameters: tuple[n.Parameter, ...], *, key: bool = False) -> None:
    """A body that gives its last expression."""
    enter(c, body, key=key)
    parameters_of(c, parameters)
    result = body.result
    assert result is not None
    if result == UNIT:
        c.check(block, DISCARD)
        return
    written = getattr(body.declaration, "result", None)
    c.origin = (result, "", written.span) if isinstance(written, n.Node) else None
    found = c.visit(block, result)
    if found == UNIT and not isinstance(result, Unknown):
        _no_value(c, body, block, result)
    elif found != NEVER and not c.fits(found, result):
        c.mismatch(block.statements[-1], found, result)


def _no_value(c: Checker, body: Body, block: n.Block, result: Type) -> None:
    last = block.statements[-1] if block.statements else None
    name = short(body.name)
    span = block.span if last is None else last.span
    notes: tuple[str, ...] = ()
    if isinstance(last, n.ExprStatement) and isinstance(last.value, n.If) and last.value.otherwise is None:
        notes = ("an `if` without an `else` gives nothing: say what there is otherwise",)
    elif isinstance(last, n.Let):
        notes = ("the value of a body is its last expression",)
    elif isinstance(last, n.For | n.While):
        notes = ("after the loop there is nothing: write the value for that case below it",)
    c.report("AEL0317", f"`{name}` gives `{show(result)}`, but its end is reached without a value", span, notes=notes)


def _signature(c: Checker, key: str, node: n.Node) -> Signature | None:
    symbol = c.collected.symbols.get(key)
    return c.collected.signatures.get(key) if symbol is not None and symbol.node is node else None


def _result(c: Checker, node: n.FunctionDecl | n.ToolDecl | n.NodeDecl) -> Type:
    return UNIT if node.result is None else c.tables.written.get(node.result, UNKNOWN)


def _function(
    c: Checker, node: n.FunctionDecl, name: str, key: str = "", more: frozenset[str] = frozenset(), *, provided: bool = False
) -> None:
    signature = _signature(c, key or name, node)
    if signature is None:
        return
    for parameter in node.parameters:
        _default(c, parameter)
    writer = c.definer.writer(c.module)
    writer.variables = frozenset(signature.type_parameters)
    body = Body("provided" if provided else "function", name, _result(c, node), signature.fails | more, node)
    _code(c, body, node.body, node.parameters, key=provided)
    writer.variables = frozenset()


def _tool(c: Checker, node: n.ToolDecl) -> None:
    name = f"{c.module.name}.{node.name.text}"
    signature = _signature(c, name, node)
    if signature is None:
        return
    for parameter in node.parameters:
        _default(c, parameter)
    _clauses(c, node, name, node.parameters, node.clauses)
    if isinstance(node.body, n.Block):
        _code(c, Body("tool", name, _result(c, node), signature.fails, node), node.body, node.parameters, key=True)


def _remote(c: Checker, node: n.McpMember, name: str) -> None:
    """A tool of a server has no body; its parameters, which its schema says, are seen by the code in its clauses."""
    signature = _signature(c, name, node)
    checks = list(_clause_checks(c, node.clauses))
    if signature is None or not checks:
        return
    names = tuple(n.Name(node.name.span, parameter.name) for parameter in signature.parameters)
    c.tables.remote[node] = names
    for at, parameter in zip(names, signature.parameters, strict=True):
        type = optional(parameter.type) if parameter.optional else parameter.type
        c.tables.locals[at] = Local(parameter.name, parameter.name, False, type)
    for clause, check in checks:
        enter(c, Body("clause", name, None, frozenset(), clause))
        for at in names:
            c.locals[-1][at.text] = c.tables.locals[at]
            c.slots[at.text] = 1
        check()


def _provided(c: Checker, node: n.ProvideDecl, functions: tuple[n.FunctionDecl, ...]) -> None:
    alias = (node.alias or node.service.parts[-1]).text
    service = c.find(node.service) if node.module is None else far_service(c.collected, c.module, node)
    for function in functions:
        name = f"{c.module.name}.{alias}.{function.name.text}"
        operation = c.collected.signatures.get(f"{service.name}.{function.name.text}") if service is not None else None
        # an operation that can end `Uncertain` may be carried out by a body that does
        more = operation.fails & {UNCERTAIN} if operation is not None else frozenset()
        _function(c, function, name, f"provide {name}", more, provided=True)


def _clauses(c: Checker, node: n.Node, name: str, parameters: tuple[n.Parameter, ...], clauses: tuple[n.Clause, ...]) -> None:
    """The code in clauses: the condition of an approval and the key of a repeat see the parameters."""
    for _, check in _clause_checks(c, clauses):
        enter(c, Body("clause", name, None, frozenset(), node))
        parameters_of(c, parameters)
        check()


def _clause_checks(c: Checker, clauses: tuple[n.Clause, ...]) -> Iterator[tuple[n.Clause, Callable[[], object]]]:
    """The clauses that hold code, and how it is checked once the parameters are in scope."""
    for clause in clauses:
        match clause:
            case n.Approval(condition=n.Node() as condition):
                yield clause, lambda e=condition: c.check(e, BOOL, " as the condition of an approval")  # type: ignore[misc]
            case n.RepeatClause(key=n.Node() as key):
                yield clause, lambda e=key: c.check(e, STRING, " as the key of a repeat")  # type: ignore[misc]
            case _:
                pass


def _node(c: Checker, node: n.NodeDecl) -> None:
    name = f"{c.module.name}.{node.name.text}"
    signature = _signature(c, name, node)
    if signature is None:
        return
    for parameter in node.parameters:
        _default(c, parameter)
    result = _result(c, node)
    if isinstance(node.body, n.Block):
        _code(c, Body("node", name, result, signature.fails, node), node.body, node.parameters)
        return
    check_model_node(c, node, name, signature.fails)
    for item in node.body.items:
        enter(c, Body("clause", name, None, frozenset(), node))
        parameters_of(c, node.parameters)
        match item:
            case n.Instructions(template=template) | n.FollowUp(template=template):
                c.bare_parts = True
                c.check(template, STRING)
                c.bare_parts = False
            case n.Input(value=value):
                found = c.infer(value)
                if not c.is_data(found):
                    c.report(
                        "AEL0310", f"`{show(found)}` cannot be shown to a model: functions and secrets are no data", value.span
                    )
            case n.Require(condition=condition, message=message):
                _require(c, node, item, result, condition, message)
            case n.Examples(items=examples):
                for example in examples:
                    _example(c, node, example, signature, result)


def _skill(c: Checker, node: n.SkillDecl) -> None:
    """A skill's instructions name no parameters: they are the same wherever it is used."""
    name = f"{c.module.name}.{node.name.text}"
    for function in node.functions:
        _function(c, function, f"{name}.{function.name.text}")
    if node.instructions is not None:
        enter(c, Body("clause", name, None, frozenset(), node))
        c.bare_parts = True
        c.check(node.instructions.template, STRING)
        c.bare_parts = False


def _agent(c: Checker, node: n.AgentDecl) -> None:
    name = f"{c.module.name}.{node.name.text}"
    signature = _signature(c, name, node)
    if signature is None:
        return
    for parameter in node.parameters:
        _default(c, parameter)
    # Loaded by programs that have agents.
    from ael.check.edge import check_agent

    check_agent(c, node, name, signature)


def _require(c: Checker, node: n.NodeDecl, item: n.Require, result: Type, condition: n.Expr, message: n.Expr | None) -> None:
    output = next((p for p in node.parameters if p.name.text == "output"), None)
    if output is not None:
        c.report("AEL0215", "`output` means the node's result in a `require`: give this parameter another name", output.name.span)
    c.locals.append({})
    c.declare(item, n.Name(item.span, "output"), result)
    c.check_condition(condition, "a `require`")
    if message is not None:
        c.check(message, STRING, " as the message of a `require`")


def _example(c: Checker, node: n.NodeDecl, example: n.Example, signature: Signature, result: Type) -> None:
    """`input => output`: the one parameter, or a map of all by name."""
    given = example.input
    if len(signature.parameters) == 1:
        c.check(given, signature.parameters[0].type, " as the input of an example")
    elif isinstance(given, n.MapLit):
        _example_map(c, given, signature)
    else:
        names = ", ".join(f'"{p.name}": …' for p in signature.parameters)
        c.infer(given)
        c.report("AEL0301", f"an example gives all parameters by name: `[{names}] => …`", given.span)
    c.check(example.output, result, " as the output of an example")


def _example_map(c: Checker, given: n.MapLit, signature: Signature) -> None:
    wanted = {p.name: p for p in signature.parameters}
    c.types[given] = UNKNOWN
    seen: set[str] = set()
    for entry in given.entries:
        c.check(entry.key, STRING)
        key = entry.key
        text = "".join(p.text for p in key.parts if isinstance(p, n.TextPart)) if isinstance(key, n.StringLit) else ""
        parameter = wanted.get(text)
        if parameter is None:
            c.infer(entry.value)
            c.report("AEL0307", f"the node has no parameter `{text}`", key.span)
            continue
        seen.add(text)
        c.check(entry.value, optional(parameter.type) if parameter.optional else parameter.type, f" for `{text}`")
    missing = [name for name, p in wanted.items() if p.required and name not in seen]
    if missing:
        c.report("AEL0306", f"the example lacks {', '.join(f'`{name}`' for name in missing)}", given.span)


def _test(c: Checker, node: n.TestDecl) -> None:
    typed = bool(c.collected.prompt) and c.module.name == c.collected.main and _title(node) == c.collected.prompt
    enter(c, Body("test", "test", None, None, node), test=not typed)
    c.check(node.body, DISCARD)


def _title(node: n.TestDecl) -> str:
    return "".join(part.text for part in node.title.parts if isinstance(part, n.TextPart))


# --- constants and defaults ----------------------------------------------------------------------------------------------


def _constant(c: Checker, node: n.ConstDecl) -> None:
    enter(c, Body("constant", "", None, frozenset(), node))
    if node.type is not None:
        c.check(node.value, c.tables.written.get(node.type, UNKNOWN), f" for `{node.name.text}`")
        return
    found = c.infer(node.value)
    if not c.is_data(found):
        c.report("AEL0315", "a constant is data, not a function", node.value.span)


def _defaults(c: Checker, fields: tuple[n.Field, ...]) -> None:
    for node in fields:
        _default(c, node)


def _default(c: Checker, node: n.Field | n.Parameter) -> None:
    if node.default is None:
        return
    enter(c, Body("constant", "", None, frozenset(), node))
    type = c.tables.written.get(node.type, UNKNOWN)
    c.check(node.default, optional(type) if node.optional else type, f" as the default of `{node.name.text}`")
