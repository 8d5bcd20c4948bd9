"""The names of a program as far as its syntax says them: for completion, which checks nothing and must not wait."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ael.diagnostics.diagnostic import Bag
from ael.source import SourceError, read
from ael.syntax import nodes as n
from ael.syntax.parse import parse_module

_MOST_FILES = 200
"""Modules of a folder that are read."""


def named(what: str, dest: str, command: str, program: Path) -> dict[str, str]:
    """What an argument called `what` can be, with what each is; nothing when it is no name of a program."""
    if what in ("NODE", "entry"):
        return {d.name.text: _doc(d) for d in _declarations(program, main=True) if isinstance(d, n.NodeDecl | n.AgentDecl)}
    if what == "AGENT":
        return {d.name.text: _doc(d) for d in _declarations(program, main=True) if isinstance(d, n.AgentDecl)}
    if dest == "deploy":
        return _deployments(program)
    if dest == "filter" and command == "test":
        return {_pattern(d.title): "" for d in _declarations(program) if isinstance(d, n.TestDecl)}
    if what == "SERVER":
        return {d.name.text: "" for d in _declarations(program) if isinstance(d, n.McpDecl)}
    if what == "SERVER.TOOL":
        servers = [d for d in _declarations(program) if isinstance(d, n.McpDecl)]
        return {f"{d.name.text}.{tool.name.text}": "" for d in servers for tool in d.tools}
    if what == "PERMISSION":
        return {d.path.text: _doc(d) for d in _declarations(program) if isinstance(d, n.PermissionDecl)}
    return {}


def flags(places: list[str]) -> dict[str, str]:
    """The flags of an entry: `places` are a file and, when it is said, the entry's name."""
    found = [d for d in _declarations(Path(places[0]).expanduser(), main=True) if isinstance(d, n.NodeDecl | n.AgentDecl)]
    agents = [d for d in found if isinstance(d, n.AgentDecl)]
    name = places[1] if len(places) > 1 else agents[0].name.text if len(agents) == 1 else "main"
    entry = next((d for d in found if d.name.text == name), None)
    return {f"--{one.name.text}": "" for one in entry.parameters} if entry is not None else {}


def _deployments(program: Path) -> dict[str, str]:
    folder = program if program.is_dir() else program.parent
    names = (path.name.removeprefix("deploy.").removesuffix(".ael") for path in sorted(folder.glob("deploy.*.ael")))
    return {name: f"deploy.{name}.ael" for name in names if name}


def _declarations(program: Path, *, main: bool = False) -> Iterator[n.Declaration]:
    """What the modules of a program declare, those of the main module first; broken files as far as they can be read."""
    if program.is_dir():
        first = program / "main.ael"
        others = [] if main else [path for path in sorted(program.rglob("*.ael")) if path != first]
        paths = [*([first] if first.is_file() else []), *others[:_MOST_FILES]]
    else:
        paths = [program]
    for path in paths:
        try:
            source = read(path)
        except SourceError:
            continue
        if not path.name.startswith(("deploy.", "pack.")):
            yield from parse_module(source, Bag()).declarations


def _pattern(title: n.StringLit) -> str:
    """A title as the regular expression that a filter is."""
    text = "".join(part.text for part in title.parts if isinstance(part, n.TextPart))
    return re.sub(r"([\\^$.*+?()[\]{}|])", r"\\\1", text)


def _doc(declaration: n.NodeDecl | n.AgentDecl | n.PermissionDecl) -> str:
    return declaration.doc.text.split("\n", 1)[0] if declaration.doc is not None else ""
