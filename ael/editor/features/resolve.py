"""Every name of a declaration with what it stands for.

The check answers this for what it looks at; an editor asks it of code that is half written, where the check stops. So local names are
found here by the rules of scope, declared ones by the module's names, and fields by the types that the check left behind.
"""

from __future__ import annotations

from ael.check.collect import Collected, ModuleScope, Symbol
from ael.check.packs import resolve
from ael.editor.features.entity import Entity, Occurrence, Visible
from ael.editor.features.meaning import (
    entity_of,
    look,
    module_entity,
    permission_entity,
)
from ael.editor.features.resolve_code import CodeResolver
from ael.syntax import nodes as n


class Resolved:
    """The names of one declaration. `names` are in the order of the source; `locals` those that code in it can write."""

    __slots__ = ("locals", "names")

    def __init__(self, names: list[Occurrence], visible: list[Visible]) -> None:
        once = {(one.start, one.end, one.entity, one.role): one for one in names}
        self.names = sorted(once.values(), key=lambda one: (one.start, one.end))
        self.locals = visible


def resolved(collected: Collected, scope: ModuleScope, declaration: n.Node) -> Resolved:
    """What the names in a declaration of a module stand for."""
    resolver = _Resolver(collected, scope)
    resolver.declaration(declaration)
    return Resolved(resolver.found, resolver.visible)


class _Resolver(CodeResolver):
    # --- declarations -----------------------------------------------------------------------------------------------

    def declaration(self, node: n.Node) -> None:
        match node:
            case n.Use():
                self._use(node)
            case n.PermissionDecl(path=path, includes=includes):
                self.put(path, permission_entity(self.collected, self.scope, path), "declare", node)
                self.permissions(includes)
            case n.RoleDecl(path=path):
                self.put(path, permission_entity(self.collected, self.scope, path, role=True), "declare", node)
            case n.RecordDecl() | n.ErrorDecl():
                key = self._own(node.name, node)
                self.fields(node.fields, key)
            case n.EnumDecl(variants=variants):
                key = self._own(node.name, node)
                for variant in variants:
                    self.put(variant.name, Entity("variant", variant.name.text, key), "declare", variant)
                    self.fields(variant.fields, f"{key}.{variant.name.text}")
            case n.TypeDecl(type=type):
                self._own(node.name, node)
                self.type(type)
            case n.ConstDecl(type=written, value=value):
                self._own(node.name, node)
                self.type(written)
                self.code(value, node.span.end)
            case n.FunctionDecl():
                self.callable(node, self._own(node.name, node))
            case n.ToolDecl() | n.NodeDecl() | n.AgentDecl():
                self.callable(node, self._own(node.name, node))
            case n.SkillDecl(clauses=clauses, instructions=instructions, functions=functions):
                key = self._own(node.name, node)
                self.clauses(clauses)
                if instructions is not None:
                    self.code(instructions.template, node.span.end)
                for function in functions:
                    inside = f"{key}.{function.name.text}"
                    self.put(function.name, Entity("symbol", inside), "declare", function)
                    self.callable(function, inside)
            case n.ServiceDecl(operations=operations):
                key = self._own(node.name, node)
                for operation in operations:
                    inside = f"{key}.{operation.name.text}"
                    self.put(operation.name, Entity("symbol", inside), "declare", operation)
                    self.callable(operation, inside)
            case n.ProvideDecl():
                self._provide(node)
            case n.McpDecl():
                self._server(node)
            case n.ModelDecl(settings=settings):
                self._own(node.name, node)
                self.settings(settings)
            case n.StoreDecl(type=type, clauses=clauses):
                self._own(node.name, node)
                self.type(type)
                self.clauses(clauses)
            case n.TestDecl(title=title, body=body):
                text = "".join(part.text for part in title.parts if isinstance(part, n.TextPart))
                self.put(title, Entity("test", text, self.module), "declare", node)
                self.code(body, node.span.end)
            case _:
                pass

    def _own(self, name: n.Name, node: n.Node) -> str:
        key = f"{self.module}.{name.text}"
        self.put(name, Entity("symbol", key), "declare", node)
        return key

    def _use(self, node: n.Use) -> None:
        target = module_entity(self.collected, self.scope, node)
        if target is None:
            return
        self.found.append(Occurrence(node.module_span.start, node.module_span.end, target, "import", node))
        if node.alias is not None and not node.names:
            self.put(node.alias, target, "declare", node)
        module = self.collected.modules[target.name]
        for item in node.names:
            symbol = module.names.get(item.name.text)
            if symbol is None or symbol.kind == "unknown" or item.name.text in module.imports:
                continue
            entity = entity_of(symbol)
            self.put(item.name, entity, "import", item)
            if item.alias is not None:
                self.put(item.alias, entity, "import", item)

    def _provide(self, node: n.ProvideDecl) -> None:
        service: Symbol | None
        if node.module is None:
            service = self.path(node.service)
        else:
            name = resolve(node.module, self.module, self.collected.packs)
            service = self.collected.symbols.get(f"{name}.{node.service.text}")
            if service is not None:
                self.put(node.service, entity_of(service), "read", node)
        own = node.alias or node.service.parts[-1]
        key = f"provide {self.module}.{own.text}"
        if node.alias is not None:
            self.put(node.alias, Entity("symbol", key), "declare", node)
        self.clauses(node.clauses)
        for function in node.functions:
            operation = f"{service.name}.{function.name.text}" if service is not None else ""
            if operation in self.collected.symbols:
                self.put(function.name, Entity("symbol", operation), "implement", function)
                self.callable(function, operation, key=True)
            else:
                self.put(function.name, Entity("symbol", f"{key}.{function.name.text}"), "declare", function)
                self.callable(function, f"{key}.{function.name.text}", key=True)

    def _server(self, node: n.McpDecl) -> None:
        key = self._own(node.name, node)
        self.settings(node.settings)
        for one in node.members:
            self.put(one.name, Entity("symbol", f"{key}.{one.name.text}"), "declare", one)
            if isinstance(one, n.McpResource):
                self.type(one.type)
            self.push(one.span.end)
            for name in self.tables.remote.get(one, ()):
                self.scopes[-1][name.text] = Entity("parameter", name.text, f"{key}.{one.name.text}")
                self.visible.append(Visible(name.text, self.scopes[-1][name.text], one.name.span.end, one.span.end, name))
            self.clauses(one.clauses)
            self.pop()

    # --- callables --------------------------------------------------------------------------------------------------

    def callable(
        self, node: n.FunctionDecl | n.ToolDecl | n.NodeDecl | n.AgentDecl | n.Operation, owner: str, *, key: bool = False
    ) -> None:
        outer = self.variables
        if isinstance(node, n.FunctionDecl):
            self.variables = {one.name.text: Entity("type_parameter", one.name.text, owner) for one in node.type_parameters}
            for one in node.type_parameters:
                self.put(one.name, self.variables[one.name.text], "declare", one)
        for parameter in node.parameters:
            self.type(parameter.type)
            if parameter.default is not None:
                self.code(parameter.default, node.span.end)
        self.type(node.result)
        for path in node.fails:
            self.path(path)
        self.push(node.span.end)
        self.has_key = key or isinstance(node, n.ToolDecl)
        for parameter in node.parameters:
            entity = Entity("parameter", parameter.name.text, owner)
            self.bind(parameter.name, parameter, parameter.span.end, entity)
        if not isinstance(node, n.FunctionDecl):
            self.clauses(node.clauses)
        elif isinstance(node.body, n.Rows):
            self.clauses(node.body.clauses)
        match node:
            case n.FunctionDecl(body=body) | n.ToolDecl(body=n.Block() as body) | n.NodeDecl(body=n.Block() as body):
                self.expr(body)
            case n.NodeDecl(body=n.ModelBody(items=items)):
                for item in items:
                    self._item(item, node)
            case n.AgentDecl(edges=edges):
                for edge in edges:
                    self._edge(edge)
            case _:
                pass
        self.pop()
        self.has_key = False
        self.variables = outer

    def _item(self, item: n.ModelItem, node: n.NodeDecl) -> None:
        match item:
            case n.Instructions(template=template) | n.FollowUp(template=template):
                self.expr(template)
            case n.Input(value=value):
                self.expr(value)
            case n.Require(condition=condition, message=message):
                self.push(item.span.end)
                self.scopes[-1]["output"] = Entity("builtin", "output")
                self.visible.append(Visible("output", self.scopes[-1]["output"], item.span.start, item.span.end, item))
                self.expr(condition)
                self.expr(message)
                self.pop()
            case n.Examples(items=examples):
                for example in examples:
                    self.expr(example.input)
                    self.expr(example.output)

    def _edge(self, edge: n.Edge) -> None:
        for name in (*edge.sources, edge.target.name):
            if name.text in ("start", "finish"):
                self.put(name, Entity("builtin", name.text), "read", edge)
            elif (symbol := look(self.scope, name.text)) is not None:
                self.put(name, entity_of(symbol), "read", edge)
        target = look(self.scope, edge.target.name.text)
        for argument in edge.target.arguments or ():
            if argument.name is not None and target is not None and edge.target.name.text not in ("start", "finish"):
                self.put(argument.name, Entity("parameter", argument.name.text, target.name), "read", argument)
            self.expr(argument.value)
        self.expr(edge.condition)
        self.expr(edge.limit)
        for path in edge.errors:
            self.path(path)

    def fields(self, fields: tuple[n.Field, ...], owner: str) -> None:
        for one in fields:
            self.put(one.name, Entity("field", one.name.text, owner), "declare", one)
            self.type(one.type)
            if one.default is not None:
                self.code(one.default, one.span.end)

    def clauses(self, clauses: tuple[n.Clause, ...]) -> None:
        for clause in clauses:
            match clause:
                case n.Needs(permissions=paths) | n.Grants(permissions=paths):
                    self.permissions(paths)
                case n.Tools(paths=paths) | n.Skills(paths=paths):
                    for path in paths:
                        self.path(path)
                case n.ModelClause(path=path):
                    self.path(path)
                case n.ToolChoice(path=path) if path.text not in ("auto", "any", "none"):
                    self.path(path)
                case n.Approval(role=role, condition=condition):
                    if role is not None:
                        self.put(role, permission_entity(self.collected, self.scope, role, role=True), "read")
                    self.code(condition, clause.span.end)
                case n.Limit(amounts=amounts) | n.Budget(amounts=amounts):
                    for amount in amounts:
                        self.word(amount.name, "amount")
                        self.code(amount.value, clause.span.end)
                case n.Policy(name=name, arguments=arguments):
                    self.word(name, "policy")
                    self._words(arguments, "policy")
                case n.Retry(arguments=arguments):
                    self._words(arguments, "retry")
                case _:
                    for child in clause.children():
                        if not isinstance(child, n.Name | n.Path):
                            self.code(child, clause.span.end)

    def _words(self, arguments: tuple[n.Argument, ...], where: str) -> None:
        for argument in arguments:
            if argument.name is not None:
                self.word(argument.name, where)
            self.code(argument.value, argument.span.end)

    def settings(self, settings: tuple[n.Setting, ...]) -> None:
        for setting in settings:
            self.word(setting.name, "setting")
            self.code(setting.value, setting.span.end)
            if setting.name.text == "provider" and isinstance(setting.value, n.Reference):
                self._provider(setting.value.name)

    def _provider(self, name: n.Name) -> None:
        """The provider of a model is called by its own name, wherever in the pack it is."""
        if look(self.scope, name.text) is None:
            known = [one for one in self.collected.of_kind("provide") if one.name.rpartition(".")[2] == name.text]
            if len(known) == 1:
                self.put(name, entity_of(known[0]))

    def permissions(self, paths: tuple[n.Path, ...]) -> None:
        for path in paths:
            self.put(path, permission_entity(self.collected, self.scope, path), "read")
