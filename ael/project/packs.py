"""The packs that a program is made of: each `depends` line is followed to the one pack that it means.

A program has one version of a pack. Where the program itself says `from`, that folder is meant by all who ask for the pack without
saying where it is, so that a pack can be worked on beside what uses it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ael.data import dataclass, field
from ael.diagnostics.diagnostic import Bag, Label, Place
from ael.project.pack import FILE, RESERVED, Dependency, Pack, find_root, load_pack
from ael.project.shown import shown

MAX_PACKS = 200
"""Packs of one program; more are refused."""
_MOST_STEPS = 10_000
"""How far ways are followed: in circles, which are refused, there are ends that lead nowhere."""


@dataclass(frozen=True)
class Asked:
    """That a pack asks for another. `by` is its name, "" the program's own pack."""

    by: str
    line: Dependency


@dataclass(eq=False)
class Resolved:
    """A pack that a program depends on.

    `origin` is how the lock says where it comes from: `folder ../refunds` (from the program's folder), `distribution acme-refunds 1.2.0`.
    `within`: the folder that its own `from` do not leave, None for a pack in a folder. `asked`: who asks for it, the first one first.
    """

    pack: Pack
    origin: str
    within: Path | None = None
    asked: list[Asked] = field(default_factory=list)

    @property
    def installed(self) -> bool:
        """Whether it comes from an installed distribution."""
        return self.within is not None


@dataclass(frozen=True)
class _Found:
    root: Path
    origin: str
    within: Path | None


class _Unfound(Exception):
    def __init__(self, at: Place, message: str, *notes: str) -> None:
        super().__init__(message)
        self.at = at
        self.message = message
        self.notes = notes


def resolve_packs(program: Pack, bag: Bag) -> dict[str, Resolved]:
    """The packs that `program` depends on, through any number of others, by name, nearest first. Problems go to the bag."""
    if not program.depends:
        return {}
    return _Resolver(program, bag).resolve()


def pack_folders(folders: Iterable[Path]) -> set[Path]:
    """The folders of the packs that the packs at `folders` (or around or below them) depend on; what is wrong with any is left out."""
    found: set[Path] = set()
    for folder in folders:
        roots = {
            root for root in (find_root(folder.resolve()), *(file.parent for file in folder.rglob(FILE))) if root is not None
        }
        for root in roots:
            pack = load_pack(root.resolve(), FILE, Bag())
            if pack is not None:
                found |= {one.pack.root for one in resolve_packs(pack, Bag()).values()}
    return found


def chains(program: Pack, packs: Mapping[str, Resolved], name: str, *, most: int = 20) -> list[list[Asked]]:
    """Ways in which the program comes to the pack `name`, each from the program on, short ones first; at most `most` of them."""
    far = _distances(packs, name)
    found: list[list[Asked]] = []
    open_ways = [[Asked("", line)] for line in _nearest_last(program, far)]
    # Depth first, and only where it leads to the pack: there are more ways than anybody can look at.
    steps = 0
    while open_ways and len(found) < most and steps < _MOST_STEPS:
        steps += 1
        way = open_ways.pop()
        reached = way[-1].line.name
        if reached == name:
            found.append(way)
        elif all(step.by != reached for step in way):
            open_ways.extend([*way, Asked(reached, line)] for line in _nearest_last(packs[reached].pack, far))
    return sorted(found, key=len)


def _distances(packs: Mapping[str, Resolved], name: str) -> dict[str, int]:
    """How many steps each pack is away from the pack `name`; those that do not lead there are left out."""
    askers: dict[str, list[str]] = {}
    for by, resolved in packs.items():
        for line in resolved.pack.depends:
            askers.setdefault(line.name, []).append(by)
    far = {name: 0}
    waiting = deque([name])
    while waiting:
        reached = waiting.popleft()
        for by in askers.get(reached, ()):
            if by not in far:
                far[by] = far[reached] + 1
                waiting.append(by)
    return far


def _nearest_last(pack: Pack, far: Mapping[str, int]) -> list[Dependency]:
    return sorted((line for line in pack.depends if line.name in far), key=lambda line: -far[line.name])


class _Resolver:
    def __init__(self, program: Pack, bag: Bag) -> None:
        self.program = program
        self.bag = bag
        self.folder = program.root.resolve()
        self.packs: dict[str, Resolved] = {}
        self.chosen = {line.name: line for line in program.depends if line.origin is not None}
        self._failed: set[str] = set()
        self.through: dict[str, str] = {}
        """The program's own dependency that first brought a pack in."""
        self._back: list[Dependency] = []
        """The lines that lead back to the program."""

    def resolve(self) -> dict[str, Resolved]:
        waiting = deque(Asked("", line) for line in self.program.depends)
        while waiting:
            asked = waiting.popleft()
            known = self.packs.get(asked.line.name)
            reached = self._follow(asked, known)
            if reached is None:
                continue
            reached.asked.append(asked)
            self._version(asked, reached)
            if known is None:
                self.through[reached.pack.name] = self.through[asked.by] if asked.by else reached.pack.name
                if len(self.packs) > MAX_PACKS:
                    self._report("AEL0809", asked.line.at, f"this program depends on more than {MAX_PACKS} packs")
                    break
                waiting.extend(Asked(reached.pack.name, line) for line in reached.pack.depends)
        self._rights()
        self._circles()
        return self.packs

    def _follow(self, asked: Asked, known: Resolved | None) -> Resolved | None:
        """The pack that a line means, new or known; None when what is wrong with it was reported."""
        line = asked.line
        if known is None and line.name in self._failed:
            return None
        try:
            found = self._found(asked, known)
        except _Unfound as wrong:
            self._failed.add(line.name)
            self._report("AEL0809", wrong.at, wrong.message, notes=wrong.notes)
            return None
        if found.root == self.folder:
            # The program itself: a circle, unless another name was asked for.
            if line.name == self.program.name:
                self._back.append(line)
            else:
                self._other_name(line, self.program)
            return None
        if line.name == self.program.name:
            self._two(line, found.root, Label(self.program.at, "the program's own pack has this name"), self.folder)
            return None
        if known is not None:
            if known.pack.root != found.root:
                self._two(line, found.root, self._label(known), known.pack.root)
                return None
            return known
        pack = load_pack(found.root, shown(found.root / FILE), self.bag)
        if pack is None:
            self._failed.add(line.name)
            return None
        if pack.name != line.name:
            self._failed.add(line.name)
            self._other_name(line, pack)
            return None
        made = self.packs[line.name] = Resolved(pack, found.origin, found.within)
        return made

    # --- where a pack is ---------------------------------------------------------------------------------------------------

    def _found(self, asked: Asked, known: Resolved | None) -> _Found:
        line = asked.line
        owner = self.packs.get(asked.by)
        base, within = (self.folder, None) if owner is None else (owner.pack.root, owner.within)
        if line.origin is not None:
            return self._beside(line, line.origin, base, within)
        chosen = self.chosen.get(line.name)
        if chosen is not None and chosen.origin is not None:
            return self._beside(chosen, chosen.origin, self.folder, None)
        if known is not None and known.installed:
            return _Found(known.pack.root, known.origin, known.within)
        # What reads the metadata of distributions is loaded with the first one that is asked for.
        from ael.project import installed

        try:
            found = installed.find(line.name)
        except installed.NotInstalled as error:
            raise _Unfound(line.at, error.message, error.note) from None
        return _Found(found.root, f"distribution {found.distribution} {found.version}", found.top)

    def _beside(self, line: Dependency, origin: str, base: Path, within: Path | None) -> _Found:
        """The folder of a `from`. Raises `_Unfound`."""
        if not origin.strip() or Path(origin).is_absolute() or origin.startswith("~") or "\\" in origin:
            note = f'write it as `from "../{line.name}"`, so that it is the same on every machine'
            raise _Unfound(line.origin_at, "a pack's folder is written relative to the pack that depends on it", note)
        try:
            root = (base / origin).resolve()
            there = (root / FILE).is_file()
        except (OSError, RuntimeError, ValueError) as error:  # a circle of links, a name that no file can have
            raise _Unfound(line.origin_at, f"there is no folder `{_excerpt(origin)}`: {type(error).__name__}") from None
        if within is not None and not root.is_relative_to(within):
            message = (
                f"an installed pack depends on folders of its own distribution alone, and `{_excerpt(origin)}` leads out of it"
            )
            raise _Unfound(line.origin_at, message)
        if not there:
            what = "has no `pack.ael`" if root.is_dir() else "is no folder"
            note = f"it is looked for in {_excerpt(shown(root))}, from the folder of the pack that depends on it"
            raise _Unfound(line.origin_at, f"there is no pack in `{_excerpt(origin)}`: it {what}", note)
        return _Found(root, f"folder {_relative(root, self.folder)}", within)

    # --- what has to hold --------------------------------------------------------------------------------------------------

    def _version(self, asked: Asked, reached: Resolved) -> None:
        """One version serves all who ask."""
        line, pack = asked.line, reached.pack
        number = pack.number
        if number is None or line.requirement.allows(number):
            return
        message = (
            f'`{line.name}` is asked for as "{line.requirement.text}" ({line.requirement}), and the one there is {pack.version}'
        )
        others = [one for one in reached.asked if one.line.requirement.allows(number)]
        labels = [Label(pack.at, f"this is {pack.version}")]
        labels += [Label(one.line.asked_at, f"{self._who(one)} asks for this, which it fits") for one in others[:3]]
        notes = ("a program has one version of a pack: change what is asked for, or the pack that is there",)
        self._report("AEL0820", line.asked_at, message, labels=tuple(labels), notes=notes)

    def _rights(self) -> None:
        """What a dependency uses exists for the program only where the program lists it too: told once for each line that brings it in."""
        listed = self.program.uses | self.program.externs
        brought: dict[str, list[tuple[Pack, str]]] = {}
        for name, reached in self.packs.items():
            for wanted in sorted((reached.pack.uses | reached.pack.externs) - listed):
                brought.setdefault(self.through[name], []).append((reached.pack, wanted))
        for line in self.program.depends:
            if found := brought.get(line.name):
                what = dict.fromkeys(_called(pack, wanted) for pack, wanted in found)
                lines = dict.fromkeys(_listing(pack, wanted) for pack, wanted in found)
                message = f"`{line.name}` comes with {' and '.join(what)}, which this program does not list"
                labels = tuple(Label(pack.places[wanted], f"`{pack.name}` lists it here") for pack, wanted in found)
                where = shown(self.program.root / FILE)
                note = f"if the program may have it, say so in {where}: {', '.join(f'`{one}`' for one in lines)}"
                self._report("AEL0822", line.at, message, labels=labels, notes=(note,))

    def _circles(self) -> None:
        """Report each circle once, at the line that closes it."""
        done: set[str] = set()
        for start in ("", *self.packs):
            if start not in done:
                self._walk(start, done)

    def _walk(self, start: str, done: set[str]) -> None:
        path: list[tuple[str, Dependency | None]] = [(start, None)]
        stack: list[Iterator[Dependency]] = [iter(self._lines(start))]
        while stack:
            line = next(stack[-1], None)
            if line is None:
                stack.pop()
                done.add(path.pop()[0])
                continue
            name = "" if any(line is back for back in self._back) else line.name
            on_path = [at for at, (other, _) in enumerate(path) if other == name]
            if on_path:
                self._circle(path[on_path[0] :], line)
            elif name in self.packs and name not in done:
                path.append((name, line))
                stack.append(iter(self._lines(name)))

    def _circle(self, path: list[tuple[str, Dependency | None]], last: Dependency) -> None:
        names = [name or self.program.name for name, _ in path]
        shown_names = " → ".join(f"`{name}`" for name in (*names, names[0]))
        labels = tuple(Label(line.at, "this is a part of it") for _, line in path[1:] if line is not None)
        notes = ("move what both need into a pack of its own, which both depend on",)
        self._report(
            "AEL0807", last.at, f"these packs depend on each other in a circle: {shown_names}", labels=labels, notes=notes
        )

    def _lines(self, name: str) -> tuple[Dependency, ...]:
        return self.packs[name].pack.depends if name else self.program.depends

    # --- messages ----------------------------------------------------------------------------------------------------------

    def _other_name(self, line: Dependency, pack: Pack) -> None:
        labels = (Label(pack.at, f"it is called `{pack.name}`"),)
        message = f"the pack in `{_excerpt(line.origin or line.name)}` is called `{pack.name}`, not `{line.name}`"
        notes = () if pack.name in RESERVED else (f'depend on it by its name: `depends {pack.name} "{line.requirement.text}" …`',)
        self._report("AEL0821", line.at, message, labels=labels, notes=notes)

    def _two(self, line: Dependency, root: Path, first: Label, other: Path) -> None:
        message = f"two packs are called `{line.name}`: one in {shown(root)}, one in {shown(other)}"
        note = "a program has one pack of a name"
        if other != self.folder:
            note += f': say in the program\'s own pack which, `depends {line.name} "…" from "…"`, and leave `from` out elsewhere'
        self._report("AEL0806", line.origin_at, message, labels=(first,), notes=(note,))

    def _label(self, known: Resolved) -> Label:
        first = known.asked[0]
        return Label(first.line.at, f"{self._who(first)} asks for the other here")

    def _who(self, asked: Asked) -> str:
        return f"`{asked.by or self.program.name}`"

    def _report(self, code: str, at: Place, message: str, *, labels: tuple[Label, ...] = (), notes: tuple[str, ...] = ()) -> None:
        self.bag.report(code, message, at.source, at.span, labels=labels, notes=notes)


def _relative(root: Path, folder: Path) -> str:
    """A folder as the lock writes it: from the program's folder, with `/` on every system."""
    return Path(os.path.relpath(root, folder)).as_posix()


def _called(pack: Pack, wanted: str) -> str:
    return f"the optional package `{wanted}`" if wanted in pack.uses else f"the Python module `{wanted}`"


def _listing(pack: Pack, wanted: str) -> str:
    return f"uses {wanted}" if wanted in pack.uses else f'extern "{wanted}"'


def _excerpt(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:119]}…"
