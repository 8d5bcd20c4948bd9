"""The state of checking bodies: what is in scope, which callable is being looked at, where failures go.

A `Checker` belongs to one module. The forms of the language are in files of their own; each gives a function
`(checker, node, expected) -> Type`, joined to one table by `ael.check.expression` and handed in here, so that a form reaches all
others through `infer` and `check`. `expected`, where given, is what the value must fit, not a hint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from ael.check.advice import hints
from ael.check.collect import Collected, ModuleScope, Symbol
from ael.check.constant import Constants
from ael.check.declare import style
from ael.check.define import Definer
from ael.check.kind import BOOL, has_null, loose, vague, without_null
from ael.check.module import find
from ael.check.passing import failing_with, failures_in
from ael.check.program import Local
from ael.check.scripted import Scripted
from ael.check.types import BUILT_IN
from ael.data import dataclass, field
from ael.diagnostics.diagnostic import Bag, Edit, Fix, Label, Place, Severity
from ael.source import Span
from ael.syntax import nodes as n
from ael.types.definition import AliasDef
from ael.types.relate import fits as relate_fits
from ael.types.relate import is_data
from ael.types.relate import join as relate_join
from ael.types.text import show
from ael.types.type import ListType, MapType, Named, Never, Type, UnitType, Unknown

UNKNOWN = Unknown()
NEVER = Never()
UNIT = UnitType()
DISCARD = UnitType()
"""What a form is expected to give where its value is not used; compared by identity. Everything fits it."""

MAX_DEPTH = 90
"""How deep expressions, blocks and types may be nested: deeper ones would be refused by the compiler below."""

Path: TypeAlias = tuple[object, ...]
"""A local and the fields read from it: what narrowing knows things about."""
Handler: TypeAlias = Callable[["Checker", Any, Type | None], Type]


@dataclass(eq=False)
class Body:
    """The callable whose body is looked at.

    `allows` is what it may fail with, None for anything (a test, or a lambda, whose failures are inferred in `passed`). `result` is None
    where it is inferred.
    """

    kind: Literal["function", "tool", "provided", "node", "test", "lambda", "clause", "constant"]
    name: str
    result: Type | None
    allows: frozenset[str] | None
    declaration: n.Node
    passed: set[str] = field(default_factory=set)
    reported: set[str] = field(default_factory=set)
    returns: list[Type] = field(default_factory=list)
    loops: int = 0


class Checker:
    """Checks the bodies of one module."""

    def __init__(
        self, collected: Collected, scope: ModuleScope, bag: Bag, definer: Definer, handlers: Mapping[type, Handler]
    ) -> None:
        self.collected = collected
        self.definer = definer
        self.module = scope
        self.tables = scope.tables
        self.types = scope.tables.types
        self.definitions = collected.definitions
        self.bag = bag
        self.handlers = handlers
        self.body: Body = Body("constant", "", None, frozenset(), scope.tree)
        self.locals: list[dict[str, Local]] = []
        self.slots: dict[str, int] = {}
        self.own_slots: set[str] = set()
        """The slots of the innermost lambda or `parallel` branch, whose `var`s it may assign."""
        self.pattern_names: set[str] = set()
        self.bound: list[tuple[n.Name, Local]] = []
        """What the patterns of the arm that is looked at bind, in order."""
        self.read: set[Local] = set()
        self.unread: dict[Local, n.Name] = {}
        self.narrowed: dict[Path, Type] = {}
        self.assigned: set[object] = set()
        self.in_test = False
        self.scripted: Scripted | None = None
        """What the turns that are looked at answer for."""
        self.has_key = False
        """Whether `call.key` has a meaning: in the body of a tool or of a provider's function."""
        self.branch: n.Node | None = None
        """The branch of a `parallel` that is looked at."""
        self.failing: dict[str, Span] | None = None
        """What can fail inside the nearest `try` or `catch`, with the place of the first; None outside of one."""
        self.depth = 0
        self.nesting = 0
        self.bare_parts = False
        self.reason: tuple[n.Node, str] = (scope.tree, "")
        """The expression that was last checked against a type, and how a message about it ends."""
        self.origin: tuple[Type, str, str | Span] | None = None
        """The type that is expected by a call or a body (told apart by identity), and where it was written: the parameter or field of the
        callee of that qualified name, or a place in this module."""
        self._fits: dict[tuple[Type, Type], bool] = {}

    # --- types of expressions ---------------------------------------------------------------------------------------

    def infer(self, node: n.Expr) -> Type:
        """The type of an expression of which nothing is expected."""
        return self._visit(node, None)

    def discard(self, node: n.Expr) -> Type:
        """Look at an expression whose value is not used."""
        return self._visit(node, DISCARD)

    def check(self, node: n.Expr, expected: Type, why: str = "", *, passed: bool = False) -> Type:
        """The type of an expression that must fit `expected`; `Unknown` after a report when it does not. `why` ends the message.

        `passed`: it is handed to a call, where a function may fail, since the call then fails with the same.
        """
        self.reason = (node, why)
        found = self._visit(node, expected)
        if found is expected or expected is DISCARD:
            return found
        if self.fits(found, expected):
            if not passed and (fails := failures_in(found)):
                self.keeps_failing(node, fails)
            return found
        self.mismatch(node, found, expected, why)
        return UNKNOWN

    def _visit(self, node: n.Expr, expected: Type | None) -> Type:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.too_deep(node.span)
            found: Type = UNKNOWN
        else:
            found = self.handlers[type(node)](self, node, expected)
        self.depth -= 1
        self.types[node] = found
        return found

    def visit(self, node: n.Expr, expected: Type) -> Type:
        """As `check`, but whether what the form gives fits is left to the caller."""
        return self._visit(node, expected)

    def check_part(self, node: n.Expr, expected: Type | None) -> Type:
        """As `infer` or `check`, by whether something is expected."""
        return self._visit(node, None) if expected is None else self.check(node, expected)

    def check_condition(self, node: n.Expr, what: str) -> None:
        """A condition is a Bool, nothing else."""
        self.check(node, BOOL, f" as the condition of {what}")

    def arm_body(self, node: n.Expr, expected: Type | None) -> Type:
        """The body of an arm of a `match` or `catch`, whose names are bound."""
        self.pattern_names = set()
        self.bound.clear()
        return self.check_part(node, expected)

    def settled(self, node: n.Expr, found: Type, expected: Type | None) -> Type:
        """The type of a form all of whose ways were checked against what is expected."""
        if expected is DISCARD:
            return UNIT if found != NEVER else found
        return found

    def type_of(self, node: n.TypeExpr) -> Type:
        """What a type written in a body means."""
        found = self.definer.writer(self.module).type_of(node)
        self.definer.settle()
        return found

    def type_named(self, symbol: Symbol) -> Type:
        """The type that a symbol names."""
        if symbol.kind == "alias":
            at = n.NamedType(Span(0, 0), n.Path(Span(0, 0), ()), (), ())
            return self.definer.alias(symbol, at, self.module)
        if symbol.kind == "type":
            return BUILT_IN.get(symbol.name, UNKNOWN)
        return Named(symbol.name)

    def find(self, path: n.Path) -> Symbol | None:
        """What a dotted name means in this module."""
        return find(self.collected, self.module, path)

    @property
    def constants(self) -> Constants:
        """The values of `const`s."""
        return self.definer.constants

    def bodies_key(self) -> bool:
        """Whether `call.key` has a meaning here."""
        return self.has_key

    def reserved(self, name: n.Name) -> None:
        """Report a local that hides `call` where that means something."""
        if name.text == "call" and self.has_key:
            self.report("AEL0215", "`call` means the call of this tool here (`call.key`): choose another name", name.span)

    def check_argument(self, node: n.Expr, expected: Type, why: str = "") -> Type:
        """As `check`, for what a call is given: there a function may fail, since the call then fails with the same."""
        return self.check(node, expected, why, passed=True)

    def too_deep(self, span: Span) -> None:
        """Say once for a body that it is nested too deep."""
        if "<depth>" not in self.body.reported:
            self.body.reported.add("<depth>")
            message = (
                f"this is nested more than {MAX_DEPTH} levels deep; give parts of it names with `let`, or move them into a `fn`"
            )
            self.report("AEL0326", message, span)

    def keeps_failing(self, node: n.Node, fails: frozenset[str]) -> None:
        """Report a function that can fail where nothing would know that it can."""
        errors = ", ".join(f"`{name.rpartition('.')[2]}`" for name in sorted(fails))
        notes = ("a function that can fail is called, bound by a `let` without a type, or passed to a call that calls it",)
        self.report("AEL0325", f"this function can fail with {errors}, which its type here does not say", node.span, notes=notes)

    # --- types against types ----------------------------------------------------------------------------------------

    def fits(self, source: Type, target: Type) -> bool:
        """As `ael.types.relate.fits`, remembered."""
        if source is target:
            return True
        key = (source, target)
        known = self._fits.get(key)
        if known is None:
            known = self._fits[key] = relate_fits(source, target, self.definitions)
        return known

    def is_data(self, type: Type) -> bool:
        """Whether values of the type can be compared, kept and sent; what declared types hold is looked at where they are declared."""
        return is_data(type, self.definer.aliases)

    def join(self, a: Type, b: Type) -> Type:
        """As `ael.types.relate.join`; a function that may be either can fail with what either can."""
        if a is b:
            return a
        joined = relate_join(a, b, self.definitions)
        return failing_with(joined, failures_in(a) | failures_in(b))

    def either(self, a: Type, b: Type, expected: Type | None) -> Type:
        """The type of what comes from one of two ways. Where both were checked against what is expected, it is no nearer than that."""
        if a is b or b == NEVER:
            return a
        if a == NEVER:
            return b
        if expected is None or expected is DISCARD:
            return self.join(a, b)
        if a == b or UNKNOWN in (a, b):
            return a if a == b else UNKNOWN
        if has_null(expected) and not has_null(a) and not has_null(b):
            return without_null(expected)
        return expected

    def expand(self, type: Type) -> Type:
        """What stands behind the name of a recursive alias; any other type is itself."""
        for _ in range(16):
            if not isinstance(type, Named):
                return type
            definition = self.definitions.get(type.name)
            if not isinstance(definition, AliasDef):
                return type
            type = definition.type
        return type

    def mismatch(self, node: n.Node, found: Type, expected: Type, why: str = "") -> None:
        """Report that a value is not what is expected, unless a mistake that was reported already has a part in either."""
        if vague(found) or vague(expected):
            return
        if not why and self.reason[0] is node:
            why = self.reason[1]
        if not self.fits(loose(found), loose(expected)):
            found = loose(found)  # its bounds are not what is wrong
        from_type, to_type = show_pair(found, expected)
        message = f"expected {to_type}{why}, found {from_type}"
        self.report("AEL0301", message, node.span, labels=self.asked_by(expected), notes=hints(node, found, expected))

    def asked_by(self, expected: Type) -> tuple[Label, ...]:
        """Where a type that is expected was written: the parameter, the field, the result."""
        origin = self.origin
        if origin is None or origin[0] is not expected:
            return ()
        _, owner, at = origin
        if isinstance(at, Span):
            return (self.label(at, "asked for here"),)
        symbol = self.collected.symbols.get(owner)
        if symbol is None:
            return ()
        match symbol.node:
            case n.RecordDecl(fields=places) | n.ErrorDecl(fields=places):
                spans = [f.span for f in places if f.name.text == at]
            case (
                n.FunctionDecl(parameters=given)
                | n.ToolDecl(parameters=given)
                | n.NodeDecl(parameters=given)
                | n.AgentDecl(parameters=given)
                | n.Operation(parameters=given)
            ):
                spans = [p.span for p in given if p.name.text == at]
            case _:
                spans = []
        return self.label_of(symbol.module, spans[0], "asked for here") if spans else ()

    # --- scopes -----------------------------------------------------------------------------------------------------

    def declare(self, at: n.Node, name: n.Name, type: Type, *, mutable: bool = False) -> Local:
        """Bring a local name into the innermost scope; it may hide one of a scope further out."""
        text = name.text
        if (written := style("function", text)) is not None:
            self.report("AEL0208", f"the name of a value is written `{written}`, not `{text}`", name.span)
        count = self.slots.get(text, 0) + 1
        self.slots[text] = count
        slot = text if count == 1 else self._slot(text, count)
        local = Local(text, slot, mutable, type)
        self.own_slots.add(slot)
        self.locals[-1][text] = local
        self.tables.locals[at] = local
        return local

    def _slot(self, text: str, count: int) -> str:
        """A slot that no other local has: `x_2`, or a later number where a local is called `x_2` itself."""
        while (slot := f"{text}_{count}") in self.slots:
            count += 1
        self.slots[text] = count
        self.slots[slot] = 1
        return slot

    def find_local(self, name: str) -> Local | None:
        """The local of this name that is in scope."""
        for scope in reversed(self.locals):
            if (local := scope.get(name)) is not None:
                return local
        return None

    # --- reports ----------------------------------------------------------------------------------------------------

    def report(
        self,
        code: str,
        message: str,
        span: Span,
        *,
        labels: tuple[Label, ...] = (),
        notes: tuple[str, ...] = (),
        fix: Fix | None = None,
        warning: bool = False,
    ) -> None:
        """Report in this module's source."""
        severity = Severity.WARNING if warning else Severity.ERROR
        self.bag.report(code, message, self.module.source, span, labels=labels, notes=notes, fix=fix, severity=severity)

    def label(self, span: Span, text: str) -> Label:
        """A label on a place in this module."""
        return Label(Place(self.module.source, span), text)

    def label_of(self, module: str, span: Span, text: str) -> tuple[Label, ...]:
        """A label on a place in another module; none for what the language brings."""
        scope = self.collected.modules.get(module)
        return () if scope is None else (Label(Place(scope.source, span), text),)

    def edit(self, title: str, *edits: tuple[Span, str], safe: bool = True) -> Fix:
        """A fix in this module's source."""
        source = self.module.source
        return Fix(title, tuple(Edit(Place(source, span), text) for span, text in edits), safe)


def show_pair(a: Type, b: Type) -> tuple[str, str]:
    """Both types as source writes them, with their modules where they would look alike."""
    left, right = show(a), show(b)
    if isinstance(a, ListType | MapType) and isinstance(a.item if isinstance(a, ListType) else a.value, Never):
        return ("an empty list" if isinstance(a, ListType) else "an empty map"), f"`{right}`"
    if left == right and isinstance(a, Named) and isinstance(b, Named):
        return f"`{a.name}`", f"`{b.name}`"
    return f"`{left}`", f"`{right}`"
