"""Looking for files and for lines in a workspace: read-only, bounded, in an order that is always the same, spread over threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple

from ael.natives.globs import MAX_PATTERN, BadPattern, Glob, glob
from ael.natives.workspace import Workspace, decoded
from ael.natives.workspace_walk import Found, Walk
from ael.types.fault import Failure
from ael.types.pattern import PatternError, compile_pattern

MAX_PATHS = 1_000
MAX_MATCHES = 500
MAX_BYTES = 16 << 20
"""What one search reads at most, in bytes."""
MAX_LINE = 4_000
"""Characters of a line that are looked at; what is longer is no source."""
_SHOWN = 300
_THREADS = 4
_BATCH = 32
_SPECIAL = frozenset("\\^$.|?*+()[]{}")


class Match(NamedTuple):
    """A line that fits."""

    path: str
    line: int
    text: str


def find_paths(space: Workspace, pattern: str, path: str, stopped: Callable[[], bool]) -> dict[str, object]:
    """The files below `path` whose path, from there, fits."""
    wanted = _glob(pattern)
    base = space.parts(path)
    walk = Walk(space, stopped=stopped)
    fitting = (found.path for found in walk.files(base, path, _below(wanted, base)) if wanted.matches(found.parts[len(base) :]))
    paths = list(islice(fitting, MAX_PATHS + 1))
    return {"paths": paths[:MAX_PATHS], "cut": walk.cut or len(paths) > MAX_PATHS}


def find_lines(
    space: Workspace, pattern: str, path: str, files: str, most: int, stopped: Callable[[], bool]
) -> dict[str, object]:
    """The lines that `pattern` occurs in, in the files below `path` whose path, from there, fits `files`; `path` may be a file itself."""
    fits = _line_test(pattern)
    wanted = _glob(files)
    walk = Walk(space, stopped=stopped)
    found: list[Match] = []
    searched, size, cut = 0, 0, False
    candidates = _candidates(space, walk, path, wanted)
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="ael-grep") as pool:
        while (batch := list(islice(candidates, _BATCH))) and not cut:
            for one, text in zip(batch, pool.map(lambda one: _text(space, one), batch), strict=True):
                size += one.size
                searched += 1
                found += _fitting(one.path, text, fits)
            cut = len(found) > most or size > MAX_BYTES or stopped()
    return {
        "matches": [{"path": one.path, "line": one.line, "text": one.text} for one in found[:most]],
        "files": searched,
        "cut": cut or walk.cut,
    }


def _candidates(space: Workspace, walk: Walk, path: str, wanted: Glob) -> Iterator[Found]:
    base = space.parts(path)
    state = space.state(path) if base else None
    if state is not None and not _is_folder(state.st_mode):
        yield Found(base, "file", state.st_size)
        return
    for found in walk.files(base, path, _below(wanted, base)):
        if found.size <= space.limit and wanted.matches(found.parts[len(base) :]):
            yield found


def _is_folder(mode: int) -> bool:
    return mode & 0o170000 == 0o040000


def _text(space: Workspace, found: Found) -> str:
    """The text of one file; none of one that went meanwhile, or is no text."""
    try:
        return decoded(space.read(found.path).data, found.path)
    except Failure:
        return ""


def _fitting(path: str, text: str, fits: Callable[[str], bool]) -> Iterator[Match]:
    """The lines that fit. A matcher learns as it reads, so one thread alone uses it."""
    lines = (found for found in enumerate(text.split("\n") if text else (), 1) if fits(found[1].removesuffix("\r")[:MAX_LINE]))
    for number, line in islice(lines, MAX_MATCHES + 1):
        yield Match(path, number, line.strip()[:_SHOWN])


def _line_test(pattern: str) -> Callable[[str], bool]:
    if not pattern:
        raise Failure("BadPattern", {"reason": "the pattern is empty"})
    if len(pattern) > MAX_PATTERN:
        raise Failure("BadPattern", {"reason": f"the pattern has more than {MAX_PATTERN:,} characters"})
    if not _SPECIAL & set(pattern):
        return lambda line: pattern in line
    try:
        # A matcher of its own, which no other thread has.
        return compile_pattern.__wrapped__(pattern)
    except PatternError as error:
        raise Failure("BadPattern", {"reason": str(error)[:400]}) from None


def _glob(pattern: str) -> Glob:
    try:
        return glob(pattern)
    except BadPattern as error:
        raise Failure("BadPattern", {"reason": str(error)[:400]}) from None


def _below(wanted: Glob, base: tuple[str, ...]) -> Glob | None:
    """Folders need not be opened that nothing below can fit; only where paths are counted from the root."""
    return wanted if not base else None
