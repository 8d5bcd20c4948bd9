"""Functions of the language that stand in a `test` alone: what scripted things answer, what is done to the run, what it did.

A test says to whom something happens by a name (`crash_during(Orders.refund)`), which is no value.
"""

from __future__ import annotations

from collections.abc import Iterable

from ael.check.access import symbol_of
from ael.check.arguments import look_at_all
from ael.check.builtin import TEST_EFFECTS, TEST_FUNCTIONS, TEST_TARGETS, Target
from ael.check.checker import UNKNOWN, Checker
from ael.check.collect import Kind, Symbol
from ael.check.method import ordinary
from ael.check.module import kind_text, report_unknown, seen, visible
from ael.check.packs import shared_name
from ael.check.program import CallInfo, Meaning
from ael.check.scripted import OF_CALL, OF_MODEL, OF_NODE, OF_SERVER, Scripted
from ael.check.suggest import did_you_mean
from ael.data import replace
from ael.syntax import nodes as n
from ael.types.signature import Repeat, Signature
from ael.types.text import show
from ael.types.type import ListType, Named, Type, UnitType, Unknown

STORE_OPERATIONS = frozenset({"get", "put", "swap", "remove", "entries", "page", "has"})
TURN: Type = Named("Turn")
_SCRIPTED: frozenset[Kind] = frozenset({"model", "tool", "node", "agent", "service"})

# --- script ----------------------------------------------------------------------------------------------------------------


def script(c: Checker, node: n.Script) -> None:
    """`script x [ … ]`: `x` is a model, or what is called: a tool, an operation, a node, what an MCP server offers."""
    if not c.in_test:
        c.report("AEL0323", "`script` has a meaning only in a `test`", node.span)
    outer, c.scripted = c.scripted, _scripted(c, node.model)
    c.check(node.turns, ListType(TURN), " as the turns of a script")
    c.scripted = outer


def _scripted(c: Checker, path: n.Path) -> Scripted | None:
    symbol = c.find(path)
    if symbol is None:
        known = visible(c.module, *_SCRIPTED)
        report_unknown(c.collected, c.module, path.parts[0], "model", "AEL0202", c.bag, known, _SCRIPTED)
        return None
    shown = path.text
    match symbol.kind:
        case "model":
            c.tables.resolved[path] = Meaning("model", symbol.name)
            return Scripted(shown, OF_MODEL)
        case "tool" if not isinstance(symbol.node, n.ToolDecl):
            # What is of an MCP server may be anything, also what does not fit: a test says so with `final` of any value.
            c.tables.resolved[path] = Meaning("tool", symbol.name)
            return Scripted(shown, OF_SERVER)
        case "tool" | "operation":
            c.tables.resolved[path] = Meaning("tool", symbol.name)
            return Scripted(shown, OF_CALL, c.collected.signatures.get(symbol.name), _repeat(symbol))
        case "node" | "agent":
            c.tables.resolved[path] = Meaning("node", symbol.name)
            return Scripted(shown, OF_NODE, c.collected.signatures.get(symbol.name))
        case "unknown":
            return None
        case _:
            what = "no model and nothing that is called through the run time"
            c.report("AEL0213", f"`{shown}` is {what}: it is {kind_text(symbol)}, so it has no script", path.span)
            return None


def _repeat(symbol: Symbol) -> Repeat:
    """How often it may be done, as its declaration says."""
    clauses: Iterable[n.Node] = getattr(symbol.node, "clauses", ())
    said = next((clause for clause in clauses if isinstance(clause, n.RepeatClause)), None)
    return Repeat.PURE if said is None else Repeat[said.kind.upper()]


# --- functions -------------------------------------------------------------------------------------------------------------


def test_call(c: Checker, node: n.Call, text: str, expected: Type | None) -> Type:
    """A call of the function `text`, which has a meaning in a test."""
    if not c.in_test:
        if text not in TEST_TARGETS:
            look_at_all(c, node)
        c.report("AEL0323", f"`{text}` has a meaning only in a `test`", node.span)
        return UNKNOWN
    if text in TEST_TARGETS:
        return _with_target(c, node, text, TEST_TARGETS[text])
    builtin = TEST_FUNCTIONS.get(text) or TEST_EFFECTS[text]
    scripted = c.scripted
    if text in TEST_FUNCTIONS and scripted is not None:
        if text not in scripted.answers:
            given = _list(f"`{one}`" for one in TEST_FUNCTIONS if one in scripted.answers)
            c.report("AEL0633", f"`{scripted.shown}` does not answer with `{text}`: it answers with {given}", node.span)
            return _language(c, node, text, expected)
        if text == "uncertain":
            _uncertain(c, node, scripted)
        elif text == "final" and scripted.signature is not None and not isinstance(scripted.signature.result, Unknown):
            wanted = builtin.parameters[0] if scripted.signature.result == UnitType() else scripted.signature.result
            c.tables.resolved[node.callee] = Meaning("builtin", text)
            found = ordinary(c, node, replace(builtin, parameters=(wanted,)), "builtin", {}, "`final`", expected)
            c.scripted = scripted
            return found
        elif text == "fails" and scripted.signature is not None:
            found = _language(c, node, text, expected)
            _fails(c, node, scripted, scripted.signature)
            return found
    return _language(c, node, text, expected)


def _language(c: Checker, node: n.Call, text: str, expected: Type | None) -> Type:
    builtin = TEST_FUNCTIONS.get(text) or TEST_EFFECTS[text]
    c.tables.resolved[node.callee] = Meaning("builtin", builtin.name)
    return ordinary(c, node, builtin, "builtin", {}, f"`{text}`", expected)


def _uncertain(c: Checker, node: n.Call, scripted: Scripted) -> None:
    signature = scripted.signature
    if (
        scripted.repeat.can_be_uncertain
        or (signature is not None and "Uncertain" in signature.fails)
        or "denied" not in scripted.answers
    ):
        return
    if scripted.answers is OF_NODE:
        why = "a node ends so only where it says `fails Uncertain`"
    else:
        why = "what may be repeated is done again, so nobody has to ask whether it was done"
    c.report("AEL0633", f"`{scripted.shown}` never ends Uncertain: {why}", node.span)


def _fails(c: Checker, node: n.Call, scripted: Scripted, signature: Signature) -> None:
    found = c.types.get(node.arguments[0].value) if node.arguments else None
    if not isinstance(found, Named) or found.name in signature.fails:
        if found is not None and not isinstance(found, Named | Unknown):
            c.report("AEL0633", f"`fails` takes an error, and this is `{show(found)}`", node.arguments[0].span)
        return
    own = sorted(show(Named(name)) for name in signature.fails)
    there = f"it fails with {_list(f'`{name}`' for name in own)}" if own else "it lists no error"
    c.report("AEL0633", f"`{scripted.shown}` does not fail with `{show(found)}`: {there}", node.arguments[0].span)


# --- what is named ---------------------------------------------------------------------------------------------------------


def _with_target(c: Checker, node: n.Call, text: str, target: Target) -> Type:
    """A function whose first argument is a name."""
    c.tables.resolved[node.callee] = Meaning("builtin", text)
    if not node.arguments or node.arguments[0].name is not None:
        c.report("AEL0306", f"`{text}` begins with {target.wanted}", node.span)
        _values(c, node, text, target, None)
        return target.result
    named = node.arguments[0].value
    meaning, signature = _permission(c, named) if target.kinds == {"permission"} else _meant(c, node, named, text, target)
    if meaning is not None:
        c.tables.resolved[named] = meaning
    for part in _parts(named):
        c.types[part] = UNKNOWN
    values = _values(c, node, text, target, signature)
    c.tables.calls[node] = CallInfo("builtin", text, (named, *values))
    return target.result


def _meant(c: Checker, node: n.Call, named: n.Expr, text: str, target: Target) -> tuple[Meaning | None, Signature | None]:
    symbol = symbol_of(c, named)
    if symbol is None:
        store = symbol_of(c, named.target) if isinstance(named, n.FieldAccess) else None
        if store is not None and store.kind == "store" and "operation" in target.kinds:
            assert isinstance(named, n.FieldAccess)
            if named.name.text in STORE_OPERATIONS:
                return Meaning("store", f"{store.name}.{named.name.text}"), None
        if isinstance(named, n.Reference) and seen(c.module, named.name.text) is None:
            known = visible(c.module, "tool", "node", "agent")
            report_unknown(
                c.collected, c.module, named.name, "tool", "AEL0202", c.bag, known, frozenset({"tool", "node", "agent"})
            )
        else:
            c.report("AEL0213", f"`{text}` {target.does}", named.span)
        return None, None
    if symbol.kind == "unknown":
        return None, None
    if symbol.kind not in target.kinds:
        c.report("AEL0213", f"`{text}` {target.does}; this is {kind_text(symbol)}", named.span)
        return None, None
    if text in ("decline", "unanswered") and isinstance(symbol.node, n.ToolDecl):
        clauses = symbol.node.clauses
        if not any(isinstance(clause, n.Approval) for clause in clauses):
            shown = c.module.source.text[named.span.start : named.span.end]
            c.report("AEL0634", f"nobody is asked about `{shown}`: it has no `approval required`", named.span)
    kind = "service" if symbol.kind == "operation" else symbol.kind
    return Meaning(kind, symbol.name), c.collected.signatures.get(symbol.name)  # type: ignore[arg-type]  # one of those of the target


def _permission(c: Checker, named: n.Expr) -> tuple[Meaning | None, None]:
    text = "".join(c.module.source.text[named.span.start : named.span.end].split())
    known = c.collected.permissions
    name = next((one for one in (shared_name(c.collected.packs, c.module.name, text), text) if one in known), None)
    if name is None:
        end, fix = did_you_mean(text, known, c.module.source, named.span)
        c.report("AEL0202", f"there is no permission `{text}`{end}", named.span, fix=fix)
        return None, None
    return Meaning("permission", name), None


def _parts(node: n.Node) -> Iterable[n.Expr]:
    """A dotted name and what stands before its dots."""
    while isinstance(node, n.FieldAccess):
        yield node
        node = node.target
    if isinstance(node, n.Reference):
        yield node


def _values(c: Checker, node: n.Call, text: str, target: Target, signature: Signature | None) -> list[n.Expr | None]:
    """The further arguments: those that the function has, and for `calls` those of what is called, by their names."""
    rest = node.arguments[1:] if node.arguments and node.arguments[0].name is None else node.arguments
    own: dict[str, Type] = dict(target.more)
    if target.arguments and signature is not None:
        own = {one.name: one.type for one in signature.parameters}
    found: dict[str, n.Expr] = {}
    for at, argument in enumerate(rest):
        name = argument.name.text if argument.name is not None else None
        if name is None and not target.arguments and at < len(own):
            name = list(own)[at]
        if name is None:
            c.report("AEL0306", f"`{text}` takes arguments of what is called by their names", argument.span)
        elif name not in own:
            end, fix = did_you_mean(name, own, c.module.source, argument.span)
            c.report("AEL0307", f"`{text}` has no parameter `{name}` here{end}", argument.span, fix=fix)
        elif name in found:
            c.report("AEL0307", f"`{name}` is given twice", argument.span)
        else:
            found[name] = argument.value
            c.check(argument.value, own[name])
            continue
        if argument.value not in c.types:
            c.infer(argument.value)
    return [found.get(name) for name in own] if not target.arguments else list(found.values())


def _list(words: Iterable[str]) -> str:
    found = list(words)
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} or {found[-1]}"
