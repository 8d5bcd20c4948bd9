"""Names that another module shows: where they are, and the edit that brings one in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from ael.check.collect import Kind
from ael.check.packs import apart, resolve, spelled
from ael.editor.snapshot import File, Snapshot
from ael.project.pack import OPTIONAL_PACKAGES
from ael.project.shipped import shipped
from ael.source import SourceError, Span, read
from ael.syntax import nodes as n


class Offered(NamedTuple):
    """A name that a module shows. `path` is how a `use` writes the module; `head` its declaration in a line, `doc` what is said of it."""

    name: str
    kind: Kind
    path: str
    module: str
    head: str
    doc: str


_KINDS: dict[str, Kind] = {
    "record": "record", "enum": "enum", "error": "error", "type": "alias", "const": "const", "fn": "function", "tool": "tool",
    "node": "node", "agent": "agent", "skill": "skill", "service": "service", "mcp": "mcp", "model": "model", "store": "store",
}  # fmt: skip
_SHOWN = re.compile(
    r"((?:^///[^\n]*\n)*)^pub (?:open )?(record|enum|error|type|const|fn|tool|node|agent|skill|service|mcp|model|store) (\w+)([^\n]*)",
    re.MULTILINE,
)


@cache
def library() -> tuple[Offered, ...]:
    """What the modules of the standard library show."""
    found: list[Offered] = []
    for path in sorted((shipped("stdlib") / "std").glob("*.ael")):
        try:
            text = read(path).text
        except SourceError:
            continue
        module = f"std/{path.stem}"
        for doc, word, name, rest in _SHOWN.findall(text):
            told = "\n".join(line.removeprefix("///").strip() for line in doc.splitlines())
            found.append(Offered(name, _KINDS[word], module, module, f"{word} {name}{rest.rstrip(' {')}", told))
    return tuple(found)


@cache
def library_modules() -> tuple[str, ...]:
    """The modules of the standard library."""
    return tuple(f"std/{path.stem}" for path in sorted((shipped("stdlib") / "std").glob("*.ael")))


def offered(snapshot: Snapshot, file: File) -> Iterator[Offered]:
    """What other modules show that this one can use and does not see yet."""
    scope = file.scope
    if scope is None:
        return
    collected = snapshot.collected
    listed = snapshot.pack.uses if snapshot.pack is not None else frozenset()
    for other in collected.modules.values():
        if other.name == file.name or other.name.startswith("std/"):
            continue
        path = spelled(other.name, file.name, collected.packs)
        if path is None:
            continue
        for name, symbol in other.names.items():
            if (
                symbol.public
                and name not in other.imports
                and symbol.kind not in ("module", "unknown")
                and symbol.module == other.name
            ):
                doc = getattr(symbol.node, "doc", None)
                yield Offered(name, symbol.kind, path, other.name, "", doc.text if isinstance(doc, n.Doc) else "")
    for one in library():
        if one.module != file.name and (one.module not in OPTIONAL_PACKAGES or one.module in listed):
            yield one


def importing(snapshot: Snapshot, file: File, path: str, name: str) -> tuple[Span, str]:
    """The edit that brings a name in: into a `use` of its module, or as a line of its own."""
    collected = snapshot.collected
    wanted = resolve(path, file.name, collected.packs)
    uses = [node for node in file.tree.declarations if isinstance(node, n.Use)]
    for node in uses:
        same = resolve(node.module, file.name, collected.packs) == wanted
        if same and node.names and file.source.text[: node.span.end].endswith("}"):
            last = node.names[-1].span.end
            return Span(last, last), f", {name}"
        if same and len(node.names) == 1:
            only = node.names[0]
            text = file.source.text[only.span.start : only.span.end]
            return only.span, f"{{{text}, {name}}}"
    line = f"use {path}.{{{name}}}\n"
    if not uses:
        doc = file.tree.doc
        at = doc.span.end if doc is not None else 0
        if doc is not None:
            return Span(at, at), f"\n\n{line.rstrip()}"
        return Span(at, at), line + ("" if file.source.text.startswith("\n") or not file.source.text else "\n")
    # Sorted, as people keep them: the library first, then packs, then own modules.
    after = [node for node in uses if _order(node.module) <= _order(path)]
    if after:
        end = after[-1].span.end
        return Span(end, end), f"\n{line.rstrip()}"
    start = uses[0].span.start
    return Span(start, start), line


def _order(path: str) -> tuple[int, str]:
    return (0 if path.startswith("std/") else 2 if path.startswith(".") else 1), path


def module_paths(snapshot: Snapshot, file: File) -> Iterator[tuple[str, str]]:
    """The paths that a `use` here can write, each with the module that it means."""
    collected = snapshot.collected
    listed = snapshot.pack.uses if snapshot.pack is not None else frozenset()
    for name in collected.modules:
        if name != file.name and not name.startswith("std/"):
            path = spelled(name, file.name, collected.packs)
            if path is not None:
                yield path, name
            elif not apart(collected.packs, name, file.name):
                yield _upwards(name, file.name), name
    for name in library_modules():
        if name != file.name and (name not in OPTIONAL_PACKAGES or name in listed):
            yield name, name


def _upwards(name: str, user: str) -> str:
    """The path of a module of the same pack from one in a folder."""
    here, there = user.split("/")[:-1], name.split("/")
    same = 0
    while same < len(here) and same < len(there) - 1 and here[same] == there[same]:
        same += 1
    up = len(here) - same
    return ("../" * up if up else "./") + "/".join(there[same:])
