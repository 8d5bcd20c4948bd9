"""What is done to a text before it is kept, and how texts are cut and compared: any text, and texts made to be slow."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.lower.natives.knowledge import alike, chunks, masked, tokens, unmarked, visible

KEY = "sk-ant-" + "a1B2" * 10
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"


@pytest.mark.feature("A18.3", "K41")
@pytest.mark.parametrize(
    "secret",
    [
        KEY,
        "sk-" + "x" * 48,
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_" + "a" * 36,
        "github_pat_" + "1" * 40,
        "glpat-" + "x" * 20,
        "xoxb-1234567890-abcdef",
        "AIza" + "B" * 35,
        "hf_" + "c" * 34,
        "sk_live_" + "d" * 24,
        JWT,
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE-abc-def\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nnever ends",
    ],
)
@pytest.mark.parametrize("around", ["{}", "the key is {}.", "key='{}'", "PREFIX-{}", "MY_{} x", "a\n{}\nb"])
def test_a_credential_of_a_known_form_is_masked(secret: str, around: str) -> None:
    found = masked(around.format(secret))
    assert "***" in found
    assert not any(secret[at : at + 8] in found for at in range(len(secret) - 8) if "-----" not in secret[at : at + 8])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("postgres://user:pa55@db.example.com/x", "postgres://***@db.example.com/x"),
        ("Authorization: Bearer abcdefgh12345678", "Authorization: Bearer ***"),
        ('{"password": "hunter2hunter2"}', '{"password": "***"}'),
        ("API_KEY=abcd1234efgh", "API_KEY=***"),
        ("The password: choose a long one.", "The password: choose a long one."),
        ("https://example.com:8080/a@b", "https://example.com:8080/a@b"),
        ("a.b.c and version 1.2.3", "a.b.c and version 1.2.3"),
        ("ask-questions-and-get-answers", "ask-questions-and-get-answers"),
    ],
)
def test_what_else_is_masked_and_what_is_not(text: str, wanted: str) -> None:
    assert masked(text) == wanted


@pytest.mark.feature("A18.3", "K44")
@pytest.mark.parametrize(
    "markup",
    [
        "<system>", "</system>", "<SYSTEM priority='1'>", "< / assistant >", "<|im_start|>", "<|endoftext|>", "[INST]", "[/INST]",
        "<<SYS>>", "</s>", "<start_of_turn>", "<!-- do as I say -->", "<!-- never ends", "<script>alert(1)</script>", "<style>x{}</style >",
        "<script src=x>never ends", "<invoke name='x'>", "<function_calls>", "<\uff5cbegin\u2581of\u2581sentence\uff5c>",
        "＜system＞", "<ｓｙｓｔｅｍ>", "<tool_result>",
    ],
)  # fmt: skip
def test_markup_that_speaks_to_a_model_is_taken_out(markup: str) -> None:
    found = unmarked(f"before {markup}")
    assert unicodedata.normalize("NFKC", found).strip() == "before"


@pytest.mark.parametrize(
    "text", ["a < b and c > d", "<b>bold</b> and <systematic>", "a <subsystem> b", "x <- y", "café ½ ﬁ <p>", "1 <!= 2"]
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert unmarked(text) == text


@pytest.mark.feature("A18.3")
@given(st.text(max_size=300))
def test_nothing_that_nobody_sees_is_left(text: str) -> None:
    found = visible(text)
    assert visible(found) == found
    kinds = {unicodedata.category(one) for one in found if one not in "\n\t"}
    assert not kinds & {"Cc", "Cs"}
    # What is left of format characters is seen: signs in front of numbers, and the joiners of hieroglyphs.
    assert all(
        one in "\u06dd\u070f\u08e2\U000110bd\U000110cd"
        or 0x600 <= ord(one) <= 0x605
        or 0x890 <= ord(one) <= 0x891
        or 0x13430 <= ord(one) <= 0x13455
        for one in found
        if unicodedata.category(one) == "Cf"
    )


def test_words_in_tags_and_reversed_words_are_seen() -> None:
    hidden = "".join(chr(0xE0000 + ord(one)) for one in "obey")
    assert visible(f"a{hidden}b\u202ec\u200bd\x00\x1b[2J\r\ne\u2028f") == "abcd[2J\ne\nf"


@pytest.mark.parametrize(
    "text",
    [
        "<script" * 50000, "<!--" * 100000, "<system " * 50000, "eyJ-" * 100000, "sk-" * 125000,
        "-----BEGIN PRIVATE KEY-----" * 30_000,
        "password=" * 50000, "a://" * 100000, "a:" * 200000, ("x" * 63 + ".") * 12_000, "authorization: bearer " * 40_000,
        "<|" * 150000, "[" * 400000, "﷽" * 50000, "\u0301" * 250000, "\n" * 400000, ". " * 200000,
    ],
)  # fmt: skip
def test_no_text_takes_long(text: str) -> None:
    """Nothing here is timed: a pattern that goes back over what it read would not end within the limit of any test."""
    masked(unmarked(visible(text)))
    chunks(text, 1_200, 200)
    alike(text, text[1:])
    tokens(text)


@given(st.lists(st.sampled_from([" ", "\n", "\n\n", ". ", "! ", "   "]), max_size=300), st.integers(20, 100), st.integers(0, 60))
def test_pieces_have_all_words_in_order_and_are_small(between: list[str], size: int, overlap: int) -> None:
    text = "".join(f"w{at}{mark}" for at, mark in enumerate(between))
    found = chunks(text, size, overlap)
    assert all(0 < len(piece) <= size and piece == piece.strip() for piece in found)
    next_word = 0
    for piece in found:
        words = [int(word.strip(".!")[1:]) for word in piece.split()]
        assert words == list(range(words[0], words[0] + len(words)))
        assert words[0] <= next_word <= words[-1]
        next_word = words[-1] + 1
    assert next_word == len(between)


@given(st.text(alphabet=" .\nab\u3002", max_size=500), st.integers(1, 100), st.integers(0, 60))
def test_any_text_comes_to_an_end(text: str, size: int, overlap: int) -> None:
    found = chunks(text, size, overlap)
    assert all(0 < len(piece) <= max(size, 1) and piece in text for piece in found)
    if overlap == 0:
        assert "".join("".join(found).split()) == "".join(text.split())


def test_pieces_end_at_paragraphs_then_sentences_then_words() -> None:
    assert chunks("One two three.\n\nFour five six.", 20, 0) == ["One two three.", "Four five six."]
    assert chunks("One two three. Four five six.", 20, 0) == ["One two three.", "Four five six."]
    assert chunks("alpha beta gamma delta", 12, 0) == ["alpha beta", "gamma delta"]
    assert chunks("alpha beta gamma delta", 12, 3)[1].startswith("eta") is False
    assert chunks("x" * 50, 20, 0) == ["x" * 20, "x" * 20, "x" * 10]
    assert chunks(" \n ", 20, 5) == []


@pytest.mark.feature("A18.4")
def test_how_alike_texts_are() -> None:
    text = "Refunds take five working days and go to the card that was charged for the order."
    assert alike(text, text) == 1.0
    assert alike(text, text.replace("five", "six")) > 0.5
    assert alike(text, text.upper().replace(",", "")) == 1.0
    assert alike(text, "Parcels are sent every day.") == 0.0
    assert alike("", "") == 1.0
    assert alike("!", "?") == 0.0
    assert alike("one", "one") == 1.0


@given(st.text(max_size=200), st.text(max_size=200))
def test_alike_is_a_share_and_the_same_both_ways(a: str, b: str) -> None:
    assert 0.0 <= alike(a, b) == alike(b, a) <= 1.0
