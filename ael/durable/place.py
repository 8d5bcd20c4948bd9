"""Naming a step of a run, in any of the ways in which a person knows it (feature A12.16)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches

from ael.journal.entry import Ending, Entry, Kind, State
from ael.types.times import parse_timestamp

END = ""
"""Stands for the place behind the last step."""
_LATER = re.compile(r"\+(\d+(?:\.\d+)?)(ms|s|min|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}
_WHOLE = re.compile(r"-?[1-9]\d*")
_KINDS = {kind.value: kind for kind in Kind if kind is not Kind.CANCEL} | {"turn": Kind.MODEL}
_BAD = (Ending.FAULT, Ending.ERROR, Ending.UNCERTAIN, Ending.REFUSED)
_KEY = 8
"""The fewest digits of an idempotency key that name one."""
_LISTED = 5


class PlaceError(Exception):
    """Text that names no step, or more than one; `note` says what would."""

    def __init__(self, message: str, note: str) -> None:
        super().__init__(message)
        self.message = message
        self.note = note


class Places:
    """The steps of a run, in the order in which they began."""

    def __init__(self, run: str, started: float, entries: Sequence[Entry]) -> None:
        self._run = run
        self._started = started
        self._first: dict[str, Entry] = {}
        self._last: dict[str, Entry] = {}
        for entry in entries:
            if entry.kind is not Kind.CANCEL:
                self._first.setdefault(entry.path, entry)
                self._last[entry.path] = entry
        self.paths = list(self._first)

    def find(self, text: str) -> str:
        """The path of the step that `text` names; `END` for the place behind all of them. Raises `PlaceError`.

        In this order: a path; `first`, `last`, `failed` (the last step that ended in no value), `end`; a number, from the end where it is
        negative; `+1.5s` or a timestamp (the first step that began then, or later); `key:` and the beginning of an idempotency key;
        `after:` and a step; a kind (`model:2`, `tool`, `approval:last`); the beginning of a path (the first step below it); what is
        called (`pay`, `main.pay`, `pay:2`, `pay:last`), and its approval (`pay:2/approval`); the end of a path, where it is the only one.
        """
        for way in (
            self._exact,
            self._word,
            self._number,
            self._time,
            self._key,
            self._after,
            self._kind,
            self._below,
            self._name,
        ):
            found = way(text)
            if found is not None:
                return found
        return self._ending(text)

    def last(self, path: str) -> Entry:
        """The newest record of a step."""
        return self._last[path]

    def after(self, paths: Sequence[str]) -> str:
        """The last of these steps."""
        return max(paths, key=self.paths.index)

    def unknown(self, text: str) -> PlaceError:
        """That `text` names no step, and what is near it."""
        close = get_close_matches(text, self.paths, 3)
        note = f"near it are {', '.join(close)}" if close else f"`ael runs show {self._run}` lists them"
        return PlaceError(f"the run {self._run} has no step `{text}`", note)

    def _exact(self, text: str) -> str | None:
        return text if text in self._first else None

    def _word(self, text: str) -> str | None:
        match text:
            case "end":
                return END
            case "first" | "last" if self.paths:
                return self.paths[0 if text == "first" else -1]
            case "failed":
                bad = [path for path in self.paths if self._last[path].ending in _BAD]
                if not bad:
                    raise PlaceError(f"no step of the run {self._run} ended in anything but a value", "`last` is its last step")
                return bad[-1]
        return None

    def _number(self, text: str) -> str | None:
        if not _WHOLE.fullmatch(text):
            return None
        number = int(text)
        if abs(number) > len(self.paths):
            raise self.unknown(text)
        return self.paths[number - 1 if number > 0 else number]

    def _time(self, text: str) -> str | None:
        later, at = _LATER.fullmatch(text), parse_timestamp(text)
        if later is None and at is None:
            return None
        moment = self._started + float(later[1]) * _SECONDS[later[2]] if later is not None else at.timestamp() if at else 0.0
        found = next((path for path in self.paths if self._first[path].at >= moment), None)
        if found is None:
            raise PlaceError(f"no step of the run {self._run} began at {text} or later", "`last` is its last step")
        return found

    def _key(self, text: str) -> str | None:
        if not text.startswith("key:"):
            return None
        key = text.removeprefix("key:")
        found = [path for path in self.paths if len(key) >= _KEY and self._last[path].key.startswith(key)]
        # An approval carries the key of the call that it is of.
        return self._only(text, [path for path in found if self._last[path].kind is not Kind.APPROVAL])

    def _after(self, text: str) -> str | None:
        if not text.startswith("after:"):
            return None
        place = self.find(text.removeprefix("after:"))
        if place == END:
            return END
        return next(iter(self.paths[self.paths.index(place) + 1 :]), END)

    def _kind(self, text: str) -> str | None:
        word, _, number = text.partition(":")
        kind = _KINDS.get(word)
        return None if kind is None else self._nth(text, number, lambda entry: entry.kind is kind)

    def _below(self, text: str) -> str | None:
        return next((path for path in self.paths if path.startswith(f"{text}/")), None)

    def _name(self, text: str) -> str | None:
        called = text.removesuffix("/approval")
        name, _, number = called.partition(":")
        found = self._nth(
            text,
            number,
            lambda entry: entry.kind is not Kind.APPROVAL and f".{entry.target}".endswith(f".{name}"),
        )
        if found is None or called == text:
            return found
        return f"{found}/approval" if f"{found}/approval" in self._first else None

    def _nth(self, text: str, number: str, fits: Callable[[Entry], bool]) -> str | None:
        """The first, the `number`th or (`last`) the last step that fits; None where none does."""
        found = [path for path in self.paths if fits(self._first[path])]
        if not found:
            return None
        if number == "last":
            return found[-1]
        if number and not (number.isdecimal() and 1 <= int(number) <= len(found)):
            raise PlaceError(f"the run {self._run} has no step `{text}`", f"there {_are(len(found))}: {_list(found)}")
        return found[int(number) - 1 if number else 0]

    def _ending(self, text: str) -> str:
        return self._only(text, [path for path in self.paths if text and path.endswith(f"/{text}")])

    def _only(self, text: str, found: Sequence[str]) -> str:
        if len(found) > 1:
            raise PlaceError(f"more than one step of the run {self._run} is `{text}`", f"say which: {_list(found)}")
        if not found:
            raise self.unknown(text)
        return found[0]


def answered(entries: Sequence[Entry], path: str) -> Entry | None:
    """The answer of a step."""
    return next((entry for entry in entries if entry.path == path and entry.state is State.ANSWERED), None)


def _are(count: int) -> str:
    return "is one" if count == 1 else f"are {count}"


def _list(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _LISTED} more" if len(paths) > _LISTED else ""
    return f"{', '.join(paths[:_LISTED])}{more}"
