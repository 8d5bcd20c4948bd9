"""From paths to checked programs: what `ael check`, `ael run`, `ael test` and an embedding share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ael.check.check import check_program
from ael.check.program import CheckedProgram
from ael.data import dataclass, replace
from ael.diagnostics.diagnostic import Bag
from ael.project.bind import bind
from ael.project.deployment import Deployment
from ael.project.load import Project, entry_file, load_project, module_name, resolve, shown
from ael.project.pack import FILE as PACK_FILE
from ael.project.pack import find_root, report_unreadable
from ael.source import SourceError, read
from ael.syntax import nodes as n
from ael.syntax.parse import parse_deployment


@dataclass(frozen=True)
class Opened:
    """A program that checks, with the deployment that it runs under."""

    project: Project
    program: CheckedProgram
    deployment: Deployment


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
    return check_program(project.modules, project.main, bag, extern_allowed=externs, uses=uses)


def load_deployment(project: Project, program: CheckedProgram, name: str | None, bag: Bag) -> Deployment | None:
    """The deployment `name` (`deploy.NAME.ael`), or `deploy.ael`, or the default where there is no such file."""
    file = project.root / ("deploy.ael" if name is None else f"deploy.{name}.ael")
    if not file.is_file():
        if name is None:
            return Deployment(folder=str(project.root))
        report_unreadable(SourceError(shown(file), f"there is no deployment `{name}`"), bag)
        return None
    try:
        source = read(file, shown(file))
    except SourceError as error:
        report_unreadable(error, bag)
        return None
    return bind(parse_deployment(source, bag), program, project.root, name or "default", bag)


def check_paths(paths: list[Path], bag: Bag) -> int:
    """Check every program at or below `paths`, with its deployments. Gives how many modules were looked at."""
    seen: set[Path] = set()
    for project in _each_project(paths, seen, bag):
        program = check(project, bag)
        if program is not None:
            for file in sorted(project.root.glob("deploy*.ael")):
                name = file.name.removeprefix("deploy").removesuffix(".ael").strip(".") or None
                load_deployment(project, program, name, bag)
    return len(seen)


def programs(paths: list[Path], bag: Bag) -> Iterator[Opened]:
    """Every program at or below `paths` that checks, for its tests; problems go to the bag."""
    for project in _each_project(paths, set(), bag):
        program = check(project, bag)
        if program is not None:
            yield Opened(project, program, Deployment(folder=str(project.root)))


def _each_project(paths: list[Path], seen: set[Path], bag: Bag) -> Iterator[Project]:
    """The projects below `paths`, each once; their files are added to `seen`."""
    for path in paths:
        for project in _projects(path, bag):
            files = {(project.root / f"{name}.ael").resolve() for name in project.modules if not name.startswith("std/")}
            if not files <= seen:
                seen |= files
                yield project


def _projects(path: Path, bag: Bag) -> Iterator[Project]:
    """The projects of a path: one for a file; for a folder one for each pack, and one for each program outside of packs."""
    if not path.is_dir():
        project = load_project(path, bag)
        if project is not None:
            yield project
        return
    loose: list[Path] = []
    packs: dict[Path, list[Path]] = {}
    for file in sorted(_modules(path)):
        root = find_root(file.resolve().parent)
        if root is None:
            loose.append(file)
        else:
            packs.setdefault(root, []).append(file)
    for root, files in packs.items():
        project = _whole_pack(root, files, bag)
        if project is not None:
            yield project
    yield from _programs(loose, bag)


def _modules(folder: Path) -> Iterator[Path]:
    for file in folder.rglob("*.ael"):
        hidden = any(part.startswith(".") or part == "node_modules" for part in file.relative_to(folder).parts[:-1])
        if not hidden and file.name != PACK_FILE and not file.name.startswith("deploy."):
            yield file


def _whole_pack(root: Path, files: list[Path], bag: Bag) -> Project | None:
    """A pack with all its modules, whether its main module uses them or not."""
    main = root / "main.ael"
    project = load_project(main if main.is_file() else files[0], bag)
    if project is None:
        return None
    modules = dict(project.modules)
    for file in files:
        if module_name(file.resolve(), root) not in modules:
            other = load_project(file, bag)
            if other is not None:
                modules.update({name: tree for name, tree in other.modules.items() if name not in modules})
    return replace(project, modules=modules)


def _programs(files: list[Path], bag: Bag) -> Iterator[Project]:
    """Programs outside of packs: files that no other file of theirs uses come first, then what is left (a cycle of uses)."""
    loaded = {file.resolve(): project for file in files if (project := load_project(entry_file(file), bag)) is not None}
    used: set[Path] = set()
    for project in loaded.values():
        tree = project.modules[project.main]
        for declaration in tree.declarations:
            if isinstance(declaration, n.Use) and (name := resolve(declaration.module, project.main)) is not None:
                used.add((project.root / f"{name}.ael").resolve())
    yield from (project for file, project in loaded.items() if file not in used)
    yield from (project for file, project in loaded.items() if file in used)
