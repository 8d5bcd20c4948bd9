"""The parser and the formatter under texts of all kinds: nothing crashes, and what parses is formatted to the same program."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ael.diagnostics.diagnostic import Bag
from ael.source import Source
from ael.syntax.format import format_module
from ael.syntax.lexer import lex
from ael.syntax.parse import parse_expression
from ael.syntax.tree import same
from ael.syntax.words import WORDS, FileKind
from tests.syntax.generate import program
from tests.syntax.helpers import PARSERS, ROOT, parse

SETTINGS = settings(max_examples=100, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
KINDS: st.SearchStrategy[FileKind] = st.sampled_from(["module", "pack", "deployment"])
SUPPORT = (ROOT / "tests" / "syntax" / "programs" / "support.ael").read_text("utf-8")
PIECES = st.sampled_from(
    [
        *WORDS,
        *"(){}[],:.=+-*/<>?|&\"$%\\;'",
        "->",
        "=>",
        '"""',
        "${",
        "///",
        "//",
        "//!",
        "\n",
        "\r",
        "  ",
        "a",
        "B",
        "1",
        "5s",
        "é",
    ]
)


def never_crashes(text: str, kind: FileKind) -> None:
    """Whatever the text is, the parser answers, and every place that it names is in the text."""
    bag = Bag()
    source = Source("test.ael", text)
    module = PARSERS[kind](source, bag)
    for diagnostic in bag.sorted():
        span = diagnostic.place.span
        assert 0 <= span.start <= span.end <= len(text)
        assert diagnostic.message
    if not bag.errors:
        again = format_module(module)
        assert format_module(PARSERS[kind](Source("test.ael", again), bag)) == again


@SETTINGS
@given(st.text(max_size=200), KINDS)
def test_any_text(text: str, kind: FileKind) -> None:
    never_crashes(text, kind)


@SETTINGS
@given(st.lists(PIECES, max_size=40).map(" ".join), KINDS)
def test_any_words(text: str, kind: FileKind) -> None:
    never_crashes(text, kind)


@SETTINGS
@given(st.lists(PIECES, max_size=20).map("".join))
def test_any_expression(text: str) -> None:
    bag = Bag()
    assert (parse_expression(Source("test.ael", text), bag) is None) == bool(bag.errors)


@SETTINGS
@given(st.integers(0, len(SUPPORT)), st.integers(0, len(SUPPORT)))
def test_pieces_of_a_program(one: int, other: int) -> None:
    never_crashes(SUPPORT[min(one, other) : max(one, other)], "module")


@SETTINGS
@given(st.integers(0, len(SUPPORT) - 1), st.integers(0, 30), st.lists(PIECES, max_size=3).map("".join))
def test_edits_of_a_program(at: int, gone: int, text: str) -> None:
    never_crashes(SUPPORT[:at] + text + SUPPORT[at + gone :], "module")


@SETTINGS
@given(st.integers(0, 2**32), KINDS, st.integers(5, 120))
def test_generated_programs_are_formatted_to_themselves(seed: int, kind: FileKind, size: int) -> None:
    text = program(seed, kind, size)
    module, found = parse(text, kind)
    # What only the actions can say: a template where a plain text must stand, two versions, `per` in a default.
    assume(not any(d.code in ("AEL0103", "AEL0104", "AEL0105") for d in found))
    assert not found, (text, found[0].message)
    formatted = format_module(module)
    again, found = parse(formatted, kind)
    assert not found
    assert same(module, again)
    assert format_module(again) == formatted


@SETTINGS
@given(st.integers(0, 2**32), st.integers(5, 60), st.data())
def test_comments_between_any_tokens_are_kept(seed: int, size: int, data: st.DataObject) -> None:
    text = program(seed, "module", size)
    module, found = parse(text)
    assume(not found)
    tokens = lex(module.source, Bag(), "module")
    places = sorted(set(tokens.starts) | set(tokens.ends))
    at = data.draw(st.sampled_from(places))
    commented = text[:at] + data.draw(st.sampled_from(["// note\n", "\n// note\n", "\n\n// note\n\n"])) + text[at:]
    changed, found = parse(commented)
    # Where a line may not end, a comment cannot stand.
    assume(not found and same(module, changed))
    formatted = format_module(changed)
    assert formatted.count("// note") == 1
    again, found = parse(formatted)
    assert not found
    assert format_module(again) == formatted
