"""`compensate { … }`: the rest of its block stands in a `try`, and what it ends with goes on when the compensation has run.

Those of one block stand in each other, so that the last one runs first. The end of a run (its deadline, a cancel) is no failure of the
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
        caught, ending = b.temp(), b.temp()
        b.function.blocks += 1
        with b.capture() as body:
            rest()
        b.function.blocks += 1
        with b.capture() as undone:
            b.forms.block(b, s.body, Drop())
        b.function.blocks -= 2
        exception = build.name(ending)
        cancelled = build.equal(build.attribute(ending, "kind"), build.const("Cancelled"))
        goes_on = build.negate(build.both([build.is_class(exception, "Fault"), cancelled]))
        handler: list[ast.stmt] = [
            build.assign(ending, build.call("ending_of", build.name(caught))),
            build.if_(goes_on, undone or [ast.Pass()]),
            ast.Raise(None, None),
        ]
        b.places.fill_all(handler, s.span)
        kinds: list[ast.expr] = [build.name(kind) for kind in ("Failure", "Fault", "Uncertain")]
        kinds.append(ast.Starred(build.name("NATIVE"), build.LOAD))
        b.emit(ast.Try(body or [ast.Pass()], [ast.ExceptHandler(ast.Tuple(kinds, build.LOAD), caught, handler)], [], []))
