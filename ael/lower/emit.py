"""`ael build --emit python`: the Python that a program becomes, to read. It runs only inside the run time (`abi` is its world)."""

from __future__ import annotations

import ast

from ael.check.program import CheckedProgram
from ael.lower.lower import trees

HEADER = """\
# Compiled from {file} by AEL. Names: u_ locals, f_ functions, c_ constants, _ temporaries, k the frame (the only way to the world),
# _d the depth of a recursive function. Everything else is ael.lower.abi. Not to be edited.
"""


def emit(checked: CheckedProgram) -> dict[str, str]:
    """The text for each module of a program, by the module's name."""
    program, modules, places = trees(checked)
    found: dict[str, str] = {}
    for name, tree in modules.items():
        parts = [HEADER.format(file=places[name].source.name)]
        constants = [f"{key} = {value!r}" for key, value in program.constants.items() if _mentions(tree, key)]
        parts += ["\n".join(constants) + "\n"] if constants else []
        parts += [ast.unparse(statement) + "\n" for statement in tree.body]
        found[name] = "\n\n".join(parts)
    return found


def _mentions(tree: ast.AST, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))
