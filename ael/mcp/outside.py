"""Text of a server as it is shown to a person: bounded, and without anything that could steer a terminal or reorder a line."""

from __future__ import annotations

import unicodedata

LINE = 240
"""Characters of one line of outside text that are shown; the rest is counted."""
LINES = 40
"""Lines of one piece of outside text that are shown."""

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def visible(text: str, limit: int = LINE) -> str:
    """One line of `text`: what does not print (control characters, escape sequences, bidirectional marks, halves of pairs) stands as
    `\\u{202E}`, and what is over `limit` characters is counted.
    """
    cut = text[:limit]
    shown = "".join(c if c == " " or unicodedata.category(c) not in _HIDDEN else f"\\u{{{ord(c):X}}}" for c in cut)
    return shown if len(cut) == len(text) else f"{shown}… ({len(text) - limit:,} more characters)"


def visible_lines(text: str, lines: int = LINES, limit: int = LINE) -> list[str]:
    """The lines of `text`, each as `visible` gives it; those over `lines` are counted."""
    found = text.replace("\r\n", "\n").split("\n")
    shown = [visible(line.replace("\t", "    "), limit) for line in found[:lines]]
    return shown if len(found) <= lines else [*shown, f"… ({len(found) - lines:,} more lines)"]
