"""What names in code, types, patterns and dotted names stand for: locals by the rules of scope, fields by the types that are known."""

from __future__ import annotations

from ael.check.collect import Collected, ModuleScope, Symbol
from ael.check.types import BUILT_IN
from ael.editor.features.entity import Entity, EntityKind, Occurrence, Role, Visible
from ael.editor.features.meaning import (
    entity_of,
    function_of_language,
    inner,
    look,
    member_entity,
    members,
    owners,
)
from ael.syntax import nodes as n
from ael.types.definition import EnumDef
from ael.types.type import AnonymousRecord, Named

NO_NAMES = ("_",)


class CodeResolver:
    """Goes through code and puts down what its names stand for: `found`, and in `visible` the local names that it brings."""

    def __init__(self, collected: Collected, scope: ModuleScope) -> None:
        self.collected = collected
        self.scope = scope
        self.module = scope.name
        self.text = scope.source.text
        self.tables = scope.tables
        self.found: list[Occurrence] = []
        self.visible: list[Visible] = []
        self.scopes: list[dict[str, Entity]] = []
        self.ends: list[int] = []
        self.variables: dict[str, Entity] = {}
        self.has_key = False

    # --- putting down -----------------------------------------------------------------------------------------------

    def put(self, at: n.Node, entity: Entity | None, role: Role = "read", node: n.Node | None = None) -> None:
        if entity is not None and not (isinstance(at, n.Name) and self.text[at.span.start : at.span.end] != at.text):
            # Names that the parser made itself, as for the rows of a table, do not stand in the source.
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

    def word(self, name: n.Name, where: str) -> None:
        self.put(name, Entity("word", name.text, where))

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
