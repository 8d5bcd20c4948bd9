"""What of a run's content is shown: by the deployment's evidence policy, without secrets, and without what could steer a page."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Literal

from ael.data import replace
from ael.journal.content import outcome_outline, outline
from ael.journal.durable import RunRow
from ael.journal.entry import Entry, Kind, State
from ael.run.masker import Masker
from ael.types.json import JsonError, read
from ael.types.value import File, Secret

Evidence = Literal["none", "redacted", "full"]


class Shown:
    """How the content of a run is shown. Secrets never are (A16.6, K41).

    `whole`: all of it. Else its form alone; with `fields`, the fields (and parameters) of these names by their form, what they hold nowhere
    else either (`private`), and the texts of a conversation by their length, since nobody knows what of a field stands in them.
    """

    def __init__(self, masker: Masker, *, whole: bool, fields: Collection[str] = (), private: Masker | None = None) -> None:
        self._masker = masker
        self.whole = whole
        self._fields = frozenset(fields)
        self._private = private or Masker(())

    def __call__(self, value: object) -> object:
        """A value that has fields: arguments, results, an input."""
        if self.whole:
            return self._masker.value(_plain(value))
        if not self._fields:
            return _redacted(value)
        return self._private.value(self._masker.value(_marked(_plain(value), self._fields)))

    def said(self, text: str | None) -> object:
        """A text of a conversation; one that is JSON, such as the arguments of a call, by its fields."""
        if text is None or self.whole:
            return None if text is None else self._masker.text(text)
        if not self._fields:
            return _redacted(text)
        try:
            value = read(text)
        except JsonError:
            return _redacted(text)
        return self(value) if isinstance(value, dict | list) else _redacted(text)


def shown(evidence: Evidence, masker: Masker, fields: Collection[str] = (), content: Iterable[object] = ()) -> Shown | None:
    """How the values of a run are shown; None where no content is. `fields` are those that the deployment marks, `content` all values of
    the run: what stands under a marked field is masked everywhere."""
    if evidence == "none":
        return None
    whole = evidence == "full"
    if whole or not fields:
        return Shown(masker, whole=whole)
    held: set[str] = set()
    for value in content:
        _texts_of(value, frozenset(fields), False, held)
    return Shown(masker, whole=False, fields=fields, private=Masker([Secret("field", text) for text in held]))


def content_of(input: object, entries: Sequence[Entry], row: RunRow) -> list[object]:
    """The values of a run."""
    return [input, *(entry.value for entry in entries), row.outcome]


def as_shown(row: RunRow, entries: Sequence[Entry], show: Shown | None, masker: Masker) -> tuple[RunRow, list[Entry]]:
    """A run with its values as they are shown. What a person still has to decide about stays, but for secrets."""
    answered = {entry.path for entry in entries if entry.state is State.ANSWERED}
    seen = [_seen(entry, show, masker, entry.path not in answered) for entry in entries]
    outcome = row.outcome
    if isinstance(outcome, Mapping):
        plain = outcome_outline(outcome)
        assert isinstance(plain, dict)
        hidden = {} if show is None else {word: show(value) for word, value in outcome.items() if word not in plain}
        outcome = {**plain, **hidden}
    return replace(row, outcome=outcome), seen


def _seen(entry: Entry, show: Shown | None, masker: Masker, is_open: bool) -> Entry:
    value = entry.value
    if is_open and (entry.kind is Kind.APPROVAL or entry.state is State.PROPOSED):
        return entry._replace(value=masker.value(_plain(value)))
    if show is None:
        return outline(entry)
    if entry.kind is Kind.MODEL and isinstance(value, Mapping) and "calls" in value:
        calls = [[call[0], call[1], show.said(call[2])] for call in value["calls"]]
        left = outline(entry).value
        assert isinstance(left, Mapping)
        said = {"text": show.said(value.get("text", "")), "calls": calls, "final": show.said(value.get("final"))}
        return entry._replace(value={**left, **said})
    if entry.kind is Kind.APPROVAL and entry.state is State.ANSWERED and isinstance(value, Mapping):
        # Who decided, and why, is no content of the program.
        edited = None if value.get("arguments") is None else show(value["arguments"])
        return entry._replace(value={**value, "reason": masker.text(str(value.get("reason", ""))), "arguments": edited})
    return entry._replace(value=None if value is None else show(value))


def _marked(value: object, fields: frozenset[str]) -> object:
    """A plain value with what stands under these fields as its form."""
    match value:
        case dict():
            return {key: _redacted(item) if key in fields else _marked(item, fields) for key, item in value.items()}
        case list():
            return [_marked(item, fields) for item in value]
        case _:
            return value


def _texts_of(value: object, fields: frozenset[str], inside: bool, held: set[str]) -> None:
    """Add the texts under these fields to `held`. Calls of a model stand in text: what is JSON is looked into."""
    match value:
        case str() if inside:
            held.add(value)
        case str() if value[:1] in ("{", "["):
            try:
                _texts_of(read(value), fields, False, held)
            except JsonError:
                return
        case Mapping():
            for key, item in value.items():
                _texts_of(item, fields, inside or key in fields, held)
        case list() | tuple():
            for item in value:
                _texts_of(item, fields, inside, held)


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
