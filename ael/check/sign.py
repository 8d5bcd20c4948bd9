"""Signatures of what can be called: functions, tools, nodes, agents, operations, stores' operations, functions of providers."""

from __future__ import annotations

from collections.abc import Collection

from ael.check.collect import Collected, ModuleScope, Symbol
from ael.check.constant import FAILED
from ael.check.declare import unique
from ael.check.define import Definer, wire_of
from ael.check.module import find, kind_text, report_unknown, seen, visible
from ael.diagnostics.diagnostic import Bag, Edit, Fix, Label, Place
from ael.source import Span
from ael.syntax import nodes as n
from ael.types.definition import NO_DEFAULT
from ael.types.relate import is_data
from ael.types.signature import ParameterDef, Signature
from ael.types.type import (
    BoolType,
    FunctionType,
    IntType,
    MapType,
    SecretType,
    StringType,
    Type,
    UnitType,
    Unknown,
    optional,
)

UNCERTAIN = "Uncertain"


class Signer:
    """Makes the signatures of a program."""

    def __init__(self, collected: Collected, definer: Definer, bag: Bag) -> None:
        self.collected = collected
        self.definer = definer
        self.bag = bag

    def sign_all(self, keys: Collection[str] | None = None) -> None:
        """Fill `collected.signatures`, and the `written` tables with the types of parameters and results; of some symbols, or of all."""
        for key, symbol in list(self.collected.symbols.items()):
            if keys is not None and key not in keys:
                continue
            scope = self.collected.modules.get(symbol.module)
            if scope is None:
                continue
            match symbol.node:
                case n.FunctionDecl(type_parameters=variables) as node:
                    names = tuple(v.name.text for v in unique(variables, scope.source, self.bag, "type parameter"))
                    self._sign(key, symbol, scope, node, names, data=key.startswith("provide "))
                case n.ToolDecl() | n.NodeDecl() | n.AgentDecl() as node:
                    self._sign(key, symbol, scope, node, (), data=True)
                case n.Operation() as node:
                    self._sign(key, symbol, scope, node, (), data=True, secrets=True)
                case n.McpResource() as resource:
                    self._resource(symbol, scope, resource)
                case n.StoreDecl() as store:
                    self._store(symbol, scope, store)
                case _:
                    pass
        self.definer.settle()

    def _sign(
        self,
        key: str,
        symbol: Symbol,
        scope: ModuleScope,
        node: n.FunctionDecl | n.ToolDecl | n.NodeDecl | n.AgentDecl | n.Operation,
        variables: tuple[str, ...],
        *,
        data: bool,
        secrets: bool = False,
    ) -> None:
        writer = self.definer.writer(scope)
        writer.variables = frozenset(variables)
        wires: dict[str, n.Parameter] = {}
        parameters = tuple(
            self._parameter(scope, p, data, secrets, wires) for p in unique(node.parameters, scope.source, self.bag, "parameter")
        )
        result: Type = UnitType() if node.result is None else writer.type_of(node.result)
        if node.result is None and (
            isinstance(node, n.ToolDecl) or (isinstance(node, n.NodeDecl) and isinstance(node.body, n.ModelBody))
        ):
            self._without_result(scope, node)
        writer.variables = frozenset()
        if data and node.result is not None:
            self._data(scope, node.result, result, "result", secrets)
        fails = frozenset(self._fails(scope, node.fails))
        if _ends_uncertain(node):
            fails |= {UNCERTAIN}
        self.collected.signatures[key] = Signature(symbol.name, parameters, result, fails, type_parameters=variables)

    def _without_result(self, scope: ModuleScope, node: n.ToolDecl | n.NodeDecl) -> None:
        """A tool's and a model-driven node's result is what a model and its callers go by, so it is written."""
        word = "tool" if isinstance(node, n.ToolDecl) else "node"
        message = f"the {word} `{node.name.text}` does not say what it gives: `-> T`, or `-> Unit` for nothing"
        text = scope.source.text
        end = text.find(")", node.parameters[-1].span.end if node.parameters else node.name.span.end) + 1
        fix = Fix("give it `-> Unit`", (Edit(Place(scope.source, Span(end, end)), " -> Unit"),), safe=False) if end else None
        self.bag.report("AEL0216", message, scope.source, node.name.span, fix=fix)

    def _parameter(
        self, scope: ModuleScope, node: n.Parameter, data: bool, secrets: bool, wires: dict[str, n.Parameter]
    ) -> ParameterDef:
        if (other := wires.setdefault(wire_of(node), node)) is not node:
            labels = (Label(Place(scope.source, other.span), "the other parameter"),)
            message = f"two parameters have the key `{wire_of(node)}` in JSON"
            self.bag.report("AEL0201", message, scope.source, node.span, labels=labels)
        type = self.definer.writer(scope).type_of(node.type)
        default: object = NO_DEFAULT
        if node.default is not None:
            default = self.definer.constants.value(scope, node.default, type)
            default = None if default is FAILED else default
        if data:
            self._data(scope, node.type, type, "parameter", secrets)
        return ParameterDef(node.name.text, wire_of(node), type, node.optional, default, node.trusted)

    def _data(self, scope: ModuleScope, node: n.TypeExpr, type: Type, what: str, secrets: bool) -> None:
        if is_data(type, self.definer.aliases) or (secrets and type == SecretType()):
            return
        if isinstance(type, FunctionType):
            message = f"a function cannot be a {what} here: it cannot leave the program"
        else:
            message = f"this {what} holds a function or a secret, which cannot leave the program"
        self.bag.report("AEL0321", message, scope.source, node.span)

    def _fails(self, scope: ModuleScope, paths: tuple[n.Path, ...]) -> list[str]:
        found: list[str] = []
        spans: dict[str, n.Path] = {}
        for path in paths:
            symbol = find(self.collected, scope, path)
            if symbol is None:
                self._unknown(scope, path)
            elif symbol.kind == "error" or symbol.name == UNCERTAIN:
                first = spans.setdefault(symbol.name, path)
                if first is not path:
                    labels = (Label(Place(scope.source, first.span), "first here"),)
                    self.bag.report("AEL0201", f"`{path.text}` stands in `fails` twice", scope.source, path.span, labels=labels)
                found.append(symbol.name)
            elif symbol.kind == "fault" or symbol.name == "Fault":
                message = (
                    f"`{path.text}` is a fault, and faults pass on by themselves: `fails` lists declared errors and `Uncertain`"
                )
                self.bag.report("AEL0408", message, scope.source, path.span)
            elif symbol.kind != "unknown":
                message = (
                    f"`{path.text}` is {kind_text(symbol)}, not an error: `error {path.parts[-1].text} {{ … }}` declares one"
                )
                self.bag.report("AEL0408", message, scope.source, path.span)
        return found

    def _unknown(self, scope: ModuleScope, path: n.Path) -> None:
        first = path.parts[0]
        if seen(scope, first.text) is None:
            known = visible(scope, "error")
            report_unknown(self.collected, scope, first, "error", "AEL0203", self.bag, known, frozenset({"error"}))
        else:
            self.bag.report("AEL0203", f"there is no error `{path.text}`", scope.source, path.span)

    def _resource(self, symbol: Symbol, scope: ModuleScope, node: n.McpResource) -> None:
        """Tools and prompts of servers have their signatures from their definitions; a resource has its type here, if it is no text."""
        result: Type = StringType()
        if node.type is not None:
            result = self.definer.writer(scope).type_of(node.type)
            self._data(scope, node.type, result, "result", False)
        remote = self.collected.remote(symbol.name)
        if remote is not None:
            # Templates are read in the few programs that use resources.
            from ael.check.mcp_resource import template

            parameters = template(remote.spec.wire).parameters
            self.collected.signatures[symbol.name] = Signature(symbol.name, parameters, result)

    def _store(self, symbol: Symbol, scope: ModuleScope, node: n.StoreDecl) -> None:
        type = self.definer.writer(scope).type_of(node.type)
        self._data(scope, node.type, type, "store", secrets=False)
        value: Type = type.value if isinstance(type, MapType) else Unknown()
        key, kept = ParameterDef("key", "key", StringType()), ParameterDef("value", "value", value)
        operations: dict[str, tuple[tuple[ParameterDef, ...], Type]] = {
            "get": ((key,), optional(value)),
            "put": ((key, kept), UnitType()),
            "swap": ((key, ParameterDef("was", "was", optional(value)), kept), BoolType()),
            "remove": ((key,), BoolType()),
            "entries": ((), MapType(value)),
            "page": ((ParameterDef("after", "after", StringType()), ParameterDef("most", "most", IntType())), MapType(value)),
            "has": ((key,), BoolType()),
        }
        for name, (parameters, result) in operations.items():
            full = f"{symbol.name}.{name}"
            self.collected.signatures[full] = Signature(full, parameters, result)


def _ends_uncertain(node: n.FunctionDecl | n.ToolDecl | n.NodeDecl | n.AgentDecl | n.Operation) -> bool:
    """Whether a lost reply leaves open if it took effect: `repeat never` and `repeat reconcile` (language.md, section 4)."""
    if not isinstance(node, n.ToolDecl | n.Operation):
        return False
    return any(isinstance(clause, n.RepeatClause) and clause.kind != "idempotent" for clause in node.clauses)
