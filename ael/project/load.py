"""Finding and parsing the modules of a program, from one file or from a pack's folder."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from ael.check.module import resolve
from ael.data import dataclass
from ael.diagnostics.diagnostic import Bag
from ael.project.pack import FILE as PACK_FILE
from ael.project.pack import Pack, find_root, load_pack, report_unreadable
from ael.project.shipped import shipped
from ael.project.texts import read_texts
from ael.source import Source, SourceError, read
from ael.syntax import nodes as n
from ael.syntax.parse import parse_module
from ael.types.pin import FILE as LOCK_FILE
from ael.types.pin import Pins

MAX_MODULES = 2_000
"""Modules of one program; more are refused."""


@dataclass(frozen=True)
class Project:
    """A program's parsed modules. `root` is the folder that module names are relative to.

    `lock` is where the definitions of its MCP servers are pinned (None: it has no servers), `pins` what stands there. `texts` are the files
    that instructions are read from, by module and path as written.
    """

    root: Path
    pack: Pack | None
    main: str
    modules: Mapping[str, n.Module]
    lock: Path | None = None
    pins: Pins = MappingProxyType({})
    texts: Mapping[tuple[str, str], Source] = MappingProxyType({})


def entry_file(path: Path) -> Path:
    """The file that a path means: itself, or `main.ael` of a folder."""
    return path / "main.ael" if path.is_dir() else path


def load_project(path: Path, bag: Bag, others: Sequence[Path] = ()) -> Project | None:
    """Parse the program that starts at `path`, and `others`, modules of the same pack that it may not use itself.

    Problems go to the bag; None when the first file cannot be read at all.
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
    root = pack_root or folder
    main = module_name(file.resolve(), root)
    loader = _Loader(root, bag)
    loader.add(main, source)
    loader.follow()
    for other in others:
        loader.module(other)
    texts = read_texts(loader.modules, bag)
    if not any(isinstance(d, n.McpDecl) for tree in loader.modules.values() for d in tree.declarations):
        return Project(root, pack, main, loader.modules, texts=texts)
    # The lock is read, and the reader of JSON loaded, for programs that have servers alone.
    from ael.project.lock import read_lock

    lock = root / LOCK_FILE
    return Project(root, pack, main, loader.modules, lock, read_lock(lock, shown(lock), bag), texts)


def shown(path: Path) -> str:
    """A path as messages show it: relative to the working folder where that is shorter."""
    try:
        relative = os.path.relpath(path)
    except ValueError:
        return str(path)
    return str(path) if relative.startswith("..") and path.is_absolute() else relative


def module_name(file: Path, root: Path) -> str:
    """`orders` for `root/orders.ael`, `tools/mail` for `root/tools/mail.ael`."""
    return file.relative_to(root).with_suffix("").as_posix()


class _Loader:
    def __init__(self, root: Path, bag: Bag) -> None:
        self.root = root
        self.bag = bag
        self.modules: dict[str, n.Module] = {}
        self._open: list[str] = []

    def add(self, name: str, source: Source) -> None:
        self.modules[name] = parse_module(source, self.bag)
        self._open.append(name)

    def module(self, file: Path) -> None:
        """Load a file of the pack, if nothing has used it."""
        name = module_name(file.resolve(), self.root.resolve())
        if name in self.modules:
            return
        try:
            source = read(file, shown(file))
        except SourceError as error:
            report_unreadable(error, self.bag)
            return
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

    def _use(self, user: str, module: n.Module, use: n.Use) -> None:
        name = resolve(use.module, user)
        if name is not None and name in self.modules:
            return
        file = None if name is None else self._file(name)
        if name is None or file is None or not file.is_file():
            self._missing(module.source, use)
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
        return file if file.is_relative_to(self.root.resolve()) else None

    def _missing(self, source: Source, use: n.Use) -> None:
        if use.module.startswith("std/"):
            known = sorted(f"std/{p.stem}" for p in (shipped("stdlib") / "std").glob("*.ael"))
            notes = (f"the standard library has {', '.join(f'`{k}`' for k in known)}",)
        elif use.module.startswith("."):
            notes = ("a module of this pack is a file: `./orders` is `orders.ael` beside the module that uses it",)
        else:
            notes = ("write `./name` for a module of this pack and `std/name` for the standard library",)
        self.bag.report("AEL0802", f"there is no module `{use.module}`", source, use.module_span, notes=notes)
