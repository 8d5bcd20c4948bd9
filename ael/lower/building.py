"""`xs = xs.append(x)`, `xs = xs + ys` and `m = m.set(k, v)` in place.

Lists and maps are never changed, so each `append` would copy, and building a list of n would take n² steps. Where nobody else can have
hold of the value of a `var` yet, nobody can see the difference, and it is changed in place. That is so if

- everything that the variable is given is made right there (`[]`, `[:]`), or is such an `append` or `set`;
- whatever hands the value on (passes it, keeps it, captures it) stands after every `append` to it, and no loop that does not make the
  variable anew holds both; a `return` may stand anywhere, since nothing comes after it.

Reading it (`xs.length()`, `xs[i]`, `x in xs`, `for x in xs` around no `append`) hands nothing on.
"""

from __future__ import annotations

from collections.abc import Iterator

from ael.check.program import Local, Tables
from ael.data import dataclass, field
from ael.syntax import nodes as n

BUILDERS = {"list.append": "append", "map.set": "set", "list.concat": "extend"}
_LOOPS = (n.For, n.While)
_CAPTURES = (n.Lambda, n.ParallelFor, n.ParallelRecord)


@dataclass
class _Variable:
    """A `var` and what the code does with it; each use with what stands around it, outermost first."""

    home: tuple[n.Node, ...]
    builds: list[tuple[n.Assign, tuple[n.Node, ...]]] = field(default_factory=list)
    escapes: list[tuple[n.Node, tuple[n.Node, ...]]] = field(default_factory=list)
    walked: list[n.For] = field(default_factory=list)
    excluded: bool = False


def in_place(body: n.Node, tables: Tables) -> frozenset[n.Assign]:
    """The assignments of a callable's body that change a list or map in place."""
    variables: dict[Local, _Variable] = {}
    places = list(_places(body))
    for node, around in places:
        if isinstance(node, n.Let) and node.mutable:
            variables[tables.locals[node]] = _Variable(around, excluded=not isinstance(node.value, n.ListLit | n.MapLit))
    if all(v.excluded for v in variables.values()):
        return frozenset()
    quiet: set[n.Node] = set()
    for node, around in places:
        match node:
            case n.Assign():
                _assignment(node, around, tables, variables, quiet)
            case n.Call() if (info := tables.calls.get(node)) is not None and info.kind == "builtin" and "." in info.name:
                if info.arguments and info.arguments[0] is not None:
                    quiet.add(info.arguments[0])
            case n.Index(target=target):
                quiet.add(target)
            case n.Binary(op="==" | "!=" | "in" | "not in"):
                quiet.update((node.left, node.right))
            case n.For(iterable=n.Reference() as over) if (local := tables.resolved.get(over)) in variables:
                assert isinstance(local, Local)
                variables[local].walked.append(node)
                quiet.add(over)
            case n.Reference():
                _use(node, around, tables, variables, quiet)
            case _:
                continue
    return frozenset(a for v in variables.values() if _is_safe(v) for a, _ in v.builds)


def _places(body: n.Node) -> Iterator[tuple[n.Node, tuple[n.Node, ...]]]:
    """Every node, parents first, with the loops and captures around it."""
    stack: list[tuple[n.Node, tuple[n.Node, ...]]] = [(body, ())]
    while stack:
        node, around = stack.pop()
        yield node, around
        inside = (*around, node) if isinstance(node, (*_LOOPS, *_CAPTURES, n.Return)) else around
        stack.extend((child, inside) for child in reversed(list(node.children())))


def _assignment(
    node: n.Assign, around: tuple[n.Node, ...], tables: Tables, variables: dict[Local, _Variable], quiet: set[n.Node]
) -> None:
    local = tables.resolved.get(node.name)
    if not isinstance(local, Local) or local not in variables:
        return
    if (built := built_on(node, local, tables)) is not None:
        variables[local].builds.append((node, around))
        quiet.add(built[2])
    elif not isinstance(node.value, n.ListLit | n.MapLit):
        variables[local].excluded = True


def built_on(node: n.Assign, local: Local, tables: Tables) -> tuple[str, list[n.Expr], n.Expr] | None:
    """What `xs = xs.append(x)` adds to its own variable: which way, the arguments, and the mention of the variable itself."""
    match node.value:
        case n.Binary(op="+", left=receiver, right=right):
            way, arguments = "extend", [right]
        case n.Call() as call:
            info = tables.calls.get(call)
            if info is None or info.kind != "builtin" or info.name not in BUILDERS:
                return None
            way = BUILDERS[info.name]
            receiver, *arguments = (a for a in info.arguments if a is not None)
        case _:
            return None
    if not isinstance(receiver, n.Reference) or tables.resolved.get(receiver) is not local:
        return None
    return way, arguments, receiver


def _use(
    node: n.Reference, around: tuple[n.Node, ...], tables: Tables, variables: dict[Local, _Variable], quiet: set[n.Node]
) -> None:
    local = tables.resolved.get(node)
    if not isinstance(local, Local) or local not in variables:
        return
    variable = variables[local]
    if any(isinstance(outer, _CAPTURES) for outer in around[len(variable.home) :]) or node not in quiet:
        variable.escapes.append((node, around))


def _is_safe(variable: _Variable) -> bool:
    if variable.excluded:
        return False
    for build, around in variable.builds:
        if any(outer in around for outer in variable.walked):
            return False
        inner = set(around[len(variable.home) :])
        if any(isinstance(outer, _CAPTURES) for outer in inner):
            return False
        for escape, others in variable.escapes:
            leaving = next((outer for outer in others if isinstance(outer, n.Return)), None)
            if leaving is not None and leaving not in around:
                continue
            if escape.span.start < build.span.end or inner.intersection(others):
                return False
    return True
