"""What the generated files share."""

from __future__ import annotations

import json

from ael.editor.words import words

SCALES = "ms|min|s|h|d|B|KB|MB|GB|KiB|MiB|GiB"
"""The units of durations and sizes."""


def any_of(name: str) -> str:
    """The words of a class as the alternatives of a regular expression."""
    return "|".join(words()[name])


def as_json(value: object) -> str:
    """JSON as it is committed."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
