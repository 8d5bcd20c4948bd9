"""Every example is coloured by every grammar, the generated files are fresh, and no line takes more than linear time."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from pygments import lex
from pygments.lexers import get_lexer_by_name
from pygments.token import Error, Keyword, Text, Token
from textmate_grammar.parsers.base import LanguageParser

from ael.editor.pygments import AelLexer
from ael.editor.words import words
from editors.generate import generated

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


@pytest.mark.skipif(shutil.which("vim") is None, reason="needs Vim itself, which no package of the registry carries")
@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_vim_gives_every_word_of_the_examples_a_group(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "groups"
    script = tmp_path / "dump.vim"
    script.write_text(
        f"""
        set nocompatible
        syntax on
        source {ROOT}/editors/vim/syntax/ael.vim
        let found = []
        for line in range(1, line('$'))
          for col in range(1, len(getline(line)))
            let char = getline(line)[col - 1]
            if char !~ '\\s' && synIDattr(synID(line, col, 1), 'name') == ''
              call add(found, line . ':' . col . ' ' . char)
            endif
          endfor
        endfor
        call writefile(found, '{out}')
        qall!
        """.replace("\n        ", "\n"),
        encoding="utf-8",
    )
    command = ["vim", "-u", "NONE", "-i", "NONE", "-n", "-es", "-S", str(script), str(path)]
    subprocess.run(command, timeout=60, capture_output=True, check=False)
    lines = out.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not line.endswith((".", "{", "}"))] == []


HOSTILE = {
    **{f"many {name}": char * 100_000 for name, char in {"quotes": '"', "braces": "{", "dollars": "$", "blanks": " "}.items()},
    "many opened interpolations": '"${' * 33_000,
    "digits then a letter": "1_" * 50_000 + "x",
    "a long name": "a" * 100_000 + ":",
    "a long raw string": 'r"' + "\\" * 100_000,
    "many slashes": "/" * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_k52_the_highlighter_is_linear_on_hostile_lines(name: str) -> None:
    """Measured as a ratio, not in seconds: four times the text takes less than sixteen times the work of a quarter."""

    def cost(text: str) -> float:
        start = time.process_time()
        list(lex(text, AelLexer()))
        return time.process_time() - start

    text = HOSTILE[name]
    quarter = min(cost(text[: len(text) // 4]) for _ in range(3))
    assert cost(text) < 16 * quarter + 0.5
