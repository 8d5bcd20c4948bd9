"""The shipped modules are what the grammar says, and nothing of the tree is forgotten."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest

from ael.syntax import nodes as n
from ael.syntax.format import PRINTERS
from ael.syntax.tables import ACTION, RESERVED, SOFT
from grammar import build, makers
from tests.syntax.helpers import ROOT

NOT_PRINTED = {n.Doc, n.Comment, n.Module, n.TextPart, n.Depends}
"""Comments and docs are printed from the source, a module by `format_module`, text by its string, the items of a pack by it."""


@pytest.mark.feature("C12")
def test_the_shipped_modules_match_the_grammar() -> None:
    data, code = build.render()
    syntax = ROOT / "ael" / "syntax"
    assert (syntax / "tables.py").read_text("utf-8") == data, "run `python -m grammar.build`"
    assert (syntax / "reductions.py").read_text("utf-8") == code, "run `python -m grammar.build`"
    assert (syntax / "make.py").read_text("utf-8") == makers.makers(), "run `python -m grammar.build`"


def test_the_tables_do_not_depend_on_the_order_of_sets() -> None:
    code = "import hashlib; from grammar.build import render; print(hashlib.sha256(''.join(render()).encode()).hexdigest())"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1


def test_the_grammar_has_no_conflicts() -> None:
    assert build.conflicts() == []


def test_each_word_has_one_class() -> None:
    classes = tomllib.loads((ROOT / "grammar" / "words.toml").read_text("utf-8"))
    listed = [word for name in ("declaration", "statement", "operator", "literal", "soft", "clause") for word in classes[name]]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(RESERVED) | set(SOFT)


def test_every_node_has_a_printer() -> None:
    assert set(makers.classes()) - NOT_PRINTED == set(PRINTERS)


def test_a_state_with_nothing_to_do_is_an_end() -> None:
    assert sum(not row for row in ACTION) == len(build.STARTS)


def test_the_parser_imports_no_grammar_library() -> None:
    code = "import sys, ael.syntax.parse, ael.syntax.format; print([m for m in ('lark', 'asyncio') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
