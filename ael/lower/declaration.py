"""Declarations to Python functions. What they are called is in `names.py`; `lower.py` finds them again by that."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from ael.check.program import CheckedModule, Local
from ael.lower import build, names
from ael.lower.call import arguments
from ael.lower.convention import acts, two_forms
from ael.lower.graph import functions_of
from ael.lower.halt import depth_test, halt_test
from ael.lower.place import Places
from ael.lower.scope import Builder, Drop, Function, Program, Result
from ael.syntax import nodes as n
from ael.types.signature import ParameterDef
from ael.types.type import Type, UnitType


class Declarations:
    """Lowers the declarations of one module."""

    def __init__(self, program: Program, module: CheckedModule) -> None:
        self.program = program
        self.module = module
        self.places = Places(module.tree.source)
        self.body: list[ast.stmt] = []

    def lower(self) -> ast.Module:
        """The Python module of an AEL module, with positions."""
        tests = 0
        for declaration in self.module.tree.declarations:
            match declaration:
                case n.FunctionDecl() | n.SkillDecl():
                    for qualified, function in functions_of(self.module.name, declaration):
                        self._function(qualified, function)
                case n.ToolDecl():
                    self._tool(declaration)
                case n.McpDecl():
                    for member in declaration.members:
                        qualified = f"{self._qualified(declaration.name)}.{member.name.text}"
                        self._clauses(qualified, self.module.tables.remote.get(member, ()), member.clauses)
                case n.NodeDecl():
                    self._node(declaration)
                case n.AgentDecl():
                    self._agent(declaration)
                case n.ProvideDecl():
                    for function in declaration.functions:
                        owner = (declaration.alias or declaration.service.parts[-1]).text
                        self._operation(f"{self.module.name}.{owner}", function)
                case n.TestDecl():
                    self._acting(test_name(self.module.name, tests), declaration, (), declaration.body)
                    tests += 1
                case _:
                    continue
        return ast.Module(self.body, [])

    def _qualified(self, name: n.Name) -> str:
        return f"{self.module.name}.{name.text}"

    def _function(self, qualified: str, declaration: n.FunctionDecl) -> None:
        checked = self.program.checked
        if acts(checked, qualified):
            self._acting(qualified, declaration, declaration.parameters, declaration.body)
            return
        recursive = qualified in self.program.graph.recursive
        result = checked.signatures[qualified].result
        made = self.program.names.of("f", qualified)
        self._define(made, declaration, declaration.parameters, declaration.body, result, acting=False, recursive=recursive)
        if two_forms(checked.signatures[qualified]):
            acting = made + names.ACTING
            self._define(acting, declaration, declaration.parameters, declaration.body, result, acting=True, recursive=recursive)

    def _operation(self, provide: str, function: n.FunctionDecl) -> None:
        """An operation's implementation: its result is the operation's."""
        checked = self.program.checked
        own = function.name.text
        result = checked.operations[f"{checked.provides[provide].service}.{own}"].signature.result
        made = self.program.names.of("f", f"{provide}.{own}")
        self._define(made, function, function.parameters, function.body, result, acting=True, recursive=False)

    def _acting(self, qualified: str, declaration: n.Node, parameters: Sequence[n.Parameter], body: n.Block) -> None:
        signature = self.program.checked.signatures.get(qualified)
        result: Type = signature.result if signature is not None else UnitType()
        self._define(self.program.names.of("f", qualified), declaration, parameters, body, result, acting=True, recursive=False)

    def _define(
        self,
        made: str,
        declaration: n.Node,
        parameters: Sequence[n.Parameter],
        body: n.Block,
        result: Type,
        *,
        acting: bool,
        recursive: bool,
    ) -> None:
        b = self._builder(body, acting=acting, depth=recursive and not acting)
        locals_ = [b.tables.locals[p] for p in parameters]
        given = [b.declare(local) for local in locals_]
        with b.capture() as statements:
            if b.facts.takes_time(body) or (recursive and acting):
                b.emit(*(depth_test(names.DEPTH) if b.function.depth else [halt_test()]))
            elif recursive:
                b.untested = True
            b.forms.block(b, body, Drop() if isinstance(result, UnitType) else Result())
        first = [names.FRAME] if acting else []
        last = [(names.DEPTH, build.const(0))] if b.function.depth else []
        definition = build.define(made, build.arguments([*first, *given], last), statements, acting=acting)
        self.places.fill(definition, declaration.span)
        self.body.append(definition)

    def _builder(self, body: n.Node, *, acting: bool, depth: bool = False) -> Builder:
        function = Function(acting, depth)
        if depth:
            function.declared.add(names.DEPTH)
        facts = self.program.facts_of(body, self.module.tables)
        return Builder(self.program, self.module, self.places, function, facts)

    def _tool(self, declaration: n.ToolDecl) -> None:
        qualified = self._qualified(declaration.name)
        if isinstance(declaration.body, n.Block):
            self._acting(qualified, declaration, declaration.parameters, declaration.body)
        self._clauses(qualified, declaration.parameters, declaration.clauses)

    def _clauses(self, qualified: str, parameters: Sequence[n.Node], clauses: Sequence[n.Clause]) -> None:
        for clause in clauses:
            match clause:
                case n.Approval(condition=condition) if condition is not None:
                    self._expression(f"{qualified}.approval", parameters, condition)
                case n.RepeatClause(key=key) if key is not None:
                    self._expression(f"{qualified}.key", parameters, key)
                case _:
                    continue

    def _node(self, declaration: n.NodeDecl) -> None:
        qualified = self._qualified(declaration.name)
        if isinstance(declaration.body, n.Block):
            self._acting(qualified, declaration, declaration.parameters, declaration.body)
            return
        requirements = 0
        for item in declaration.body.items:
            match item:
                case n.Input(value=value):
                    self._expression(f"{qualified}.input", declaration.parameters, value, wrap=_named_input(value))
                case n.Require(condition=condition, message=message):
                    name = f"{qualified}.require{requirements}"
                    requirements += 1
                    self._expression(name, declaration.parameters, condition, output=True)
                    if message is not None:
                        self._expression(f"{name}.message", declaration.parameters, message, output=True)
                case n.Examples():
                    self._examples(f"{qualified}.examples", item)
                case n.Instructions() | n.FollowUp():
                    continue

    def _agent(self, declaration: n.AgentDecl) -> None:
        """The conditions of an agent's edges, and what they carry: over its parameters and the outputs of its nodes."""
        tables, qualified = self.module.tables, self._qualified(declaration.name)
        given = [*declaration.parameters, *tables.outputs[declaration].values()]
        for number, edge in enumerate(declaration.edges):
            name, info = edge_name(qualified, number), tables.edges[edge]
            if edge.condition is not None:
                self._expression(f"{name}.when", given, edge.condition)
            if info.arguments:
                signature = self.program.checked.signatures.get(info.target)
                parameters = signature.parameters if signature is not None else ()
                self._tuple(name, given, edge.target, info.arguments, parameters)

    def _tuple(
        self,
        qualified: str,
        given: Sequence[n.Node],
        at: n.Node,
        values: Sequence[n.Expr | None],
        parameters: Sequence[ParameterDef],
    ) -> None:
        """A function that gives the arguments of a call."""
        b = self._builder(at, acting=False)
        names_ = [b.declare(b.tables.locals[p]) for p in given]
        with b.capture() as statements:
            b.emit(ast.Return(ast.Tuple([*arguments(b, values, parameters, acting=False)], build.LOAD)))
        definition = build.define(self.program.names.of("f", qualified), build.arguments(names_), statements, acting=False)
        self.places.fill(definition, at.span)
        self.body.append(definition)

    def _expression(
        self,
        qualified: str,
        parameters: Sequence[n.Node],
        e: n.Expr,
        *,
        output: bool = False,
        wrap: Callable[[ast.expr], ast.expr] | None = None,
    ) -> None:
        """A function of the parameters (and of `output`) that gives the value of an expression."""
        b = self._builder(e, acting=False)
        given = [b.declare(b.tables.locals[p]) for p in parameters]
        if output:
            given.insert(0, self._output(b, e, given))
        with b.capture() as statements:
            value = b.value(e)
            b.emit(ast.Return(wrap(value) if wrap is not None else value))
        definition = build.define(self.program.names.of("f", qualified), build.arguments(given), statements, acting=False)
        self.places.fill(definition, e.span)
        self.body.append(definition)

    def _output(self, b: Builder, e: n.Expr, given: Sequence[str]) -> str:
        """The Python name of `output` in a `require`."""
        for node in n.walk(e):
            if isinstance(node, n.Reference) and node.name.text == "output":
                local = b.tables.resolved.get(node)
                if isinstance(local, Local) and names.local(local.slot) not in given:
                    return b.declare(local)
        return names.local("output") if names.local("output") not in given else "_output"

    def _examples(self, qualified: str, node: n.Examples) -> None:
        b = self._builder(node, acting=False)
        examples = node.items
        with b.capture() as statements:
            pairs = [ast.Tuple(b.values((one.input, one.output)), build.LOAD) for one in examples]
            b.emit(ast.Return(ast.Tuple([*pairs], build.LOAD)))
        definition = build.define(self.program.names.of("f", qualified), build.arguments([]), statements, acting=False)
        self.places.fill(definition, node.span)
        self.body.append(definition)


def _named_input(e: n.Expr) -> Callable[[ast.expr], ast.expr] | None:
    """What `input` gives the model has names: a map's keys, a variable's or field's name, else `input`."""
    match e:
        case n.MapLit():
            return None
        case n.Reference(name=name) | n.FieldAccess(name=name):
            return lambda value: build.record([(name.text, value)])
        case _:
            return lambda value: build.record([("input", value)])


def edge_name(agent: str, number: int) -> str:
    """How the code of an agent's edge is called."""
    return f"{agent}.edge{number}"


def test_name(module: str, number: int) -> str:
    """How the code of a module's test is called."""
    return f"{module}.test{number}"


def requirements(body: n.ModelBody) -> Iterator[n.Require]:
    """The `require`s of a node, in order."""
    return (item for item in body.items if isinstance(item, n.Require))
