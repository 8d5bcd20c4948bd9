"""`test` blocks: their names, and what stands only in them."""

from __future__ import annotations

from ael.check.basis import Context
from ael.check.clause import constant_text
from ael.check.packs import foreign
from ael.syntax import nodes as n
from ael.types.spec import TestSpec


def tests(context: Context) -> tuple[TestSpec, ...]:
    """The tests of the program's own modules, in order. Two of one name could not be told apart in a report."""
    found: list[TestSpec] = []
    for scope in context.collected.modules.values():
        seen: dict[str, n.TestDecl] = {}
        for declaration in scope.tree.declarations:
            if not isinstance(declaration, n.TestDecl):
                continue
            title = constant_text(context, scope, declaration.title)
            if title is None or not title.strip():
                message = "the title of a test is text without `${…}`, and not empty"
                context.report("AEL0629", message, scope.name, declaration.title)
                continue
            first = seen.setdefault(title, declaration)
            if first is not declaration:
                labels = (context.label(scope.name, first.title, "the first one"),)
                context.report(
                    "AEL0629", "two tests of this module have this title", scope.name, declaration.title, labels=labels
                )
                continue
            line = scope.source.position(declaration.span.start).line
            if not foreign(context.collected.packs, scope.name, context.collected.main):
                found.append(TestSpec(title, scope.name, line))
    return tuple(found)
