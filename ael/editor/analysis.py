"""The analysis of one program after each edit, which an editor shows: from open documents and the disk to a `Snapshot`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from lsprotocol import types as lsp

from ael.check.again import Counting, Rechecker
from ael.check.check import Examined
from ael.check.collect import Collected, ModuleScope
from ael.data import dataclass
from ael.diagnostics.diagnostic import Bag, Diagnostic
from ael.editor.documents import Disk, Document, Open, Overlay, uri_of
from ael.editor.snapshot import File, Kind, Snapshot
from ael.project.content import files as pack_files
from ael.project.load import Project, load_project
from ael.project.pack import FILE as PACK_FILE
from ael.project.pack import find_root
from ael.project.program import load_deployment
from ael.project.shipped import shipped
from ael.project.shown import shown
from ael.source import Source, SourceError, reading
from ael.syntax import nodes as n
from ael.syntax.again import Parser
from ael.syntax.words import FileKind
from ael.types.pin import FILE as LOCK_FILE

_LIBRARY = shipped("stdlib").resolve()


class Superseded(Exception):
    """What is being analysed has changed meanwhile: the analysis is given up."""


@dataclass(frozen=True)
class Where:
    """Which program a file belongs to: the pack in `root`, or, where `main` is given, that file with what it uses."""

    root: Path
    main: Path | None = None


def kind_of(path: Path) -> Kind:
    """What a file is, by its name."""
    if path.name == PACK_FILE:
        return "pack"
    if path.name == LOCK_FILE:
        return "lock"
    if path.name.startswith("deploy.") and path.suffix == ".ael":
        return "deployment"
    if path.name.startswith("eval."):
        # `ael eval --check` checks an evaluation: it has the form of a deployment, and is none.
        return "text"
    return "module" if path.suffix == ".ael" else "text"


def where(path: Path, overlay: Overlay) -> Where:
    """The program of a file."""
    with reading(overlay):
        root = find_root(path.parent)
        if root is not None:
            return Where(root)
        main = path if kind_of(path) == "module" else path.parent / "main.ael"
        return Where(path.parent, main if overlay.is_file(main) else path)


class Program:
    """One program, analysed again and again. Not for two threads at once."""

    def __init__(self, place: Where, disk: Disk, encoding: lsp.PositionEncodingKind | str) -> None:
        self.place = place
        self.disk = disk
        self.encoding = encoding
        self.seen: frozenset[Path] = frozenset()
        """The files that the last analysis asked for, there or not: a change of one is a reason for another."""
        self.missing: frozenset[Path] = frozenset()
        """Those of them that were not there."""
        self._rechecker = Rechecker()
        self._parsers: dict[Path, Parser] = {}
        self._sources: dict[Path, tuple[Document, Source]] = {}
        self._pins: Mapping[str, object] | None = None

    def owns(self, path: Path) -> bool:
        """Whether a file is in the folder of the program, so that it can become a part of it."""
        return path.is_relative_to(self.place.root)

    def analyse(self, documents: Open, stop: Callable[[], None] = lambda: None) -> Snapshot:
        """The program as it is now. `stop` is called now and then; what it raises ends the analysis, and nothing is lost."""
        overlay = Overlay(documents, self.disk, self._sources)
        bag = Counting()
        try:
            with reading(overlay):
                return self._analyse(overlay, bag, stop)
        finally:
            self.seen, self.missing = frozenset(overlay.seen), frozenset(overlay.missing)

    def _analyse(self, overlay: Overlay, bag: Counting, stop: Callable[[], None]) -> Snapshot:
        main, others = self._modules(overlay)
        used: set[Path] = set()

        def parse(source: Source, found: Bag) -> n.Module:
            stop()
            return self._parse(source, found, used, overlay, "module")

        project = load_project(main, bag, others, parse) if main is not None else None
        examined = self._examine(project, bag, stop) if project is not None else None
        files = self._files(project, examined, overlay)
        self._beside(project, examined, overlay, files, used, bag)
        self._parsers = {path: parser for path, parser in self._parsers.items() if path in used}
        diagnostics = self._told(bag, files, overlay, main or self.place.root)
        name = project.main if project is not None else ""
        return Snapshot(self.place.root, name, project, examined, files, diagnostics, self._rechecker)

    def _modules(self, overlay: Overlay) -> tuple[Path | None, Sequence[Path]]:
        """The main file, and all modules of the pack."""
        if self.place.main is not None:
            return (self.place.main, ()) if kind_of(self.place.main) == "module" else (None, ())
        root = self.place.root
        found = [path for path in pack_files(root) if kind_of(path) == "module"]
        known = set(found)
        new = [path for path in overlay.documents if path not in known and self.owns(path) and kind_of(path) == "module"]
        found += [path for path in new if find_root(path.parent) == root]
        if not found:
            return None, ()
        main = root / "main.ael"
        return (main if main in found else found[0]), sorted(found)

    def _parse(self, source: Source, bag: Bag, used: set[Path], overlay: Overlay, kind: FileKind) -> n.Module:
        path = overlay.resolved(source.path or Path(source.name))
        used.add(path)
        parser = self._parsers.get(path)
        if parser is None or parser.kind != kind:
            parser = self._parsers[path] = Parser(kind)
        return parser.parse(source, bag)

    def _examine(self, project: Project, bag: Counting, stop: Callable[[], None]) -> Examined:
        pack = project.pack
        scopes = {name: ModuleScope(name, tree) for name, tree in project.modules.items()}
        collected = Collected(
            scopes,
            project.main,
            pack.externs if pack is not None else frozenset(),
            pack.uses if pack is not None else frozenset(),
            packs=project.facts,
            texts=project.texts,
        )
        # The pins are read anew each time; what is kept is told from the same ones.
        if self._pins is None or self._pins != project.pins:
            self._pins = project.pins
        return self._rechecker.examine(collected, bag, self._pins, stop)  # type: ignore[arg-type]

    # --- the files of the program ------------------------------------------------------------------------------------------------

    def _files(self, project: Project | None, examined: Examined | None, overlay: Overlay) -> dict[Path, File]:
        found: dict[Path, File] = {}
        for name, tree in project.modules.items() if project is not None else ():
            if tree.source.path is not None:
                path = overlay.resolved(tree.source.path)
                scope = examined.collected.modules.get(name) if examined is not None else None
                parser = self._parsers.get(path)
                own = project.own(name) if project is not None else False
                found[path] = self._file(
                    path, tree.source, "module", overlay, name=name, own=own, tree=tree, scope=scope, parser=parser
                )
        return found

    def _file(
        self,
        path: Path,
        source: Source,
        kind: Kind,
        overlay: Overlay,
        *,
        name: str = "",
        own: bool = True,
        tree: n.Module | None = None,
        scope: ModuleScope | None = None,
        parser: Parser | None = None,
    ) -> File:
        document = overlay.documents.get(path)
        return File(
            path, uri_of(path, overlay.documents), source, kind, name,
            own=own and not path.is_relative_to(_LIBRARY),
            version=document.version if document is not None else None, tree=tree, scope=scope,
            tokens=parser.tokens if parser is not None else None, encoding=self.encoding,
        )  # fmt: skip

    def _beside(
        self,
        project: Project | None,
        examined: Examined | None,
        overlay: Overlay,
        files: dict[Path, File],
        used: set[Path],
        bag: Counting,
    ) -> None:
        """The pack, deployments, the lock, texts that instructions are read from, and what is open without a part in the program."""
        root = self.place.root
        correct = project is not None and examined is not None and not bag.errors
        program = examined.program() if correct and examined is not None else None
        for path in sorted({*self._deployments(overlay), *self._open(overlay)} - files.keys()):
            kind = kind_of(path)
            try:
                source = overlay.read(path, shown(path))
            except SourceError:
                if overlay.documents.get(path) is not None:
                    files[path] = self._file(path, Source(shown(path), "", path), kind, overlay)
                continue
            tree = None
            if kind in ("deployment", "pack", "module"):
                # What is wrong in a pack was told when the program was loaded.
                told = Bag() if kind == "pack" else bag
                tree = self._parse(source, told, used, overlay, kind)
            files[path] = self._file(path, source, kind, overlay, tree=tree, parser=self._parsers.get(path))
            if kind == "deployment" and program is not None and project is not None:
                name = path.name.removeprefix("deploy").removesuffix(".ael").strip(".") or None
                load_deployment(project, program, name, bag)
        for text in project.texts.values() if project is not None else ():
            if text.path is not None and (path := overlay.resolved(text.path)) not in files:
                files[path] = self._file(path, text, "text", overlay, own=path.is_relative_to(root))

    def _deployments(self, overlay: Overlay) -> Iterable[Path]:
        root = self.place.root
        if self.place.main is not None and self.place.main.name != "main.ael":
            return
        try:
            yield from (overlay.resolved(path) for path in root.glob("deploy*.ael") if kind_of(path) == "deployment")
        except OSError:
            return
        for name in (PACK_FILE, LOCK_FILE) if self.place.main is None else ():
            if overlay.is_file(root / name):
                yield root / name

    def _open(self, overlay: Overlay) -> Iterable[Path]:
        """What is open in the folder of the program without being a module that it has."""
        if self.place.main is not None:
            if kind_of(self.place.main) != "module":
                yield self.place.main
            return
        for path in overlay.documents:
            if self.owns(path) and kind_of(path) != "text" and find_root(path.parent) == self.place.root:
                yield path

    def _told(self, bag: Bag, files: Mapping[Path, File], overlay: Overlay, main: Path) -> dict[Path, tuple[Diagnostic, ...]]:
        """The diagnostics by file; one about no file is told of the main one."""
        named = {file.source.name: path for path, file in files.items()}
        found: dict[Path, list[Diagnostic]] = {}
        for diagnostic in bag.sorted():
            source = diagnostic.place.source
            path = overlay.resolved(source.path) if source.path is not None else named.get(source.name, main)
            found.setdefault(path, []).append(diagnostic)
        return {path: tuple(told) for path, told in found.items()}
