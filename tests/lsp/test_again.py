"""Analysing again after an edit gives, down to the type of every node, what an analysis from nothing gives."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ael.check.again import Rechecker
from ael.check.body import check_declaration
from ael.diagnostics.diagnostic import Bag
from ael.editor.analysis import Program, where
from ael.editor.documents import Disk, Document, Open, Overlay
from ael.editor.snapshot import Snapshot
from ael.source import Source
from ael.syntax import nodes as n
from ael.syntax.lexer import lex, lex_plain
from ael.syntax.relex import relex
from tests.lsp.edits import edit

ROOT = Path(__file__).resolve().parents[2]
GENTLE = ("x", "order", " ", "1", "// c", "\n", " + 1", ".x", "let q = 1\n", "🦊", "\n\n/// Said.\n", ": Int", "pub ")
"""What leaves most of a program as it was."""


def key(node: n.Node) -> tuple[str, int, int]:
    return (type(node).__name__, *node.span)


def keys(value: Any) -> Any:
    """A value of a table with what names its nodes, instead of them."""
    match value:
        case n.Node():
            return key(value)
        case tuple() | list():
            return [keys(one) for one in value]
        case dict():
            return {keys(one): keys(other) for one, other in value.items()}
        case set():
            return {keys(one) for one in value}
        case _ if type(value).__name__ in ("CallInfo", "EdgeInfo", "Local"):
            return [keys(getattr(value, name)) for name in value.__match_args__]
        case _:
            return value


def world(snapshot: Snapshot) -> dict[str, Any]:
    """Everything that is known of a program."""
    found: dict[str, Any] = {}
    for name, file in snapshot.modules.items():
        tables, tokens = file.tables, file.tokens
        found[name] = {table: keys(getattr(tables, table)) for table in tables.__match_args__}
        found[f"tree of {name}"] = repr((file.tree.declarations, file.tree.comments, file.tree.doc))
        plain = (tokens.kinds, tokens.starts, tokens.ends, tokens.texts, tokens.pieces, tokens.docs, tokens.module_doc)
        found[f"tokens of {name}"] = (plain, sorted(tokens.comments), sorted(tokens.doc_lines))
    facts = snapshot.facts
    if facts is not None:
        found["facts"] = (facts.signatures, facts.effects, facts.tools, facts.nodes, facts.services, facts.stores, facts.tests)
    found["diagnostics"] = {
        path: [
            (one.code, one.message, one.place.span, [(label.text, label.place.span) for label in one.labels], one.notes,
             one.fix and [(edit.text, edit.place.span) for edit in one.fix.edits])
            for one in told
        ]
        for path, told in snapshot.diagnostics.items()
    }  # fmt: skip
    return found


def gentle(random: Random, text: str, original: str) -> str:
    """A text that differs little."""
    if random.random() < 0.05:
        return original
    at = random.randint(0, len(text))
    if random.random() < 0.4:
        return text[:at] + text[at + random.choice((1, 2, 3)) :]
    return text[:at] + random.choice(GENTLE) + text[at:]


def opened(texts: dict[Path, str]) -> Open:
    return {path: Document(path.as_uri(), path, 1, text) for path, text in texts.items()}


@pytest.mark.parametrize(("name", "rough", "seed"), [("support", False, 1), ("support-fleet", False, 2), ("support", True, 3)])
def test_an_edit_leaves_what_an_analysis_from_nothing_gives(
    name: str, rough: bool, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = (tmp_path / "p").resolve()
    shutil.copytree(ROOT / "examples" / name, folder)
    modules = sorted(folder.rglob("*.ael"))
    before = {path: path.read_text(encoding="utf-8") for path in modules}
    texts, random = dict(before), Random(seed)
    place = where(folder / "main.ael", Overlay({}, Disk(), {}))
    program = Program(place, Disk(), "utf-16")
    kept: list[int] = []
    bodies, again = Rechecker._bodies, []

    def counted(self: Rechecker, checker: Any, bag: Any, old: Any, stay: list[Any]) -> Any:
        first = len(stay)
        made = bodies(self, checker, bag, old, stay)
        kept.append(len(stay) - first)
        return made

    def read_again(old: Any, source: Any) -> Any:
        again.append(relex(old, source))
        return again[-1]

    monkeypatch.setattr(Rechecker, "_bodies", counted)
    monkeypatch.setattr("ael.syntax.again.relex", read_again)
    for step in range(30):
        path = random.choice(modules)
        texts[path] = edit(random, texts[path], before[path])[1] if rough else gentle(random, texts[path], before[path])
        snapshot = program.analyse(opened(texts))
        if step % 5 == 4:
            assert world(snapshot) == world(Program(place, Disk(), "utf-16").analyse(opened(texts)))
    # It is worth nothing if nothing was kept.
    assert sum(kept) > 50
    assert any(again)


def test_an_edit_in_a_body_checks_that_body_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = (tmp_path / "main.ael").resolve()
    text = "".join(f"fn f{number}(n: Int) -> Int {{\n  n + {number}\n}}\n\n" for number in range(50))
    program = Program(where(path, Overlay({}, Disk(), {})), Disk(), "utf-16")
    program.analyse(opened({path: text}))
    looked: list[str] = []

    def noted(checker: Any, node: Any) -> None:
        looked.append(node.name.text)
        check_declaration(checker, node)

    monkeypatch.setattr("ael.check.again.check_declaration", noted)
    program.analyse(opened({path: text.replace("n + 7\n", "n + 7 + n\n")}))
    assert looked == ["f7"]
    looked.clear()
    program.analyse(opened({path: text.replace("fn f7(n: Int)", "fn f7(n: Float)")}))
    assert len(looked) == 50


def codes(snapshot: Snapshot) -> list[tuple[str, str]]:
    return [(one.code, one.message) for told in snapshot.diagnostics.values() for one in told]


def test_a_name_that_means_nothing_is_told_of_where_it_stands_now(tmp_path: Path) -> None:
    """It is told once for a module: the second place is silent until the first is mended."""
    path = (tmp_path / "main.ael").resolve()
    program = Program(where(path, Overlay({}, Disk(), {})), Disk(), "utf-16")
    text = "fn a() -> Int {\n  lost\n}\n\nfn b() -> Int {\n  1\n}\n\nfn c() -> Int {\n  lost\n}\n"
    assert codes(program.analyse(opened({path: text}))) == [("AEL0202", "there is no name `lost`")]
    mended = text.replace("lost", "1", 1)
    (told,) = program.analyse(opened({path: mended})).diagnostics[path]
    assert (told.code, mended[: told.place.span.start].count("\n")) == ("AEL0202", 9)


def test_what_others_say_of_themselves_counts(tmp_path: Path) -> None:
    """A body that did not change is looked at again when a type, a constant or a signature elsewhere did."""
    path = (tmp_path / "main.ael").resolve()
    program = Program(where(path, Overlay({}, Disk(), {})), Disk(), "utf-16")
    text = "record R {\n  x: Int\n}\n\nconst C = 1\n\nfn f() -> Int {\n  1\n}\n\nfn g(r: R) -> Int {\n  r.x + C + f()\n}\n"
    for before, after in (("x: Int", "x: String"), ("C = 1", 'C = "a"'), ("f() -> Int {\n  1", 'f() -> String {\n  "a"')):
        assert codes(program.analyse(opened({path: text}))) == []
        assert codes(program.analyse(opened({path: text.replace(before, after)})))


def test_a_declaration_that_swallows_the_next(tmp_path: Path) -> None:
    """`model` after a `node` is a clause of it: the edit reaches further than the declaration that it is in."""
    first = "".join(f"fn f{number}() -> Int {{\n  {number}\n}}\n\n" for number in range(5))
    last = "".join(f"fn g{number}() -> Int {{\n  {number}\n}}\n\n" for number in range(5))
    text = f"{first}const HERE = 1\n\nmodel fast\n\nmodel slow\n\nmodel third\n\n{last}"
    old = lex_plain(Source("", text), "module")
    assert old is not None
    changed = Source("", text.replace("const HERE = 1", "node here(a: Int) -> Int"))
    again = relex(old, changed)
    new = lex(changed, Bag(), "module")
    assert again is None or (again.tokens.kinds, again.tokens.pieces) == (new.kinds, new.pieces)
    moved = Source("", text.replace("HERE", "THERE"))
    again, new = relex(old, moved), lex(moved, Bag(), "module")
    assert again is not None
    assert (again.tokens.kinds, again.tokens.starts, again.tokens.pieces) == (new.kinds, new.starts, new.pieces)
