"""Edges that are taken when a node fails: what they meet, and what is left for the agent to fail with (language.md, section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ael.check.checker import Checker
from ael.check.failure import listed, listing, short
from ael.check.module import report_unknown, seen, visible
from ael.check.sign import UNCERTAIN
from ael.syntax import nodes as n
from ael.types.agent import FINISH, START, EdgeSpec
from ael.types.signature import Signature

ANY_FAULT = "Fault"


def met_by(c: Checker, edge: n.Edge, nodes: Mapping[str, Signature | None]) -> tuple[str, ...]:
    """What an edge with `on` meets: qualified errors, kinds of faults, `Fault`, `Uncertain`; reports what can never come."""
    if not edge.errors:
        return ()
    if edge.joined or any(name.text == START for name in edge.sources):
        what = "what comes together at an `&`" if edge.joined else "`start`"
        c.report("AEL1310", f"{what} cannot fail: `on` stands on an edge from a node", edge.errors[0].span)
    signatures = [nodes.get(name.text) for name in edge.sources]
    fails: frozenset[str] | None = None
    if all(one is not None for one in signatures):
        fails = frozenset().union(*(one.fails for one in signatures if one is not None))
    found: list[str] = []
    for path in edge.errors:
        name = _error(c, path)
        if name is None:
            continue
        if name in found:
            c.report("AEL1307", f"`{path.text}` stands in this `on` twice", path.span)
            continue
        found.append(name)
        if fails is not None and _declared(c, name) and name not in fails:
            sources = " or ".join(f"`{one.text}`" for one in edge.sources)
            does = "end `Uncertain`" if name == UNCERTAIN else f"fail with `{path.text}`"
            c.report("AEL1310", f"{sources} cannot {does}, so this edge is never taken because of it", path.span)
    return tuple(found) or (ANY_FAULT,)


def _error(c: Checker, path: n.Path) -> str | None:
    symbol = c.find(path)
    if symbol is None:
        if seen(c.module, path.parts[0].text) is None:
            known = visible(c.module, "error", "fault")
            wanted = "error or fault"
            report_unknown(c.collected, c.module, path.parts[0], wanted, "AEL0203", c.bag, known, frozenset({"error"}))
        else:
            c.report("AEL0203", f"there is no error `{path.text}`", path.span)
        return None
    if symbol.kind == "error" or symbol.name in (UNCERTAIN, ANY_FAULT):
        return symbol.name
    if symbol.kind == "fault":
        if symbol.name == "Cancelled":
            c.report("AEL0407", "`Cancelled` cannot be met: who cancels a run means all of it", path.span)
            return None
        return symbol.name
    if symbol.kind != "unknown":
        message = f"`{path.text}` is no error: an edge is taken `on` declared errors, faults and `Uncertain`"
        c.report("AEL0406", message, path.span)
    return None


def _declared(c: Checker, name: str) -> bool:
    """Whether a node says that it can end with this, as for declared errors and `Uncertain`; faults come from anywhere."""
    symbol = c.collected.symbols.get(name)
    return name == UNCERTAIN or (symbol is not None and symbol.kind == "error")


def unmet(
    c: Checker,
    node: n.AgentDecl,
    name: str,
    signature: Signature,
    nodes: Mapping[str, Signature | None],
    specs: Sequence[EdgeSpec],
) -> None:
    """What no edge of a node meets becomes what the agent fails with, so the agent lists it."""
    for visited, one in nodes.items():
        if one is None:
            continue
        met: set[str] = set()
        for spec in specs:
            if visited in spec.sources and spec.limit is None:
                met.update(spec.errors)
        left = sorted(one.fails - met - signature.fails)
        if not left:
            continue
        at = next(found for edge in node.edges if (found := _mentions(edge, visited)) is not None)
        fix = listing(c, node, left)
        notes = (f"meet it: `edge {visited} -> … on {', '.join(short(error) for error in left)}`; or list it in `fails`",)
        if left == [UNCERTAIN]:
            message = f"`{visited}` may end `Uncertain`, which no edge meets and `{short(name)}` does not list"
            c.report("AEL0403", message, at.span, notes=notes, fix=fix)
        else:
            message = (
                f"`{visited}` can fail with {listed(left)}, which no edge meets and `{short(name)}` does not list in `fails`"
            )
            c.report("AEL0402", message, at.span, notes=notes, fix=fix)


def _mentions(edge: n.Edge, name: str) -> n.Name | None:
    """Where an edge names a node: as its target, else as a source."""
    return next((one for one in (edge.target.name, *edge.sources) if one.text == name and name != FINISH), None)
