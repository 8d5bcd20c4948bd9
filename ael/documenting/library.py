"""What of the standard library a text uses that is not loaded."""

from __future__ import annotations

from collections.abc import Mapping

from ael.check.packs import STANDARD, resolve
from ael.diagnostics.diagnostic import Bag
from ael.project.shipped import shipped
from ael.project.shown import shown
from ael.source import SourceError, read
from ael.syntax import nodes as n
from ael.syntax.parse import parse_module


def with_library(modules: Mapping[str, n.Module], bag: Bag) -> dict[str, n.Module]:
    """The modules with those of the library that they use, and those that these use. A name that is none is left to the check."""
    found = dict(modules)
    waiting = list(modules)
    while waiting:
        user = waiting.pop()
        for node in found[user].declarations:
            name = resolve(node.module, user) if isinstance(node, n.Use) else None
            if name is None or not name.startswith(f"{STANDARD}/") or name in found:
                continue
            file = shipped("stdlib") / f"{name}.ael"
            if ".." in name or not file.is_file():
                continue
            try:
                found[name] = parse_module(read(file, shown(file)), bag)
            except SourceError:
                continue
            waiting.append(name)
    return found
