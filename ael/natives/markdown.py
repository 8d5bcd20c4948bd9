"""HTML as Markdown."""

from __future__ import annotations

import re


def to_markdown(page: str, base: str) -> str:
    return re.sub(r"<[^>]*>", "", page)
