"""Compensations: what undoes an effect when a later one fails (feature A8.14).

`compensate { … }` stands after what it undoes. It runs when the rest of its block fails, whatever that fails with, the last one first; then
the failure goes on. So it cannot fail by itself, nor leave the block in another way: what it meets, it has to face where it stands.
"""

from __future__ import annotations

from collections.abc import Iterator

from ael.check.checker import DISCARD, Checker
from ael.check.failure import listed
from ael.check.narrow import lasting
from ael.source import Span
from ael.syntax import nodes as n


def compensate(c: Checker, node: n.Compensate, *, follows: bool) -> None:
    """Check a compensation; `follows`: whether its block goes on after it."""
    if not follows:
        c.report("AEL0412", "nothing follows this `compensate` in its block, so nothing can fail after it", node.span)
    before, outer = c.narrowed, c.failing
    failing: dict[str, Span] = {}
    c.narrowed, c.failing = lasting(before), failing
    c.check_part(node.body, DISCARD)
    c.narrowed, c.failing = before, outer
    for statement in _leaving(node.body, looped=False):
        word = c.module.source.text[statement.span.start : statement.span.end].split(None, 1)[0]
        c.report(
            "AEL0412", f"`{word}` would leave a compensation, and the failure that it runs for goes on after it", statement.span
        )
    if failing:
        first = min(failing.values(), key=lambda span: span.start)
        message = f"a compensation cannot fail, and {listed(failing)} would leave this one"
        notes = ("meet it here, `… catch { … }`: what could not be undone is for this program to know",)
        c.report("AEL0412", message, first, notes=notes)


def _leaving(node: n.Node, *, looped: bool) -> Iterator[n.Node]:
    """What would leave the block: a `return`, and a `break` or `continue` of a loop around it."""
    for part in node.children():
        match part:
            case n.Lambda():
                continue
            case n.Return():
                yield part
            case n.Break() | n.Continue():
                if not looped:
                    yield part
            case _:
                yield from _leaving(part, looped=looped or isinstance(part, n.For | n.While))
