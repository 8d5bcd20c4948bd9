"""What of a run's content is shown: by the deployment's evidence policy, without secrets, and without what could steer a page."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Literal

from ael.data import replace
from ael.journal.durable import RunRow
from ael.journal.entry import Entry, Kind
from ael.run.trace import Masker
from ael.types.value import File, Secret

Evidence = Literal["none", "redacted", "full"]
Shown = Callable[[object], object]


def shown(evidence: Evidence, masker: Masker) -> Shown | None:
    """How a value of the journal is shown; None where no content is. Secrets never are (A16.6, K41)."""
    match evidence:
        case "none":
            return None
        case "redacted":
            return _redacted
        case "full":
            return lambda value: masker.value(_plain(value))


_COUNTS = ("usage", "failed", "attempts", "paid", "stop", "model", "cut", "kind", "error")
"""Of a model's record what is no content."""


def as_shown(row: RunRow, entries: Sequence[Entry], evidence: Evidence) -> tuple[RunRow, list[Entry]]:
    """A run with its values as the evidence policy shows them. What a person has to decide about stays: the arguments of an approval."""
    if evidence == "full":
        return row, list(entries)
    show = shown(evidence, Masker(()))

    def seen(entry: Entry) -> Entry:
        if entry.kind is Kind.APPROVAL:
            return entry
        if entry.kind is Kind.MODEL and isinstance(entry.value, Mapping):
            return entry._replace(value={word: entry.value[word] for word in _COUNTS if word in entry.value})
        return entry._replace(value=None if show is None else show(entry.value))

    outcome = row.outcome
    if isinstance(outcome, Mapping):
        plain = {word: value for word, value in outcome.items() if word in ("outcome", "spent", "kind", "error")}
        hidden = {} if show is None else {word: show(value) for word, value in outcome.items() if word not in plain}
        outcome = {**plain, **hidden}
    return replace(row, outcome=outcome), [seen(entry) for entry in entries]


def visible(text: str) -> str:
    """`text` with everything that does not print, or that turns text around, as `⟨U+202E⟩`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
        else f"⟨U+{ord(character):04X}⟩"
        for character in text
    )


def _plain(value: object) -> object:
    """A value of a journal as JSON: what JSON has no form for as text."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case bytes():
            return f"[{len(value):,} bytes]"
        case File():
            return f"[a file of {value.media}]"
        case Secret():
            return "***"
        case date():
            return value.isoformat()
        case _:
            return str(value)


def _redacted(value: object) -> object:
    """The form of a value: its fields, numbers and truths, and of each text only how long it is."""
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return f"[text of {len(value):,} characters]"
        case Mapping():
            return {str(key): _redacted(item) for key, item in value.items()}
        case list() | tuple():
            return [_redacted(item) for item in value]
        case date() | timedelta():
            return str(value)
        case _:
            return _plain(value) if isinstance(value, bytes | File | Secret) else str(value)
