"""`compensate { … }`: the rest of its block stands in a `try`, and what it ends with goes on when the compensation has run.

Those of one block stand in each other, so that the last one runs first. What may have taken effect is never forgotten: where the rest ended
with `Uncertain`, a fault of the compensation does not take its place. The end of a run (its deadline, a cancel) is no failure of the
rest: nothing new is begun then.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from ael.lower import build
from ael.lower.outline import outlined
from ael.lower.scope import Builder, Drop
from ael.syntax import nodes as n


def compensated(b: Builder, s: n.Compensate, rest: Callable[[], None]) -> None:
    """Write the rest of the block, with what is done when it fails."""
    with outlined(b, s.span):
        caught, ending, fault = b.temp(), b.temp(), b.temp()
        b.function.blocks += 1
        with b.capture() as body:
            rest()
        b.function.blocks += 2
        with b.capture() as undone:
            b.forms.block(b, s.body, Drop())
        b.function.blocks -= 3
        goes_on = build.negate(_cancelled(ending))
        unsure = build.both([build.is_class(build.name(ending), "Uncertain"), build.negate(_cancelled(fault))])
        again: list[ast.stmt] = [build.if_(unsure, [ast.Raise(build.name(caught), None)]), ast.Raise(None, None)]
        handler: list[ast.stmt] = [
            build.assign(ending, build.call("ending_of", build.name(caught))),
            build.if_(goes_on, [_try(undone, ("Fault",), fault, again)]),
            ast.Raise(None, None),
        ]
        b.places.fill_all(handler, s.span)
        b.emit(_try(body, ("Failure", "Fault", "Uncertain"), caught, handler))


def _cancelled(name: str) -> ast.expr:
    """Whether an ending is that of the run."""
    return build.both(
        [build.is_class(build.name(name), "Fault"), build.equal(build.attribute(name, "kind"), build.const("Cancelled"))]
    )


def _try(body: list[ast.stmt], kinds: tuple[str, ...], caught: str, handler: list[ast.stmt]) -> ast.Try:
    """`body`, with what is done when it ends with one of `kinds`, or with what Python raises for a fault."""
    classes: list[ast.expr] = [build.name(kind) for kind in kinds]
    classes.append(ast.Starred(build.name("NATIVE"), build.LOAD))
    return ast.Try(body or [ast.Pass()], [ast.ExceptHandler(ast.Tuple(classes, build.LOAD), caught, handler)], [], [])
