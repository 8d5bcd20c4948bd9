"""What a run starts with: the entry that is named, else the only agent, else the node `main` (language.md, section 6)."""

from __future__ import annotations

from difflib import get_close_matches

from ael.check.program import CheckedProgram


class EntryError(Exception):
    """There is no such entry, or none is named and none is meant; the message lists what there is."""


def entries(program: CheckedProgram) -> dict[str, str]:
    """Short name -> qualified name of the nodes and agents of the main module."""
    prefix = f"{program.main}."
    return {name.removeprefix(prefix): name for name in program.nodes if name.startswith(prefix)}


def choose(program: CheckedProgram, name: str | None) -> str:
    """The qualified name of the entry. Raises `EntryError`."""
    known = entries(program)
    listed = ", ".join(f"`{entry}`" for entry in known)
    if name is None:
        agents = [qualified for qualified in known.values() if program.nodes[qualified].agent is not None]
        if len(agents) == 1:
            return agents[0]
        if "main" in known:
            return known["main"]
        if not known:
            raise EntryError("there is nothing to run here: a program runs a node, such as `node main() -> String { … }`")
        raise EntryError(f"say which to run: {listed}")
    if name in known:
        return known[name]
    close = get_close_matches(name, known, 1)
    hint = f"; did you mean `{close[0]}`?" if close else f"; there is {listed}" if known else "; there is none"
    raise EntryError(f"there is no node or agent `{name}` in `{program.main}`{hint}")
