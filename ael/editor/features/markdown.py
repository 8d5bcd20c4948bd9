"""Markdown that is shown beside code. Text of others (a server's descriptions, names from a lock) is data in it: it forms nothing."""

from __future__ import annotations

import re

MAX_TEXT = 2_000
"""Characters of a description that are shown."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~&:@])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def escaped(text: str) -> str:
    """Text of others as Markdown that shows exactly it: no link, image, heading, HTML or line that could pass for ours."""
    whole = " ".join(_CONTROL.sub("", text).split())
    if len(whole) > MAX_TEXT:
        whole = whole[: MAX_TEXT - 1] + "…"
    return _SPECIAL.sub(r"\\\1", whole)


def prose(text: str) -> str:
    """A doc comment, which is the program's own Markdown, bounded. Links that would start something are shown as text."""
    kept = _CONTROL.sub("", text.replace("\r\n", "\n"))
    kept = kept if len(kept) <= MAX_TEXT else kept[: MAX_TEXT - 1] + "…"
    return re.sub(r"(?i)\bcommand:", "command\u2060:", kept).replace("<", "\\<")


def code(text: str) -> str:
    """A code block of AEL, whose fence is longer than any in it."""
    runs = [len(run) for run in re.findall(r"`+", text)]
    fence = "`" * max(3, *(run + 1 for run in runs), 3)
    return f"{fence}ael\n{text}\n{fence}"


def quoted(text: str) -> str:
    """Text as code in a line: one that holds backticks or line ends is still only text."""
    flat = " ".join(_CONTROL.sub("", text).split())
    flat = flat if len(flat) <= 200 else flat[:199] + "…"
    runs = [len(run) for run in re.findall(r"`+", flat)]
    tick = "`" * (max(runs, default=0) + 1)
    return f"{tick} {flat} {tick}" if flat.startswith("`") or flat.endswith("`") else f"{tick}{flat}{tick}"
