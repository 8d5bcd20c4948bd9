"""What is documented: the modules of a pack, of a program without one, or of the standard library, parsed and checked together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ael.check.packs import STANDARD, foreign, private
from ael.check.program import CheckedModule, CheckedProgram
from ael.data import dataclass
from ael.diagnostics.diagnostic import Bag
from ael.project.load import Project, entry_file, load_project
from ael.project.pack import FILE, find_root
from ael.project.program import check, source_files
from ael.project.shipped import shipped


@dataclass(frozen=True, eq=False)
class Documented:
    """`title` is how it is called, `version` "" where nothing says it. `modules` are those that get a page, in their order."""

    title: str
    version: str
    project: Project
    program: CheckedProgram
    modules: tuple[CheckedModule, ...]


def open_documented(path: Path, bag: Bag, *, private_too: bool = False) -> Documented | None:
    """What there is at `path`: a pack's folder, a file, or `std` for the standard library. Problems go to the bag; None with errors.

    `private_too`: also the modules that a pack keeps to itself.
    """
    library = shipped("stdlib").resolve()
    if path == Path(STANDARD) and not path.exists():
        path = library
    main, others = _files(path, library)
    project = load_project(main, bag, others)
    program = check(project, bag) if project is not None else None
    if project is None or program is None or bag.errors:
        return None
    own = [
        module
        for name, module in sorted(program.modules.items(), key=lambda item: (item[0] != project.main, item[0]))
        if not foreign(program.packs, name, project.main) and (private_too or not private(name))
    ]
    pack = project.pack
    if pack is not None:
        return Documented(pack.name, pack.version, project, program, tuple(own))
    if project.main.startswith(f"{STANDARD}/"):
        return Documented("The standard library", "", project, program, tuple(sorted(own, key=lambda module: module.name)))
    title = project.root.resolve().name if project.main == "main" else project.main
    return Documented(title, "", project, program, tuple(own))


def _files(path: Path, library: Path) -> tuple[Path, list[Path]]:
    """The first file, and the others that belong to it: all of a pack or of the library, and nothing else than what it uses of a file."""
    if not path.is_dir():
        return path, []
    root = path if path.resolve().is_relative_to(library) else find_root(path.resolve())
    if root is None:
        return entry_file(path), []
    files = sorted(_modules(root))
    main = root / "main.ael"
    first = main if main in files or not files else files[0]
    return first, files


def _modules(folder: Path) -> Iterator[Path]:
    """The modules of a pack: those of a pack in one of its folders are that pack's."""
    root = find_root(folder.resolve())
    for file in source_files(folder):
        if file.name == FILE or file.name.startswith(("deploy.", "eval.")):
            continue
        if root is None or find_root(file.resolve().parent) == root:
            yield file
