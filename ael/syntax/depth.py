"""How deep a tree is: later phases walk it by recursion, so that it is refused here when it is too deep for them."""

from __future__ import annotations

from ael.syntax.actions.context import Context
from ael.syntax.tokens import MAX_TREE
from ael.syntax.tree import Node


def check_depth(context: Context, root: Node) -> bool:
    """Whether the tree below `root` has at most `MAX_TREE` levels; reports the place where it gets deeper."""
    stack = [(root, 1)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_TREE:
            message = f"this is too long or nests too deep: code has at most {MAX_TREE} levels"
            context.problem("AEL0008", message, node.span.start, node.span.end, "split it with a `let` or a function")
            return False
        stack.extend((child, depth + 1) for child in node.children())
    return True
