"""Normal forms: Python's, but for texts that keep it busy."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.types import normal_form as module
from ael.types.normal_form import Form, normal_form

FORMS = st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"])
CHARS = st.one_of(
    st.characters(), st.sampled_from("a\u0301\u0316\u0344\u0f73\u0f75\u0f81\u1e69\u0327\uac00\u1100\u1161\u11a8\ufb01")
)


@given(st.text(CHARS, max_size=30), FORMS)
def test_it_is_that_of_python(text: str, form: Form) -> None:
    kept = module._SHORT
    module._SHORT = 0
    try:
        assert normal_form(text, form) == unicodedata.normalize(form, text)
    finally:
        module._SHORT = kept


@pytest.mark.parametrize("marks", ["\u0301\u0316", "\u0f73", "\u0f81\u0327"])
def test_a_long_run_of_marks_takes_no_square_of_steps(marks: str) -> None:
    text = "a" + marks * (200_000 // len(marks))
    made = normal_form(text, "NFD")
    assert len(made) >= len(text)
    assert normal_form(made, "NFC") == normal_form(text, "NFC")
