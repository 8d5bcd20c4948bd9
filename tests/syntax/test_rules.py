"""The smallest programs of `grammar/rules/`: each rule has one that it makes, and one that it refuses."""

from __future__ import annotations

import tomllib

import pytest

from ael.diagnostics.diagnostic import Bag
from ael.source import Source
from ael.syntax.parse import parse_expression
from ael.syntax.tables import NONTERMINALS
from ael.syntax.words import FileKind
from tests.syntax.helpers import PARSERS, ROOT, rules

PROGRAMS = {
    rule: entry
    for path in sorted((ROOT / "grammar" / "rules").glob("*.toml"))
    for rule, entry in tomllib.loads(path.read_text("utf-8")).items()
}


def _problems(text: str, kind: FileKind) -> list[str]:
    bag = Bag()
    source = Source("test.ael", text)
    if kind == "expression":
        parse_expression(source, bag)
    else:
        PARSERS[kind](source, bag)
    return [d.code for d in bag.sorted()]


def test_every_rule_has_its_programs() -> None:
    assert sorted(PROGRAMS) == NONTERMINALS


@pytest.mark.parametrize("rule", sorted(PROGRAMS))
def test_the_valid_program_has_the_rule(rule: str) -> None:
    entry = PROGRAMS[rule]
    kind = entry.get("kind", "module")
    assert _problems(entry["valid"], kind) == []
    assert rule in rules(entry["valid"], kind)


@pytest.mark.parametrize("rule", sorted(PROGRAMS))
def test_the_invalid_program_is_refused_once(rule: str) -> None:
    entry = PROGRAMS[rule]
    found = _problems(entry["invalid"], entry.get("kind", "module"))
    assert len(found) == 1
    assert found[0].startswith("AEL01")
