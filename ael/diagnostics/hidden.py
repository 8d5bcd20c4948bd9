"""Sources whose strings are not shown: a message about a key does not print the key."""

from __future__ import annotations

import re

from ael.source import Source, Span


def without_strings(source: Source, span: Span) -> Source:
    """The source with the strings in `span` made unreadable, at the same places."""
    hidden = re.sub(r'"[^"\n]*"', lambda found: f'"{"*" * (len(found[0]) - 2)}"', source.text[span.start : span.end])
    return Source(source.name, source.text[: span.start] + hidden + source.text[span.end :], source.path)
