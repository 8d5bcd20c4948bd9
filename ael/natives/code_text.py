"""Text as a coding agent reads and changes it: numbered lines, exact replacement, and the difference that a person is shown.

A file whose lines all end in CR LF is read and edited with plain line ends, and written back with its own; a byte order mark stays.
What is not replaced is kept to the byte: a missing last line end, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import TypeAlias

from ael.natives.workspace import version_of
from ael.natives.workspace_names import shown
from ael.natives.workspace_write import stale
from ael.types.fault import Failure

MOST_TEXT = 40_000
"""Characters of a file that are given in one call."""
MOST_LINE = 2_000
"""Characters of one line of it."""
MOST_DIFFERENCE = 24_000
_CONTEXT = 3
_WORK = 40_000
"""Pairs of lines that a difference is looked for among: the search takes cubic time where lines repeat. Beyond it lines are compared one
by one where their number is the same, else everything between the first and the last change is shown as changed."""
_TRIED = 64
_TRIED_BYTES = 32 << 20
_BOM = "\ufeff"
Change: TypeAlias = tuple[str, int, int, int, int]
"""What happens to some lines: `equal` or anything else, from where to where in the old text, and in the new."""


@dataclass(frozen=True)
class Form:
    """A text, and how its file writes it: `text` has plain line ends where all of the file's are alike."""

    text: str
    crlf: bool
    bom: bool

    def raw(self, text: str) -> bytes:
        """What the file holds with this text in place of its own."""
        ends = text.replace("\r\n", "\n").replace("\n", "\r\n") if self.crlf else text
        return f"{_BOM if self.bom else ''}{ends}".encode()

    def plain(self, part: str) -> str:
        """A part of a text as it is looked for in this one."""
        return part.replace("\r\n", "\n") if self.crlf else part


def form_of(text: str) -> Form:
    """Take a file's text apart."""
    bom = text.startswith(_BOM)
    text = text[bom:]
    ends = text.count("\r\n")
    crlf = ends > 0 and ends == text.count("\n") == text.count("\r")
    return Form(text.replace("\r\n", "\n") if crlf else text, crlf, bom)


def lines_of(text: str) -> list[str]:
    """The lines of a text, each with its end; only `\\n` ends one, as in every tool that counts lines."""
    parts = text.split("\n")
    found = [f"{part}\n" for part in parts[:-1]]
    return [*found, parts[-1]] if parts[-1] else found


@dataclass(frozen=True)
class View:
    """Some lines of a text, numbered from 1; `last` is 0 where there are none. `cut`: fewer than were asked for, or shortened ones."""

    text: str
    first: int
    last: int
    cut: bool


def view(lines: Sequence[str], first: int, count: int) -> View:
    """Up to `count` lines from `first` on, within the size of one answer."""
    shown_lines: list[str] = []
    size, cut = 0, False
    for number, line in enumerate(lines[first - 1 : first - 1 + count], first):
        text = line.removesuffix("\n")
        if len(text) > MOST_LINE:
            text = f"{text[:MOST_LINE]}… ({len(text) - MOST_LINE:,} more characters)"
            cut = True
        numbered = f"{number:>6}\t{text}"
        size += len(numbered) + 1
        if size > MOST_TEXT:
            cut = True
            break
        shown_lines.append(numbered)
    return View("\n".join(shown_lines), first if shown_lines else 0, first + len(shown_lines) - 1 if shown_lines else 0, cut)


@dataclass(frozen=True)
class Edited:
    """What an edit makes of a file. `already`: it is there, made by an earlier try of the same call."""

    before: str
    after: str
    data: bytes
    count: int
    already: bool = False


def edited(path: str, data: bytes, form: Form, version: str, old: str, new: str, every: bool) -> Edited:
    """The file `data` with `old` replaced by `new`. Raises `Failure`: Stale, NotOnce."""
    old, new = form.plain(old), form.plain(new)
    if not old or old == new:
        reason = "`old` and `new` are the same" if old else "`old` is empty: take some text that stands where the new one belongs"
        raise Failure("NotOnce", {"path": shown(path), "count": 0, "reason": reason})
    if version_of(data) != version:
        return _undone(path, form, version, old, new, every)
    count = form.text.count(old)
    if count == 0:
        raise Failure("NotOnce", {"path": shown(path), "count": 0, "reason": _nearly(form.text, old)})
    if not every and form.text.find(old, form.text.find(old) + 1) >= 0:
        reason = f"it stands {max(count, 2)} times: take more of the text around it, or say `every: true`"
        raise Failure("NotOnce", {"path": shown(path), "count": max(count, 2), "reason": reason})
    after = form.text.replace(old, new)
    return Edited(form.text, after, form.raw(after), count)


def _nearly(text: str, old: str) -> str:
    """Why `old` is not there, where that can be told."""
    if _bare(old) in _bare(text):
        return "it is there with other blanks or line ends: copy it exactly, without the numbers of the lines"
    return "it is not in the file: read the file, and copy the text exactly"


def _bare(text: str) -> str:
    return "".join(text.split())


def _undone(path: str, form: Form, version: str, old: str, new: str, every: bool) -> Edited:
    """The file is not what was read. If taking this very edit back gives what was read, a first try of the same call made it (K26)."""
    before = next((text for text in _befores(form, version, old, new, every) if version_of(form.raw(text)) == version), None)
    if before is None:
        raise stale(path, "it is not what was read any more, or was never read: read it again, and edit what is there now")
    return Edited(before, form.text, form.raw(form.text), before.count(old), already=True)


def _befores(form: Form, version: str, old: str, new: str, every: bool) -> Iterator[str]:
    size, _, _ = version.partition("-")
    text = form.text
    if not new or not size.isdecimal() or len(size) > 12:
        return
    if every:
        yield text.replace(new, old)
        return
    if len(form.raw(text)) - len(form.raw(new)) + len(form.raw(old)) != int(size):
        return
    at, tried = text.find(new), 0
    while at >= 0 and tried < min(_TRIED, _TRIED_BYTES // (len(text) + 1)):
        yield f"{text[:at]}{old}{text[at + len(new) :]}"
        at, tried = text.find(new, at + 1), tried + 1


def difference(path: str, before: str | None, after: str | None) -> str:
    """The unified difference of a file; None stands for no file."""
    old, new = lines_of(before or ""), lines_of(after or "")
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    lead, tail = max(0, start - _CONTEXT), max(0, end - _CONTEXT)
    old, new = old[lead : len(old) - tail], new[lead : len(new) - tail]
    head = [f"--- {'/dev/null' if before is None else f'a/{path}'}", f"+++ {'/dev/null' if after is None else f'b/{path}'}"]
    text = "\n".join([*head, *_hunks(old, new, lead)])
    return (
        text if len(text) <= MOST_DIFFERENCE else f"{text[:MOST_DIFFERENCE]}\n… ({len(text) - MOST_DIFFERENCE:,} more characters)"
    )


def _hunks(old: list[str], new: list[str], lead: int) -> Iterator[str]:
    for group in _grouped(_changes(old, new)):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2], lead)} +{_range(first[3], last[4], lead)} @@"
        for tag, i, j, k, m in group:
            if tag == "equal":
                yield from _signed(" ", old[i:j])
            else:
                yield from _signed("-", old[i:j])
                yield from _signed("+", new[k:m])


def _changes(old: list[str], new: list[str]) -> Sequence[Change]:
    """What is equal and what is not, from the first line to the last."""
    if len(old) * len(new) <= _WORK:
        return SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    if len(old) != len(new):
        return [("replace", 0, len(old), 0, len(new))]
    found: list[Change] = []
    for same, run in groupby(range(len(old)), lambda at: old[at] == new[at]):
        rows = list(run)
        first, last = rows[0], rows[-1] + 1
        found.append(("equal" if same else "replace", first, last, first, last))
    return found


def _grouped(changes: Sequence[Change]) -> Iterator[list[Change]]:
    """The changes with some equal lines around, those together that are near each other."""
    group: list[Change] = []
    for change in changes:
        tag, i, j, k, m = change
        if tag != "equal":
            group.append(change)
            continue
        if group:
            if j - i > 2 * _CONTEXT:
                yield [*group, ("equal", i, i + _CONTEXT, k, k + _CONTEXT)]
                group = [("equal", j - _CONTEXT, j, m - _CONTEXT, m)]
            else:
                group.append(change)
        else:
            group = [("equal", max(i, j - _CONTEXT), j, max(k, m - _CONTEXT), m)]
    if any(tag != "equal" for tag, *_ in group):
        tag, i, j, k, m = group[-1]
        yield [*group[:-1], (tag, i, min(j, i + _CONTEXT), k, min(m, k + _CONTEXT))] if tag == "equal" else group


def _range(start: int, stop: int, lead: int) -> str:
    length = stop - start
    return f"{start + lead + (1 if length else 0)}" + ("" if length == 1 else f",{length}")


def _signed(sign: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield f"{sign}{line.removesuffix(chr(10))}"
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"
