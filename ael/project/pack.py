"""A pack: a folder with a `pack.ael` that says its name, version, and what it uses."""

from __future__ import annotations

import re
from pathlib import Path

from ael.data import dataclass
from ael.diagnostics.diagnostic import Bag
from ael.source import Source, SourceError, Span, read
from ael.syntax import nodes as n
from ael.syntax.parse import parse_pack

FILE = "pack.ael"
OPTIONAL_PACKAGES = frozenset({"std/process", "server/connect", "server/grpc", "server/mcp"})
"""Packages that a program has only when its pack lists them (language.md, section 6)."""


@dataclass(frozen=True)
class Pack:
    """What `pack.ael` says. `externs` are the Python modules whose functions `extern` may name."""

    root: Path
    name: str
    version: str
    uses: frozenset[str]
    externs: frozenset[str]


def _place(source: Source, pack: n.PackDecl, used: str) -> Span:
    """Where a pack names a package: the tree keeps its name alone."""
    found = re.compile(rf"(?<![\w/]){re.escape(used)}(?![\w/])").search(source.text, pack.name.span.end, pack.span.end)
    return Span(*found.span()) if found is not None else pack.span


def find_root(start: Path) -> Path | None:
    """The nearest folder at or above `start` that holds a `pack.ael`."""
    for folder in (start, *start.parents):
        if (folder / FILE).is_file():
            return folder
    return None


def load_pack(root: Path, shown: str, bag: Bag) -> Pack | None:
    """Read `root/pack.ael`; problems go to the bag, and then the answer is None."""
    try:
        source = read(root / FILE, shown)
    except SourceError as error:
        report_unreadable(error, bag)
        return None
    before = bag.errors
    module = parse_pack(source, bag)
    packs = [d for d in module.declarations if isinstance(d, n.PackDecl)]
    if bag.errors > before:
        return None
    if len(packs) != 1:
        span = packs[1].span if packs else module.span
        bag.report("AEL0803", "a `pack.ael` holds exactly one `pack NAME { … }`", source, span)
        return None
    pack = packs[0]
    for used in pack.uses:
        if used not in OPTIONAL_PACKAGES:
            known = ", ".join(f"`{name}`" for name in sorted(OPTIONAL_PACKAGES))
            bag.report("AEL0804", f"there is no optional package `{used}`; there are {known}", source, _place(source, pack, used))
    for depends in pack.depends:
        bag.report(
            "AEL1006",
            f"the dependency `{depends.name.text}` is read and formatted, but packs that depend on packs come in a later release",
            source,
            depends.span,
        )
    version = literal_text(pack.version) if pack.version is not None else "0.0.0"
    externs = frozenset(literal_text(e) for e in pack.externs)
    return Pack(root, pack.name.text, version, frozenset(pack.uses), externs)


def literal_text(node: n.StringLit) -> str:
    """The text of a string without interpolation."""
    return "".join(part.text for part in node.parts if isinstance(part, n.TextPart))


def report_unreadable(error: SourceError, bag: Bag) -> None:
    """Report a file that cannot be read, at its start."""
    bag.report("AEL0801", f"`{error.path}` cannot be read: {error.reason}", Source(error.path, ""), Span(0, 0))
