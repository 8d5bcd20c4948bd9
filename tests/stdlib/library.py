"""What the standard library shows, read from its own source: its modules, what they declare, and the examples in their comments.

A doc comment is prose and examples: lines that are indented by four spaces are an example, as in Markdown. An example is the body of a
test, in which everything public of its module is in scope; it may begin with `use` lines for what it needs of other modules. An example
with a line `test "…" {` of its own is a whole program, and brings its own `use` lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ael.diagnostics.diagnostic import Bag
from ael.source import read
from ael.syntax import nodes as n
from ael.syntax.parse import parse_module

FOLDER = Path(__file__).resolve().parents[2] / "stdlib" / "std"
INDENT = "    "

_KINDS: dict[type, str] = {
    n.PermissionDecl: "permission", n.RoleDecl: "role", n.EnumDecl: "enum", n.RecordDecl: "record", n.ErrorDecl: "error",
    n.TypeDecl: "type", n.ConstDecl: "const", n.FunctionDecl: "function", n.ToolDecl: "tool", n.NodeDecl: "node",
    n.AgentDecl: "agent", n.SkillDecl: "skill", n.ServiceDecl: "service", n.McpDecl: "MCP server", n.ModelDecl: "model",
    n.StoreDecl: "store",
}  # fmt: skip
EXEMPLARY = frozenset({"function", "tool", "node", "agent"})
"""The kinds of declarations that need an example: what is called."""


@dataclass(frozen=True)
class Entry:
    """One public declaration: how it is written, up to its body, and the parts of its doc comment."""

    kind: str
    name: str
    line: int
    written: str
    parts: tuple[str, ...]

    @property
    def examples(self) -> list[str]:
        """The examples, without their indentation."""
        return [unindented(part) for part in self.parts if part.startswith(INDENT)]


@dataclass(frozen=True)
class Library:
    """One module: its name (`std/text`), the parts of its `//!` comment, and what it shows."""

    name: str
    file: Path
    parts: tuple[str, ...]
    entries: tuple[Entry, ...]

    @property
    def names(self) -> list[str]:
        """What a program can import of it."""
        return [entry.name for entry in self.entries if entry.kind not in ("permission", "role")]

    def programs(self) -> Iterator[tuple[str, str]]:
        """Each example as a program of its own, with the name of what it is an example of."""
        for part in self.parts:
            if part.startswith(INDENT):
                yield self.name, program(self, self.name, unindented(part))
        for entry in self.entries:
            for example in entry.examples:
                yield entry.name, program(self, entry.name, example)


def modules() -> list[Library]:
    """All modules of the library."""
    return [_module(file) for file in sorted(FOLDER.glob("*.ael"))]


def program(library: Library, name: str, example: str) -> str:
    """The program that an example is: it imports what it names."""
    if re.search(r'^test "', example, re.MULTILINE):
        return f"{example}\n"
    lines = example.split("\n")
    own = [line for line in lines if line.startswith("use ")]
    body = "\n".join(f"  {line}" if line else "" for line in lines if not line.startswith("use ")).strip("\n")
    words = set(re.findall(r"(?<!(?<!\.)\.)\b\w+", body))  # `xs.map(…)` is the method, not what the module calls `map`
    used = sorted((word for word in library.names if word in words), key=lambda word: (not word[0].isupper(), word))
    if used:
        own.insert(0, f"use {library.name}.{{{', '.join(used)}}}")
    head = "\n".join(own)
    return f'{head}\n\ntest "{name}" {{\n{body}\n}}\n'


def parts_of(text: str) -> tuple[str, ...]:
    """The paragraphs and examples of a doc comment; blank lines inside of an example belong to it."""
    found: list[list[str]] = []
    blank = False
    for line in text.split("\n"):
        inside = bool(found) and found[-1][0].startswith(INDENT)
        if not line.strip():
            blank = True
            if inside:
                found[-1].append("")
            continue
        if not found or (blank and not inside) or inside is not line.startswith(INDENT):
            found.append([])
        found[-1].append(line)
        blank = False
    return tuple("\n".join(part).rstrip() for part in found)


def unindented(part: str) -> str:
    return "\n".join(line.removeprefix(INDENT) for line in part.split("\n"))


def _module(file: Path) -> Library:
    bag = Bag()
    tree = parse_module(read(file, file.name), bag)
    if bag.errors:
        return Library(f"std/{file.stem}", file, (), ())  # which `ael check stdlib` tells
    entries = tuple(_entry(tree, declaration) for declaration in tree.declarations if _public(declaration))
    return Library(f"std/{file.stem}", file, parts_of(tree.doc.text) if tree.doc is not None else (), entries)


def _public(declaration: n.Node) -> bool:
    return isinstance(declaration, n.PermissionDecl | n.RoleDecl) or bool(getattr(declaration, "public", False))


def _entry(tree: n.Module, declaration: n.Node) -> Entry:
    text = tree.source.text
    shown = declaration.name.text if hasattr(declaration, "name") else declaration.path.text  # type: ignore[attr-defined]
    doc: n.Doc | None = declaration.doc  # type: ignore[attr-defined]
    line = tree.source.position(declaration.span.start).line
    written = text[declaration.span.start : _end(declaration)].strip()
    return Entry(_KINDS[type(declaration)], shown, line, written, parts_of(doc.text) if doc is not None else ())


def _end(declaration: n.Node) -> int:
    """Where that of a declaration ends which others have to know: before its body, if it has one."""
    if isinstance(declaration, n.FunctionDecl | n.NodeDecl | n.ToolDecl):
        return declaration.body.span.start
    return declaration.span.end
