"""From paths to checked programs: what `ael check`, `ael run`, `ael test` and an embedding share."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ael.check.check import check_program
from ael.check.program import CheckedProgram
from ael.data import dataclass, replace
from ael.diagnostics.diagnostic import Bag, Diagnostic
from ael.project.bind import bind, bind_store, bind_without
from ael.project.cache import CheckCache, PackFiles, Record
from ael.project.deployment import Deployment
from ael.project.load import Project, load_project, module_name, shown
from ael.project.pack import FILE as PACK_FILE
from ael.project.pack import find_root, report_unreadable
from ael.project.part import Summary, affected, stand_in, summary
from ael.project.shipped import shipped
from ael.source import SourceError, is_file, read
from ael.syntax.parse import parse_deployment, parse_module
from ael.types.pin import Pins


@dataclass(frozen=True)
class Opened:
    """A program that checks, with the deployment that it runs under."""

    project: Project
    program: CheckedProgram
    deployment: Deployment

    @property
    def pins(self) -> Pins:
        """The lock that the program was checked against."""
        return self.project.pins


def open_program(path: Path, bag: Bag, *, deploy: str | None = None) -> Opened | None:
    """Load, check and bind the program at `path`; problems go to the bag, and None says that there were errors."""
    project = load_project(path, bag)
    if project is None:
        return None
    program = check(project, bag)
    if program is None or bag.errors:
        return None
    deployment = load_deployment(project, program, deploy, bag)
    return None if deployment is None or bag.errors else Opened(project, program, deployment)


def check(project: Project, bag: Bag) -> CheckedProgram | None:
    """Check a parsed project."""
    externs = project.pack.externs if project.pack is not None else frozenset[str]()
    uses = project.pack.uses if project.pack is not None else frozenset[str]()
    return check_program(
        project.modules, project.main, bag, extern_allowed=externs, uses=uses, pins=project.pins, texts=project.texts,
        packs=project.facts,
    )  # fmt: skip


def load_deployment(project: Project, program: CheckedProgram, name: str | None, bag: Bag) -> Deployment | None:
    """The deployment `name` (`deploy.NAME.ael`), or `deploy.ael`, or the default where there is no such file."""
    file = project.root / ("deploy.ael" if name is None else f"deploy.{name}.ael")
    if not is_file(file):
        if name is None:
            return bind_without(program, project.root, bag)
        report_unreadable(SourceError(shown(file), f"there is no deployment `{name}`"), bag)
        return None
    try:
        source = read(file, shown(file))
    except SourceError as error:
        report_unreadable(error, bag)
        return None
    packages = project.pack.uses if project.pack is not None else frozenset[str]()
    tree = parse_deployment(source, bag)
    return bind(tree, program, project.root, name or "default", bag, packages=packages, pins=project.pins)


def open_store(path: Path, bag: Bag, *, deploy: str | None = None) -> Deployment | None:
    """Where the runs of the program at `path` (a file, or its folder) are kept. The program is not looked at; problems go to the bag."""
    start = path if path.is_dir() else path.parent
    root = find_root(start.resolve()) or start
    file = root / ("deploy.ael" if deploy is None else f"deploy.{deploy}.ael")
    if deploy is None and not file.is_file():
        return Deployment(folder=str(root))
    try:
        source = read(file, shown(file))
    except SourceError as error:
        report_unreadable(error, bag)
        return None
    found = bind_store(parse_deployment(source, bag), root, deploy or "default", bag)
    return None if bag.errors else found


def check_paths(paths: list[Path], bag: Bag, cache: CheckCache | None = None) -> int:
    """Check every program at or below `paths`, with its deployments. Gives how many modules were looked at.

    What `cache` remembers unchanged is not checked again; its warnings are told all the same.
    """
    seen: set[Path] = set()
    for unit in _units(paths, cache):
        if unit.own <= seen:
            continue
        seen |= unit.own
        for diagnostic in unit.said(cache):
            bag.add(diagnostic)
    if cache is not None:
        cache.close()
    library = shipped("stdlib").resolve()
    below = any(library.is_relative_to(path.resolve()) or path.resolve().is_relative_to(library) for path in paths)
    modules = [file for file in seen if file.suffix == ".ael" and is_module(file.name)]
    return sum(below or not file.is_relative_to(library) for file in modules)


def programs(paths: list[Path], bag: Bag, deploy: str | None = None) -> Iterator[Opened]:
    """Every program at or below `paths` that checks, with its `deploy.ael` (or the one named), for its tests; problems go to the bag."""
    seen: set[Path] = set()
    for unit in _units(paths, None):
        if unit.own <= seen:
            continue
        seen |= unit.own
        for diagnostic in unit.bag.sorted():
            bag.add(diagnostic)
        program = check(unit.project, bag) if unit.project is not None else None
        if program is not None and unit.project is not None:
            deployment = load_deployment(unit.project, program, deploy, bag)
            if deployment is not None:
                yield Opened(unit.project, program, deployment)


class _Unit:
    """A program that is checked as one: a file with what it uses, or a whole pack. Loaded when it has to be."""

    def __init__(self, main: Path, others: list[Path], cache: CheckCache | None) -> None:
        self.main = main
        self.others = others
        self.bag = Bag()
        self.record = cache.find(main.resolve(), bool(others)) if cache is not None else None
        self.project: Project | None = None
        self.partly: Sequence[Diagnostic] | None = None
        new = frozenset(file.resolve() for file in others)
        if self.record is not None and (self.record.changed or not new <= self.record.files):
            if cache is not None and others:
                self.partly = self._part(self.record, new, cache)
            if self.partly is None:
                self.record = None
        if self.record is not None:
            self.files = self.record.files | new
            self.own = self.files - self.record.packs.files
        else:
            self.project = self._load()
            self.files = frozenset(_paths(self.project)) or frozenset({main.resolve()})
            self.own = self.files - _packs(self.project).files
        """`own`: without those of the packs that it depends on, which are checked as packs of their own."""

    def _load(self) -> Project | None:
        return load_project(self.main, self.bag, self.others)

    def _part(self, record: Record, files: frozenset[Path], cache: CheckCache) -> Sequence[Diagnostic] | None:
        """What checking the changed part of a pack says, with what was said of the rest; None when the whole has to be checked."""
        root = find_root(self.main.resolve().parent)
        changed = record.changed | (files - record.files)
        if root is None or record.diagnostics is None or not changed <= files or not record.summaries.keys() <= files:
            return None
        if any(root.glob("deploy*.ael")):
            return None
        summaries = dict(record.summaries)
        for path in changed:
            try:
                tree = parse_module(read(path, shown(path)), Bag())
            except SourceError:
                return None
            told = summary(tree, module_name(path, root.resolve()), root.resolve())
            if told.shared != (summaries[path].shared if path in summaries else ()):
                return None
            summaries[path] = told
        part = affected(summaries, changed)
        first, *others = sorted(part)
        bag = Bag()
        project = load_project(first, bag, others)
        if project is None:
            return None
        rest = {module_name(p, root.resolve()): stand_in(told) for p, told in summaries.items() if p not in part and told.shared}
        check(replace(project, modules={**project.modules, **rest}), bag)
        found = [*(d for d in record.diagnostics if _path(d) not in part), *bag.sorted()]
        if bag.errors or any(_path(d) is None for d in found):
            return None
        read_files = record.files | files | _paths(project) | _beside(project)
        cache.keep(self.main.resolve(), True, read_files, found, summaries, _packs(project))
        return found

    def said(self, cache: CheckCache | None) -> Sequence[Diagnostic]:
        """What checking it says."""
        if self.partly is not None:
            return self.partly
        if self.record is not None and self.record.diagnostics is not None:
            return self.record.diagnostics
        if self.project is None:
            self.project = self._load()
        read_files = set(self.files) | _beside(self.project)
        program = check(self.project, self.bag) if self.project is not None else None
        if program is not None and self.project is not None:
            for file in sorted(self.project.root.glob("deploy*.ael")):
                name = file.name.removeprefix("deploy").removesuffix(".ael").strip(".") or None
                load_deployment(self.project, program, name, self.bag)
                read_files.add(file.resolve())
            if self.project.pack is not None:
                read_files.add((self.project.pack.root / PACK_FILE).resolve())
        found = self.bag.sorted()
        if cache is not None and self.project is not None and program is not None and not self.bag.errors:
            packs = _packs(self.project)
            cache.keep(self.main.resolve(), bool(self.others), read_files, found, self._summaries(self.project), packs)
        return found

    def _summaries(self, project: Project) -> dict[Path, Summary]:
        """Those of a pack's own modules."""
        if not self.others:
            return {}
        own = {name: tree for name, tree in project.modules.items() if project.own(name)}
        root = project.root.resolve()
        return {
            tree.source.path.resolve(): summary(tree, name, root) for name, tree in own.items() if tree.source.path is not None
        }

    def remember(self, cache: CheckCache | None) -> None:
        """Keep which files a program reads that is checked only as a part of others."""
        if cache is not None and self.record is None and not self.bag.errors:
            cache.keep(self.main.resolve(), bool(self.others), self.files, None, packs=_packs(self.project))


def _paths(project: Project | None) -> set[Path]:
    """The files that a project's modules were read from."""
    modules = project.modules.values() if project is not None else ()
    return {tree.source.path.resolve() for tree in modules if tree.source.path is not None}


def _packs(project: Project | None) -> PackFiles:
    """The packs that a project depends on, with the files that they have."""
    if project is None:
        return PackFiles()
    roots = tuple((name, one.pack.root, one.resolved.installed) for name, one in project.packs.items())
    return PackFiles(roots, frozenset(path for one in project.packs.values() for path in one.sources))


def _beside(project: Project | None) -> set[Path]:
    """What a project is checked against beside its modules: the files that instructions are read from, and the lock, there or not.

    One that comes, goes or changes is a reason to check again.
    """
    if project is None:
        return set()
    texts = {text.path.resolve() for text in project.texts.values() if text.path is not None}
    texts |= _packs(project).files
    return texts | ({project.lock.resolve()} if project.lock is not None else set())


def _path(diagnostic: Diagnostic) -> Path | None:
    """The file that a diagnostic is about, None when a place of it is in no file."""
    places = (diagnostic.place, *(label.place for label in diagnostic.labels))
    if any(place.source.path is None for place in places):
        return None
    path = diagnostic.place.source.path
    return path.resolve() if path is not None else None


def _units(paths: list[Path], cache: CheckCache | None) -> Iterator[_Unit]:
    """The programs of the paths: one for a file; for a folder one for each pack, and one for each program outside of packs."""
    for path in paths:
        if not path.is_dir():
            yield _Unit(path, [], cache)
            continue
        loose: list[Path] = []
        packs: dict[Path, list[Path]] = {}
        for file in sorted(_modules(path)):
            root = find_root(file.resolve().parent)
            if root is None:
                loose.append(file)
            else:
                packs.setdefault(root, []).append(file)
        for root, files in packs.items():
            main = root / "main.ael"
            yield _Unit(main if main.is_file() else files[0], files, cache)
        yield from _programs(loose, cache)


def source_files(folder: Path, ending: str = "ael") -> Iterator[Path]:
    """Every `.ael` file below a folder, of any kind, but not those of hidden folders and of `node_modules`; or of another ending."""
    for where, folders, names in os.walk(folder):
        # Nobody looks into those that are left out: they may hold a hundred times as many files as a program.
        folders[:] = [name for name in folders if not name.startswith(".") and name != "node_modules"]
        for name in names:
            file = Path(where, name)
            if name.endswith(f".{ending}") and file.is_file():
                yield file


def is_module(name: str) -> bool:
    """Whether an `.ael` file of this name is a module: packs, deployments and evaluations are none."""
    return name != PACK_FILE and not name.startswith(("deploy.", "eval."))


def _modules(folder: Path) -> Iterator[Path]:
    for file in source_files(folder):
        if is_module(file.name):
            yield file


def _programs(files: list[Path], cache: CheckCache | None) -> Iterator[_Unit]:
    """Programs outside of packs: files that no other file uses come first, then what is left (a cycle of uses)."""
    units = [_Unit(file, [], cache) for file in files]
    used = {file for unit in units for file in unit.files if file != unit.main.resolve()}
    for unit in units:
        if unit.main.resolve() in used:
            unit.remember(cache)
    yield from (unit for unit in units if unit.main.resolve() not in used)
    yield from (unit for unit in units if unit.main.resolve() in used)
