"""What doc comments say to those who are told of a declaration: people, and models that are offered a tool."""

from __future__ import annotations

import re

from ael.check.packs import STANDARD
from ael.syntax import nodes as n

_EXAMPLE = re.compile(r"\n*^```ael(?: no_run)?[ \t]*$.*?(?:^```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)


def description(node: n.Doc | None, module: str) -> str:
    """The text of a doc comment of a module, as it is written; "" without one.

    An example (a block that is fenced as `ael`; in the standard library also an indented one) is for readers and for `ael doc --test`: a
    model that is offered a tool is not sent it.
    """
    if node is None:
        return ""
    if not module.startswith(f"{STANDARD}/"):
        return node.text if "```ael" not in node.text else _EXAMPLE.sub("", node.text).strip("\n")
    prose = "\n".join(line for line in node.text.split("\n") if not line.startswith("    "))
    return re.sub(r"\n{3,}", "\n\n", prose).strip("\n")
