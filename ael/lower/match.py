"""`match` and `catch`: chains of tests."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ael.data import dataclass, field
from ael.lower import build
from ael.lower.pattern import Tests, compile_pattern
from ael.lower.scope import Builder, Destination
from ael.syntax import nodes as n

CHAIN = 60
"""Arms in one `if … elif` chain; longer ones are cut, because Python's compiler recurses into each `elif`."""


@dataclass
class Case:
    """One arm, ready: `tests`, what they bind, and how its body is written."""

    arm: n.Arm
    tests: Tests
    before: list[ast.stmt] = field(default_factory=list)
    """Statements in front of the body."""


def match(b: Builder, e: n.Match, to: Destination) -> None:
    """The first arm whose pattern and guard hold."""
    type = b.type(e.subject)
    subject = b.held(b.value(e.subject))
    cases = [Case(arm, compile_pattern(b, arm.pattern, subject, type)) for arm in e.arms]
    chain(b, cases, to, [ast.Expr(build.call("unmatched", subject))])


def chain(b: Builder, cases: Sequence[Case], to: Destination, otherwise: list[ast.stmt]) -> None:
    """Try one case after the other; `otherwise` where none holds."""
    plain = len(cases) <= CHAIN and not any(_guard_needs_statements(b, c) for c in cases)
    if plain:
        b.emit(*_nested(b, cases, to, otherwise))
    else:
        _flat(b, cases, to, otherwise)


def _guard_needs_statements(b: Builder, case: Case) -> bool:
    if case.arm.guard is None:
        return False
    counter = b.function.counter
    kept = (counter.temps, counter.sites)
    with b.capture() as statements:
        for local, _ in case.tests.binds:
            b.declare(local)
        b.value(case.arm.guard)
    counter.temps, counter.sites = kept
    return bool(statements)


def _test(b: Builder, case: Case) -> ast.expr | None:
    """The test of a case with its guard; None where it always holds."""
    tests = list(case.tests.tests)
    if case.arm.guard is not None:
        if case.tests.binds:
            bound: list[ast.expr] = [build.walrus(b.declare(local), value) for local, value in case.tests.binds]
            tests.append(ast.Tuple(bound, build.LOAD))
        tests.append(b.value(case.arm.guard))
        b.places.fill(tests[-1], case.arm.guard.span)
    for test in tests:
        b.places.fill(test, case.arm.pattern.span)
    return build.both(tests) if tests else None


def _body(b: Builder, case: Case, to: Destination) -> list[ast.stmt]:
    with b.capture() as body:
        b.emit(*case.before)
        if case.arm.guard is None:
            for local, value in case.tests.binds:
                b.emit(build.assign(b.declare(local), value))
        b.places.fill_all(body, case.arm.pattern.span)
        b.into(case.arm.body, to)
    b.places.fill_all(body, case.arm.body.span)
    return body


def _nested(b: Builder, cases: Sequence[Case], to: Destination, otherwise: list[ast.stmt]) -> list[ast.stmt]:
    made: list[tuple[ast.expr, list[ast.stmt], n.Arm]] = []
    last = otherwise
    for case in cases:
        test = _test(b, case)
        body = _body(b, case, to)
        if test is None:
            last = body
            break
        made.append((test, body, case.arm))
    for test, body, arm in reversed(made):
        branch = build.if_(test, body, last)
        b.places.fill(branch, arm.span)
        last = [branch]
    return last


def _flat(b: Builder, cases: Sequence[Case], to: Destination, otherwise: list[ast.stmt]) -> None:
    """One `if` after the other, under a flag: for guards that need statements, and for very many arms."""
    open_ = b.temp()
    b.stable.discard(open_)
    b.emit(build.assign(open_, build.const(True)))
    for case in cases:
        arm = case.arm
        with b.capture() as inside:
            if arm.guard is None:
                b.emit(build.assign(open_, build.const(False)))
                b.emit(*_body(b, case, to))
            else:
                for local, value in case.tests.binds:
                    b.emit(build.assign(b.declare(local), value))
                guard = b.value(arm.guard)
                closing: ast.stmt = build.assign(open_, build.const(False))
                b.emit(build.if_(guard, [closing, *_body(b, case, to)]))
        branch = build.if_(build.both([build.name(open_), *case.tests.tests]), inside)
        b.places.fill(branch, arm.span)
        b.emit(branch)
    b.emit(build.if_(build.name(open_), otherwise))
