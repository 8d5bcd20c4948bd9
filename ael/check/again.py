"""Checking a program again after an edit: the code of a declaration is not looked at where nothing that it can see has changed.

What declarations say (types, signatures, names, permissions) is found out anew each time, and so is what must hold between them. The
types inside of a body, which are half of the work, are kept where the body has the same tree, nothing was said of it, and all that it
can ask of others is what it was: the definitions, signatures, constants and names of the whole program, and every other declaration apart
from its own body. So the answer is that of a whole check, which a test of random edits holds it to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from ael.check.body import check_declaration
from ael.check.check import Examined, examine
from ael.check.checker import Checker
from ael.check.collect import Collected, ModuleScope
from ael.check.program import Tables
from ael.data import dataclass, field
from ael.diagnostics.diagnostic import Bag, Diagnostic
from ael.syntax import nodes as n
from ael.syntax.tree import Node, same, walk
from ael.types.pin import Pins

T = TypeVar("T")

_TABLES = Tables.__match_args__
_BODIES: Mapping[type, str] = MappingProxyType(
    {n.FunctionDecl: "body", n.ToolDecl: "body", n.NodeDecl: "body", n.AgentDecl: "edges", n.TestDecl: "body"}
)
"""Declarations with a part that is nobody else's business, and which part that is."""


_ALWAYS = (n.AgentDecl, n.McpDecl)
"""Declarations for which the check makes nodes of its own, which do not move with the tree: they are few, and checked each time."""


class Counting(Bag):
    """A bag that knows how often something was reported, also the same thing twice."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def add(self, diagnostic: Diagnostic) -> None:
        self.count += 1
        super().add(diagnostic)


@dataclass(eq=False)
class _Module:
    """A module as it was when its bodies had been checked."""

    tree: n.Module
    tables: Tables
    clean: dict[n.Node, frozenset[str]] = field(default_factory=dict)
    """The declarations of which nothing was said, with the imports that their code mentions."""
    unknown: frozenset[str] = frozenset()
    """The names of the module that mean nothing."""


@dataclass(eq=False)
class _World:
    """What code can ask of the rest of the program."""

    definitions: dict[str, object]
    signatures: dict[str, object]
    constants: dict[str, object]
    symbols: dict[str, tuple[str, bool]]
    names: dict[str, dict[str, tuple[str, str]]]
    roles: tuple[frozenset[str], frozenset[str]]
    rights: tuple[object, ...]


class Rechecker:
    """Checks one program after each edit. `memo` is for what others keep of a declaration, as long as the check of its code is kept."""

    def __init__(self) -> None:
        self.memo: dict[n.Node, dict[object, Any]] = {}
        self._modules: dict[str, _Module] = {}
        self._world: _World | None = None
        self._pins: object = None
        self._mentioned: dict[n.Node, frozenset[str]] = {}

    def examine(
        self, collected: Collected, bag: Counting, pins: Pins = MappingProxyType({}), stop: Callable[[], None] = lambda: None
    ) -> Examined:
        """As `ael.check.check.examine`. `stop` is called between the parts of the work, and may raise; then nothing was learnt."""
        now: dict[str, _Module] = {}
        kept: list[n.Node] = []
        world: list[_World] = []
        usable: list[bool] = []

        def bodies(checker: Checker) -> None:
            stop()
            if not world:
                world.append(_world(collected))
                usable.append(self._pins is pins and self._world is not None and _equal(self._world, world[0]))
                usable[0] = usable[0] and self._outlines(collected)
            before = self._modules.get(checker.module.name) if usable[0] else None
            now[checker.module.name] = self._bodies(checker, bag, before, kept)

        found = examine(collected, bag, pins, bodies=bodies)
        self._modules, self._pins = now, pins
        self._world = world[0] if world else None
        alive = set(kept)
        self.memo = {node: told for node, told in self.memo.items() if node in alive}
        self._mentioned = {node: names for node, names in self._mentioned.items() if node in alive}
        return found

    def _outlines(self, collected: Collected) -> bool:
        """Whether all declarations are as they were, apart from what is nobody else's business."""
        if collected.modules.keys() != self._modules.keys():
            return False
        return all(_same_outline(self._modules[name].tree, scope.tree) for name, scope in collected.modules.items())

    def _bodies(self, checker: Checker, bag: Counting, before: _Module | None, kept: list[n.Node]) -> _Module:
        scope = checker.module
        made = _Module(scope.tree, scope.tables)
        again: list[n.Declaration] = []
        if before is not None:
            stay = [d for d in scope.tree.declarations if d in before.clean and not self._doubtful(d, before.unknown)]
            staying = set(stay)
            _carry(before, scope.tables, (d for d in before.tree.declarations if d not in staying))
            again = [d for d in scope.tree.declarations if d not in staying]
            for node in stay:
                made.clean[node] = before.clean[node]
                scope.used |= before.clean[node]
            kept += stay
        else:
            again = list(scope.tree.declarations)
        used = scope.used
        for node in again:
            count, names, scope.used = bag.count, len(scope.names), set()
            check_declaration(checker, node)
            if bag.count == count and len(scope.names) == names and not isinstance(node, _ALWAYS):
                made.clean[node] = frozenset(scope.used)
            used |= scope.used
        scope.used = used
        made.unknown = frozenset(name for name, symbol in scope.names.items() if symbol.kind == "unknown")
        # What must hold between declarations marks calls that act: what is kept is without the marks.
        made.tables = Tables(**{name: getattr(scope.tables, name).copy() for name in _TABLES})
        return made

    def _doubtful(self, node: n.Node, unknown: frozenset[str]) -> bool:
        """Whether a declaration was silent of a name only because another had told that it means nothing."""
        if not unknown:
            return False
        names = self._mentioned.get(node)
        if names is None:
            names = self._mentioned[node] = frozenset(one.text for one in walk(node) if isinstance(one, n.Name))
        return not names.isdisjoint(unknown)

    def remember(self, node: n.Node, key: object, compute: Callable[[], T]) -> T:
        """What `compute` gives for a declaration, kept as long as the check of its code is."""
        told = self.memo.setdefault(node, {})
        if key not in told:
            told[key] = compute()
        found: T = told[key]
        return found


def _carry(before: _Module, tables: Tables, gone: Iterable[Node]) -> None:
    """Fill tables with what they held, without what it said of the declarations that are `gone`."""
    old = [getattr(before.tables, name) for name in _TABLES]
    new = [getattr(tables, name) for name in _TABLES]
    fresh = tables.written.copy()
    for mine, theirs in zip(new, old, strict=True):
        mine.update(theirs)
    for declaration in gone:
        for node in (*_made(before.tables, declaration), *walk(declaration)):
            for table in new:
                if node in table:
                    table.remove(node) if isinstance(table, set) else table.pop(node)
    tables.written.update(fresh)


def _made(tables: Tables, declaration: Node) -> Iterator[Node]:
    """The nodes that the check made for a declaration, which its tree does not have."""
    if isinstance(declaration, n.AgentDecl):
        yield from tables.outputs.get(declaration, {}).values()
    elif isinstance(declaration, n.McpDecl):
        for member in declaration.members:
            yield from tables.remote.get(member, ())


def _world(collected: Collected) -> _World:
    return _World(
        dict(collected.definitions),
        dict(collected.signatures),
        dict(collected.constants),
        {key: (symbol.kind, symbol.public) for key, symbol in collected.symbols.items()},
        {name: _names(scope) for name, scope in collected.modules.items()},
        (frozenset(collected.permissions), frozenset(collected.roles)),
        (collected.main, collected.extern_allowed, collected.uses, collected.packs),
    )


def _names(scope: ModuleScope) -> dict[str, tuple[str, str]]:
    return {name: (symbol.kind, symbol.name) for name, symbol in scope.names.items()}


def _equal(a: _World, b: _World) -> bool:
    return all(getattr(a, name) == getattr(b, name) for name in _World.__match_args__)


def _same_outline(before: n.Module, now: n.Module) -> bool:
    """Whether two trees differ at most in the bodies of declarations, one for one."""
    old, new = before.declarations, now.declarations
    if len(old) != len(new):
        return False
    return all(a is b or _same_but_body(a, b) for a, b in zip(old, new, strict=True))


def _same_but_body(a: n.Declaration, b: n.Declaration) -> bool:
    if type(a) is not type(b):
        return False
    body = _BODIES.get(type(a))
    if body is None:
        return same(a, b)
    if isinstance(a, n.NodeDecl) and isinstance(b, n.NodeDecl) and type(a.body) is not type(b.body):
        return False
    return all(_same_value(getattr(a, name), getattr(b, name)) for name in a.__match_args__ if name not in (body, "span", "doc"))


def _same_value(a: object, b: object) -> bool:
    if isinstance(a, Node):
        return isinstance(b, Node) and same(a, b)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(_same_value, a, b))
    return type(a) is type(b) and a == b
