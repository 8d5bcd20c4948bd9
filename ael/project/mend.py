"""Applying fixes to programs: all in memory first, checked again, and only then written, each file whole or not at all.

`ael fix` and `ael check --fix` share it. A fix may uncover the next, so there are several rounds; a fix after which the text is no longer
syntax is left out.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import unified_diff
from pathlib import Path

from ael.data import dataclass, field
from ael.diagnostics.diagnostic import Diagnostic, Severity
from ael.diagnostics.fix import Wanted, rewritten, safe, taken
from ael.source import Source, read_disk, reading

ROUNDS = 20
"""How often fixes are applied and the result checked again."""
_SYNTAX = ("AEL00", "AEL01")
_BOM = b"\xef\xbb\xbf"

Look = Callable[[], Sequence[Diagnostic]]
"""Checks the programs, anew each time it is called, and gives what is wrong with them."""


@dataclass(frozen=True, eq=False)
class Change:
    """A file as it is and as it would be."""

    before: Source
    text: str

    @property
    def path(self) -> Path:
        """The file."""
        assert self.before.path is not None
        return self.before.path

    def diff(self) -> str:
        """What would change, as a unified difference."""
        old, new = self.before.text.splitlines(keepends=True), self.text.splitlines(keepends=True)
        lines = unified_diff(old, new, self.before.name, self.before.name)
        return "".join(_whole_lines(lines))


def _whole_lines(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


@dataclass(eq=False)
class Mended:
    """What the fixes come to. `applied` are the problems that were mended, as they were told; `left` what is wrong afterwards."""

    changes: list[Change] = field(default_factory=list)
    applied: list[Diagnostic] = field(default_factory=list)
    left: Sequence[Diagnostic] = ()


class Changed(Exception):
    """A file is another one than when it was looked at."""


class _Over:
    """Files with another text than on the disk."""

    def __init__(self) -> None:
        self.sources: dict[Path, Source] = {}

    def read(self, path: Path, name: str) -> Source:
        known = self.sources.get(path.resolve())
        return read_disk(path, name) if known is None else Source(name, known.text, path)

    def is_file(self, path: Path) -> bool:
        return path.resolve() in self.sources or path.is_file()


def mend(look: Look, wanted: Wanted = safe) -> Mended:
    """Apply the wanted fixes, in memory, until there is none left."""
    over = _Over()
    first: dict[Path, Source] = {}
    mended = Mended()
    with reading(over):
        found = look()
        seen = {_state(over)}
        for _ in range(ROUNDS):
            chosen = [one for one in taken(found, wanted) if _in_files(one)]
            if not chosen:
                break
            before = dict(over.sources)
            good, after = _best(look, over, found, chosen)
            if not good or _state(over) in seen:
                over.sources = before
                break
            for source in rewritten(good):
                assert source.path is not None
                first.setdefault(source.path.resolve(), source)
            seen.add(_state(over))
            mended.applied += good
            found = after
    mended.left = found
    mended.changes = [
        Change(first[path], source.text) for path, source in over.sources.items() if source.text != first[path].text
    ]
    return mended


def _best(
    look: Look, over: _Over, found: Sequence[Diagnostic], chosen: list[Diagnostic]
) -> tuple[list[Diagnostic], Sequence[Diagnostic]]:
    """The fixes after which the text is syntax still, with what is wrong then: all of them, else one after the other."""
    before = dict(over.sources)
    _put(over, rewritten(chosen))
    after = look()
    if not _worse(found, after):
        return chosen, after
    good: list[Diagnostic] = []
    kept: Sequence[Diagnostic] = found
    for one in chosen:
        over.sources = dict(before)
        _put(over, rewritten([*good, one]))
        after = look()
        if not _worse(found, after):
            good.append(one)
            kept = after
    over.sources = dict(before)
    _put(over, rewritten(good))
    return good, kept


def _put(over: _Over, texts: dict[Source, str]) -> None:
    for source, text in texts.items():
        assert source.path is not None
        over.sources[source.path.resolve()] = Source(source.name, text, source.path)


def _in_files(found: Diagnostic) -> bool:
    return found.fix is not None and all(edit.place.source.path is not None for edit in found.fix.edits)


def _worse(before: Sequence[Diagnostic], after: Sequence[Diagnostic]) -> bool:
    return _broken(after) > _broken(before)


def _broken(found: Sequence[Diagnostic]) -> int:
    return sum(one.severity is Severity.ERROR and one.code.startswith(_SYNTAX) for one in found)


def _state(over: _Over) -> frozenset[tuple[Path, str]]:
    return frozenset((path, source.text) for path, source in over.sources.items())


def write(changes: Sequence[Change]) -> None:
    """Write the files. Raises `Changed`, before anything is written, when one is not as it was looked at, and `OSError`."""
    found: list[tuple[Change, Path, bytes]] = []
    for change in changes:
        path = change.path.resolve()
        data = path.read_bytes()
        lead = _BOM if data.startswith(_BOM) else b""
        if data[len(lead) :] != change.before.text.encode("utf-8"):
            raise Changed(change.before.name)
        found.append((change, path, lead + change.text.encode("utf-8")))
    for _, path, data in found:
        beside = path.with_name(f".{path.name}.{os.getpid()}.new")
        try:
            beside.write_bytes(data)
            shutil.copymode(path, beside)
            beside.replace(path)
        except OSError as error:
            with suppress(OSError):
                beside.unlink()
            raise OSError(error.errno, error.strerror, str(path)) from None
