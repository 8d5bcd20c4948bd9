"""Places in a text: exact for every text and encoding, both ways (K51, K49)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types as lsp

from ael.editor.positions import Lines, edited
from ael.source import Source, Span
from tests.lsp.edits import place, split

CHARACTERS = st.sampled_from("a\n\r\t\0 \u2028\x0b\x85é\u0301漢🦊𝒳\u202e\ufeff\u200d\ud83d\udc8a")
TEXTS = st.text(CHARACTERS, max_size=40)
UNITS = {"utf-8": 1, "utf-16": 2, "utf-32": 4}


@pytest.mark.feature("B21")
@given(TEXTS)
def test_every_character_has_its_place_and_back(text: str) -> None:
    for encoding, width in UNITS.items():
        lines = Lines(Source("", text), encoding)
        for offset in range(len(text) + 1):
            if split(text, offset):
                continue
            found = lines.position(offset)
            assert lines.offset(found) == offset
            start = lines.offset(lsp.Position(found.line, 0))
            codec = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[encoding]
            assert found.character == len(text[start:offset].encode(codec, "surrogatepass")) // width
        assert [lines.position(at).line for at in range(len(text) + 1)] == [
            place(text, at)["line"] for at in range(len(text) + 1)
        ]


@given(TEXTS, st.integers(0, 20), st.integers(0, 50))
def test_a_place_that_there_is_not_is_the_nearest_that_there_is(text: str, line: int, character: int) -> None:
    for encoding in UNITS:
        lines = Lines(Source("", text), encoding)
        offset = lines.offset(lsp.Position(line, character))
        assert 0 <= offset <= len(text)
        assert lines.position(offset) <= lsp.Position(line, character)


@pytest.mark.parametrize(
    ("text", "line", "character", "offset"),
    [
        ("a🦊b", 0, 3, 2),  # two units for the fox
        ("a🦊b", 0, 2, 1),  # inside of it: its start
        ("a🦊b", 0, 99, 3),
        ("e\u0301x\r\ny", 0, 3, 3),  # a combining mark is a character of its own
        ("e\u0301x\r\ny", 0, 9, 3),  # never behind the carriage return
        ("e\u0301x\r\ny", 1, 1, 6),
        ("a\rb\nc", 2, 0, 4),  # a lone carriage return ends a line
        ("a\u2028b", 0, 3, 3),  # what only Python takes for a line end is none
        ("", 5, 5, 0),
    ],
)
def test_utf_16(text: str, line: int, character: int, offset: int) -> None:
    assert Lines(Source("", text)).offset(lsp.Position(line, character)) == offset


def test_a_range_that_is_turned_round() -> None:
    assert Lines(Source("", "abc")).span(lsp.Range(lsp.Position(0, 2), lsp.Position(0, 1))) == Span(1, 2)


def test_changes_are_meant_one_after_the_other() -> None:
    def put(line: int, character: int, text: str) -> lsp.TextDocumentContentChangePartial:
        at = lsp.Position(line, character)
        return lsp.TextDocumentContentChangePartial(text=text, range=lsp.Range(at, at))

    assert edited("ab", [put(0, 1, "\n"), put(1, 0, "🦊"), put(1, 2, "!")], "utf-16") == "a\n🦊!b"
    assert edited("ab", [put(0, 1, "x"), lsp.TextDocumentContentChangeWholeDocument("🦊"), put(0, 2, "y")], "utf-16") == "🦊y"
    assert edited("\ud83d", [put(0, 1, "\ude00")], "utf-16") == "\U0001f600"
