"""Every name in every program is resolved, and as the check resolved it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ael.check.program import Local
from ael.editor.features.definition import definitions_at
from ael.editor.features.entity import Occurrence
from ael.editor.features.hover import told_at
from ael.editor.features.names import at, declared, names, references
from ael.editor.snapshot import File, Snapshot
from ael.syntax import nodes as n
from tests.lsp_features.marked import place

pytestmark = pytest.mark.feature("C2")

_WITHOUT_DECLARATION = ("builtin", "method", "word", "store_operation", "setting", "secret")


def _own(snapshot: Snapshot) -> Iterator[File]:
    return (file for file in snapshot.files.values() if file.own and file.kind == "module")


def _modules(snapshots: dict[str, Snapshot]) -> Iterator[tuple[Snapshot, File]]:
    for name, snapshot in snapshots.items():
        for file in snapshot.files.values():
            if file.kind == "module" and (file.own or file.name == f"std/{name}"):
                yield snapshot, file


def test_every_name_of_every_program_stands_for_something(examples: dict[str, Snapshot], library: dict[str, Snapshot]) -> None:
    count = 0
    for snapshot, file in (*_modules(examples), *_modules(library)):
        spans = sorted({(one.start, one.end) for one in names(snapshot, file)})
        for declaration in file.tree.declarations:
            for node in n.walk(declaration):
                if isinstance(node, n.Name) and node.text != "_" and not _word_only(node, declaration):
                    count += 1
                    held = any(start <= node.span.start and node.span.end <= end for start, end in spans)
                    assert held, (file.path, file.source.position(node.span.start), node.text)
    assert count > 5_000


def _word_only(node: n.Name, declaration: n.Node) -> bool:
    """Names that mean something to nobody but their own line: the provider of a model that AEL knows."""
    return isinstance(declaration, n.ModelDecl) and any(
        isinstance(setting.value, n.Reference) and setting.value.name is node for setting in declaration.settings
    )


def test_names_mean_what_the_check_says(examples: dict[str, Snapshot], library: dict[str, Snapshot]) -> None:
    locals_seen = 0
    for snapshot, file in (*_modules(examples), *_modules(library)):
        tables = file.tables
        declares: dict[int, Occurrence] = {
            id(tables.locals[one.node]): one
            for one in names(snapshot, file)
            if one.role == "declare" and one.node in tables.locals
        }
        for one in names(snapshot, file):
            known = tables.resolved.get(one.node)
            if isinstance(known, Local) and id(known) in declares and isinstance(one.node, n.Reference | n.Assign):
                locals_seen += 1
                assert one.entity == declares[id(known)].entity, (file.path, file.source.position(one.start))
    assert locals_seen > 1_000


def test_hover_and_definition_answer_at_every_name(examples: dict[str, Snapshot], library: dict[str, Snapshot]) -> None:
    for snapshot, file in (*_modules(examples), *_modules(library)):
        seen: set[object] = set()
        for one in list(names(snapshot, file)):
            if one.entity in seen:
                continue
            seen.add(one.entity)
            text = file.source.text[one.start : one.end]
            assert told_at(snapshot, file, one.start) is not None, (file.path, text, one.entity)
            found = definitions_at(snapshot, file, one.start)
            if one.entity.kind in _WITHOUT_DECLARATION or (one.entity.kind == "symbol" and "." not in one.entity.name):
                continue
            if (one.entity.kind == "field" and not one.entity.owner) or one.entity.owner in ("Fault", "Uncertain"):
                continue
            if one.entity.kind == "parameter" and declared(snapshot, one.entity) is None:
                continue
            assert found, (file.path, text, one.entity)
            for where, span in found:
                if where.kind == "module" and one.entity.kind != "module":
                    there = where.source.text[span.start : span.end]
                    # A permission of another pack has its name in front.
                    same = text.endswith(there) if one.entity.kind == "permission" else there == text
                    assert same or _renamed(file, text), (file.path, text, there)


def _renamed(file: File, text: str) -> bool:
    """Whether a module calls something by another name."""
    given = file.scope.imports.get(text) if file.scope is not None else None
    return getattr(given, "alias", None) is not None


def test_references_contain_the_definition_and_themselves(examples: dict[str, Snapshot]) -> None:
    for snapshot, file in _modules(examples):
        seen: set[object] = set()
        for one in list(names(snapshot, file)):
            if one.entity in seen or not one.entity.shared:
                continue
            seen.add(one.entity)
            found = [(where.path, place.start) for where, place in references(snapshot, one.entity)]
            assert (file.path, one.start) in found
            assert len(found) == len(set(found))
            there = declared(snapshot, one.entity)
            if there is not None:
                assert (there[0].path, there[1].start) in found


def test_the_inner_of_two_names_that_touch_is_meant(tmp_path: Path) -> None:
    found = place(tmp_path, "record R { a: Int }\nfn f(r: R) -> Int {\n  r.a‸\n}\n")
    assert [one.entity.name for one in at(found.snapshot, found.file, found.offset)] == ["a"]
    assert [one.entity.name for one in at(found.snapshot, found.file, found.offset - 1)] == ["a"]
    assert [one.entity.name for one in at(found.snapshot, found.file, found.offset - 2)] == ["r"]
