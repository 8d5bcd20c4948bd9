"""A checked program to a compiled one: Python syntax trees, code objects at AEL positions, and the specs with their code."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any

from ael.check.program import CheckedProgram
from ael.lower import abi, names
from ael.lower.abi.fault import guarded, guarded_acting
from ael.lower.abi.shape import belongs
from ael.lower.convention import acts
from ael.lower.declaration import Declarations, edge_name, requirements, test_name
from ael.lower.expression import Lowering
from ael.lower.graph import Graph, functions_of
from ael.lower.natives import implementation
from ael.lower.place import Places
from ael.lower.scope import Program
from ael.lower.unit import (
    Code,
    CompiledEdge,
    CompiledNode,
    CompiledProvide,
    CompiledTest,
    CompiledTool,
    CompiledUnit,
    Halt,
    Requirement,
)
from ael.syntax import nodes as n
from ael.types.decode import checker

PYTHON_DEPTH = 12_000
"""Python's own recursion limit has to be above what 1,000 calls of AEL need (a call can take several frames of Python)."""

if sys.getrecursionlimit() < PYTHON_DEPTH:  # on import: a limit that changes in the middle of something surprises test runners
    sys.setrecursionlimit(PYTHON_DEPTH)


def trees(checked: CheckedProgram) -> tuple[Program, dict[str, ast.Module], dict[str, Places]]:
    """The Python modules of a program by the name of the AEL module, with positions."""
    program = Program(checked, Graph(checked), Lowering())
    made: dict[str, ast.Module] = {}
    places: dict[str, Places] = {}
    for name, module in checked.modules.items():
        declarations = Declarations(program, module)
        made[name] = declarations.lower()
        places[name] = declarations.places
    return program, made, places


def lower(checked: CheckedProgram) -> CompiledUnit:
    """Compile a program. It has no errors, so this raises nothing for a user's mistake."""
    program, modules, places = trees(checked)
    halt = Halt()
    space = namespace(program, halt)
    known = program.names.originals()
    for name, tree in modules.items():
        places[name].register()
        with warnings.catch_warnings():
            # What Python finds odd (`"a"["b"]` in an arm that is never taken) is nothing a user wrote.
            warnings.simplefilter("ignore", SyntaxWarning)
            code = compile(tree, places[name].filename, "exec", dont_inherit=True)
        exec(_renamed(code, known), space)
    return _Unit(program, space).unit(halt)


def namespace(program: Program, halt: Halt) -> dict[str, Any]:
    """The globals of a program: the abi, its constants, its checks of types."""
    space: dict[str, Any] = abi.namespace(halt)
    space.update(program.constants)
    definitions = program.checked.definitions
    for type, name in program.checkers.items():
        space[name] = checker(type, definitions)
    for native, name in program.natives.items():
        space[name] = implementation(native)
    for type, name in program.shapes.items():
        space[name] = belongs(type, definitions)
    return space


def _renamed(code: CodeType, known: Mapping[str, str]) -> CodeType:
    """The same code, its functions called as in the source, for tracebacks and profiles."""
    constants = tuple(_renamed(c, known) if isinstance(c, CodeType) else c for c in code.co_consts)
    name = known.get(code.co_name.removesuffix(names.ACTING), code.co_name)
    if name.startswith(("_f_", "_o_")):
        name = "<fn>"
    return code.replace(co_consts=constants, co_name=name, co_qualname=name)


class _Unit:
    """Puts specs and code together."""

    def __init__(self, program: Program, space: dict[str, Any]) -> None:
        self._program = program
        self._checked = program.checked
        self._space = space

    def unit(self, halt: Halt) -> CompiledUnit:
        checked = self._checked
        functions: dict[str, Code] = {}
        for name, module in checked.modules.items():
            for declaration in module.tree.declarations:
                for qualified, _ in functions_of(name, declaration):
                    found = self._code(qualified, acting=acts(checked, qualified))
                    assert found is not None
                    functions[qualified] = found
        return CompiledUnit(
            digest=checked.digest,
            definitions=checked.definitions,
            signatures=checked.signatures,
            permissions=checked.permissions,
            roles=checked.roles,
            tools={name: self._tool(name) for name in checked.tools},
            nodes={name: self._node(name) for name in checked.nodes},
            services=checked.services,
            operations=checked.operations,
            provides={name: self._provide(name) for name in checked.provides},
            stores=checked.stores,
            models=checked.models,
            tests=self._tests(),
            functions=functions,
            main=checked.main,
            halt=halt,
            servers=checked.servers,
        )

    def _code(self, qualified: str, *, acting: bool) -> Code | None:
        found = self._space.get(self._program.names.of("f", qualified))
        if found is None:
            return None
        return guarded_acting(found) if acting else guarded(found)

    def _tool(self, name: str) -> CompiledTool:
        spec = self._checked.tools[name]
        body = None if spec.extern is not None or spec.remote is not None else self._code(name, acting=True)
        return CompiledTool(spec, body, self._code(f"{name}.approval", acting=False), self._code(f"{name}.key", acting=False))

    def _node(self, name: str) -> CompiledNode:
        spec = self._checked.nodes[name]
        if spec.agent is not None:
            return CompiledNode(spec, edges=tuple(self._edges(name)))
        module, declaration = self._checked.declarations[name]
        if not isinstance(declaration, n.NodeDecl) or not isinstance(declaration.body, n.ModelBody):
            return CompiledNode(spec, self._code(name, acting=True))
        source = self._checked.modules[module].tree.source.text
        required: list[Requirement] = []
        for number, item in enumerate(requirements(declaration.body)):
            check = self._code(f"{name}.require{number}", acting=False)
            assert check is not None
            message = self._code(f"{name}.require{number}.message", acting=False)
            required.append(Requirement(check, source[item.condition.span.start : item.condition.span.end], message))
        examples = self._code(f"{name}.examples", acting=False)
        return CompiledNode(
            spec,
            input=self._code(f"{name}.input", acting=False),
            requirements=tuple(required),
            examples=examples() if examples is not None else (),
        )

    def _edges(self, name: str) -> Iterator[CompiledEdge]:
        module, declaration = self._checked.declarations[name]
        assert isinstance(declaration, n.AgentDecl)
        infos = self._checked.modules[module].tables.edges
        for number, edge in enumerate(declaration.edges):
            own = edge_name(name, number)
            yield CompiledEdge(self._code(f"{own}.when", acting=False), self._code(own, acting=False), infos[edge].passes)

    def _provide(self, name: str) -> CompiledProvide:
        spec = self._checked.provides[name]
        operations: dict[str, Code] = {}
        for operation in self._checked.services[spec.service].operations:
            own = operation.name.rpartition(".")[2]
            found = self._code(f"{name}.{own}", acting=True)
            if found is not None:
                operations[own] = found
        return CompiledProvide(spec, operations)

    def _tests(self) -> tuple[CompiledTest, ...]:
        numbers: dict[tuple[str, int], int] = {}
        for name, module in self._checked.modules.items():
            declared = [d for d in module.tree.declarations if isinstance(d, n.TestDecl)]
            for number, test in enumerate(declared):
                numbers[name, module.tree.source.position(test.span.start).line] = number
        made: list[CompiledTest] = []
        for spec in self._checked.tests:
            body = self._code(test_name(spec.module, numbers[spec.module, spec.line]), acting=True)
            assert body is not None
            made.append(CompiledTest(spec, body))
        return tuple(made)
