"""Nothing of the language stands alone: each word, node, method, fault and diagnostic has its other halves.

Beside this: `tests/syntax/test_rules.py` has a smallest valid and invalid program for each rule of the grammar, `tests/test_error_pages.py`
a page for each diagnostic and a place that reports it, `tests/editors/test_highlighting.py` the colours of the examples.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from pygments import lex as highlight

from ael.check.builtin import EFFECT_SIGNATURES, FUNCTIONS, METHODS, TEST_EFFECTS, TEST_FUNCTIONS, TEST_TARGETS
from ael.diagnostics.codes import TITLES
from ael.diagnostics.diagnostic import Bag
from ael.editor.pygments import AelLexer
from ael.editor.words import words
from ael.source import Source
from ael.syntax import nodes as n
from ael.syntax.format import format_module
from ael.syntax.lexer import lex
from ael.syntax.parse import parse_deployment, parse_module, parse_pack
from ael.syntax.tables import RESERVED, SOFT
from ael.syntax.tree import Node, same
from ael.syntax.words import FileKind
from ael.types.fault import FaultKind
from tests.programs import blocks
from tests.test_error_pages import OUTSIDE_OF_PROGRAMS

ROOT = Path(__file__).resolve().parent.parent
SPEC = ROOT / "tests" / "spec"
PARSERS = {"module": parse_module, "pack": parse_pack, "deployment": parse_deployment}
NODES = {
    name: made
    for name, made in vars(n).items()
    if isinstance(made, type) and issubclass(made, Node) and made is not Node
}  # fmt: skip
RESERVED_CLASSES = ("declaration", "statement", "operator", "literal")
SOFT_CLASSES = ("soft", "clause")


@cache
def rules() -> dict[str, dict[str, str]]:
    """Rule -> its programs in `grammar/rules`, but for those that are one expression."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted((ROOT / "grammar" / "rules").glob("*.toml")):
        found.update(tomllib.loads(path.read_text("utf-8")))
    return {rule: entry for rule, entry in found.items() if entry.get("kind") != "expression"}


@cache
def spec() -> str:
    """All pages of the spec suite."""
    return "\n".join(page.read_text("utf-8") for page in sorted(SPEC.rglob("*.md")))


def spec_files() -> Iterator[tuple[FileKind, str]]:
    """Every AEL file of the spec suite."""
    kinds: dict[str, FileKind] = {"pack.ael": "pack", "deploy.ael": "deployment"}
    for block in blocks(spec()):
        if block.language == "ael":
            yield kinds.get(block.words.get("file", ""), "module"), block.text


def parsed(kind: str, text: str) -> n.Module | None:
    """The tree, None where the syntax is wrong."""
    bag = Bag()
    module = PARSERS[kind](Source("test.ael", text), bag)
    return None if bag.errors else module


def classes(module: n.Module) -> set[str]:
    """The kinds of nodes in a tree."""
    return {type(node).__name__ for node in n.walk(module)}


def test_every_node_comes_from_a_rule_and_through_the_formatter() -> None:
    """A kind of node that no rule makes, or that the formatter changes, would be one that nobody can write."""
    made: set[str] = set()
    for rule, entry in rules().items():
        kind = entry.get("kind", "module")
        module = parsed(kind, entry["valid"])
        assert module is not None, rule
        again = parsed(kind, format_module(module))
        assert again is not None, rule
        assert same(module, again), rule
        made |= classes(module)
    in_spec = set().union(*(classes(m) for kind, text in spec_files() if (m := parsed(kind, text)) is not None))
    assert set(NODES) - made - in_spec == set()
    assert set(NODES) - in_spec == set(), "kinds of nodes that no page of the spec shows"


def test_the_words_of_the_language_are_those_of_the_tables() -> None:
    listed = words()
    assert {word for name in RESERVED_CLASSES for word in listed[name]} == set(RESERVED)
    assert {word for name in SOFT_CLASSES for word in listed[name]} == set(SOFT)


@pytest.mark.parametrize("word", sorted({*RESERVED, *SOFT}))
def test_every_word_is_one_to_the_lexer_and_in_a_page_of_the_spec(word: str) -> None:
    kind = {**RESERVED, **SOFT}[word]
    assert kind in lex(Source("test.ael", f'{word} "x"'), Bag(), "module").kinds
    assert kind in spec_kinds(), "no page has a program with it"


@cache
def spec_kinds() -> frozenset[int]:
    """The kinds of tokens in the programs of the spec suite."""
    return frozenset(kind for file, text in spec_files() for kind in lex(Source("test.ael", text), Bag(), file).kinds)


EVERY_CLASS = (*RESERVED_CLASSES, *SOFT_CLASSES, "type", "known")


@pytest.mark.parametrize("word", sorted({word for name in EVERY_CLASS for word in words()[name]}))
def test_every_word_is_in_every_grammar_of_an_editor(word: str) -> None:
    textmate = json.loads((ROOT / "editors/vscode/syntaxes/ael.tmLanguage.json").read_text("utf-8"))
    assert any(re.search(rf"[(|]{word}[)|]", pattern) for pattern in patterns(textmate))
    vim = (ROOT / "editors/vim/syntax/ael.vim").read_text("utf-8")
    assert re.search(rf"[ (|]{word}(?![A-Za-z_])", vim)
    coloured = {kind for kind, text in highlight(f"{word} x\n", AelLexer()) if text == word}
    assert coloured
    assert all(str(kind).startswith(("Token.Keyword", "Token.Operator", "Token.Name.Builtin")) for kind in coloured)


def patterns(value: object) -> Iterator[str]:
    """The regular expressions of a TextMate grammar."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("match", "begin", "end") and isinstance(inner, str):
                yield inner
            yield from patterns(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from patterns(inner)


PAGES_OF_METHODS = {
    "string": "strings", "list": "lists", "map": "maps", "int": "numbers", "float": "numbers", "decimal": "numbers", "timestamp": "times",
    "date": "times", "duration": "times", "json": "json", "bytes": "strings",
}  # fmt: skip


@pytest.mark.parametrize(("owner", "method"), [(owner, own) for owner, methods in METHODS.items() for own in methods])
def test_every_method_is_called_on_the_page_of_its_type(owner: str, method: str) -> None:
    page = (SPEC / f"{PAGES_OF_METHODS[owner]}.md").read_text("utf-8")
    assert re.search(rf"\.{method}\(", page)


@pytest.mark.parametrize("name", sorted({*FUNCTIONS, *EFFECT_SIGNATURES, *TEST_FUNCTIONS, *TEST_EFFECTS, *TEST_TARGETS}))
def test_every_function_of_the_language_is_called_in_a_page(name: str) -> None:
    assert any(re.search(rf"(?<![\w.]){name}\(", text) for _, text in spec_files())


LATER = {"Diverged"}
"""Faults of what is not there yet: agents, runs that are resumed."""


@pytest.mark.parametrize("kind", sorted(kind.value for kind in FaultKind))
def test_every_fault_is_met_or_ends_a_program_in_a_page(kind: str) -> None:
    shown = re.search(rf"\b{kind} \w+ =>|^fault {kind} |^{kind}:|\"{kind}[:\"]", spec(), re.MULTILINE)
    assert (shown is not None) == (kind not in LATER)


@pytest.mark.parametrize("code", sorted(set(TITLES) - OUTSIDE_OF_PROGRAMS))
def test_every_diagnostic_of_programs_is_shown_in_a_page(code: str) -> None:
    assert re.search(rf"^(\S+\.(?:ael|lock) )?{code} \d+:\d+ ", spec(), re.MULTILINE)
