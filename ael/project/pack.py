"""A pack: a folder with a `pack.ael` that says its name, version, what it uses and which packs it depends on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ael.check.suggest import nearest
from ael.data import dataclass
from ael.diagnostics.diagnostic import Bag, Edit, Fix, Label, Place
from ael.source import Source, SourceError, Span, is_file, read
from ael.syntax import nodes as n
from ael.syntax.parse import parse_pack
from ael.types.version import Requirement, Version, VersionError, parse_requirement, parse_version

FILE = "pack.ael"
OPTIONAL_PACKAGES = frozenset({"std/code", "std/process", "server/connect", "server/grpc", "server/mcp"})
"""Packages that a program has only when its pack lists them (language.md, section 6)."""
RESERVED = frozenset({"server", "std"})
"""Names that no dependency can have: paths of the language begin with them."""


@dataclass(frozen=True)
class Dependency:
    """A `depends` line. `origin` is the folder as it is written, None: the pack comes from an installed distribution.

    `at` is the place of its name, `asked_at` that of its version, `origin_at` that of its folder.
    """

    name: str
    requirement: Requirement
    origin: str | None
    at: Place
    asked_at: Place
    origin_at: Place

    @property
    def written(self) -> str:
        """The line as messages show it."""
        return f'{self.name} "{self.requirement.text}"' + (f' from "{self.origin}"' if self.origin is not None else "")


@dataclass(frozen=True)
class Pack:
    """What `pack.ael` says. `externs` are the Python modules whose functions `extern` may name."""

    root: Path
    name: str
    version: str
    uses: frozenset[str]
    externs: frozenset[str]
    depends: tuple[Dependency, ...]
    at: Place
    """The place of its name."""
    places: Mapping[str, Place]
    """Where it lists each optional package and each Python module."""

    @property
    def number(self) -> Version | None:
        """Its version, for comparisons. None: it is none, which was reported."""
        try:
            return parse_version(self.version)
        except VersionError:
            return None


def find_root(start: Path) -> Path | None:
    """The nearest folder at or above `start` that holds a `pack.ael`."""
    for folder in (start, *start.parents):
        if is_file(folder / FILE):
            return folder
    return None


def load_pack(root: Path, shown: str, bag: Bag) -> Pack | None:
    """Read `root/pack.ael`; problems go to the bag, and then the answer is None, or a pack without what is wrong."""
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
    places = {used: Place(source, _place(source, pack, used)) for used in pack.uses}
    places |= {literal_text(extern): Place(source, extern.span) for extern in pack.externs}
    for used in pack.uses:
        if used not in OPTIONAL_PACKAGES:
            known = sorted(OPTIONAL_PACKAGES)
            # Only the last part may be misspelt: `std/store` is not meant as `std/code`.
            folder, _, last = used.rpartition("/")
            best = nearest(last, [name.rpartition("/")[2] for name in known if name.rpartition("/")[0] == folder])
            hint, fix = f"; there are {', '.join(f'`{name}`' for name in known)}", None
            if best is not None:
                meant = f"{folder}/{best}"
                hint, fix = (
                    f"; did you mean `{meant}`?",
                    Fix(f"replace it by `{meant}`", (Edit(places[used], meant),), safe=False),
                )
            note = "other modules of the standard library need no line here: code brings them in with `use`"
            notes = (note,) if used.startswith("std/") and fix is None else ()
            message = f"there is no optional package `{used}`{hint}"
            bag.report("AEL0804", message, source, places[used].span, notes=notes, fix=fix)
    return Pack(
        root,
        pack.name.text,
        _version(pack, source, bag),
        frozenset(pack.uses),
        frozenset(literal_text(extern) for extern in pack.externs),
        tuple(_dependencies(pack, source, bag)),
        Place(source, pack.name.span),
        places,
    )


def _place(source: Source, pack: n.PackDecl, used: str) -> Span:
    """Where a pack names a package: the tree keeps its name alone."""
    found = re.compile(rf"(?<![\w/]){re.escape(used)}(?![\w/])").search(source.text, pack.name.span.end, pack.span.end)
    return Span(*found.span()) if found is not None else pack.span


def _version(pack: n.PackDecl, source: Source, bag: Bag) -> str:
    if pack.version is None:
        return "0.0.0"
    text = literal_text(pack.version)
    try:
        parse_version(text)
    except VersionError as error:
        bag.report("AEL0808", str(error), source, pack.version.span)
    return text


def _dependencies(pack: n.PackDecl, source: Source, bag: Bag) -> list[Dependency]:
    """The `depends` lines that can be followed; what is wrong with the others is reported."""
    found: dict[str, Dependency] = {}
    for line in pack.depends:
        name = line.name.text
        at = Place(source, line.name.span)
        if name in RESERVED:
            note = "what it has is brought in by `use`, and optional packages are listed by `uses`"
            bag.report("AEL0809", f"`{name}` is no pack to depend on: it belongs to the language", source, at.span, notes=(note,))
            continue
        if (first := found.get(name)) is not None:
            labels = (Label(first.at, "first here"),)
            bag.report("AEL0516", f"the dependency `{name}` is said twice", source, at.span, labels=labels)
            continue
        asked = literal_text(line.version)
        try:
            requirement = parse_requirement(asked)
        except VersionError as error:
            bag.report("AEL0808", str(error), source, line.version.span)
            requirement = Requirement(asked, ())
        origin = None if line.origin is None else literal_text(line.origin)
        origin_at = Place(source, (line.origin or line.name).span)
        found[name] = Dependency(name, requirement, origin, at, Place(source, line.version.span), origin_at)
    return list(found.values())


def literal_text(node: n.StringLit) -> str:
    """The text of a string without interpolation."""
    return "".join(part.text for part in node.parts if isinstance(part, n.TextPart))


def report_unreadable(error: SourceError, bag: Bag) -> None:
    """Report a file that cannot be read, at its start."""
    bag.report("AEL0801", f"`{error.path}` cannot be read: {error.reason}", Source(error.path, ""), Span(0, 0))
