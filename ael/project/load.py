"""Finding and parsing the modules of a program, from one file or from a pack's folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from ael.check.packs import ALONE, Packs, absent, pack_of, private, resolve
from ael.check.suggest import nearest
from ael.data import dataclass
from ael.diagnostics.diagnostic import Bag, Edit, Fix, Label, Place
from ael.project.pack import FILE as PACK_FILE
from ael.project.pack import OPTIONAL_PACKAGES, Pack, find_root, load_pack, report_unreadable
from ael.project.shipped import shipped
from ael.project.shown import shown
from ael.project.texts import read_texts
from ael.source import Source, SourceError, Span, is_file, read
from ael.syntax import nodes as n
from ael.syntax.parse import parse_module
from ael.types.pin import FILE as LOCK_FILE
from ael.types.pin import Pins

if TYPE_CHECKING:
    # What follows dependencies is loaded for packs that have some.
    from ael.project.bring import Brought

__all__ = ["MAX_MODULES", "Project", "entry_file", "load_packs", "load_project", "module_name", "shown"]

Parse: TypeAlias = Callable[[Source, Bag], n.Module]

MAX_MODULES = 2_000
"""Modules of one program; more are refused."""


@dataclass(frozen=True)
class Project:
    """A program's parsed modules. `root` is the folder that module names are relative to.

    `lock` is where the definitions of its MCP servers and its packs are pinned (None: it has neither), `pins` what stands there of servers.
    `texts` are the files that instructions are read from, by module and path as written; `packs` the packs that it depends on, and `facts`
    what the check has to know of them.
    """

    root: Path
    pack: Pack | None
    main: str
    modules: Mapping[str, n.Module]
    lock: Path | None = None
    pins: Pins = MappingProxyType({})
    texts: Mapping[tuple[str, str], Source] = MappingProxyType({})
    packs: Mapping[str, Brought] = MappingProxyType({})
    facts: Packs = ALONE

    def own(self, module: str) -> bool:
        """Whether a module is of the program's own pack."""
        return not module.startswith("std/") and not pack_of(self.facts, module)


def entry_file(path: Path) -> Path:
    """The file that a path means: itself, or `main.ael` of a folder."""
    return path / "main.ael" if path.is_dir() else path


def load_project(path: Path, bag: Bag, others: Sequence[Path] = (), parse: Parse = parse_module) -> Project | None:
    """Parse the program that starts at `path`, and `others`, modules of the same pack that it may not use itself.

    Problems go to the bag; None when the first file cannot be read at all. `parse` makes the trees of modules.
    """
    file = entry_file(path)
    try:
        source = read(file, shown(file))
    except SourceError as error:
        report_unreadable(error, bag)
        return None
    folder = file.resolve().parent
    pack_root = find_root(folder)
    pack = load_pack(pack_root, shown(pack_root / PACK_FILE), bag) if pack_root is not None else None
    library = shipped("stdlib").resolve()
    root = pack_root or (library if folder.is_relative_to(library) else folder)
    main = module_name(file.resolve(), root)
    packs, facts = _bring(pack, bag)
    loader = _Loader(root, bag, pack, packs, facts, parse)
    loader.begin(main, source)
    for other in others:
        loader.module(other)
    texts = read_texts(loader.modules, bag)
    packs = {name: one.sealed(texts) for name, one in packs.items()}
    servers = any(isinstance(d, n.McpDecl) for tree in loader.modules.values() for d in tree.declarations)
    lock = root / LOCK_FILE if servers or packs else None
    pins: Pins = MappingProxyType({})
    if packs and lock is not None:
        from ael.project.bring import compare

        compare(packs, lock, bag)
    if lock is not None and servers:
        # The reader of JSON is loaded for programs that have servers alone.
        from ael.project.lock import read_lock

        pins = read_lock(lock, shown(lock), bag)
    return Project(root, pack, main, loader.modules, lock, pins, texts, packs, facts)


def _bring(pack: Pack | None, bag: Bag) -> tuple[Mapping[str, Brought], Packs]:
    """The packs that a pack depends on, with what the check has to know of them."""
    if pack is None or not pack.depends:
        return {}, ALONE
    from ael.project.bring import bring, facts

    packs = bring(pack, bag)
    return packs, facts(pack, packs)


def load_packs(pack: Pack, bag: Bag) -> dict[str, Brought]:
    """The packs that a pack depends on, by name, as they are now. Problems go to the bag."""
    packs, _ = _bring(pack, bag)
    modules = {name: parse_module(source, bag) for one in packs.values() for name, source in one.modules()}
    texts = read_texts(modules, bag)
    return {name: one.sealed(texts) for name, one in packs.items()}


def module_name(file: Path, root: Path) -> str:
    """`orders` for `root/orders.ael`, `tools/mail` for `root/tools/mail.ael`."""
    return file.relative_to(root).with_suffix("").as_posix()


class _Loader:
    def __init__(self, root: Path, bag: Bag, pack: Pack | None, packs: Mapping[str, Brought], facts: Packs, parse: Parse) -> None:
        self.parse = parse
        self.root = root.resolve()
        self.bag = bag
        self.pack = pack
        self.packs = packs
        self.facts = facts
        self.modules: dict[str, n.Module] = {}
        self._open: list[str] = []

    def begin(self, main: str, source: Source) -> None:
        """Load the main module, the packs, and what they use."""
        self._named(main, source)
        self.add(main, source)
        for one in self.packs.values():
            for name, text in one.modules():
                if len(self.modules) >= MAX_MODULES:
                    at = one.resolved.asked[0].line.at
                    self.bag.report("AEL0805", f"this program has more than {MAX_MODULES} modules", at.source, at.span)
                    break
                self.add(name, text)
        self.follow()

    def add(self, name: str, source: Source) -> None:
        self.modules[name] = self.parse(source, self.bag)
        self._open.append(name)

    def module(self, file: Path) -> None:
        """Load a file of the pack, if nothing has used it."""
        name = module_name(file.resolve(), self.root)
        if name in self.modules:
            self._named(name, Source(shown(file), "", file))
            return
        try:
            source = read(file, shown(file))
        except SourceError as error:
            report_unreadable(error, self.bag)
            return
        self._named(name, source)
        self.add(name, source)
        self.follow()

    def follow(self) -> None:
        """Load what is used, breadth first, each module once; cycles end by themselves."""
        while self._open:
            name = self._open.pop(0)
            module = self.modules[name]
            for declaration in module.declarations:
                if isinstance(declaration, n.Use):
                    self._use(name, module, declaration)

    def _named(self, name: str, source: Source, use: n.Use | None = None) -> None:
        """A folder of the program cannot have the name of a pack: its modules could not be told from that pack's."""
        head = pack_of(self.facts, name)
        file = self._file(name)
        if use is not None and file is not None and self._elsewhere(file):
            self._beyond(file, source, use)
        elif head:
            message = f"the folder `{head}` has the name of a pack that this program depends on: give it another name"
            labels = (Label(self.packs[head].resolved.asked[0].line.at, "the pack"),)
            self.bag.report("AEL0823", message, source, use.module_span if use is not None else Span(0, 0), labels=labels)

    def _use(self, user: str, module: n.Module, use: n.Use) -> None:
        name = resolve(use.module, user, self.facts)
        own = pack_of(self.facts, user)
        if name is not None and not own and use.module.startswith(".") and pack_of(self.facts, name):
            self._named(name, module.source, use)
            return
        if name is not None and use.module in OPTIONAL_PACKAGES and not self._listed(use.module, own):
            self._unlisted(module.source, use)
            return
        if name is not None and name in self.modules:
            return
        file = None if name is None or pack_of(self.facts, name) else self._file(name)
        if name is None or file is None or not is_file(file):
            self._missing(module.source, use, own)
            return
        if not name.startswith("std/") and self._elsewhere(file):
            self._beyond(file, module.source, use)
            return
        if len(self.modules) >= MAX_MODULES:
            message = f"this program has more than {MAX_MODULES} modules"
            self.bag.report("AEL0805", message, module.source, use.module_span)
            return
        try:
            source = read(file, shown(file))
        except SourceError as error:
            message = f"the module `{use.module}` cannot be read: {error.reason}"
            self.bag.report("AEL0801", message, module.source, use.module_span)
            return
        self.add(name, source)

    def _file(self, name: str) -> Path | None:
        if name.startswith("std/"):
            return shipped("stdlib") / f"{name}.ael"
        file = (self.root / f"{name}.ael").resolve()
        return file if file.is_relative_to(self.root) else None

    # --- packs ---------------------------------------------------------------------------------------------------------------

    def _listed(self, package: str, own: str) -> bool:
        """Whether the pack whose module it is lists an optional package."""
        pack = self.packs[own].pack if own else self.pack
        return pack is not None and package in pack.uses

    def _unlisted(self, source: Source, use: n.Use) -> None:
        """What is not listed does not exist for the program, and is not loaded."""
        where = "`pack.ael`" if self.pack is not None else f"a `pack.ael` beside it: `pack NAME {{ uses {use.module} }}`"
        notes = (f"list it in {where}" + (f": `uses {use.module}`" if self.pack is not None else ""),)
        message = f"`{use.module}` is an optional package, and the pack does not list it"
        self.bag.report("AEL0826", message, source, use.module_span, notes=notes)

    def _elsewhere(self, file: Path) -> bool:
        """Whether a file below the program's folder is of a pack in a folder between."""
        return find_root(file.parent) not in (self.root, None)

    def _beyond(self, file: Path, source: Source, use: n.Use) -> None:
        """Another pack is depended on; a path into it would go around what it keeps to itself."""
        root = find_root(file.parent)
        assert root is not None
        message = f"the module `{use.module}` belongs to another pack, the one in {shown(root)}"
        inner = root.relative_to(self.root).as_posix()
        name = next((name for name, one in self.packs.items() if one.pack.root == root), None)
        note = f"use what it shows by its name: `use {name or root.name}.{{…}}`"
        if name is None:
            note += f', once this pack depends on it: `depends {root.name} "…" from "{inner}"`'
        labels = (Label(Place(Source(shown(root / PACK_FILE), "", root / PACK_FILE), Span(0, 0)), "its `pack.ael`"),)
        self.bag.report("AEL0823", message, source, use.module_span, labels=labels, notes=(note,))

    def _missing(self, source: Source, use: n.Use, own: str) -> None:
        head = use.module.partition("/")[0]
        if absent(self.facts, own, head):
            return  # why the pack is not there is told where it is depended on
        notes: tuple[str, ...] = ()
        hint, fix = "", None
        if use.module.startswith("std/"):
            known = sorted(p.stem for p in (shipped("stdlib") / "std").glob("*.ael"))
            best = nearest(use.module.removeprefix("std/"), known)
            if best is None:
                notes = (f"the standard library has {', '.join(f'`std/{k}`' for k in known)}",)
            else:
                edit = Edit(Place(source, use.module_span), f"std/{best}")
                hint, fix = f"; did you mean `std/{best}`?", Fix(f"replace it by `std/{best}`", (edit,), safe=False)
        elif use.module.startswith("."):
            notes = ("a module of this pack is a file: `./orders` is `orders.ael` beside the module that uses it",)
        elif head in self.facts[own].depends and head in self.packs:
            shows = [name for name, _ in self.packs[head].modules() if not private(name)]
            notes = (f"the pack `{head}` has {', '.join(f'`{name}`' for name in shows[:20])}" if shows else f"`{head}` is empty",)
        elif head in self.packs:
            by = self.packs[head].resolved.asked[0].by
            notes = (
                f"the pack `{head}` is what `{by}` depends on; a pack sees those that it depends on itself: `depends {head} …`",
            )
        else:
            notes = (
                "write `./name` for a module of this pack, `std/name` for the standard library, and the name of a pack that "
                "`pack.ael` depends on",
            )
        self.bag.report("AEL0802", f"there is no module `{use.module}`{hint}", source, use.module_span, notes=notes, fix=fix)
