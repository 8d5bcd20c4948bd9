"""Every name of a declaration with what it stands for.

The check answers this for what it looks at; an editor asks it of code that is half written, where the check stops. So local names are
found here by the rules of scope, declared ones by the module's names, and fields by the types that the check left behind.
"""

from __future__ import annotations

from ael.check.collect import Collected, ModuleScope, Symbol
from ael.check.packs import resolve
from ael.check.types import BUILT_IN
from ael.editor.features.entity import Entity, EntityKind, Occurrence, Role, Visible
from ael.editor.features.meaning import (
    entity_of,
    function_of_language,
    inner,
    look,
    member_entity,
    members,
    module_entity,
    owners,
    permission_entity,
)
from ael.syntax import nodes as n
from ael.types.definition import EnumDef
from ael.types.type import AnonymousRecord, Named

NO_NAMES = ("_",)


class Resolved:
    """The names of one declaration. `names` are in the order of the source; `locals` those that code in it can write."""

    __slots__ = ("locals", "names")

    def __init__(self, names: list[Occurrence], visible: list[Visible]) -> None:
        self.names = sorted(names, key=lambda one: (one.start, one.end))
        self.locals = visible


def resolved(collected: Collected, scope: ModuleScope, declaration: n.Node) -> Resolved:
    """What the names in a declaration of a module stand for."""
    resolver = _Resolver(collected, scope)
    resolver.declaration(declaration)
    return Resolved(resolver.found, resolver.visible)


class _Resolver:
    def __init__(self, collected: Collected, scope: ModuleScope) -> None:
        self.collected = collected
        self.scope = scope
        self.module = scope.name
        self.tables = scope.tables
        self.found: list[Occurrence] = []
        self.visible: list[Visible] = []
        self.scopes: list[dict[str, Entity]] = []
        self.ends: list[int] = []
        self.variables: dict[str, Entity] = {}
        self.has_key = False

    # --- putting down -----------------------------------------------------------------------------------------------

    def put(self, at: n.Node, entity: Entity | None, role: Role = "read", node: n.Node | None = None) -> None:
        if entity is not None:
            self.found.append(Occurrence(at.span.start, at.span.end, entity, role, node or at))

    def push(self, end: int) -> None:
        self.scopes.append({})
        self.ends.append(end)

    def pop(self) -> None:
        self.scopes.pop()
        self.ends.pop()

    def bind(self, name: n.Name, node: n.Node, start: int, entity: Entity | None = None) -> None:
        """Give a local name to what `node` declares; it can be written from `start` to the end of the scope."""
        if name.text in NO_NAMES or not self.scopes:
            return
        known = self.scopes[-1].get(name.text)
        entity = entity or Entity("local", name.text, self.module, name.span.start)
        self.put(name, entity, "declare", node)
        if known is not None and known.kind == "parameter":
            return
        self.scopes[-1][name.text] = entity
        self.visible.append(Visible(name.text, entity, start, self.ends[-1], node))

    def local(self, text: str) -> Entity | None:
        for scope in reversed(self.scopes):
            if (entity := scope.get(text)) is not None:
                return entity
        return None

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

    def word(self, name: n.Name, where: str) -> None:
        self.put(name, Entity("word", name.text, where))

    def permissions(self, paths: tuple[n.Path, ...]) -> None:
        for path in paths:
            self.put(path, permission_entity(self.collected, self.scope, path), "read")

    # --- names ------------------------------------------------------------------------------------------------------

    def path(self, path: n.Path) -> Symbol | None:
        """A dotted name: each part with what it stands for so far."""
        symbol = look(self.scope, path.parts[0].text)
        for at, part in enumerate(path.parts):
            if at:
                if symbol is None:
                    return None
                owner = symbol
                symbol = inner(self.collected, owner, part.text) if owner.kind in ("module", "mcp", "service", "skill") else None
                if symbol is None:
                    self.put(part, member_entity(self.collected, owner, part.text), "read", path)
                    return None
            if symbol is not None:
                self.put(part, entity_of(symbol), "read", path)
        return symbol

    def type(self, node: n.Node | None) -> None:
        match node:
            case n.NamedType(path=path, arguments=arguments, bounds=bounds):
                first = path.parts[0]
                if len(path.parts) == 1 and first.text in self.variables:
                    self.put(first, self.variables[first.text], "read", node)
                else:
                    self.path(path)
                for argument in arguments:
                    self.type(argument)
                for bound in bounds:
                    if bound.name is not None:
                        self.word(bound.name, "bound")
                    self.code(bound.value, node.span.end)
            case n.OptionalType(inner=kept):
                self.type(kept)
            case n.UnionType(members=parts):
                for part in parts:
                    self.type(part)
            case n.FunctionType(parameters=parameters, result=result):
                for parameter in parameters:
                    self.type(parameter)
                self.type(result)
            case _:
                pass

    # --- code -------------------------------------------------------------------------------------------------------

    def code(self, node: n.Node | None, end: int) -> None:
        """An expression that stands in no block."""
        self.push(end)
        self.expr(node)
        self.pop()

    def expr(self, node: n.Node | None) -> None:
        match node:
            case None:
                return
            case n.Reference(name=name):
                # A cell of a table reads its parameter where nobody wrote its name.
                if name.span.start < name.span.end:
                    self.put(name, self._reference(name.text), "read", node)
            case n.FieldAccess():
                self._access(node)
            case n.Call():
                self._call(node)
            case n.Block(statements=statements):
                self.push(node.span.end)
                for statement in statements:
                    self.expr(statement)
                self.pop()
            case n.Let(name=name, type=type, value=value):
                self.type(type)
                self.expr(value)
                self.bind(name, node, node.span.end)
            case n.Assign(name=name, value=value):
                self.put(name, self.local(name.text), "write", node)
                self.expr(value)
            case n.For(index=index, binder=binder, iterable=iterable, body=body):
                self.expr(iterable)
                self.push(node.span.end)
                for bound in (index, binder):
                    if bound is not None:
                        self.bind(bound, bound, body.span.start)
                self.expr(body)
                self.pop()
            case n.ParallelFor(binder=binder, iterable=iterable, limit=limit, body=body):
                self.expr(iterable)
                self.expr(limit)
                self.push(node.span.end)
                self.bind(binder, binder, body.span.start)
                self.expr(body)
                self.pop()
            case n.Lambda(parameters=parameters, body=body):
                self.push(node.span.end)
                for parameter in parameters:
                    self.type(parameter.type)
                    self.bind(parameter.name, parameter, parameter.span.end)
                self.expr(body)
                self.pop()
            case n.Match(subject=subject, arms=arms):
                self.expr(subject)
                self.arms(arms)
            case n.Catch(operand=operand, arms=arms):
                self.expr(operand)
                self.arms(arms)
            case n.With(base=base, fields=fields):
                self.expr(base)
                for one in fields:
                    for owner in self._owners(base):
                        self.put(one.name, Entity("field", one.name.text, owner), "read", one)
                    self.expr(one.value)
            case n.ParallelRecord(branches=branches):
                for branch in branches:
                    self.put(branch.name, Entity("field", branch.name.text), "declare", branch)
                    self.expr(branch.value)
            case n.Script(model=model, turns=turns):
                self.path(model)
                self.expr(turns)
            case _:
                for child in node.children():
                    self.expr(child)

    def _owners(self, node: n.Expr) -> list[str]:
        return list(owners(self.collected, self.tables.types.get(node)))

    def _reference(self, text: str) -> Entity | None:
        local = self.local(text)
        if local is not None:
            return local
        symbol = look(self.scope, text)
        return entity_of(symbol) if symbol is not None else function_of_language(text, self.module)

    def named(self, node: n.Expr) -> Symbol | None:
        """The declared thing that a name or dotted name is, where it is no value."""
        match node:
            case n.Reference(name=name):
                return None if self.local(name.text) is not None else look(self.scope, name.text)
            case n.FieldAccess(target=target, name=name):
                owner = self.named(target)
                if owner is None or owner.kind not in ("module", "mcp", "service", "skill"):
                    return None
                return inner(self.collected, owner, name.text)
            case _:
                return None

    def _access(self, node: n.FieldAccess) -> None:
        target, name = node.target, node.name
        if isinstance(target, n.Reference) and target.name.text == "call" and self.local("call") is None and self.has_key:
            self.put(target.name, Entity("builtin", "call"), "read", target)
            self.put(name, Entity("builtin", "call.key"), "read", node)
            return
        self.expr(target)
        owner = self.named(target)
        if owner is not None and owner.kind not in ("const", "node", "agent"):
            self.put(name, member_entity(self.collected, owner, name.text), "read", node)
            return
        self._field(name, target, node)

    def _field(self, name: n.Name, target: n.Expr, node: n.Node) -> None:
        type = self.tables.types.get(target)
        for one in members(self.collected, type):
            if isinstance(one, AnonymousRecord):
                if any(field == name.text for field, _ in one.fields):
                    self.put(name, Entity("field", name.text), "read", node)
            elif isinstance(one, Named):
                definition = self.collected.definitions.get(one.name)
                fields = () if definition is None or isinstance(definition, EnumDef) else getattr(definition, "fields", ())
                if any(field.name == name.text for field in fields):
                    self.put(name, Entity("field", name.text, one.name), "read", node)

    def _call(self, node: n.Call) -> None:
        callee = node.callee
        info = self.tables.calls.get(node)
        if isinstance(callee, n.FieldAccess) and info is not None and info.kind == "builtin" and "." in info.name:
            self.expr(callee.target)
            self.put(callee.name, Entity("method", info.name), "read", callee)
        elif isinstance(callee, n.FieldAccess) and info is not None and info.kind == "check":
            self.expr(callee.target)
            self.put(callee.name, Entity("builtin", "check"), "read", callee)
        else:
            self.expr(callee)
        if isinstance(callee, n.Reference) and callee.name.text in ("setting", "secret") and self.local(callee.name.text) is None:
            self._asked(callee.name.text, node)
        for argument in node.arguments:
            if argument.name is not None and info is None and named_type(callee):
                self.word(argument.name, "bound")
            if argument.name is not None and info is not None:
                self.put(argument.name, argument_entity(info.kind, info.name, argument.name.text), "read", argument)
            self.expr(argument.value)

    def _asked(self, word: str, node: n.Call) -> None:
        """`secret("CRM_TOKEN")`: what a deployment binds, named by a text."""
        for argument in node.arguments[:1]:
            if (found := asked(word, argument.value)) is not None:
                self.found.append(found)

    # --- patterns ---------------------------------------------------------------------------------------------------

    def arms(self, arms: tuple[n.Arm, ...]) -> None:
        for arm in arms:
            self.push(arm.span.end)
            self.pattern(arm.pattern, arm.pattern.span.end)
            self.expr(arm.guard)
            self.expr(arm.body)
            self.pop()

    def pattern(self, node: n.Pattern, start: int) -> None:
        match node:
            case n.BinderPattern(name=name):
                self.bind(name, name, start)
            case n.TypePattern(path=path, binder=binder):
                self._tested(node, path)
                if binder is not None:
                    self.bind(binder, binder, start)
            case n.VariantPattern(path=path, fields=fields):
                self._tested(node, path)
                info = self.tables.patterns.get(node)
                for field in fields:
                    if field.name is not None and info is not None and isinstance(info.type, Named):
                        owner = f"{info.type.name}.{info.name}"
                        self.put(field.name, Entity("field", field.name.text, owner), "read", field)
                    self.pattern(field.pattern, start)
            case n.ListPattern(items=items, rest=rest):
                for item in items:
                    self.pattern(item, start)
                if isinstance(rest, n.BinderPattern):
                    self.bind(rest.name, rest.name, start)
            case n.OrPattern(alternatives=alternatives):
                self._alternatives(alternatives, start)
            case _:
                pass

    def _alternatives(self, alternatives: tuple[n.Pattern, ...], start: int) -> None:
        """Whichever matches, the arm sees one local: the names of the others are the first one's."""
        self.pattern(alternatives[0], start)
        first = dict(self.scopes[-1])
        for other in alternatives[1:]:
            before = len(self.found), len(self.visible)
            self.scopes[-1].clear()
            self.pattern(other, start)
            del self.visible[before[1] :]
            for at in range(before[0], len(self.found)):
                one = self.found[at]
                if one.role == "declare" and (entity := first.get(one.entity.name)) is not None:
                    self.found[at] = one._replace(entity=entity)
            self.scopes[-1].clear()
            self.scopes[-1].update(first)

    def _tested(self, node: n.Pattern, path: n.Path) -> None:
        info = self.tables.patterns.get(node)
        if info is None or info.kind != "variant" or not isinstance(info.type, Named):
            self.path(path)
            return
        if len(path.parts) > 1:
            self.path(n.Path(path.span, path.parts[:-1]))
        self.put(path.parts[-1], Entity("variant", info.name, info.type.name), "read", node)


def named_type(callee: n.Expr) -> bool:
    """Whether what is called is a built-in type: `String(max: 64)` in front of `.check`."""
    return isinstance(callee, n.Reference) and callee.name.text in BUILT_IN


def asked(word: str, node: n.Expr) -> Occurrence | None:
    """The secret or setting that a plain text names; None where it is no plain text."""
    match node:
        case n.StringLit(form="plain", parts=(n.TextPart(text=text),)) if node.span.end - node.span.start == len(text) + 2:
            kind: EntityKind = "secret" if word == "secret" else "setting"
            return Occurrence(node.span.start + 1, node.span.end - 1, Entity(kind, text), "read", node)
        case _:
            return None


def argument_entity(kind: str, name: str, text: str) -> Entity | None:
    """What the name of an argument stands for, in a call of this kind (see `CallInfo`)."""
    match kind:
        case "record" | "error" | "variant":
            return Entity("field", text, name)
        case "function" | "effect" | "builtin":
            return Entity("parameter", text, name)
        case _:
            return None


__all__ = ["Resolved", "argument_entity", "resolved"]
