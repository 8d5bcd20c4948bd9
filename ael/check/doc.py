"""What doc comments say to those who are told of a declaration: people, and models that are offered a tool."""

from __future__ import annotations

import re

from ael.check.packs import STANDARD
from ael.syntax import nodes as n


def description(node: n.Doc | None, module: str) -> str:
    """The text of a doc comment of a module, as it is written; "" without one.

    Those of the standard library have examples, which `docs/stdlib` shows: a model that is offered a tool is not sent them.
    """
    if node is None:
        return ""
    if not module.startswith(f"{STANDARD}/"):
        return node.text
    prose = "\n".join(line for line in node.text.split("\n") if not line.startswith("    "))
    return re.sub(r"\n{3,}", "\n\n", prose).strip("\n")
