"""The names in a line of a deployment: what of the program it binds, and the secrets and settings that it finds or asks for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ael.check.collect import Collected, Kind, Symbol
from ael.editor.features.entity import Entity, Occurrence
from ael.editor.features.meaning import entity_of
from ael.editor.features.resolve_code import asked
from ael.project.bind_state import dotted, matching
from ael.syntax import nodes as n

if TYPE_CHECKING:
    from ael.editor.snapshot import Snapshot

BOUND: dict[str, tuple[Kind, ...]] = {
    "model": ("model",), "store": ("store",), "service": ("service",), "tool": ("tool",), "mcp": ("mcp",), "node": ("node", "agent"),
    "serve": ("node", "agent", "service"),
}  # fmt: skip
"""Kind of line -> what of the program its name is."""


def binding_names(snapshot: Snapshot, node: n.Node) -> list[Occurrence]:
    """The names of one line of a deployment."""
    finder = _Finder(snapshot.collected, snapshot.main)
    match node:
        case n.Binding():
            finder.line(node)
        case n.TenantDecl(clauses=clauses):
            finder.clauses(clauses)
        case _:
            pass
    return finder.found


def candidates(collected: Collected, kinds: Iterable[Kind]) -> dict[str, Symbol]:
    """What a deployment can name, of some kinds, by key."""
    wanted = frozenset(kinds)
    return {key: symbol for key, symbol in collected.symbols.items() if symbol.kind in wanted}


class _Finder:
    def __init__(self, collected: Collected, main: str) -> None:
        self.collected = collected
        self.main = main
        self.found: list[Occurrence] = []

    def put(self, at: n.Node, entity: Entity | None, *, declares: bool = False) -> None:
        if entity is not None:
            self.found.append(Occurrence(at.span.start, at.span.end, entity, "declare" if declares else "read", at))

    def line(self, node: n.Binding) -> None:
        kind, subject = node.kind.text, node.subject
        if subject is not None:
            if kind in ("secret", "setting"):
                self.put(subject, Entity("secret" if kind == "secret" else "setting", subject.text), declares=True)
            elif kind == "role":
                self.put(subject, Entity("role", subject.text) if subject.text in self.collected.roles else None)
            elif kind == "edge":
                for path in (subject, node.target):
                    if path is not None:
                        self._end(path)
            elif kind in BOUND:
                self.path(subject, BOUND[kind])
        self.clauses(node.clauses)
        if node.value is not None:
            self.value(node.value, kind)

    def _end(self, path: n.Path) -> None:
        """`desk.plan`: an agent and one of its nodes."""
        owner = n.Path(path.span, path.parts[:-1])
        agent = self.meant(owner.text, ("agent",)) if len(path.parts) > 1 else None
        if agent is None:
            return
        self.put(path.parts[-2], entity_of(agent))
        scope = self.collected.modules.get(agent.module)
        visited = scope.tables.visited.get(agent.node, {}) if scope is not None and isinstance(agent.node, n.AgentDecl) else {}
        name = visited.get(path.parts[-1].text)
        if name is not None and (symbol := self.collected.symbols.get(name)) is not None:
            self.put(path.parts[-1], entity_of(symbol))
        elif path.parts[-1].text == "start":
            self.put(path.parts[-1], Entity("builtin", "start"))

    def meant(self, text: str, kinds: tuple[Kind, ...]) -> Symbol | None:
        known = candidates(self.collected, kinds)
        keys = {key.removeprefix("provide "): key for key in known}
        matches = matching(text, keys)
        own = f"{self.main}.{text}"
        name = own if own in matches else matches[0] if len(matches) == 1 else None
        return known[keys[name]] if name is not None else None

    def path(self, path: n.Path, kinds: tuple[Kind, ...]) -> None:
        symbol = self.meant(path.text, kinds)
        if symbol is None:
            return
        self.put(path.parts[-1], entity_of(symbol))
        owner = self.collected.symbols.get(symbol.name.rpartition(".")[0])
        if len(path.parts) > 1 and owner is not None and owner.name.rpartition(".")[2] == path.parts[-2].text:
            self.put(path.parts[-2], entity_of(owner))

    def clauses(self, clauses: tuple[n.Clause, ...]) -> None:
        for clause in clauses:
            match clause:
                case n.Grants(permissions=paths) | n.Needs(permissions=paths):
                    for path in paths:
                        if path.text in self.collected.permissions:
                            self.put(path, Entity("permission", path.text))
                        else:
                            self.path(path, ("tool",))
                case n.Approval(role=n.Path() as role) if role.text in self.collected.roles:
                    self.put(role, Entity("role", role.text))
                case _:
                    pass

    def value(self, node: n.Node, kind: str) -> None:
        for one in _outermost(node):
            match one:
                case n.Call(callee=n.Reference(name=n.Name(text="secret" | "setting" as word)), arguments=(first, *_)):
                    if (found := asked(word, first.value)) is not None:
                        self.found.append(found)
                case n.Reference() | n.FieldAccess() if (text := dotted(one)) is not None:
                    last = one.name
                    symbol = self.meant(text, _VALUES.get(kind, ("provide", "service", "node", "agent")))
                    self.put(last, entity_of(symbol) if symbol is not None else None)
                case _:
                    pass


_VALUES: dict[str, tuple[Kind, ...]] = {
    "service": ("provide",), "serve": ("service", "node", "agent"), "model": ("provide",), "mcp": ("node", "agent"),
}  # fmt: skip
"""Kind of line -> what of the program its value may name."""


def _outermost(node: n.Node) -> Iterable[n.Node]:
    """What stands in a value: dotted names whole, the others with what is in them."""
    stack = [node]
    while stack:
        one = stack.pop()
        yield one
        if isinstance(one, n.FieldAccess) and dotted(one) is not None:
            continue
        if isinstance(one, n.Argument):
            stack.append(one.value)
            continue
        stack.extend(reversed(list(one.children())))
