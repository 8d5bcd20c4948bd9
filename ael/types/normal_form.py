"""The normal forms of Unicode (UAX 15), in time linear in the text but for sorting.

Python's own function sorts a run of n marks in n² steps: 64 KiB of them take seconds. Here the text is taken apart and its marks are put in
their order first, which leaves that function nothing to sort. It gives the same text.
"""

from __future__ import annotations

import unicodedata
from typing import Literal, TypeAlias

Form: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]
_SHORT = 256
"""Characters of a text in which no run of marks is long."""


def normal_form(text: str, form: Form) -> str:
    """The text in a normal form."""
    if text.isascii() or len(text) <= _SHORT:
        return unicodedata.normalize(form, text)
    parts: dict[str, str] = {}
    apart: Form = "NFKD" if "K" in form else "NFD"
    made: list[str] = []
    run: list[str] = []
    for char in text:
        found = parts.get(char)
        if found is None:
            found = parts[char] = unicodedata.normalize(apart, char)
        for one in found:
            if unicodedata.combining(one):
                run.append(one)
                continue
            if run:
                made += sorted(run, key=unicodedata.combining)
                run.clear()
            made.append(one)
    made += sorted(run, key=unicodedata.combining)
    return unicodedata.normalize(form, "".join(made))
