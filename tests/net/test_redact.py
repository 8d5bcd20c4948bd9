"""Secret values are masked by value, in any form (fault kind K41)."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ael.net.redact import MASK, Redactor, bounded
from ael.types.value import Secret

VALUE = 'sk-Ab3/+="\\é xyz?&0123456789'


@pytest.mark.parametrize(
    "shown",
    [
        VALUE,
        json.dumps(VALUE),
        json.dumps(VALUE, ensure_ascii=False),
        quote(VALUE),
        quote(VALUE, safe=""),
        quote_plus(VALUE),
        quote(VALUE, safe="")
        .replace("%2F", "%2f")
        .replace("%2B", "%2b")
        .replace("%3D", "%3d")
        .replace("%5C", "%5c")
        .replace("%C3%A9", "%c3%a9")
        .replace("%3F", "%3f"),
        VALUE.encode().hex(),
        b64encode(VALUE.encode()).decode(),
        b64encode(f"user:{VALUE}".encode()).decode(),
        b64encode(f"us:{VALUE}:more".encode()).decode(),
        urlsafe_b64encode(f"abcd{VALUE}".encode()).decode(),
    ],
)
def test_every_usual_form_of_a_value_is_masked(shown: str) -> None:
    masked = Redactor([Secret("KEY", VALUE)])(f"PREFIXED_NAME={shown} and more")
    assert MASK in masked
    assert "0123456789" not in masked
    assert VALUE.encode().hex() not in masked


@settings(max_examples=60, deadline=None)
@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40),
    st.binary(max_size=7),
    st.binary(max_size=7),
)
def test_base64_with_any_neighbours_is_masked(value: str, before: bytes, after: bytes) -> None:
    shown = b64encode(before + value.encode() + after).decode()
    assert MASK in Redactor([Secret("KEY", value)])(shown)


def test_a_text_without_the_value_is_unchanged() -> None:
    assert Redactor([Secret("KEY", "abcdefgh")])("nothing to see") == "nothing to see"
    assert Redactor([Secret("KEY", "")])("nothing to see") == "nothing to see"


def test_outside_text_is_bounded_and_printable() -> None:
    shown = bounded("a\n\n\x1b[31mred\x00" + "x" * 10_000, 100)
    assert len(shown) == 100
    assert shown.isprintable()
    assert "\x1b" not in shown
