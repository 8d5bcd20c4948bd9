"""What written types mean: names resolved, bounds checked, aliases replaced, unions told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ael.check.bounds import bounded
from ael.check.collect import ModuleScope, Symbol
from ael.check.kind import sure
from ael.check.mcp_member import unknown_member
from ael.check.module import kind_text, member, report_unknown, seen, server_member, visible
from ael.check.suggest import did_you_mean
from ael.diagnostics.diagnostic import Label, Place
from ael.syntax import nodes as n
from ael.types.discriminate import ambiguous
from ael.types.text import show
from ael.types.type import (
    BoolType,
    BytesType,
    DateType,
    DecimalType,
    DurationType,
    FileType,
    FloatType,
    FunctionType,
    IntType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    Named,
    NullType,
    SecretType,
    StringType,
    TimestampType,
    Type,
    UnionType,
    UnitType,
    Unknown,
    Variable,
    optional,
    union,
)

if TYPE_CHECKING:
    from ael.check.define import Definer

UNKNOWN = Unknown()
BUILT_IN: dict[str, Type] = {
    "String": StringType(),
    "Int": IntType(),
    "Float": FloatType(),
    "Decimal": DecimalType(),
    "Bool": BoolType(),
    "Bytes": BytesType(),
    "Timestamp": TimestampType(),
    "Date": DateType(),
    "Duration": DurationType(),
    "Json": JsonType(),
    "Unit": UnitType(),
    "File": FileType(),
    "Secret": SecretType(),
    "Fault": Named("Fault"),
    "Uncertain": Named("Uncertain"),
}
"""The types of the language that take no arguments."""

_TYPE_KINDS = frozenset({"record", "enum", "error", "alias", "type"})
_MAX_DEPTH = 60


class TypeWriter:
    """Turns type expressions of one module into types, and keeps each in the module's `written` table."""

    def __init__(self, definer: Definer, scope: ModuleScope) -> None:
        self.definer = definer
        self.scope = scope
        self.bag = definer.bag
        self.written = scope.tables.written
        self.variables: frozenset[str] = frozenset()
        self._depth = 0

    def type_of(self, node: n.TypeExpr) -> Type:
        """What a type expression means; `Unknown` after a report."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            self._report(
                "AEL0326", f"this type is nested more than {_MAX_DEPTH} levels deep: give parts of it names with `type`", node
            )
            found: Type = UNKNOWN
        else:
            found = self._convert(node)
        self._depth -= 1
        self.written[node] = found
        return found

    def _convert(self, node: n.TypeExpr) -> Type:
        match node:
            case n.NamedType():
                return self._named(node)
            case n.OptionalType(inner=inner):
                return optional(self.type_of(inner))
            case n.UnionType(members=members):
                return self._union(node, members)
            case n.LiteralType(value=value):
                return self._literal(node, value)
            case n.FunctionType(parameters=parameters, result=result):
                with_guard = self.definer.guard()
                with with_guard:
                    return sure(FunctionType(tuple(self.type_of(p) for p in parameters), self.type_of(result)))

    def _union(self, node: n.UnionType, members: tuple[n.TypeExpr, ...]) -> Type:
        whole = union(*(self.type_of(member) for member in members))
        if isinstance(whole, UnionType):
            self.definer.later(lambda: self._told_apart(node, whole))
        return whole

    def _told_apart(self, node: n.UnionType, whole: UnionType) -> None:
        pair = ambiguous(whole.members, self.definer.collected.definitions)
        if pair is None:
            return
        a, b = pair
        message = f"a value could be both `{show(a)}` and `{show(b)}`: nothing tells these members of the union apart"
        notes = ('give each a field with a constant of its own, such as `kind: "card"`, or make an `enum` of them',)
        self.bag.report("AEL0304", message, self.scope.source, node.span, notes=notes)

    def _literal(self, node: n.LiteralType, value: n.Node) -> Type:
        match value:
            case n.NullLit():
                return NullType()
            case n.BoolLit(value=v):
                return LiteralType(v)
            case n.IntLit(value=number):
                return LiteralType(number)
            case n.StringLit(parts=parts):
                text = [part.text for part in parts if isinstance(part, n.TextPart)]
                if len(text) == len(parts):
                    return LiteralType("".join(text))
                self._report("AEL0302", "a text that is a type cannot have `${…}` in it", node)
            case _:
                self._report("AEL0302", "a Float cannot be a type of one value: give bounds, such as `Float(0.0..1.0)`", node)
        return UNKNOWN

    # --- names ------------------------------------------------------------------------------------------------------

    def _named(self, node: n.NamedType) -> Type:
        parts = node.path.parts
        text = parts[0].text
        if len(parts) == 1 and text in self.variables:
            return self._bare(node, Variable(text))
        if len(parts) == 1 and text in ("List", "Map"):
            return self._container(node, text)
        if len(parts) == 1 and (plain := BUILT_IN.get(text)) is not None:
            return self._plain(node, text, plain)
        symbol = self._symbol(node)
        if symbol is None or symbol.kind == "unknown":
            for argument in node.arguments:
                self.type_of(argument)
            return UNKNOWN
        if symbol.kind == "alias":
            return self._bare(node, self.definer.alias(symbol, node, self.scope))
        if symbol.kind in ("record", "enum", "error"):
            return self._bare(node, Named(symbol.name))
        if symbol.kind == "fault":
            message = f"`{text}` is a fault, met by `catch {{ {text} t => … }}`; the type of what is bound there is `Fault`"
            self._report("AEL0213", message, node)
        else:
            label: tuple[Label, ...] = ()
            if symbol.node is not None:
                place = Place(self.definer.collected.scope_of(symbol).source, symbol.node.span)
                label = (Label(place, "declared here"),) if not isinstance(symbol.node, n.Module) else ()
            self.bag.report(
                "AEL0213",
                f"`{node.path.text}` is {kind_text(symbol)}, not a type",
                self.scope.source,
                node.path.span,
                labels=label,
            )
        return UNKNOWN

    def _symbol(self, node: n.NamedType) -> Symbol | None:
        """What the name means; None after a report."""
        collected, scope = self.definer.collected, self.scope
        first, *rest = node.path.parts
        symbol = seen(scope, first.text)
        if symbol is None:
            known = [*self.variables, *visible(scope, "record", "enum", "error", "alias", "type")]
            report_unknown(collected, scope, first, "type", "AEL0203", self.bag, known, _TYPE_KINDS)  # type: ignore[arg-type]
            return None
        for part in rest:
            if symbol.kind == "mcp":
                found = server_member(collected, symbol, part.text)
                if found is None:
                    unknown_member(collected, symbol, part, scope.source, self.bag)
                    return None
                symbol = found
                continue
            if symbol.kind != "module":
                if symbol.kind != "unknown":
                    self._no_module(node, symbol)
                    return None
                return symbol
            inner = member(collected, symbol, part.text)
            if inner is None:
                target = collected.modules.get(symbol.name)
                known = [k for k, s in target.names.items() if s.public and s.kind in _TYPE_KINDS] if target else []
                end, fix = did_you_mean(part.text, known, scope.source, part.span)
                self.bag.report(
                    "AEL0205", f"the module `{first.text}` has no `{part.text}`{end}", scope.source, part.span, fix=fix
                )
                return None
            symbol = inner
        return symbol

    def _no_module(self, node: n.NamedType, symbol: Symbol) -> None:
        hint = "; a variant of an enum is no type" if symbol.kind == "enum" else ""
        self._report("AEL0203", f"there is no type `{node.path.text}`: `{symbol.name}` is {kind_text(symbol)}{hint}", node)

    def _bare(self, node: n.NamedType, type: Type) -> Type:
        """A type that takes neither arguments nor bounds."""
        if node.arguments:
            self._report("AEL0303", f"`{node.path.text}` takes no type arguments", node)
        elif node.bounds:
            message = f"bounds stand on built-in types, not on `{node.path.text}`: write them where it is declared"
            self._report("AEL0302", message, node)
        return type

    def _plain(self, node: n.NamedType, name: str, type: Type) -> Type:
        if node.arguments:
            self._report("AEL0303", f"`{name}` takes no type arguments", node)
            return type
        return bounded(self.definer, self.scope, name, type, node.bounds) if node.bounds else type

    def _container(self, node: n.NamedType, name: str) -> Type:
        count = 1 if name == "List" else 2
        if len(node.arguments) != count:
            form = "List<T>" if name == "List" else "Map<String, V>"
            self._report("AEL0303", f"`{name}` is written `{form}`", node)
            for argument in node.arguments:
                self.type_of(argument)
            return UNKNOWN
        with self.definer.guard():
            inner = [self.type_of(argument) for argument in node.arguments]
        if name == "Map" and not isinstance(inner[0], StringType | Unknown):
            self._report("AEL0303", f"the keys of a map are `String`, not `{show(inner[0])}`", node.arguments[0])
        made: Type = ListType(inner[0]) if name == "List" else MapType(inner[1])
        return sure(bounded(self.definer, self.scope, name, made, node.bounds) if node.bounds else made)

    def _report(self, code: str, message: str, node: n.Node) -> None:
        self.bag.report(code, message, self.scope.source, node.span)
