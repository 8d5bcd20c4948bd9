"""One program as it is at one moment, for whatever an editor asks about it.

**For features** (`ael/editor/features/`): a feature is a pure function of `Asked` (`ael/editor/feature.py`) and the parameters of its LSP
method. The server calls it on its one worker thread, with the newest snapshot, never two at a time. Offsets are characters of
`file.source.text`; `file.lines` turns them into the editor's positions and back. Nothing of a snapshot may be kept: when the next one is
made, the trees of declarations that did not change are moved in place (`ael/syntax/again.py`). What is costly is kept by `snapshot.memo`,
as long as the analysis of a declaration is, with offsets relative to the declaration. `ael.editor.fork.fork` gives the program with another
text.

Tables, names, types and signatures are there also when the program has errors; what could not be found out is missing from them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, TypeVar, cast

from lsprotocol import types as lsp

from ael.check.again import Rechecker
from ael.check.check import Examined
from ael.check.collect import Collected, ModuleScope
from ael.check.facts import Facts
from ael.check.program import Tables
from ael.diagnostics.diagnostic import Bag, Diagnostic
from ael.editor.positions import Lines
from ael.project.load import Project
from ael.project.pack import Pack
from ael.source import Source, Span
from ael.syntax import nodes as n
from ael.syntax.lexer import lex
from ael.syntax.tokens import Tokens

T = TypeVar("T")
Kind: TypeAlias = Literal["module", "pack", "deployment", "lock", "text"]

_NO_TABLES = Tables()


class File:
    """A file of a program.

    `name` is the qualified name of a module, "" for what is none. `own`: it belongs to the program's own pack, so that it may be edited;
    the standard library and the packs that are depended on do not. `version` is that of the open document, None for one from the disk.
    """

    def __init__(
        self,
        path: Path,
        uri: str,
        source: Source,
        kind: Kind,
        name: str,
        *,
        own: bool,
        version: int | None,
        tree: n.Module | None = None,
        scope: ModuleScope | None = None,
        tokens: Tokens | None = None,
        encoding: lsp.PositionEncodingKind | str = lsp.PositionEncodingKind.Utf16,
    ) -> None:
        self.path = path
        self.uri = uri
        self.source = source
        self.kind: Kind = kind
        self.name = name
        self.own = own
        self.version = version
        self.scope = scope
        self.encoding = encoding
        self._tree = tree
        self._tokens = tokens

    @cached_property
    def tree(self) -> n.Module:
        """What parses of it; a file that is no source has an empty tree."""
        if self._tree is not None:
            return self._tree
        return n.Module(Span(0, len(self.source.text)), self.source, None, (), ())

    @cached_property
    def tokens(self) -> Tokens:
        """Its tokens, also those of what does not parse."""
        if self._tokens is not None:
            return self._tokens
        return lex(self.source, Bag(), "module" if self.kind in ("lock", "text") else cast(Any, self.kind))

    @cached_property
    def lines(self) -> Lines:
        """Its lines, which turn offsets into the editor's positions and back."""
        return Lines(self.source, self.encoding)

    @property
    def tables(self) -> Tables:
        """The side tables of the check; empty for what is no module."""
        return self.scope.tables if self.scope is not None else _NO_TABLES

    def declaration_at(self, offset: int) -> n.Declaration | None:
        """The declaration that an offset is in or at the end of, the later one where two touch."""
        found = None
        for declaration in self.tree.declarations:
            if declaration.span.start > offset:
                break
            if offset <= declaration.span.end:
                found = declaration
        return found

    def nodes_at(self, offset: int) -> tuple[n.Node, ...]:
        """The nodes that an offset is in, outermost first. The end of a node belongs to it, unless another one begins there."""
        path: list[n.Node] = []
        node: n.Node | None = self.declaration_at(offset)
        while node is not None:
            path.append(node)
            within = [child for child in node.children() if child.span.start <= offset <= child.span.end]
            # Of two that touch, the one that begins there.
            node = max(within, key=lambda child: (child.span.start, child.span.end > offset), default=None)
        return tuple(path)


class Snapshot:
    """A program: a pack, or a file outside of packs with what it uses. `files` are by resolved path, `modules` by qualified name."""

    def __init__(
        self,
        root: Path,
        main: str,
        project: Project | None,
        examined: Examined | None,
        files: Mapping[Path, File],
        diagnostics: Mapping[Path, tuple[Diagnostic, ...]],
        rechecker: Rechecker,
    ) -> None:
        self.root = root
        self.main = main
        self.project = project
        self.examined = examined
        self.files = MappingProxyType(dict(files))
        self.modules = MappingProxyType({file.name: file for file in files.values() if file.kind == "module"})
        self.diagnostics = MappingProxyType(dict(diagnostics))
        self.rechecker = rechecker
        self._once: dict[object, Any] = {}

    @property
    def pack(self) -> Pack | None:
        """What `pack.ael` says, where there is one without an error."""
        return self.project.pack if self.project is not None else None

    @property
    def collected(self) -> Collected:
        """The declarations. Empty for a program whose main file cannot be read."""
        return self.examined.collected if self.examined is not None else self.once("collected", lambda: Collected({}, self.main))

    @property
    def facts(self) -> Facts | None:
        """What must hold between the declarations, and the signatures with their effects."""
        return self.examined.facts if self.examined is not None else None

    def memo(self, node: n.Node, key: Hashable, compute: Callable[[], T]) -> T:
        """What `compute` gives for a declaration, kept as long as the analysis of this declaration is, over many snapshots.

        It may depend on the declaration and on types, names and signatures of the program, not on effects, and holds no offsets but such
        relative to `node.span.start`.
        """
        return self.rechecker.remember(node, key, compute)

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What `compute` gives, kept as long as this snapshot."""
        if key not in self._once:
            self._once[key] = compute()
        return cast(T, self._once[key])

    def with_file(self, file: File, examined: Examined) -> Snapshot:
        """The same program with one file and the declarations replaced."""
        files = {**self.files, file.path: file}
        return Snapshot(self.root, self.main, self.project, examined, files, self.diagnostics, self.rechecker)
