"""Every example is coloured by every grammar, the generated files are fresh, and no line takes more than linear time."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pygments import lex
from pygments.lexers import get_lexer_by_name
from pygments.token import Error, Keyword, Operator, Text, Token
from textmate_grammar.parsers.base import LanguageParser
from tree_sitter import Language, Parser

from ael.editor.pygments import AelLexer
from ael.editor.words import words
from editors.generate import generated
from tests.editors.hostile import HOSTILE
from tests.editors.programs import files, nodes, parsed, rules
from tests.editors.tools import language

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [p for folder in ("examples", "stdlib") for p in sorted((ROOT / folder).rglob("*.ael")) if p.is_file()]
RESERVED = ("declaration", "statement", "operator", "literal")


@pytest.mark.parametrize("path", list(generated()), ids=lambda p: p.name)
@pytest.mark.feature("C12")
def test_the_generated_files_are_fresh(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == generated()[path], "run `python -m editors.generate`"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_pygments_knows_every_token_of_the_examples(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tokens = list(lex(text, AelLexer()))
    assert "".join(value for _, value in tokens) == text
    assert not [value for kind, value in tokens if kind in Error or (kind is Text and value.strip())]


def test_the_lexer_is_registered_by_entry_point() -> None:
    assert get_lexer_by_name("ael").name == "AEL"


@pytest.mark.parametrize("word", [w for name in RESERVED for w in words()[name]])
def test_pygments_and_textmate_colour_every_reserved_word(word: str) -> None:
    kinds = {kind for kind, value in lex(f"{word}\n", AelLexer()) if value == word}
    assert kinds
    assert all(kind in Keyword or kind in Token.Operator for kind in kinds)
    scopes = {scope for _, text, scopes in textmate(f"{word}\n") if text == word for scope in scopes}
    assert scopes & {"storage.type.ael", "keyword.control.ael", "keyword.operator.word.ael", "constant.language.ael"}


PARSER = LanguageParser(json.loads((ROOT / "editors/vscode/syntaxes/ael.tmLanguage.json").read_text(encoding="utf-8")))


def textmate(text: str) -> list[tuple[tuple[int, int], str, list[str]]]:
    """The tokens that the TextMate grammar gives: place, text, scopes."""
    element = PARSER.parse_string(text)
    assert element is not None
    return [(place, value, scopes) for place, value, scopes in element.flatten()]


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_textmate_gives_every_word_of_the_examples_a_scope(path: Path) -> None:
    bare = [text for _, text, scopes in textmate(path.read_text(encoding="utf-8")) if text.strip() and len(scopes) == 1]
    assert not bare


@pytest.fixture(scope="module")
def grammar(tmp_path_factory: pytest.TempPathFactory) -> Language:
    return language(tmp_path_factory.mktemp("grammar"))


def told_apart(grammar: Language, text: str) -> Iterator[tuple[int, str, bool]]:
    """Every word of a program: where, what, and whether it is a word of the language here (else a name)."""
    for node in nodes(Parser(grammar).parse(text.encode()).root_node):
        word = (node.text or b"").decode()
        if not node.children and re.fullmatch(r"[a-z_]\w*", word) and (node.type == "identifier" or not node.is_named):
            yield node.start_byte, word, node.type != "identifier"


@pytest.mark.feature("C12")
def test_pygments_tells_words_from_names_as_the_grammar_does(grammar: Language) -> None:
    """In every example, module of the library and page every word is coloured as one; in the first two no name is taken for a word."""
    seen = set()
    for name, text, kind in (*files(), *rules()):
        if not text.isascii() or parsed(text, kind) is None:
            continue
        kinds = {at: token for at, token, _ in AelLexer().get_tokens_unprocessed(text)}
        for at, word, is_word in told_apart(grammar, text):
            coloured = at in kinds and (kinds[at] in Keyword or kinds[at] in Operator.Word)
            if is_word:
                assert coloured, f"{name}: {word!r} in {text[max(0, at - 30) : at + 20]!r}"
                seen.add(word)
            elif name.startswith(("examples/", "stdlib/")):
                assert not coloured, f"{name}: {word!r} in {text[max(0, at - 30) : at + 20]!r}"
    assert {word for name in (*RESERVED, "soft", "clause") for word in words()[name]} <= seen


def cost(read: Callable[[str], object], text: str) -> float:
    """The seconds of processor time that reading a text takes."""
    start = time.process_time()
    read(text)
    return time.process_time() - start


def pygments(text: str) -> None:
    """Read a text to the end."""
    for _ in AelLexer().get_tokens_unprocessed(text):
        pass


@pytest.mark.parametrize("name", HOSTILE)
def test_k52_pygments_is_linear_on_hostile_text(name: str) -> None:
    """Measured as a ratio, not in seconds: four times the text takes less than eight times the work; sixteen would be quadratic."""
    text = HOSTILE[name][:100_000] + "x\n"
    whole = cost(pygments, text)
    assert whole < 0.5 or whole < 8 * cost(pygments, text[: len(text) // 4]) + 0.5


@pytest.mark.parametrize("run", ["1", "1_", "a", "A_", "a1", " "])
def test_k52_what_belongs_together_is_read_once(run: str) -> None:
    """A lexer that takes a run piece by piece looks at the rest again for each: one token, however long it is."""
    tokens = list(AelLexer().get_tokens_unprocessed(run * 2_000))
    assert len(tokens) == 1


ENGINE = [word for word in HOSTILE if "MiB" not in word and "comments" not in word]


@pytest.mark.parametrize("name", ENGINE)
def test_k52_no_expression_of_the_textmate_grammar_is_slow(name: str) -> None:
    """Every expression by itself over the line: the editor's own loop over the tokens is not what is measured."""
    text = HOSTILE[name][:60_000].replace("\n", " ") + "x"
    for expression in expressions():
        found = re.compile(expression)
        whole = cost(found.search, text)
        assert whole < 0.3 or whole < 8 * cost(found.search, text[: len(text) // 4]) + 0.3, expression


def expressions() -> list[str]:
    """Every regular expression of the TextMate grammar."""
    found: list[str] = []
    stack: list[object] = [json.loads((ROOT / "editors/vscode/syntaxes/ael.tmLanguage.json").read_text(encoding="utf-8"))]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            found += [one for key, one in value.items() if key in ("match", "begin", "end")]
            stack += value.values()
        elif isinstance(value, list):
            stack += value
    return found


def test_no_expression_repeats_a_repetition() -> None:
    """`(a+)+` and `(a|b*)*` are what makes a line of a MiB take for ever."""
    for expression in expressions():
        assert not re.search(r"[*+]\)?[*+]|[*+][^()|]*\)[*+{]", re.sub(r"\\.|\[(?:\\.|[^\]])*\]", "x", expression)), expression
