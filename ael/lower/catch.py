"""`X catch { … }`: declared errors, faults and `Uncertain` by name. `Cancelled` and the cancellation of tasks are never met."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ael.check.program import Local
from ael.lower import build
from ael.lower.match import Case, chain
from ael.lower.pattern import Tests
from ael.lower.scope import Builder, Destination
from ael.syntax import nodes as n

ANY_FAULT = "Fault"


def catch(b: Builder, e: n.Catch, to: Destination) -> None:
    """Run the operand; the first arm that meets what it ends with takes over, anything else passes on."""
    caught = b.temp()
    function = b.function
    function.blocks += 1
    with b.capture() as body:
        b.into(e.operand, to)
    b.places.fill_all(body, e.operand.span)
    alternatives = [(arm, one) for arm in e.arms for one in _alternatives(arm.pattern)]
    classes: list[str] = []
    for _, one in alternatives:
        for name in _classes(b, one):
            if name not in classes:
                classes.append(name)
    ending = b.temp()
    function.blocks += 1
    with b.capture() as handler:
        b.emit(build.assign(ending, build.call("ending_of", build.name(caught))))
        cases = [_case(b, arm, ending) for arm in e.arms]
        chain(b, cases, to, [ast.Raise(None, None)])
        for arm in e.arms:
            for local in _binders(b, arm.pattern):
                b.raised.pop(local, None)
    function.blocks -= 2
    b.places.fill_all(handler, e.span)
    kinds: ast.expr = ast.Tuple([_class(c) for c in classes], build.LOAD)
    handlers = [ast.ExceptHandler(kinds, caught, handler)]
    b.emit(ast.Try(body or [ast.Pass()], handlers, [], []))


def _class(name: str) -> ast.expr:
    """A class to catch; `NATIVE` is a tuple of them, and Python takes no tuple in a tuple here."""
    return ast.Starred(build.name(name), build.LOAD) if name == "NATIVE" else build.name(name)


def _alternatives(pattern: n.Pattern) -> Sequence[n.Pattern]:
    if isinstance(pattern, n.OrPattern):
        return [p for one in pattern.alternatives for p in _alternatives(one)]
    return (pattern,)


def _classes(b: Builder, pattern: n.Pattern) -> tuple[str, ...]:
    """The exceptions that a pattern can meet. `NATIVE` are those that Python itself raises for a user's arithmetic or index."""
    match pattern:
        case n.TypePattern():
            match b.tables.patterns[pattern].kind:
                case "fault":
                    return ("Fault", "NATIVE")
                case "uncertain":
                    return ("Uncertain",)
                case _:
                    return ("Failure",)
        case _:
            # `_` does not stand for `Uncertain`, which is met by its name alone
            return ("Failure", "Fault", "NATIVE")


def _case(b: Builder, arm: n.Arm, ending: str) -> Case:
    tests = Tests()
    tests.tests.append(build.any_of([_test(b, one, ending) for one in _alternatives(arm.pattern)]))
    value = build.call("ending_value", build.name(ending))
    for local in _binders(b, arm.pattern):
        tests.binds.append((local, value))
        b.raised[local] = ending
    return Case(arm, tests)


def _test(b: Builder, pattern: n.Pattern, ending: str) -> ast.expr:
    """Whether an ending is what a pattern names."""
    exception = build.name(ending)
    if not isinstance(pattern, n.TypePattern):
        cancelled = build.equal(build.attribute(ending, "kind"), build.const("Cancelled"))
        excepted = build.both([build.is_class(exception, "Fault"), cancelled])
        return build.negate(build.any_of([build.is_class(exception, "Uncertain"), excepted]))
    info = b.tables.patterns[pattern]
    match info.kind:
        case "uncertain":
            return build.is_class(exception, "Uncertain")
        case "fault":
            kind = build.attribute(ending, "kind")
            if info.name == ANY_FAULT:
                wanted = build.compare(kind, ast.NotEq(), build.const("Cancelled"))
            else:
                wanted = build.equal(kind, build.const(info.name if info.name != "Cancelled" else ""))
            return build.both([build.is_class(exception, "Fault"), wanted])
        case _:
            name = build.equal(build.attribute(ending, "error"), build.const(info.name))
            return build.both([build.is_class(exception, "Failure"), name])


def _binders(b: Builder, pattern: n.Pattern) -> list[Local]:
    match pattern:
        case n.TypePattern(binder=binder) if binder is not None:
            return [b.tables.locals[binder]]
        case n.OrPattern(alternatives=alternatives):
            return _binders(b, alternatives[0])
        case _:
            return []
