"""What the parts that establish facts share: the collected declarations, the bag, and how names in clauses are found."""

from __future__ import annotations

from ael.check.collect import Collected, Kind, ModuleScope, Symbol
from ael.check.suggest import did_you_mean
from ael.data import dataclass, field
from ael.diagnostics.diagnostic import Bag, Fix, Label, Place, Severity
from ael.source import Source, Span
from ael.syntax import nodes as n
from ael.types.spec import PermissionSpec, RoleSpec


@dataclass(eq=False)
class Context:
    """One check of one program. `permissions` and `roles` are filled in first (see `permission.declare`)."""

    collected: Collected
    bag: Bag
    permissions: dict[str, PermissionSpec] = field(default_factory=dict)
    roles: dict[str, RoleSpec] = field(default_factory=dict)

    def closure(self, names: frozenset[str]) -> frozenset[str]:
        """`names` and all that they include."""
        found = set(names)
        for name in names:
            spec = self.permissions.get(name)
            if spec is not None:
                found |= spec.includes
        return frozenset(found)

    def place(self, module: str, node: n.Node) -> Place:
        """Where `node` stands."""
        return Place(self.collected.modules[module].source, node.span)

    def label(self, module: str, node: n.Node, text: str) -> Label:
        """A label on `node`."""
        return Label(self.place(module, node), text)

    def report(
        self,
        code: str,
        message: str,
        module: str,
        node: n.Node,
        *,
        labels: tuple[Label, ...] = (),
        notes: tuple[str, ...] = (),
        fix: Fix | None = None,
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Report at `node`."""
        source = self.collected.modules[module].source
        self.bag.report(code, message, source, node.span, labels=labels, notes=notes, fix=fix, severity=severity)

    def warn(
        self, code: str, message: str, module: str, node: n.Node, *, notes: tuple[str, ...] = (), fix: Fix | None = None
    ) -> None:
        """Report advice at `node`."""
        self.report(code, message, module, node, notes=notes, fix=fix, severity=Severity.WARNING)

    def permission_place(self, name: str) -> tuple[Label, ...]:
        """A label on the declaration of a permission."""
        symbol = self.collected.permissions.get(name)
        if symbol is None or not isinstance(symbol.node, n.PermissionDecl):
            return ()
        return (self.label(symbol.module, symbol.node.path, f"`{name}` is declared here"),)


def names_of(scope: ModuleScope, *kinds: Kind) -> list[str]:
    """The names that a module sees of some kinds, for suggestions."""
    return [name for name, symbol in scope.names.items() if symbol.kind in kinds]


def suggestion(source: Source, span: Span, name: str, known: list[str]) -> tuple[str, Fix | None]:
    """`; did you mean …?` with its fix, or the known names when there are few, or nothing."""
    hint, fix = did_you_mean(name, known, source, span)
    if not hint and known and len(known) <= 8:
        hint = f"; there {'is' if len(known) == 1 else 'are'} {listed(known)}"
    return hint, fix


def listed(names: list[str] | tuple[str, ...] | frozenset[str], word: str = "and") -> str:
    """`a`, `b` and `c`; sorted when they have no order of their own."""
    quoted = [f"`{name}`" for name in (sorted(names) if isinstance(names, frozenset) else names)]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {word} {quoted[-1]}" if quoted else ""


def short(name: str) -> str:
    """A qualified name as people say it: without its module (`main.answer` is `answer`, `orders.Orders.get` is `Orders.get`)."""
    return name.rpartition("/")[2].partition(".")[2] or name


def offered_as(path: n.Path, symbol: Symbol) -> str:
    """How messages call what a path offers to a model: as it is written, or by its own name where the path is that of a skill."""
    own = symbol.name.rpartition(".")[2]
    return path.text if path.parts[-1].text == own else short(symbol.name)
