"""What is about to be written: the types at the cursor of a text that is not there yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from ael.editor.analysis import Program, where
from ael.editor.documents import Disk, Document, Overlay
from ael.editor.fork import fork
from ael.editor.snapshot import File, Snapshot
from ael.syntax import nodes as n
from ael.syntax.tree import walk
from ael.types.text import show

TEXT = """use std/text.{words}

/// An order.
record Order {
  id: String
  total: Int
}

/// Its total.
fn first(order: Order) -> Int {
  order.total
}

fn second(orders: List<Order>) -> Int {
  orders.length()
}

fn third() -> Int {
  1
}
"""


@pytest.fixture
def program(tmp_path: Path) -> tuple[Snapshot, File]:
    path = (tmp_path / "main.ael").resolve()
    snapshot = Program(where(path, Overlay({}, Disk(), {})), Disk(), "utf-16").analyse(
        {path: Document(path.as_uri(), path, 1, TEXT)}
    )
    return snapshot, snapshot.files[path]


def type_at(file: File, name: str) -> str | None:
    """The type of what `.NAME` is asked of."""
    for node in walk(file.tree):
        if isinstance(node, n.FieldAccess) and node.name.text == name:
            found = file.tables.types.get(node.target)
            return None if found is None else show(found)
    return None


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("  orders.length()", "  orders.first().zzz\n  orders.length()", "Order?"),
        ("  order.total", "  let it = order\n  it.zzz", "Order"),
        ("fn third() -> Int {", "fn third(order: Order, more: List<Order>) -> Int {\n  more.zzz", "List<Order>"),
        ("fn second(orders", "fn extra(o: Order) -> Int {\n  first(o).zzz\n}\n\nfn second(orders", "Int"),
        ("  total: Int\n", "  total: String\n  zz: Int = 1.zzz\n", "Int"),
        ("fn third() -> Int {\n  1\n}\n", "fn third() -> Int {\n  words(\"a\").zzz\n}\n", "List<String>"),
    ],
)  # fmt: skip
def test_the_type_at_the_cursor(program: tuple[Snapshot, File], before: str, after: str, expected: str) -> None:
    snapshot, file = program
    changed = TEXT.replace(before, after, 1)
    forked, there = fork(snapshot, file, changed)
    assert type_at(there, "zzz") == expected
    assert there.source.text == changed
    assert all(changed[d.name.span.start : d.name.span.end] == d.name.text for d in there.tree.declarations if hasattr(d, "name"))
    assert forked.files[file.path] is there


def test_the_program_itself_stays_as_it_was(program: tuple[Snapshot, File]) -> None:
    snapshot, file = program
    collected = snapshot.collected
    names = {name: dict(scope.names) for name, scope in collected.modules.items()}
    kept = (dict(collected.symbols), dict(collected.definitions), dict(collected.signatures), repr(file.tree.declarations))
    fork(snapshot, file, TEXT.replace("fn first(order: Order) -> Int {", "fn other(x: Missing) -> Float {\n  unknown"))
    fork(snapshot, file, "")
    fork(snapshot, file, TEXT + "record Order { x: Int }\n")
    assert {name: dict(scope.names) for name, scope in collected.modules.items()} == names
    assert (
        dict(collected.symbols),
        dict(collected.definitions),
        dict(collected.signatures),
        repr(file.tree.declarations),
    ) == kept


def test_only_what_is_touched_is_read(program: tuple[Snapshot, File]) -> None:
    snapshot, file = program
    _, there = fork(snapshot, file, TEXT.replace("orders.length()", "orders.zzz"))
    assert [d.name.text for d in there.tree.declarations if isinstance(d, n.FunctionDecl)] == ["first", "second"]
    assert there.tree.declarations[1] is file.tree.declarations[1]
    assert there.tree.declarations[-1] is not file.tree.declarations[3]
