"""Failures: `fails`, `try`, `catch`, `fail` (language.md, section 4).

A call that can fail stands under a `try` or before a `catch`. Faults pass on by themselves; `Uncertain` never does, so that a program
cannot forget that something may have happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ael.check.basis import offered_as
from ael.check.checker import DISCARD, Body, Checker
from ael.check.collect import ModuleScope, Symbol
from ael.check.exhaustive import new_arms, unreachable
from ael.check.kind import NULL
from ael.check.module import find
from ael.check.narrow import untouched
from ael.check.pattern import catch_pattern
from ael.check.sign import UNCERTAIN
from ael.diagnostics.diagnostic import Fix, Label
from ael.source import Span
from ael.syntax import nodes as n
from ael.types.definition import RecordDef
from ael.types.text import show
from ael.types.type import Named, Never, Type, UnionType, Unknown


def short(name: str) -> str:
    """An error as source names it."""
    return name.rpartition(".")[2]


def listed(names: Iterable[str]) -> str:
    """`A`, `B` and `C`."""
    quoted = [f"`{short(name)}`" for name in sorted(names)]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def can_fail(c: Checker, node: n.Call, errors: frozenset[str], what: str) -> None:
    """A call that can fail: under a `try` or a `catch` it is met, anywhere else it is reported."""
    if not errors:
        return
    if c.failing is not None:
        for error in errors:
            c.failing.setdefault(error, node.span)
        return
    fix = c.edit("pass it on with `try`", (Span(node.span.start, node.span.start), "try "), safe=_passes(c, errors))
    labels = _says(c, node, errors)
    if errors == {UNCERTAIN}:
        message = f"{what} may end `Uncertain`: whether it took effect is then open, and this code does not say what to do"
        c.report("AEL0403", message, node.span, labels=labels, notes=(_MEET_UNCERTAIN,), fix=fix)
        return
    message = f"{what} can fail with {listed(errors)}: pass it on with `try`, or meet it with `catch`"
    c.report("AEL0401", message, node.span, labels=labels, fix=fix)


def _says(c: Checker, node: n.Call, errors: frozenset[str]) -> tuple[Label, ...]:
    """Where what is called says what it can fail with."""
    info = c.tables.calls.get(node)
    symbol = c.collected.symbols.get(info.name) if info is not None else None
    declaration = symbol.node if symbol is not None else None
    labels: tuple[Label, ...] = ()
    if symbol is not None and isinstance(declaration, n.McpTool):
        said = next((clause for clause in declaration.clauses if isinstance(clause, n.RepeatClause)), declaration.name)
        return c.label_of(symbol.module, said.span, "so a lost reply leaves open what happened")
    if symbol is None or not isinstance(declaration, n.FunctionDecl | n.ToolDecl | n.NodeDecl | n.AgentDecl | n.Operation):
        return ()
    if declaration.fails:
        span = declaration.fails[0].span.to(declaration.fails[-1].span)
        labels = c.label_of(symbol.module, span, "it says so here")
    elif UNCERTAIN in errors and not isinstance(declaration, n.FunctionDecl):
        for clause in declaration.clauses:
            if isinstance(clause, n.RepeatClause):
                labels = c.label_of(symbol.module, clause.span, "so a lost reply leaves open what happened")
    return labels


_MEET_UNCERTAIN = (
    "look before doing anything again: `… catch { Uncertain u => … }`; or pass it on with `try` and list `fails Uncertain`"
)


def _passes(c: Checker, errors: frozenset[str]) -> bool:
    """Whether the callable may pass all of these on as it stands."""
    return c.body.allows is None or errors <= c.body.allows


def pass_on(c: Checker, errors: Iterable[str], span: Span, *, verb: str = "`try` passes on") -> None:
    """Errors that leave an expression: for an outer `catch` to meet, or for the callable to fail with."""
    if c.failing is not None:
        for error in errors:
            c.failing.setdefault(error, span)
        return
    body = c.body
    if body.allows is None:
        body.passed.update(errors)
        return
    new = [e for e in sorted(errors) if e not in body.allows and e not in body.reported]
    if not new:
        return
    body.reported.update(new)
    fix = listing(c, body.declaration, new)
    if body.kind in ("clause", "constant"):
        c.report("AEL0402", f"nothing can fail here, and {verb} {listed(new)}", span)
    elif new == [UNCERTAIN]:
        message = f"{verb} `Uncertain`, which `{short(body.name)}` does not list: its callers would never learn that it may have happened"
        c.report("AEL0403", message, span, notes=(_MEET_UNCERTAIN,), fix=fix)
    else:
        message = f"{verb} {listed(new)}, which `{short(body.name)}` does not list in `fails`"
        c.report("AEL0402", message, span, fix=fix)


def listing(c: Checker, node: n.Node | None, errors: list[str]) -> Fix | None:
    """Add errors to the `fails` of a callable; None for what has none."""
    if not isinstance(node, n.FunctionDecl | n.ToolDecl | n.NodeDecl | n.AgentDecl):
        return None
    names = ", ".join(short(e) for e in errors)
    title = f"list {listed(errors)} in `fails`"
    if node.fails:
        end = node.fails[-1].span.end
        return c.edit(title, (Span(end, end), f", {names}"))
    at = result_end(c, node)
    return c.edit(title, (Span(at, at), f" fails {names}")) if at is not None else None


def result_end(c: Checker, node: n.FunctionDecl | n.ToolDecl | n.NodeDecl | n.AgentDecl) -> int | None:
    """Where a signature without `fails` ends: after its result, or after its `)`."""
    if node.result is not None:
        return node.result.span.end
    text = c.module.source.text
    start = node.parameters[-1].span.end if node.parameters else node.name.span.end
    end = text.find(")", start)
    return end + 1 if end >= 0 else None


# --- try and catch -------------------------------------------------------------------------------------------------------


def _operand(c: Checker, node: n.Expr, expected: Type | None) -> tuple[Type, dict[str, Span]]:
    outer, c.failing = c.failing, {}
    found = c.infer(node) if expected is None else c.check(node, expected)
    errors, c.failing = c.failing, outer
    return found, errors


def try_(c: Checker, node: n.Try, expected: Type | None) -> Type:
    before = c.bag.errors
    found, errors = _operand(c, node.operand, expected)
    c.tables.failures[node] = frozenset(errors)
    if errors:
        pass_on(c, errors, node.span)
    elif c.body.kind != "test" and c.bag.errors == before and not isinstance(found, Unknown) and c.body.name:
        fix = c.edit("remove the `try`", (Span(node.span.start, node.operand.span.start), ""))
        c.report("AEL1105", "nothing here can fail, so there is nothing for `try` to pass on", node.span, fix=fix, warning=True)
    return found


def catch(c: Checker, node: n.Catch, expected: Type | None) -> Type:
    narrowed, assigned = c.narrowed, c.assigned
    c.assigned = set()
    found, errors = _operand(c, node.operand, expected)
    narrowed = untouched(narrowed, c.assigned)
    c.tables.failures[node] = frozenset(errors)
    left = dict(errors)
    seen_all = wrong = False
    result = found
    for arm in node.arms:
        c.narrowed = narrowed
        c.locals.append({})
        before = c.bag.errors
        before = c.bag.errors
        met = catch_pattern(c, arm.pattern, frozenset(errors), isinstance(found, Unknown))
        wrong = wrong or c.bag.errors != before
        if c.bag.errors != before:
            pass  # what is wrong with the pattern is told, and stands for what it could have met
        elif (seen_all and met != frozenset({UNCERTAIN})) or (met and met <= errors.keys() and not met & left.keys()):
            unreachable(c, arm)
        if arm.guard is not None:
            c.check_condition(arm.guard, "a guard")
        elif met is None:
            seen_all = True
            left = {e: s for e, s in left.items() if e == UNCERTAIN}  # `_` does not stand for what may have happened
        else:
            left = {e: s for e, s in left.items() if e not in met}
        body = c.arm_body(arm.body, expected)
        c.locals.pop()
        if expected is not DISCARD:
            result = c.either(result, body, expected)
    c.narrowed = untouched(narrowed, c.assigned)
    c.assigned |= assigned
    if left and not wrong:  # what an arm with a mistake was to meet is not known
        _left_over(c, node, left)
    return c.settled(node, result, expected)


def _left_over(c: Checker, node: n.Catch, left: dict[str, Span]) -> None:
    if node.passes:
        pass_on(c, left, node.span, verb="this passes on")
        return
    labels: tuple[Label, ...] = tuple(c.label(span, f"can fail with `{short(error)}`") for error, span in left.items())
    close = node.span.end - 1
    if _passes(c, frozenset(left)):
        fix = c.edit("pass the rest on with `try`", (Span(node.span.start, node.span.start), "try "))
    else:
        arms = [f"{short(error)} {short(error)[0].lower()}" for error in left]
        fix = c.edit("add the missing arms", new_arms(c, node, arms), safe=False)
    code = "AEL0403" if set(left) == {UNCERTAIN} else "AEL0404"
    if code == "AEL0403":
        message = "this `catch` does not say what to do when the call ends `Uncertain`: whether it took effect is then open"
        c.report(code, message, Span(close, node.span.end), labels=labels, notes=(_MEET_UNCERTAIN,), fix=fix)
    else:
        message = f"this `catch` leaves {listed(left)}: add an arm for each, or write `try` in front to pass them on"
        c.report(code, message, Span(close, node.span.end), labels=labels, fix=fix)


# --- fail ----------------------------------------------------------------------------------------------------------------


def fail(c: Checker, node: n.Fail) -> None:
    found = c.expand(c.infer(node.value))
    if isinstance(found, Unknown | Never):
        return
    members = found.members if isinstance(found, UnionType) else (found,)
    errors: set[str] = set()
    for one in members:
        if isinstance(one, Named) and one.name == "Fault":
            continue
        definition = c.definitions.get(one.name) if isinstance(one, Named) else None
        if not isinstance(definition, RecordDef) or not definition.is_error:
            hint = ""
            if one == NULL:
                hint = "; it may be null"
            elif isinstance(one, Named):
                hint = f": `error {short(one.name)} {{ … }}` in place of `record` makes it one"
            c.report("AEL0409", f"`fail` takes an error, and `{show(found)}` is none{hint}", node.value.span)
            return
        errors.add(one.name if isinstance(one, Named) else "")
    if errors:
        pass_on(c, errors, node.span, verb="this fails with")


def check_model_node(c: Checker, node: n.NodeDecl, name: str, allows: frozenset[str]) -> None:
    """An uncertain tool call ends a model-driven node with `Uncertain`: a node with such a tool lists it."""
    if UNCERTAIN in allows:
        return
    for path, symbol in _offered(c, c.module, node.clauses):
        signature = c.collected.signatures.get(symbol.name)
        if signature is None or UNCERTAIN not in signature.fails:
            continue
        body = Body("node", name, None, allows, node)
        label = c.label_of(symbol.module, symbol.node.name.span, "declared here") if symbol.node is not None else ()  # type: ignore[attr-defined]
        called = offered_as(path, symbol)
        message = f"a call of `{called}` may end `Uncertain`, and ends the node with it, which `{short(name)}` does not list"
        notes = ("a model does not guess what happened: say `fails Uncertain`, so that the node's callers face it",)
        c.report("AEL0403", message, path.span, labels=label, notes=notes, fix=listing(c, body.declaration, [UNCERTAIN]))
        return


def _offered(c: Checker, scope: ModuleScope, clauses: Sequence[n.Clause]) -> Iterator[tuple[n.Path, Symbol]]:
    """What clauses offer to a model, that of their skills too, each with the path in these clauses that brings it."""
    seen: set[str] = set()
    waiting: list[tuple[n.Path | None, ModuleScope, Sequence[n.Clause]]] = [(None, scope, clauses)]
    while waiting:
        through, where, said = waiting.pop()
        for clause in said:
            for path in clause.paths if isinstance(clause, n.Tools | n.Skills) else ():
                symbol = find(c.collected, where, path)
                if symbol is None:
                    continue
                if isinstance(clause, n.Tools):
                    yield through or path, symbol
                elif isinstance(symbol.node, n.SkillDecl) and symbol.name not in seen:
                    seen.add(symbol.name)
                    waiting.append((through or path, c.collected.scope_of(symbol), symbol.node.clauses))
