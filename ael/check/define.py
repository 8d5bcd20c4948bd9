"""What declared types mean: records, enums, errors and aliases become definitions; cycles that have no end are reported with their path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from ael.check.collect import Collected, ModuleScope, Symbol
from ael.check.constant import FAILED, Constants
from ael.check.declare import unique
from ael.check.doc import description
from ael.check.finite import report_endless
from ael.check.types import TypeWriter
from ael.data import replace
from ael.diagnostics.diagnostic import Bag, Label, Place
from ael.syntax import nodes as n
from ael.types.definition import (
    NO_DEFAULT,
    AliasDef,
    Definition,
    EnumDef,
    FieldDef,
    RecordDef,
    VariantDef,
)
from ael.types.relate import is_data, join
from ael.types.type import Named, Never, StringType, Type, Unknown

BUILT_IN: dict[str, Definition] = {
    "Fault": RecordDef("Fault", (FieldDef("kind", "kind", StringType()), FieldDef("message", "message", StringType()))),
    "Uncertain": RecordDef(
        "Uncertain", tuple(FieldDef(name, name, StringType()) for name in ("key", "operation", "step")), is_error=True
    ),
    "Turn": RecordDef("Turn", ()),
}
"""Definitions of the language: what `catch` binds for a fault and for `Uncertain`, and a scripted model's turn, which has no name."""


class Definer:
    """Makes definitions. Aliases are resolved when they are first used; defaults after all types are known."""

    def __init__(self, collected: Collected, bag: Bag) -> None:
        self.collected = collected
        self.bag = bag
        self.constants = Constants(collected, bag, self)
        self._writers: dict[str, TypeWriter] = {}
        self._aliases: dict[str, Type] = {}
        self.aliases: dict[str, Definition] = {}
        """The recursive aliases, which stay in types by name."""
        self._recursive: set[str] = set()
        self._open: list[tuple[Symbol, int]] = []
        self._guards = 0
        self._later: list[Callable[[], None]] = []
        self._defaults: dict[str, tuple[ModuleScope, list[n.Field]]] = {}

    def writer(self, scope: ModuleScope) -> TypeWriter:
        """The one that turns type expressions of a module into types."""
        writer = self._writers.get(scope.name)
        if writer is None:
            writer = self._writers[scope.name] = TypeWriter(self, scope)
        return writer

    def later(self, check: Callable[[], None]) -> None:
        """Do something when all definitions are known."""
        self._later.append(check)

    def settle(self) -> None:
        """Do what was left for later."""
        while self._later:
            self._later.pop(0)()

    def join(self, types: Iterable[Type]) -> Type:
        """The type of what is any of these."""
        whole: Type = Never()
        for type in types:
            whole = join(whole, type, self.collected.definitions)
        return whole

    # --- aliases ----------------------------------------------------------------------------------------------------

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Inside a list, map or function type: there an alias may mean itself."""
        self._guards += 1
        try:
            yield
        finally:
            self._guards -= 1

    def alias(self, symbol: Symbol, at: n.NamedType, scope: ModuleScope) -> Type:
        """What an alias stands for; its name where it is recursive."""
        name = symbol.name
        if isinstance(symbol.node, n.McpMember):
            return Named(name)  # a recursive type of a server's schema
        if name in self._recursive and name not in self._aliases:
            return Named(name)
        if (known := self._aliases.get(name)) is not None:
            return Named(name) if name in self._recursive else known
        for index, (other, guards) in enumerate(self._open):
            if other is symbol:
                if self._guards > guards:
                    self._recursive.add(name)
                    return Named(name)
                self._cycle([s for s, _ in self._open[index:]])
                return Unknown()
        node = symbol.node
        assert isinstance(node, n.TypeDecl)
        self._open.append((symbol, self._guards))
        type = self.writer(self.collected.scope_of(symbol)).type_of(node.type)
        self._open.pop()
        type = self._aliases.setdefault(name, type)
        if name in self._recursive:
            doc = description(node.doc, symbol.module)
            self.collected.definitions[name] = self.aliases[name] = AliasDef(name, type, doc)
            return Named(name)
        return type

    def _cycle(self, path: list[Symbol]) -> None:
        for symbol in path:
            self._aliases[symbol.name] = Unknown()
        first = min(path, key=lambda s: (s.module, s.node.span if s.node else (0, 0)))
        start = path.index(first)
        turned = [*path[start:], *path[:start]]
        names = " -> ".join(f"`{s.name.rpartition('.')[2]}`" for s in [*turned, first])
        labels = tuple(
            Label(Place(self.collected.scope_of(s).source, s.node.span), "which stands for this")
            for s in turned[1:]
            if s.node is not None
        )
        assert first.node is not None
        source = self.collected.scope_of(first).source
        notes = ("a type may contain itself inside a list, a map or a record",)
        self.bag.report("AEL0210", f"this type stands for itself: {names}", source, first.node.span, labels=labels, notes=notes)

    # --- records, enums, errors -------------------------------------------------------------------------------------

    def define_all(self) -> None:
        """Define every declared type, with defaults, and report the ones without end."""
        self.aliases.update((k, d) for k, d in self.collected.definitions.items() if isinstance(d, AliasDef))
        self.collected.definitions.update(BUILT_IN)
        for symbol in list(self.collected.of_kind("record", "enum", "error", "alias")):
            self.definition(symbol)
        report_endless(self.collected, self.bag)
        self.settle()
        for name in list(self._defaults):
            self._fill_defaults(name)
        self.settle()

    def definition(self, symbol: Symbol) -> Definition | None:
        """The definition of a declared type, made when first asked for."""
        known = self.collected.definitions.get(symbol.name)
        if known is not None:
            self._fill_defaults(symbol.name)
            return self.collected.definitions[symbol.name]
        scope = self.collected.scope_of(symbol)
        match symbol.node:
            case n.TypeDecl():
                writer = self.writer(scope)
                self.alias(symbol, n.NamedType(symbol.node.span, n.Path(symbol.node.span, (symbol.node.name,)), (), ()), scope)
                del writer
                return self.collected.definitions.get(symbol.name)
            case n.RecordDecl(fields=fields, open=is_open, doc=doc):
                made: Definition = RecordDef(
                    symbol.name, self._fields(symbol.name, scope, fields), is_open, description(doc, scope.name)
                )
            case n.ErrorDecl(fields=fields, doc=doc):
                made = RecordDef(symbol.name, self._fields(symbol.name, scope, fields), False, description(doc, scope.name), True)
            case n.EnumDecl(variants=variants, doc=doc):
                kept = list(unique(variants, scope.source, self.bag, "variant"))
                for field in (f for v in kept for f in v.fields if wire_of(f) == "kind"):
                    message = "`kind` says in JSON which variant a value is: give this field another name"
                    self.bag.report("AEL0204", message, scope.source, field.span)
                made = EnumDef(
                    symbol.name,
                    tuple(
                        VariantDef(
                            v.name.text,
                            self._fields(f"{symbol.name}.{v.name.text}", scope, v.fields),
                            description(v.doc, scope.name),
                        )
                        for v in kept
                    ),
                    description(doc, scope.name),
                )
            case _:
                return None
        self.collected.definitions[symbol.name] = made
        return made

    def _fields(self, owner: str, scope: ModuleScope, fields: tuple[n.Field, ...]) -> tuple[FieldDef, ...]:
        writer = self.writer(scope)
        made: list[FieldDef] = []
        with_default: list[n.Field] = []
        wires: dict[str, n.Field] = {}
        for node in unique(fields, scope.source, self.bag, "field"):
            wire = wire_of(node)
            if (other := wires.setdefault(wire, node)) is not node:
                labels = (Label(Place(scope.source, other.span), "the other field"),)
                self.bag.report("AEL0201", f"two fields have the key `{wire}` in JSON", scope.source, node.span, labels=labels)
                continue
            with self.guard():
                type = writer.type_of(node.type)
            self.later(lambda node=node, type=type: self._data(scope, node, type))  # type: ignore[misc]
            made.append(FieldDef(node.name.text, wire, type, node.optional, NO_DEFAULT, description(node.doc, scope.name)))
            if node.default is not None:
                with_default.append(node)
        if with_default:
            self._defaults[owner] = (scope, with_default)
        return tuple(made)

    def _data(self, scope: ModuleScope, node: n.Field, type: Type) -> None:
        if not is_data(type, self.aliases):  # what the records in it hold is looked at where they are declared
            message = f"the field `{node.name.text}` cannot hold a function or a secret: neither can leave the program"
            self.bag.report("AEL0321", message, scope.source, node.type.span)

    def _fill_defaults(self, owner: str) -> None:
        # owner is a record, or `Enum.Variant`; asking for an enum fills all its variants
        for key in [k for k in self._defaults if k == owner or k.startswith(owner + ".")]:
            scope, nodes = self._defaults.pop(key)
            values = {node.name.text: self._default(scope, key, node) for node in nodes}
            if key in self.collected.definitions:
                record = self.collected.definitions[key]
                if isinstance(record, RecordDef):
                    self.collected.definitions[key] = replace(record, fields=_with_defaults(record.fields, values))
                continue
            enum_name, _, variant_name = key.rpartition(".")
            enum = self.collected.definitions[enum_name]
            assert isinstance(enum, EnumDef)
            variants = tuple(
                replace(v, fields=_with_defaults(v.fields, values)) if v.name == variant_name else v for v in enum.variants
            )
            self.collected.definitions[enum_name] = replace(enum, variants=variants)

    def _default(self, scope: ModuleScope, owner: str, node: n.Field) -> object:
        assert node.default is not None
        value = self.constants.value(scope, node.default, scope.tables.written.get(node.type))
        # after a mistake the field still counts as one that may be left out
        return None if value is FAILED else value


def _with_defaults(fields: tuple[FieldDef, ...], values: dict[str, object]) -> tuple[FieldDef, ...]:
    return tuple(replace(f, default=values[f.name]) if f.name in values else f for f in fields)


def wire_of(node: n.Field | n.Parameter) -> str:
    """The JSON key of a field or parameter."""
    if node.wire is not None:
        return "".join(part.text for part in node.wire.parts if isinstance(part, n.TextPart))
    return node.name.text
