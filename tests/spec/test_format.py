"""Formatting the programs of the pages changes neither what they mean nor, the second time, their text (feature C1)."""

from __future__ import annotations

import pytest

from ael.diagnostics.diagnostic import Bag
from ael.source import Source
from ael.syntax import nodes as n
from ael.syntax.format import format_module
from ael.syntax.parse import parse_deployment, parse_module, parse_pack
from ael.syntax.tree import same
from tests.programs import Block
from tests.spec.test_spec import CASES, Case

pytestmark = pytest.mark.feature("B20", "C1")

PAGES = sorted({case.page for case in CASES})
PARSERS = {"deploy.ael": parse_deployment, "pack.ael": parse_pack}


def parsed(text: str, name: str) -> n.Module | None:
    """The tree of a file; None where its syntax is wrong, and where it holds what no formatter should keep."""
    bag = Bag()
    module = PARSERS.get(name.rpartition("/")[2], parse_module)(Source(name, text), bag)
    return None if bag.errors else module


def check(block: Block) -> bool:
    """Whether a block could be formatted; fails when the formatted text means something else, or is formatted anew."""
    name = block.words.get("file", "main.ael")
    module = parsed(block.text, name)
    if module is None:
        return False
    once = format_module(module)
    again = parsed(once, name)
    assert again is not None, f"line {block.line}: the formatted text has wrong syntax\n{once}"
    assert same(module, again), f"line {block.line}: the formatted text is another program\n{once}"
    assert format_module(again) == once, f"line {block.line}: the formatted text is not formatted"
    assert sorted(c.text.rstrip() for c in module.comments) == sorted(c.text.rstrip() for c in again.comments)
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_programs_of_a_page(page: object) -> None:
    cases: list[Case] = [case for case in CASES if case.page == page]
    blocks = [block for case in cases for block in case.files if block.language == "ael"]
    formatted = [check(block) for block in blocks]
    assert any(formatted)
