"""What every callable can do, inferred through every call: permissions, repeat safety, whether it acts (language.md, section 5).

An effect set is one integer, so that the union of two is one `|`: a bit for "acts", one for each repeat safety that occurs, one for writing
a store, and one for each permission. A call adds what it does itself and some of the bits of what it calls: a function all of them, a
tool only that it writes (its permission and repeat safety are its declared ones). A function value counts where it is mentioned: whoever
makes or passes it could have it called, and a lambda's body is part of the callable that it stands in. So a higher-order function itself
is as pure as its own code.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from ael.check.basis import Context
from ael.check.builtin import TEST_EFFECTS, TEST_TARGETS
from ael.check.collect import ModuleScope, Symbol
from ael.check.program import CallInfo, Meaning
from ael.data import dataclass, field
from ael.syntax import nodes as n
from ael.types.builtin import EFFECTS
from ael.types.signature import Effects, Repeat

ACTS, IDEMPOTENT, RECONCILE, NEVER, WRITES = 1, 2, 4, 8, 16
_FIRST_PERMISSION = 5
_REPEATS = {Repeat.PURE: 0, Repeat.IDEMPOTENT: IDEMPOTENT, Repeat.RECONCILE: RECONCILE, Repeat.NEVER: NEVER}
STORE_WRITES = frozenset({"put", "swap", "remove"})
STORE_OPERATIONS = frozenset({"get", "put", "swap", "remove", "entries", "page", "has"})
_BUILTIN_EFFECTS = frozenset(EFFECTS.values())
_FRAME_FUNCTIONS = frozenset({"release", "script", *TEST_TARGETS, *TEST_EFFECTS})
"""Built-in functions that reach the run through the frame (the trace, the test's record)."""


class Use(NamedTuple):
    """One call (or mention) in a unit: what it does itself, and which bits of the unit `target` come with it."""

    node: n.Node
    name: str
    own: int
    target: str | None
    mask: int


@dataclass(eq=False)
class Unit:
    """A piece of code with effects of its own: a body, or code in a clause that must be plain."""

    key: str
    module: str
    node: n.Node
    uses: list[Use] = field(default_factory=list)
    total: int = 0


@dataclass(eq=False)
class Graph:
    """Units by key (a callable's qualified name; `name#clause@offset` for code in clauses), with their total effects."""

    context: Context
    bits: dict[str, int] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    """The permissions in the order of their bits."""
    units: dict[str, Unit] = field(default_factory=dict)
    plain: list[tuple[Unit, str]] = field(default_factory=list)
    """Code that must be plain, with what it is in the user's words."""
    providers: dict[str, list[str]] = field(default_factory=dict)
    """Operation -> the functions of the program that implement it."""

    def of(self, names: frozenset[str]) -> int:
        """The bits of permissions."""
        found = 0
        for name in names:
            found |= self.bits.get(name, 0)
        return found

    def names(self, total: int) -> frozenset[str]:
        """The permissions of an effect set."""
        rest, found = total >> _FIRST_PERMISSION, []
        while rest:
            low = rest & -rest
            found.append(self.order[low.bit_length() - 1])
            rest ^= low
        return frozenset(found)

    def effects(self, key: str, uncertain: bool, tainted: bool = False) -> Effects:
        """What running a unit can do."""
        total = self.units[key].total if key in self.units else 0
        return Effects(self.names(total), repeat_of(total), bool(total & ACTS), uncertain, tainted)

    def why(self, key: str, bit: int) -> list[tuple[str, Use]]:
        """The shortest chain of uses through which a unit comes to have a bit: (module, use), the last one has it itself."""
        came: dict[str, tuple[str, Use]] = {}
        queue = deque([key])
        seen = {key}
        while queue:
            at = queue.popleft()
            unit = self.units[at]
            for use in unit.uses:
                if use.own & bit:
                    chain = [(unit.module, use)]
                    while at != key:
                        at, before = came[at]
                        chain.append((self.units[at].module, before))
                    return chain[::-1]
                if use.target is not None and use.target not in seen and use.mask & bit and self.units[use.target].total & bit:
                    seen.add(use.target)
                    came[use.target] = (at, use)
                    queue.append(use.target)
        return []


def repeat_of(total: int) -> Repeat:
    """The weakest repeat safety of an effect set."""
    if total & NEVER:
        return Repeat.NEVER
    if total & RECONCILE:
        return Repeat.RECONCILE
    return Repeat.IDEMPOTENT if total & (IDEMPOTENT | ACTS) else Repeat.PURE


_Region: TypeAlias = tuple[int, int, str, n.Node, str]


@dataclass(frozen=True)
class Declared:
    """What calling a tool, node, operation or store costs the caller, as declared; filled in before the graph is built."""

    tools: dict[str, tuple[str | None, Repeat]]
    operations: dict[str, tuple[str | None, Repeat]]
    nodes: dict[str, frozenset[str]]
    """Grants of nodes and agents, closed."""
    offered: dict[str, tuple[tuple[n.Node, str], ...]]
    """Model-driven node -> the tools and nodes that it offers; agent -> the nodes that it visits: where they are named, and qualified."""
    stores: dict[str, str | None]


def build(context: Context, declared: Declared, providers: dict[str, list[str]]) -> Graph:
    """The graph of all units with their effects."""
    graph = Graph(context, providers=providers)
    for at, name in enumerate(context.permissions):
        graph.bits[name] = 1 << (_FIRST_PERMISSION + at)
        graph.order.append(name)
    keys: dict[n.Node, str] = {
        symbol.node: key for key, symbol in context.collected.symbols.items() if isinstance(symbol.node, n.FunctionDecl)
    }
    regions = {s.name: sorted((r for r in _regions(s, keys) if r[2]), key=_start) for s in context.collected.modules.values()}
    for module, found in regions.items():
        for _, _, key, node, what in found:
            unit = Unit(key, module, node)
            graph.units[key] = unit
            if what or isinstance(node, n.Rows):
                graph.plain.append((unit, what or "a table"))
    builder = _Builder(graph, declared)
    for module, found in regions.items():
        builder.gather(context.collected.modules[module], found)
    for name, offered in declared.offered.items():
        if name in graph.units:
            graph.units[name].uses += [builder.offer(path, target) for path, target in offered]
    _close(graph)
    return graph


def _start(region: _Region) -> int:
    return region[0]


def _regions(scope: ModuleScope, keys: dict[n.Node, str]) -> Iterator[_Region]:
    """Where code of each unit stands: start, end, key, node, and what it is when it must be plain. `keys` are those of functions."""
    tests = 0
    for declaration in scope.tree.declarations:
        match declaration:
            case n.FunctionDecl(body=body):
                yield _region(keys.get(declaration, ""), body)
            case n.ToolDecl(name=name, body=body, clauses=clauses):
                key = f"{scope.name}.{name.text}"
                yield _region(key, body)
                yield from _clause_regions(key, clauses)
            case n.McpDecl(name=name, members=members):
                for member in members:
                    yield from _clause_regions(f"{scope.name}.{name.text}.{member.name.text}", member.clauses)
            case n.NodeDecl(name=name, body=n.Block() as body):
                yield _region(f"{scope.name}.{name.text}", body)
            case n.NodeDecl(name=name, body=n.ModelBody(items=items)):
                key = f"{scope.name}.{name.text}"
                yield (declaration.name.span.start, declaration.name.span.start, key, declaration, "")
                for item in items:
                    yield from _item_regions(key, item)
            case n.AgentDecl(name=name, edges=edges):
                key = f"{scope.name}.{name.text}"
                yield (name.span.start, name.span.start, key, declaration, "")
                for edge in edges:
                    if edge.condition is not None:
                        yield _region(key, edge.condition, "the condition of an edge")
                    for argument in edge.target.arguments or ():
                        yield _region(key, argument.value, "what an edge carries")
            case n.ProvideDecl(functions=functions):
                for function in functions:
                    yield _region(keys.get(function, ""), function.body)
            case n.SkillDecl(name=name, functions=functions, instructions=said):
                for function in functions:
                    yield _region(keys.get(function, ""), function.body)
                if said is not None:
                    yield _region(f"{scope.name}.{name.text}", said.template, "an instruction")
            case n.TestDecl(body=body):
                tests += 1
                yield _region(f"{scope.name}#test{tests}", body)
            case _:
                pass


def _region(key: str, node: n.Node, what: str = "") -> _Region:
    return node.span.start, node.span.end, f"{key}#{node.span.start}" if what else key, node, what


def _clause_regions(key: str, clauses: tuple[n.Clause, ...]) -> Iterator[_Region]:
    for clause in clauses:
        if isinstance(clause, n.Approval) and clause.condition is not None:
            yield _region(key, clause.condition, "the condition of an approval")
        elif isinstance(clause, n.RepeatClause) and clause.key is not None:
            yield _region(key, clause.key, "the key of a tool")


def _item_regions(key: str, item: n.ModelItem) -> Iterator[_Region]:
    match item:
        case n.Require(condition=condition, message=message):
            yield _region(key, condition, "a `require`")
            if message is not None:
                yield _region(key, message, "the message of a `require`")
        case n.Input(value=value):
            yield _region(key, value, "an `input`")
        case n.Examples(items=examples):
            for example in examples:
                yield _region(key, example, "an example")
        case n.Instructions(template=template) | n.FollowUp(template=template):
            yield _region(key, template, "an instruction")


@dataclass(eq=False)
class _Builder:
    graph: Graph
    declared: Declared

    def gather(self, scope: ModuleScope, regions: list[_Region]) -> None:
        """Put every call and every mention of a function value of a module into its unit."""
        if not regions:
            return
        starts = [region[0] for region in regions]
        units, symbols = self.graph.units, self.graph.context.collected.symbols
        for call, info in scope.tables.calls.items():
            at = bisect_right(starts, call.span.start) - 1
            if at >= 0 and call.span.end <= regions[at][1]:
                use = self.call(call, info, scope)
                if use is not None:
                    units[regions[at][2]].uses.append(use)
        for node, meaning in scope.tables.resolved.items():
            if isinstance(meaning, Meaning) and meaning.kind in ("function", "tool", "node", "agent"):
                at = bisect_right(starts, node.span.start) - 1
                if at >= 0 and node.span.end <= regions[at][1]:
                    symbol = symbols.get(meaning.name)
                    use = self.symbol(node, symbol) if symbol is not None else None
                    if use is not None and not units[regions[at][2]].key.rpartition("#")[2].startswith("test"):
                        units[regions[at][2]].uses.append(use)

    def call(self, call: n.Call, info: CallInfo, scope: ModuleScope) -> Use | None:
        """What a call does."""
        match info.kind:
            case "function":
                target = info.name
                return Use(call, target, 0, target, -1) if target in self.graph.units else None
            case "effect":
                if info.name in _BUILTIN_EFFECTS:
                    return Use(call, info.name, ACTS | IDEMPOTENT, None, 0)
                symbol = self.graph.context.collected.symbols.get(info.name)
                if symbol is None:
                    return self.store(call, info.name)
                use = self.symbol(call, symbol)
                if use is not None and use.own & (RECONCILE | NEVER) and passes_key(info, symbol, scope):
                    use = use._replace(own=use.own & ~(RECONCILE | NEVER) | IDEMPOTENT)
                return use
            case "builtin":
                return Use(call, info.name, ACTS, None, 0) if info.name in _FRAME_FUNCTIONS else None
            case _:
                return None

    def symbol(self, node: n.Node, symbol: Symbol) -> Use | None:
        """What calling a declared thing does."""
        name = symbol.name
        target = name if name in self.graph.units else None
        match symbol.kind:
            case "function":
                return Use(node, name, 0, target, -1) if target else None
            case "tool":
                permission, repeat = self.declared.tools.get(name, (None, Repeat.PURE))
                return Use(node, name, self.own(permission, repeat), target, WRITES)
            case "operation":
                permission, repeat = self.declared.operations.get(name, (None, Repeat.PURE))
                own = self.own(permission, repeat)
                for provider in self.graph.providers.get(name, ()):
                    if provider in self.graph.units:
                        return Use(node, name, own, provider, WRITES)
                return Use(node, name, own, None, 0)
            case "node" | "agent":
                own = self.graph.of(self.declared.nodes.get(name, frozenset())) | ACTS | IDEMPOTENT
                return Use(node, name, own, target, ACTS | IDEMPOTENT | RECONCILE | NEVER | WRITES)
            case _:
                return None

    def offer(self, path: n.Node, name: str) -> Use:
        """What offering a tool or node to a model lets the node do, and visiting a node the agent."""
        symbol = self.graph.context.collected.symbols[name]
        return self.symbol(path, symbol) or Use(path, name, 0, None, 0)

    def store(self, call: n.Node, name: str) -> Use | None:
        owner, _, operation = name.rpartition(".")
        if owner not in self.declared.stores or operation not in STORE_OPERATIONS:
            return None
        own = self.own(self.declared.stores[owner], Repeat.IDEMPOTENT)
        return Use(call, name, own | (WRITES if operation in STORE_WRITES else 0), None, 0)

    def own(self, permission: str | None, repeat: Repeat) -> int:
        return ACTS | _REPEATS[repeat] | (self.graph.bits.get(permission, 0) if permission is not None else 0)


def passes_key(info: CallInfo, symbol: Symbol, scope: ModuleScope) -> bool:
    """Whether a call hands the operation its body's own idempotency key: `key: call.key` (docs/decisions/repeat.md)."""
    if symbol.kind != "operation" or not isinstance(symbol.node, n.Operation):
        return False
    for parameter, argument in zip(symbol.node.parameters, info.arguments, strict=False):
        if parameter.name.text == "key" and argument is not None:
            meaning = scope.tables.resolved.get(argument)
            return isinstance(meaning, Meaning) and meaning.kind == "call_key"
    return False


def _close(graph: Graph) -> None:
    """Totals by a worklist: a unit is looked at again only when something that it calls grew."""
    units = graph.units
    callers: dict[str, list[tuple[Unit, int]]] = {}
    for unit in units.values():
        for use in unit.uses:
            unit.total |= use.own
            if use.target is not None:
                callers.setdefault(use.target, []).append((unit, use.mask))
    queue = deque(unit for unit in units.values() if unit.total)
    while queue:
        unit = queue.popleft()
        for caller, mask in callers.get(unit.key, ()):
            grown = caller.total | (unit.total & mask)
            if grown != caller.total:
                caller.total = grown
                queue.append(caller)
