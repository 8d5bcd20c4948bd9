"""`ael guide`: the guide for coding agents, of this version."""

from __future__ import annotations

import re

import pytest

from ael import __version__
from ael.check.builtin import EFFECT_SIGNATURES, FUNCTIONS, METHODS
from ael.cli.main import COMMANDS
from ael.diagnostics.codes import TITLES
from ael.project.shipped import shipped
from ael.syntax.tables import RESERVED
from tests.cli.conftest import Ael
from tests.programs import blocks


@pytest.mark.feature("C14")
def test_the_guide_is_the_page_of_the_docs_without_links_that_are_not_shipped(ael: Ael) -> None:
    said = ael("guide")
    assert (said.code, said.err) == (0, "")
    page = (shipped("guide") / "agents-guide.md").read_text(encoding="utf-8")
    assert [block.text for block in blocks(said.out)] == [block.text for block in blocks(page)]
    assert re.findall(r"\]\([^)]*\.md", said.out) == []
    assert "| a tool without `repeat` | AEL0512 |" in said.out


@pytest.mark.feature("C14", "A17.13")
def test_the_guide_as_a_skill(ael: Ael) -> None:
    printed = ael("guide", "--skill")
    head = re.match(r"---\nname: ael\ndescription: >-\n((?:  .+\n)+)metadata:\n  version: \"(.+)\"\n---\n\n# ", printed.out)
    assert head is not None
    assert head[2] == __version__
    assert 100 < len(head[1]) < 1_024
    wrote = ael("guide", "--skill", "--into", "skills")
    assert (wrote.code, wrote.out) == (0, "")
    assert (ael.folder / "skills" / "ael" / "SKILL.md").read_text(encoding="utf-8") == printed.out


def test_what_the_guide_does_not_take(ael: Ael) -> None:
    alone = ael("guide", "--into", "skills")
    assert (alone.code, alone.out) == (2, "")
    assert alone.err == "ael guide: `--into` goes with `--skill`\n"
    (ael.folder / "file").write_text("")
    blocked = ael("guide", "--skill", "--into", "file")
    assert blocked.code == 2
    assert blocked.err.startswith("ael guide: `file")
    assert ael("guide", "more").code == 2
    assert "SKILL.md" in ael("guide", "--help").out


@pytest.mark.feature("C14")
def test_the_guide_names_what_there_is(ael: Ael) -> None:
    text = ael("guide").out
    words = set(re.findall(r"[a-z_0-9]+", text))
    assert {name for table in METHODS.values() for name in table} <= words
    assert {*FUNCTIONS, *EFFECT_SIGNATURES} <= words
    assert set(RESERVED) <= words
    modules = {f"std/{path.stem}" for path in (shipped("stdlib") / "std").glob("*.ael")}
    assert modules <= set(re.findall(r"std/[a-z]+", text))
    assert set(re.findall(r"AEL\d{4}", text)) <= set(TITLES)
    assert set(re.findall(r"`ael ([a-z]+)", text)) <= set(COMMANDS)


@pytest.mark.feature("C14")
def test_a_new_pack_leads_to_the_guide(ael: Ael) -> None:
    assert ael("new", "desk").code == 0
    told = (ael.folder / "desk" / "AGENTS.md").read_text(encoding="utf-8")
    assert "Read `ael guide`" in told
    assert set(re.findall(r"`ael ([a-z]+)", told)) <= set(COMMANDS)
