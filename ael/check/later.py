"""Declarations that are parsed and formatted, and get their meaning in a later release: one error each, and silence about their names."""

from __future__ import annotations

from ael.check.collect import Collected
from ael.diagnostics.diagnostic import Bag
from ael.syntax import nodes as n

_CODES: dict[type, tuple[str, str, str]] = {
    n.SkillDecl: ("AEL1002", "skill", "name its tools in the node's `tools` until then"),
}


def report_later(collected: Collected, bag: Bag) -> None:
    """Report each `skill` at its name."""
    for scope in collected.modules.values():
        for node in scope.tree.declarations:
            found = _CODES.get(type(node))
            if found is None:
                continue
            code, word, until = found
            assert isinstance(node, n.SkillDecl)
            message = f"`{word} {node.name.text}` is understood and formatted; what it does comes with a later release"
            bag.report(code, message, scope.source, node.name.span, notes=(until,))
